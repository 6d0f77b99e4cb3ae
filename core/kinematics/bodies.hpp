// Poses, twists and accelerations of all bodies.
//
//   T_i = T_p (pose in the parent),  V_i = Ad^-1 V_p + S v,  V_i' = Ad^-1 V_p' + S v' + ad_V S v
// (mueller, eq. 66), in body frames; the other representations follow.
#pragma once

#include "../tree/joint.hpp"
#include "representation.hpp"

namespace jounce {

template <class S>
struct BodiesWork {
  struct Row {
    Pose<S> world;
    Motion<S> twist, acceleration;
  };
  Angles<S> angles;
  Row* row;

  template <class P>
  BodiesWork(const Tree<P>& tree, Arena& arena)
      : angles(tree, arena), row(arena.take<Row>(tree.n)) {}
};

template <class S>
JOUNCE_INLINE Motion<S> bracket(const Motion<S>& a, const Motion<S>& b) {
  return {cross(a.w, b.w), cross(a.w, b.v) + cross(a.v, b.w)};
}

// v and a may be null.
template <class S, class P>
JOUNCE_INLINE void bodies_outward(const Tree<P>& tree, const S* q, const S* v, const S* a,
                                  BodiesWork<S>& work) {
  work.angles.compute(tree, q);
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    auto& me = work.row[i];
    const Pose<S> pose = joint_pose(node, q, work.angles.sine, work.angles.cosine);
    const auto* up = node.parent >= 0 ? &work.row[node.parent] : nullptr;
    me.world = up ? up->world * pose : pose;
    if (!v) continue;
    me.twist = up ? to_child(pose, up->twist) : Motion<S>::zero();
    if (a) me.acceleration = up ? to_child(pose, up->acceleration) : Motion<S>::zero();
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      const Motion<S> j = joint_motion<K>(node, v + node.v);
      if (a) {
        me.acceleration += bracket(me.twist, j);
        me.acceleration += joint_motion<K>(node, a + node.v);
      }
      me.twist += j;
    });
  }
}

// Outputs may be null: poses (n_bodies, 4, 4), twists and accelerations (n_bodies, 6).
template <class S, class P>
void bodies(const Tree<P>& tree, Representation representation, const S* q, const S* v, const S* a,
            S* poses, S* twists, S* accelerations, BodiesWork<S>& work) {
  bodies_outward(tree, q, v, a, work);
  for (int b = 0; b < tree.n_bodies; ++b) {
    const int i = tree.body_node[b];
    const Node<P>& node = tree.nodes[i];
    const auto& me = work.row[i];
    const Pose<S> world = me.world * inverse(node.alignment);
    if (poses) store(world, poses + 16 * b);
    if (!v) continue;
    const Motion<S> twist = to_parent(node.alignment, me.twist);
    if (twists) store(represented(representation, world, twist), twists + 6 * b);
    if (accelerations) {
      const Motion<S> rate = to_parent(node.alignment, me.acceleration);
      store(represented_rate(representation, world, twist, twist, rate), accelerations + 6 * b);
    }
  }
}

}  // namespace jounce
