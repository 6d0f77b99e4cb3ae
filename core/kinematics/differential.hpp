// How q exp(u) changes with q and u, joint by joint, in left-trivialized tangent spaces:
//   delta (q exp(u)) = Ad(exp(-u)) delta q + dexp(-u) delta u,
// with the right-trivialized dexp(x) = sum_k ad(x)^k / (k+1)!. For 1-DoF joints both are 1.
#pragma once

#include "../tree/joint.hpp"
#include "configuration.hpp"
#include "representation.hpp"

namespace jounce {

namespace detail {

// c_k = sum_i (-t)^i / (k + 2i)! for k = 2..5, at the squared angle t. The series runs to 1e-17
// below the switch; c_k = 1/k! - t c_(k+2) gives the others.
struct Stumpff {
  double c2, c3, c4, c5;

  explicit Stumpff(double t) {
    if (t < 10.0) {
      c4 = c5 = 1.0;
      for (int i = 14; i >= 1; --i) {
        c4 = 1.0 - c4 * t / ((2.0 * i + 3.0) * (2.0 * i + 4.0));
        c5 = 1.0 - c5 * t / ((2.0 * i + 4.0) * (2.0 * i + 5.0));
      }
      c4 *= 1.0 / 24.0;
      c5 *= 1.0 / 120.0;
      c2 = 1.0 / 2.0 - t * c4;
      c3 = 1.0 / 6.0 - t * c5;
      return;
    }
    const double theta = root(t);
    double sine, cosine;
    sincos(theta, sine, cosine);
    c2 = (1.0 - cosine) / t;
    c3 = (1.0 - sine / theta) / t;
    c4 = (1.0 / 2.0 - c2) / t;
    c5 = (1.0 / 6.0 - c3) / t;
  }
};

inline Mat3<double> times(const Mat3<double>& m, double s) { return {m.x * s, m.y * s, m.z * s}; }

// Writes the n x n matrix [[D, 0], [L, D]] (or D alone, n = 3) to columns of rows `step` apart.
inline void store_block(const Mat3<double>& D, const Mat3<double>& L, int n, int step, double* to) {
  const Vec3<double> o = Vec3<double>::zero();
  const Vec3<double> d[] = {D.x, D.y, D.z}, l[] = {L.x, L.y, L.z};
  for (int k = 0; k < n; ++k) {
    const Vec3<double>&up = k < 3 ? d[k] : o, &low = n == 3 ? o : k < 3 ? l[k] : d[k - 3];
    store(Motion<double>{up, low}, to + k, step);
  }
}

}  // namespace detail

// by_q and by_dv are 6 x nv, row-major: the block of a joint with n rates stands in the first n rows of
// its columns, the rest is zero.
inline void integrate_derivatives(const Tree<double>& tree, const double* dv, double* by_q,
                                  double* by_dv) {
  using namespace detail;
  const Mat3<double> one = Mat3<double>::identity();
  for (const Node<double>& node : tree.nodes) {
    const double* u = dv + node.v;
    if (node.nv == 1) {
      const Motion<double> x{one.x, Vec3<double>::zero()};
      store(x, by_q + node.v, tree.nv);
      store(x, by_dv + node.v, tree.nv);
      continue;
    }
    const Vec3<double> w{-u[0], -u[1], -u[2]};
    const Vec3<double> v =
        node.kind == Kind::free ? Vec3<double>{-u[3], -u[4], -u[5]} : Vec3<double>::zero();
    const Stumpff c(dot(w, w));
    const Mat3<double> W = hat(w), V = hat(v), WW = W * W;
    // ad(w, v) is hat(w + eps v) with a dual unit eps: the lower block is the derivative of the
    // upper one along v, where dc_k/dt = (k c_(k+2) - c_(k+1)) / 2.
    const double dt = 2.0 * dot(w, v), dc2 = c.c4 - 0.5 * c.c3, dc3 = 0.5 * (3.0 * c.c5 - c.c4);
    const Mat3<double> D = one + times(W, c.c2) + times(WW, c.c3);
    const Mat3<double> L = times(V, c.c2) + times(W * V + V * W, c.c3) + times(W, dt * dc2) +
                           times(WW, dt * dc3);
    store_block(D, L, node.nv, tree.nv, by_dv + node.v);
    // Ad(exp(x)) = 1 + ad(x) dexp(x)
    store_block(one + W * D, V * D + W * L, node.nv, tree.nv, by_q + node.v);
  }
}

}  // namespace jounce
