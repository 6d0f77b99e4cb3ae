// Quantities of all nodes resolved along the axes of their root node, each about its own origin.
//
// The root node (the base, or the first link of an arm) has the identity pose, so neither the
// base's pose nor its distance from the world's origin enters; a base that slides is taken where
// its slides end. Moving a wrench or a motion from node to node is then a mere shift of the
// reference point.
#pragma once

#include "jounce/tree/joint.hpp"
#include "jounce/vec/triple.hpp"

namespace jounce {

template <class S>
struct BasePoses {
  Angles<S> angles;
  Pose<S>* in_root;  // of each node

  template <class P>
  BasePoses(const Tree<P>& tree, Arena& arena)
      : angles(tree, arena),
        in_root(arena.take<Pose<S>>(tree.n + 1)) {}  // a triple needs room behind it
};

template <class S>
struct BaseFrameWork : BasePoses<S> {
  RigidInertia<S>* inertia;  // own inertia, about the node's origin

  template <class P>
  BaseFrameWork(const Tree<P>& tree, Arena& arena)
      : BasePoses<S>(tree, arena), inertia(arena.take<RigidInertia<S>>(tree.n + 1)) {}
};

// Calls visit(i, R) when the axes R of node i are known.
template <class S, class P, class Visit>
JOUNCE_INLINE void base_poses(const Tree<P>& tree, const S* q, BasePoses<S>& work, Visit&& visit) {
  work.angles.compute(tree, q);
  Pose<S>* const in_root = work.in_root;
  Triad<S> R = Triad<S>::identity();  // of the node before, then of the node
  Triple<S> p = R.x * S(0.0);
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    if (node.parent < 0) {
      R = Triad<S>::identity();
      p = R.x * S(0.0);
    } else {
      if (!has_triples<S> || node.parent != i - 1) {  // else it is in registers
        const Pose<S>& parent = in_root[node.parent];
        R = {triple(parent.R.x), triple(parent.R.y), triple(parent.R.z)};
        p = triple(parent.p);
      }
      if (node.kind == Kind::revolute) {
        p = R * node.placement.p + p;
        R = turned(R * node.placement.R, work.angles.sine[node.angle], work.angles.cosine[node.angle]);
      } else {
        const Pose<S> joint = joint_pose(node, q, work.angles.sine, work.angles.cosine);
        p = R * joint.p + p;
        R = R * joint.R;
      }
    }
    set(in_root[i].R.x, R.x);
    set(in_root[i].R.y, R.y);
    set(in_root[i].R.z, R.z);
    set(in_root[i].p, p);
    visit(i, R);
    if (node.recenter >= 0) {
      const Vec3<S> origin = in_root[i].p;
      for (int j = node.recenter; j <= i; ++j) in_root[j].p -= origin;
      p = R.x * S(0.0);
    }
  }
}

template <class S, class P>
JOUNCE_INLINE void base_frame(const Tree<P>& tree, const S* q, BaseFrameWork<S>& work) {
  base_poses(tree, q, work, [&](int i, const Triad<S>& R) JOUNCE_INLINED {
    const RigidInertia<P>& own = tree.nodes[i].inertia;
    RigidInertia<S>& me = work.inertia[i];
    me.m = S(own.m);
    set(me.h, R * own.h);
    set_rotated(me.I, R, work.in_root[i].R, own.I);
  });
}

// Screw k of a node along the axes of its root, about the node's origin.
template <Kind K, class S, class P>
JOUNCE_INLINE Motion<S> base_frame_screw(const Node<P>& node, int k, const Mat3<S>& R) {
  if constexpr (K == Kind::revolute) return {R.z, Vec3<S>::zero()};
  if constexpr (K == Kind::prismatic) return {Vec3<S>::zero(), R.z};
  if constexpr (K == Kind::helical) return {R.z, R.z * node.pitch};
  const Vec3<S>& axis = k % 3 == 0 ? R.x : k % 3 == 1 ? R.y : R.z;
  if (k < 3) return {axis, Vec3<S>::zero()};
  return {Vec3<S>::zero(), axis};
}

