// Poses, twists and accelerations of all bodies.
//
//   T_i = T_p (pose in the parent),  V_i = Ad^-1 V_p + S v,  V_i' = Ad^-1 V_p' + S v' + ad_V S v
// (mueller, eq. 66), in body frames; the other representations follow.
#pragma once

#include "jounce/kinematics/representation.hpp"
#include "jounce/tree/joint.hpp"

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

// v and a may be null.
template <class S, class P>
JOUNCE_INLINE void bodies_outward(const Tree<P>& tree, const S* q, const S* v, const S* a,
                                  BodiesWork<S>& work) {
  work.angles.compute(tree, q);
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    auto& me = work.row[i];
    const Pose<S> in_parent = joint_pose(node, q, work.angles.sine, work.angles.cosine);
    const auto* parent = node.parent >= 0 ? &work.row[node.parent] : nullptr;
    me.world = parent ? parent->world * in_parent : in_parent;
    if (!v) continue;
    me.twist = parent ? to_child(in_parent, parent->twist) : Motion<S>::zero();
    if (a) me.acceleration = parent ? to_child(in_parent, parent->acceleration) : Motion<S>::zero();
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      const Motion<S> joint = joint_motion<K>(node, v + node.v);
      if (a) {
        me.acceleration += bracket(me.twist, joint);
        me.acceleration += joint_motion<K>(node, a + node.v);
      }
      me.twist += joint;
    });
  }
}

// Calls visit(body, node, row, pose of the body in the world).
template <class S, class P, class Visit>
JOUNCE_INLINE void for_bodies(const Tree<P>& tree, const BodiesWork<S>& work, Visit&& visit) {
  for (int b = 0; b < tree.n_bodies; ++b) {
    const int i = tree.body_node[b];
    const Node<P>& node = tree.nodes[i];
    visit(b, node, work.row[i], work.row[i].world * inverse(node.alignment));
  }
}

// poses: (n_bodies, 4, 4).
template <class S, class P>
void body_poses(const Tree<P>& tree, const S* q, S* poses, BodiesWork<S>& work) {
  bodies_outward(tree, q, (const S*)nullptr, (const S*)nullptr, work);
  for_bodies(tree, work, [&](int b, const auto&, const auto&, const Pose<S>& world) {
    store(world, poses + 16 * b);
  });
}

// twists: (n_bodies, 6).
template <class S, class P>
void body_twists(const Tree<P>& tree, Representation representation, const S* q, const S* v,
                 S* twists, BodiesWork<S>& work) {
  bodies_outward(tree, q, v, (const S*)nullptr, work);
  for_bodies(tree, work, [&](int b, const auto& node, const auto& row, const Pose<S>& world) {
    const Motion<S> twist = to_parent(node.alignment, row.twist);
    store(represented(representation, world, twist), twists + 6 * b);
  });
}

// accelerations: (n_bodies, 6).
template <class S, class P>
void body_accelerations(const Tree<P>& tree, Representation representation, const S* q, const S* v,
                        const S* a, S* accelerations, BodiesWork<S>& work) {
  bodies_outward(tree, q, v, a, work);
  for_bodies(tree, work, [&](int b, const auto& node, const auto& row, const Pose<S>& world) {
    const Motion<S> twist = to_parent(node.alignment, row.twist);
    const Motion<S> rate = to_parent(node.alignment, row.acceleration);
    store(represented_rate(representation, world, twist, twist, rate), accelerations + 6 * b);
  });
}

}  // namespace jounce
