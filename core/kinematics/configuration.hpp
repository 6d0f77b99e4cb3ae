// Moving on the configuration manifold: q moved along a tangent vector, the tangent vector between two
// configurations, points between them, and the rates of the coordinates; left-trivialized for
// spherical and free joints.
#pragma once

#include "jounce/lie/group.hpp"
#include "jounce/tree/tree.hpp"

namespace jounce {

// Coordinates of one joint, moved.
template <class S, class P>
JOUNCE_INLINE void integrate(const Node<P>& node, const S* from, const S* d, S* to) {
  if (node.nv == 1) [[likely]] {
    to[0] = from[0] + d[0];
    return;
  }
  const Vec3<S> w = vector_from(d);
  if (node.kind == Kind::free) {
    store(vector_from(from + 4) + rotation(from) * translation(w, vector_from(d + 3)), to + 4);
  }
  turn_quaternion(from, w, to);
}

// The tangent vector of one joint.
template <class S, class P>
JOUNCE_INLINE void difference(const Node<P>& node, const S* from, const S* to, S* d) {
  if (node.nv == 1) [[likely]] {
    d[0] = to[0] - from[0];
    return;
  }
  const Vec3<S> w = turn_between(from, to);
  if (node.kind == Kind::free) {
    const Vec3<S> p = vector_from(to + 4) - vector_from(from + 4);
    store(inverse_translation(w, transposed(rotation(from), p)), d + 3);
  }
  store(w, d);
}

template <class S, class P>
void integrate(const Tree<P>& tree, const S* q, const S* dv, S* out) {
  for (const Node<P>& node : tree.nodes) integrate(node, q + node.q, dv + node.v, out + node.q);
}

template <class S, class P>
void difference(const Tree<P>& tree, const S* q0, const S* q1, S* out) {
  for (const Node<P>& node : tree.nodes) difference(node, q0 + node.q, q1 + node.q, out + node.v);
}

// q0 moved by the part s of the tangent vector that leads to q1.
template <class S, class P>
void interpolate(const Tree<P>& tree, const S* q0, const S* q1, const S& s, S* out) {
  for (const Node<P>& node : tree.nodes) {
    S d[6];
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