// Twists of all nodes along the axes of their roots, each about its own origin.
template <class S, class P>
JOUNCE_INLINE void base_frame_twists(const Tree<P>& tree, const S* v, const BasePoses<S>& work,
                                     Motion<S>* twist) {
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    const Mat3<S>& R = work.in_root[i].R;
    twist[i] = Motion<S>::zero();
    if (node.parent >= 0) {
      twist[i] = moved(twist[node.parent], work.in_root[i].p - work.in_root[node.parent].p);
    }
    with_kind(node.kind, [&](auto kind) {
      const Motion<S> joint = joint_motion<decltype(kind)::value>(node, v + node.v);
      twist[i] += Motion<S>{R * joint.w, R * joint.v};
    });
  }
}

// A root's axes and the reference point of its tree, in the world.
template <class S, class P>
JOUNCE_INLINE Pose<S> base_frame_in_world(const Tree<P>& tree, int root, const S* q,
                                          const BasePoses<S>& work) {
  Pose<S> at = joint_pose(tree.nodes[root], q, work.angles.sine, work.angles.cosine);
  at.p -= at.R * work.in_root[root].p;  // which is the root, seen from that point
  return at;
}

// The node whose origin is the reference point of a root's tree.
template <class P>
JOUNCE_INLINE int base_of(const Tree<P>& tree, int root) {
  while (tree.nodes[root].recenter < 0) ++root;
  return root;
}

// Adds what belongs to the nodes of subtrees (inertias, their rates, momenta), each about its node's
// origin. Massless nodes that lead from a root to the base may lie far away: theirs are about the
// origin of the base.
template <class S, class P, class T>
JOUNCE_INLINE void sum_subtrees(const Tree<P>& tree, const Pose<S>* pose, T* sum) {
  for (int root = 0; root < tree.n; root = tree.nodes[root].end) {
    const int base = base_of(tree, root);
    for (int i = root; i < base; ++i) sum[i] = shifted(pose[i].p - pose[base].p, sum[i]);
    for (int i = tree.nodes[root].end - 1; i > root; --i) {
      const int parent = tree.nodes[i].parent;
      sum[parent] += i <= base ? sum[i] : shifted(pose[i].p - pose[parent].p, sum[i]);
    }
  }
}

// Calls visit(i, at) for the nodes of a root's tree; `at` is the node about whose origin its subtree
// was summed.
template <class P, class Visit>
JOUNCE_INLINE void for_summed(const Tree<P>& tree, int root, Visit&& visit) {
  const int base = base_of(tree, root);
  for (int i = root; i < tree.nodes[root].end; ++i) visit(i, i < base ? base : i);
}

// The twist of a node's parent about the origin of the node `at`; zero for the world.
template <class S, class P>
JOUNCE_INLINE Motion<S> parent_twist(const Tree<P>& tree, int i, int at, const BasePoses<S>& work,
                                     const Motion<S>* twist) {
  const int parent = tree.nodes[i].parent;
  if (parent < 0) return Motion<S>::zero();
  return moved(twist[parent], work.in_root[at].p - work.in_root[parent].p);
}

// Inertia times such a screw, and a wrench along it.
template <Kind K, class S>
JOUNCE_INLINE Force<S> times_screw(const ArticulatedInertia<S>& j, const Motion<S>& s) {
  if constexpr (!moves(K)) return {j.A * s.w, transposed(j.B, s.w)};
  if constexpr (!rotates(K)) return {j.B * s.v, j.C * s.v};
  return j * s;
}
template <Kind K, class A, class S>
JOUNCE_INLINE A along(const Force<A>& x, const Motion<S>& s) {
  if constexpr (!moves(K)) return dot(x.n, s.w);
  if constexpr (!rotates(K)) return dot(x.f, s.v);
  return dot(x, s);
}

}  // namespace jounce
