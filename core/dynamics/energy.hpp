// Energies.
#pragma once

#include "jounce/kinematics/center_of_mass.hpp"

namespace jounce {

template <class S, class P>
void kinetic_energy(const Tree<P>& tree, const S* q, const S* v, S* out, BodiesWork<S>& work) {
  bodies_outward(tree, q, v, (const S*)nullptr, work);
  S twice(0.0);
  for (int i = 0; i < tree.n; ++i) {
    const Motion<S>& twist = work.row[i].twist;
    twice += dot(tree.nodes[i].inertia * twist, twist);
  }
  for (int k = 0; k < tree.nv; ++k) twice += v[k] * v[k] * tree.armature[k];
  out[0] = twice * 0.5;
}

// The gradient of the kinetic energy T. With the twists V of the nodes and the momenta P of their subtrees,
// along their own axes, joint j with screws S lets the twists of its subtree lose S x V_p when it moves
// (index p: what the parent gives), so that
//   (1) dT/dq = -S . (V_p x* P),  dT/dv = S . P + armature v.
template <class S>
struct EnergyGradientWork {
  struct Row {
    Pose<S> in_parent;
    Motion<S> V, parent_V;
    Force<S> P;
  };
  Angles<S> angles;
  Row* row;

  template <class P>
  EnergyGradientWork(const Tree<P>& tree, Arena& arena)
      : angles(tree, arena), row(arena.take<Row>(tree.n)) {}
};

template <class S, class P>
void kinetic_energy_gradient(const Tree<P>& tree, const S* q, const S* v, S* dq, S* dv,
                             EnergyGradientWork<S>& work) {
  work.angles.compute(tree, q);
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    auto& me = work.row[i];
    me.in_parent = joint_pose(node, q, work.angles.sine, work.angles.cosine);
    me.parent_V = node.parent < 0 ? Motion<S>::zero() : to_child(me.in_parent, work.row[node.parent].V);
    me.V = me.parent_V;
    with_kind(node.kind, [&](auto kind) { me.V += joint_motion<decltype(kind)::value>(node, v + node.v); });
    me.P = node.inertia * me.V;
  }
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<P>& node = tree.nodes[i];
    const auto& me = work.row[i];
    const Force<S> lost = dual_bracket(me.parent_V, me.P);
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = 0; k < rates(K); ++k) {
        const int r = node.v + k;
        dq[r] = -along<K>(node, k, lost);  // (1)
        dv[r] = along<K>(node, k, me.P) + v[r] * tree.armature[r];
      }
    });
    if (node.parent >= 0) work.row[node.parent].P += to_parent(me.in_parent, me.P);
  }
}

template <class S, class P>
void potential_energy(const Tree<P>& tree, const S* q, S* out, BodiesWork<S>& work) {
  Vec3<S> h;
  bodies_outward(tree, q, (const S*)nullptr, (const S*)nullptr, work);
  first_moment(tree, work, h);
  out[0] = -dot(h, tree.gravity);
}

// The potential energy U and its gradient. With gravity g along the axes of a node, whose subtree has the
// mass m and the first moment h about its origin, what holds the subtree is the wrench
//   (2) (n, f) = -(h x g, m g),  dU/dq = S . (n, f).
template <class S>
struct PotentialGradientWork {
  struct Row {
    Pose<S> in_parent;
    Vec3<S> g;
    PointMass<S> mass;
  };
  Angles<S> angles;
  Row* row;

  template <class P>
  PotentialGradientWork(const Tree<P>& tree, Arena& arena)
      : angles(tree, arena), row(arena.take<Row>(tree.n)) {}
};

template <class S, class P>
void potential_energy_gradient(const Tree<P>& tree, const S* q, S* energy, S* dq,
                               PotentialGradientWork<S>& work) {
  work.angles.compute(tree, q);
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    auto& me = work.row[i];
    me.in_parent = joint_pose(node, q, work.angles.sine, work.angles.cosine);
    me.g = transposed(me.in_parent.R, node.parent < 0 ? Vec3<S>::zero() + tree.gravity : work.row[node.parent].g);
    me.mass = {S(node.inertia.m), Vec3<S>::zero() + node.inertia.h};
  }
  *energy = S(0.0);
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<P>& node = tree.nodes[i];
    const auto& me = work.row[i];
    const Force<S> held{cross(me.g, me.mass.h), -(me.g * me.mass.m)};  // (2)
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = 0; k < rates(K); ++k) dq[node.v + k] = along<K>(node, k, held);
    });
    const Vec3<S> h = me.in_parent.R * me.mass.h + me.in_parent.p * me.mass.m;
    if (node.parent < 0) {
      *energy -= dot(h, tree.gravity);
    } else {
      work.row[node.parent].mass += PointMass<S>{me.mass.m, h};
    }
  }
}

}  // namespace jounce
