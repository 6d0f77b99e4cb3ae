// The pose of a free root as a series, from its angular velocity w and acceleration a along its own axes.
//
// With the quaternion x relative to the start, where the root has the turn Q,
//   (1) x' = x (w/2, 0),   z = x (a, 0),   p'' = Q (z x^-1) + gravity
// so that its linear velocity, which may be large along turning axes, is not needed. Products of quaternions
// are sums over the components of the left one, times rows that the right one gives.
#pragma once

#include "jounce/dynamics/factor.hpp"
#include "jounce/vec/numbers.hpp"

namespace jounce {

struct RootSeriesWork {
  double (*spin)[4][8];     // [k]: rows of (w/2, 0) and (a, 0)
  double (*back)[4][4];     // [k]: rows of x^-1
  double (*x)[4], (*z)[4];  // [k]
  Vec3<double>* a;          // [k]

  RootSeriesWork(int rows, Arena& arena) {
    spin = arena.take<double[4][8]>(rows);
    back = arena.take<double[4][4]>(rows);
    x = arena.take<double[4]>(rows);
    z = arena.take<double[4]>(rows);
    a = arena.take<Vec3<double>>(rows);
  }
};

// How each component of a quaternion to the left of (v, c) enters their product.
JOUNCE_INLINE void product_rows(const Vec3<double>& v, double c, double* row, int stride) {
  const double rows[4][4] = {
      {c, -v.z, v.y, -v.x}, {v.z, c, -v.x, -v.y}, {-v.y, v.x, c, -v.z}, {v.x, v.y, v.z, c}};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) row[i * stride + j] = rows[i][j];
  }
}

// Coefficient k of products of quaternions: the left ones by their components, the right ones by rows.
template <int N>
JOUNCE_INLINE Numbers<N> product_coefficient(int k, const double (*left)[4], const double (*rows)[4][N]) {
  Numbers<N> sum[4];
  for (int i = 0; i < 4; ++i) sum[i] = Numbers<N>::zero();
  for (int j = 0; j <= k; ++j) {
    for (int i = 0; i < 4; ++i) sum[i].add(left[k - j][i], Numbers<N>::load(rows[j][i]));
  }
  sum[0] += sum[1];
  sum[2] += sum[3];
  return sum[0] += sum[2];
}

// Equation (1): coefficients 0 ... r + 2 of the coordinates, [k][nq], and 1 ... r + 1 of the velocity along
// the axes of the parent in the rates, [k][nv], which hold w, and the velocity in row 0.
inline void root_series(const Tree<double>& tree, const Node<double>& node, const double* q, int r,
                        RootSeriesWork& work, double* rates, double* coordinates) {
  const int nq = tree.nq, nv = tree.nv;
  double *v = rates + node.v, *to = coordinates + node.q;
  for (int k = 0; k <= r + 1; ++k) {
    product_rows(vector_from(v + k * nv) * 0.5, 0.0, work.spin[k][0], 8);
    product_rows(k <= r ? work.a[k] : Vec3<double>::zero(), 0.0, work.spin[k][0] + 4, 8);
  }
  for (int i = 0; i < 4; ++i) to[i] = work.x[0][i] = i < 3 ? 0.0 : 1.0;
  for (int k = 0; k <= r + 1; ++k) {
    double both[8];
    product_coefficient<8>(k, work.x, work.spin).store(both);
    const double* x = work.x[k];
    product_rows(Vec3<double>{-x[0], -x[1], -x[2]}, x[3], work.back[k][0], 4);
    for (int i = 0; i < 4; ++i) {
      to[(k + 1) * nq + i] = work.x[k + 1][i] = both[i] * (1.0 / (k + 1));
      work.z[k][i] = both[4 + i];
    }
  }
  const Mat3<double> Q = rotation(q + node.q);
  for (int i = 4; i < 7; ++i) to[i] = q[node.q + i], to[nq + i] = v[i - 1];
  for (int k = 0; k <= r; ++k) {
    double turned[4];
    product_coefficient<4>(k, work.z, work.back).store(turned);
    Vec3<double> u = Q * vector_from(turned);
    if (k == 0) u += transposed(node.placement.R, tree.gravity);
    store(u * (1.0 / (k + 1)), v + (k + 1) * nv + 3);
    store(u * (1.0 / ((k + 1) * (k + 2))), to + (k + 2) * nq + 4);
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
