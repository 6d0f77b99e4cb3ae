// Moving on the configuration manifold: q moved along a tangent vector, the tangent vector between two
// configurations, points between them, and the rates of the coordinates; left-trivialized for
// spherical and free joints.
#pragma once

#include "jounce/lie/group.hpp"
#include "jounce/tree/tree.hpp"

namespace jounce {

// Coordinates of one joint, moved.
inline void integrate(const Node<double>& node, const double* from, const double* d, double* to) {
  if (node.nv == 1) {
    to[0] = from[0] + d[0];
    return;
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

// The tangent vector of one joint.
inline void difference(const Node<double>& node, const double* from, const double* to, double* d) {
  if (node.nv == 1) {
    d[0] = to[0] - from[0];
    return;
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

inline void integrate(const Tree<double>& tree, const double* q, const double* dv, double* out) {
  for (const Node<double>& node : tree.nodes) integrate(node, q + node.q, dv + node.v, out + node.q);
}

inline void difference(const Tree<double>& tree, const double* q0, const double* q1, double* out) {
  for (const Node<double>& node : tree.nodes) difference(node, q0 + node.q, q1 + node.q, out + node.v);
}

// q0 moved by the part s of the tangent vector that leads to q1.
inline void interpolate(const Tree<double>& tree, const double* q0, const double* q1, double s,
                        double* out) {
  for (const Node<double>& node : tree.nodes) {
    double d[6];
    difference(node, q0 + node.q, q1 + node.q, d);
    for (int k = 0; k < node.nv; ++k) d[k] *= s;
    integrate(node, q0 + node.q, d, out + node.q);
  }
}

// dq/dt of one joint: a quaternion x changes by x (w, 0) / 2, the origin of a free joint by R u.
template <class S, class P>
JOUNCE_INLINE void joint_coordinate_rates(const Node<P>& node, const S* x, const S* rate, S* to) {
  if (!is_group(node.kind)) {
    to[0] = rate[0];
    return;
  }
  const Vec3<S> u{x[0], x[1], x[2]}, w{rate[0], rate[1], rate[2]};
  store((w * x[3] + cross(u, w)) * 0.5, to);
  to[3] = dot(u, w) * -0.5;
  if (node.kind == Kind::free) store(rotation(x) * Vec3<S>{rate[3], rate[4], rate[5]}, to + 4);
}

template <class S, class P>
void coordinate_rates(const Tree<P>& tree, const S* q, const S* v, S* out) {
  for (const Node<P>& node : tree.nodes) {
    joint_coordinate_rates(node, q + node.q, v + node.v, out + node.q);
  }
}

}  // namespace jounce
