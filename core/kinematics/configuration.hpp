// Moving on the configuration manifold: q moved along a tangent vector, and the tangent vector
// between two configurations; left-trivialized for spherical and free joints.
#pragma once

#include "jounce/lie/group.hpp"
#include "jounce/tree/tree.hpp"

namespace jounce {

inline void integrate(const Tree<double>& tree, const double* q, const double* dv, double* out) {
  for (const Node<double>& node : tree.nodes) {
    const double *from = q + node.q, *d = dv + node.v;
    double* to = out + node.q;
    if (node.nv == 1) {
      to[0] = from[0] + d[0];
      continue;
    }
    double turn[4], turned[4];
    const Vec3<double> w{d[0], d[1], d[2]};
    quaternion_exp(w, turn);
    quaternion_product(from, turn, turned);
    normalize_quaternion(turned);
    if (node.kind == Kind::free) {
      const Vec3<double> p{from[4], from[5], from[6]};
      store(p + rotation(from) * translation(w, {d[3], d[4], d[5]}), to + 4);
    }
    for (int k = 0; k < 4; ++k) to[k] = turned[k];
  }
}

inline void difference(const Tree<double>& tree, const double* q0, const double* q1, double* out) {
  for (const Node<double>& node : tree.nodes) {
    const double *from = q0 + node.q, *to = q1 + node.q;
    double* d = out + node.v;
    if (node.nv == 1) {
      d[0] = to[0] - from[0];
      continue;
    }
    const double back[] = {-from[0], -from[1], -from[2], from[3]};
    double turn[4];
    quaternion_product(back, to, turn);
    const Vec3<double> w = quaternion_log(turn);
    if (node.kind == Kind::free) {
      const Vec3<double> p{to[4] - from[4], to[5] - from[5], to[6] - from[6]};
      store(inverse_translation(w, transposed(rotation(from), p)), d + 3);
    }
    store(w, d);
  }
}

}  // namespace jounce
