// What each elementary joint does, in its own frame: pose, rates, and work.
//
// `with_kind(kind, f)` calls f with the kind as a compile-time constant, so that a recursion is
// written once and compiled for each joint.
#pragma once

#include <type_traits>

#include "jounce/scalar/sincos.hpp"
#include "jounce/tree/tree.hpp"
#include "jounce/tree/workspace.hpp"

namespace jounce {

template <Kind K>
using KindOf = std::integral_constant<Kind, K>;

template <class F>
JOUNCE_INLINE void with_kind(Kind kind, F&& f) {
  switch (kind) {
    case Kind::revolute: f(KindOf<Kind::revolute>{}); break;
    case Kind::prismatic: f(KindOf<Kind::prismatic>{}); break;
    case Kind::helical: f(KindOf<Kind::helical>{}); break;
    case Kind::spherical: f(KindOf<Kind::spherical>{}); break;
    case Kind::free: f(KindOf<Kind::free>{}); break;
  }
}

// Pose of node in its parent.
template <class S, class P>
JOUNCE_INLINE Pose<S> joint_pose(const Node<P>& node, const S* q, const S* sine, const S* cosine) {
  const Pose<P>& at = node.placement;
  const S* x = q + node.q;
  switch (node.kind) {
    case Kind::revolute:
      return {turned(at.R, sine[node.angle], cosine[node.angle]), Vec3<S>::zero() + at.p};
    case Kind::prismatic:
      return {{Vec3<S>::zero() + at.R.x, Vec3<S>::zero() + at.R.y, Vec3<S>::zero() + at.R.z},
              at.R.z * x[0] + at.p};
    case Kind::helical:
      return {turned(at.R, sine[node.angle], cosine[node.angle]),
              at.R.z * (x[0] * node.pitch) + at.p};
    case Kind::spherical:
      return {at.R * rotation(x), Vec3<S>::zero() + at.p};
    case Kind::free:
    default:
      return {at.R * rotation(x), at.R * Vec3<S>{x[4], x[5], x[6]} + at.p};
  }
}

// Motion of the child relative to its parent for rates x (constant screws times rates).
template <Kind K, class S, class P>
JOUNCE_INLINE Motion<S> joint_motion(const Node<P>& node, const S* x) {
  const S o(0.0);
  if constexpr (K == Kind::revolute) return {{o, o, x[0]}, {o, o, o}};
  if constexpr (K == Kind::prismatic) return {{o, o, o}, {o, o, x[0]}};
  if constexpr (K == Kind::helical) return {{o, o, x[0]}, {o, o, x[0] * node.pitch}};
  if constexpr (K == Kind::spherical) return {{x[0], x[1], x[2]}, {o, o, o}};
  if constexpr (K == Kind::free) return {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
}

// Adds (screw k) times rate to a motion.
template <Kind K, class S, class P>
JOUNCE_INLINE void add_rate(const Node<P>& node, int k, const S& rate, Motion<S>& m) {
  if constexpr (K == Kind::revolute) m.w.z += rate;
  if constexpr (K == Kind::prismatic) m.v.z += rate;
  if constexpr (K == Kind::helical) { m.w.z += rate; m.v.z += rate * node.pitch; }
  if constexpr (is_group(K)) {
    switch (k) {
      case 0: m.w.x += rate; break;
      case 1: m.w.y += rate; break;
      case 2: m.w.z += rate; break;
      case 3: m.v.x += rate; break;
      case 4: m.v.y += rate; break;
      default: m.v.z += rate;
    }
  }
}

// Generalized force of a wrench along screw k.
template <Kind K, class S, class P>
JOUNCE_INLINE S along(const Node<P>& node, int k, const Force<S>& x) {
  if constexpr (K == Kind::revolute) return x.n.z;
  if constexpr (K == Kind::prismatic) return x.f.z;
  if constexpr (K == Kind::helical) return x.n.z + x.f.z * node.pitch;
  switch (k) {
    case 0: return x.n.x;
    case 1: return x.n.y;
    case 2: return x.n.z;
    case 3: return x.f.x;
    case 4: return x.f.y;
    default: return x.f.z;
  }
}

// Inertia times screw k.
template <Kind K, class S, class P>
JOUNCE_INLINE Force<S> times_screw(const ArticulatedInertia<S>& j, const Node<P>& node, int k) {
  if constexpr (K == Kind::revolute) return j.column(2);
  if constexpr (K == Kind::prismatic) return j.column(5);
  if constexpr (K == Kind::helical) {
    Force<S> u = j.column(2);
    u += j.column(5) * node.pitch;
    return u;
  }
  return j.column(k);
}

// Sines and cosines of all angles: laid out once, filled by one vectorized call.
template <class S>
struct Angles {
  S *sine, *cosine;

  template <class P>
  Angles(const Tree<P>& tree, Arena& arena) {
    const std::size_t room = tree.angle_q.size() + lanes<Wide>;
    sine = arena.take<S>(room);
    cosine = arena.take<S>(room);
  }
  template <class P>
  JOUNCE_INLINE void compute(const Tree<P>& tree, const S* q) {
    sincos_gather(q, tree.angle_q.data(), int(tree.angle_q.size()), sine, cosine);
  }
};

}  // namespace jounce
