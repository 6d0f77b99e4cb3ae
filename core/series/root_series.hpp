// The pose of a free root as a series, from its angular velocity w and acceleration a along its own axes.
//
// With the quaternion x relative to the start, where the root has the turn Q,
//   (1) x' = x (w/2, 0),   z = x (a, 0),   p'' = Q (z x^-1) + gravity
// so that its linear velocity, which may be large along turning axes, is not needed. Products of quaternions
// are sums over the components of the left one, times rows that the right one gives. Side by side are what
// has the same left factors, x and then z:
//   (2) sum_j x_(k-1-j) (w_(j+1)/2, a_j) = ((k+1) x_(k+1) - x_k w_0/2, z_(k-1))
//   (3) sum_j z_(k-j) (x^-1_j, x^-1_(j+1)) = (y_k, y_(k+1) - z_(k+1)),   y = z x^-1
#pragma once

#include "jounce/dynamics/factor.hpp"
#include "jounce/vec/numbers.hpp"

namespace jounce {

struct RootSeriesWork {
  double (*spin)[4][8];           // [k]: rows of (w_(k+1)/2, 0) and (a_k, 0)
  double (*back[4])[4];           // [i][k]: row i of x^-1
  double (*x)[4], (*z)[4], (*y)[4];  // [k]

  RootSeriesWork(int rows, Arena& arena) {
    spin = arena.take<double[4][8]>(rows);
    for (auto& row : back) row = arena.take<double[4]>(rows + 1);
    for (auto* to : {&x, &z, &y}) *to = arena.take<double[4]>(rows + 1);
  }
};

// How each component of a quaternion to the left of others, four numbers each, enters their products.
template <int N, class To>
JOUNCE_INLINE void product_rows(const Numbers<N>& y, To&& to) {
  alignas(64) static constexpr double sign[3][8] = {
      {1, -1, 1, -1, 1, -1, 1, -1}, {1, 1, -1, -1, 1, 1, -1, -1}, {-1, 1, 1, -1, -1, 1, 1, -1}};
  (swapped<3>(y) * Numbers<N>::load(sign[0])).store(to(0));
  (swapped<2>(y) * Numbers<N>::load(sign[1])).store(to(1));
  (swapped<1>(y) * Numbers<N>::load(sign[2])).store(to(2));
  y.store(to(3));
}

// Coefficient k of (alpha, 0, a, 0) along the root's axes.
JOUNCE_INLINE void set_spin(int k, const Eight& m, double over_next, RootSeriesWork& work) {
  const double half = 0.5 * over_next;
  const Eight by = Eight::of(half, half, half, half, 1.0, 1.0, 1.0, 1.0);
  product_rows(m * by, [&](int i) { return work.spin[k][i]; });
}

// The sum over j = 0 ... k of quaternions left[k - j] times rows(j, i) of their components i, the newest last.
template <int N, class Row>
JOUNCE_INLINE Numbers<N> sum_products(int k, const double (*left)[4], Row&& row) {
  Numbers<N> sum[4];
  for (int i = 0; i < 4; ++i) sum[i] = Numbers<N>::zero();
  for (int j = k; j >= 0; --j) {
    for (int i = 0; i < 4; ++i) sum[i].add(left[k - j][i], Numbers<N>::load(row(j, i)));
  }
  sum[0] += sum[1];
  sum[2] += sum[3];
  return sum[0] += sum[2];
}

// Equation (2), coefficients 0 ... r + 2 of x and 0 ... r of z.
inline void spin_series(int r, const double* w, RootSeriesWork& work) {
  using Four = Numbers<4>;
  alignas(32) static constexpr double inverse[4] = {-1, -1, -1, 1};
  alignas(32) double first[4][4];
  const double turn[4] = {0.5 * w[0], 0.5 * w[1], 0.5 * w[2], 0.0};
  product_rows(Four::of(turn[0], turn[1], turn[2], 0.0), [&](int i) { return first[i]; });
  for (int i = 0; i < 4; ++i) work.x[0][i] = i < 3 ? 0.0 : 1.0, work.x[1][i] = turn[i];
  for (int k = 0; k <= r + 1; ++k) {
    const Four x = Four::load(work.x[k]);
    product_rows(x * Four::load(inverse), [&](int i) { return work.back[i][k]; });
    if (k == 0) continue;
    double both[8];
    sum_products<8>(k - 1, work.x, [&](int j, int i) JOUNCE_INLINED { return work.spin[j][i]; }).store(both);
    Four next = Four::load(both);
    for (int i = 0; i < 4; ++i) next.add(work.x[k][i], Four::load(first[i]));
    (next * Four::all(1.0 / (k + 1))).store(work.x[k + 1]);
    Four::load(both + 4).store(work.z[k - 1]);
  }
}

// Equations (1) to (3): coefficients 0 ... r + 2 of the coordinates, [k][nq], and 1 ... r + 1 of the velocity
// along the axes of the parent in the rates, [k][nv], which hold w, and the velocity in row 0.
inline void root_series(const Tree<double>& tree, const Node<double>& node, const double* q, int r,
                        RootSeriesWork& work, double* rates, double* coordinates) {
  const int nq = tree.nq, nv = tree.nv;
  double *v = rates + node.v, *to = coordinates + node.q;
  spin_series(r, v, work);
  for (int k = 0; k <= r + 2; ++k) {
    for (int i = 0; i < 4; ++i) to[k * nq + i] = work.x[k][i];
  }
  for (int k = 0; k <= r; k += 2) {
    sum_products<8>(k, work.z, [&](int j, int i) JOUNCE_INLINED { return work.back[i][j]; }).store(work.y[k]);
  }
  const Mat3<double> Q = rotation(q + node.q);
  for (int i = 4; i < 7; ++i) to[i] = q[node.q + i], to[nq + i] = v[i - 1];
  for (int k = 0; k <= r; ++k) {
    Vec3<double> y = vector_from(work.y[k]);
    if (k % 2) y += vector_from(work.z[k]);
    Vec3<double> u = Q * y;
    if (k == 0) u += transposed(node.placement.R, tree.gravity);
    const double over = 1.0 / (k + 1);
    store(u * over, v + (k + 1) * nv + 3);
    store(u * (over / (k + 2)), to + (k + 2) * nq + 4);
  }
}

// Rows of the inverse of the articulated inertia of a free root, all at once by the two sweeps of a solution.
template <class Visit>
JOUNCE_INLINE void invert_six(const SolvedRate<double>* rate, Visit&& visit) {
  Eight F[6], x[6], u[6];
  const auto entry = [&](int j, int i) { return (&rate[j].U.n.x)[i]; };
  for (int i = 0; i < 6; ++i) F[i] = Eight::zero();
  for (int j = 5; j >= 0; --j) {
    double unit[8] = {};
    unit[j] = 1.0;
    u[j] = Eight::load(unit);
    u[j].add(-1.0, F[j]);
    for (int i = 0; i < j; ++i) F[i].add(entry(j, i) * rate[j].inverse_D, u[j]);
  }
  for (int j = 0; j < 6; ++j) {
    for (int i = 0; i < j; ++i) u[j].add(-entry(j, i), x[i]);
    x[j] = Eight::zero();
    x[j].add(rate[j].inverse_D, u[j]);
    double row[8];
    x[j].store(row);
    visit(j, row);
  }
}

}  // namespace jounce
