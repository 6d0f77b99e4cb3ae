// Quantities of all nodes resolved along the axes of their root node, each about its own origin.
//
// The root node (the base, or the first link of an arm) has the identity pose, so neither the
// base's pose nor its distance from the world's origin enters. Moving a wrench or a motion from
// node to node is then a mere shift of the reference point.
#pragma once

#include "../tree/joint.hpp"

namespace jounce {

template <class S>
struct BaseFrameWork {
  Angles<S> angles;
  Pose<S>* pose;              // of each node in its root node
  RigidInertia<S>* inertia;   // own inertia, about the node's origin

  template <class P>
  BaseFrameWork(const Tree<P>& tree, Arena& arena)
      : angles(tree, arena),
        pose(arena.take<Pose<S>>(tree.n)),
        inertia(arena.take<RigidInertia<S>>(tree.n)) {}
};

template <class S, class P>
JOUNCE_INLINE void base_frame_poses(const Tree<P>& tree, const S* q, BaseFrameWork<S>& work) {
  work.angles.compute(tree, q);
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    if (node.parent < 0) {
      work.pose[i] = {Mat3<S>::identity(), Vec3<S>::zero()};
    } else {
      const Pose<S>& up = work.pose[node.parent];
      const Pose<P>& at = node.placement;
      if (node.kind == Kind::revolute) {
        work.pose[i].R = turned(up.R * at.R, work.angles.sine[node.angle], work.angles.cosine[node.angle]);
        work.pose[i].p = up.R * at.p + up.p;
      } else {
        work.pose[i] = up * joint_pose(node, q, work.angles.sine, work.angles.cosine);
      }
    }
    const Mat3<S>& R = work.pose[i].R;
    const RigidInertia<P>& own = node.inertia;
    work.inertia[i] = {S(own.m), R * own.h, rotated(R, own.I)};
  }
}

// Screw k of a node along the axes of its root, about the node's origin.
template <Kind K, class S, class P>
JOUNCE_INLINE Motion<S> base_frame_screw(const Node<P>& node, int k, const Mat3<S>& R) {
  const Vec3<S> zero = Vec3<S>::zero();
  if constexpr (K == Kind::revolute) return {R.z, zero};
  if constexpr (K == Kind::prismatic) return {zero, R.z};
  if constexpr (K == Kind::helical) return {R.z, R.z * node.pitch};
  const Vec3<S>& axis = k % 3 == 0 ? R.x : k % 3 == 1 ? R.y : R.z;
  return k < 3 ? Motion<S>{axis, zero} : Motion<S>{zero, axis};
}

}  // namespace jounce
