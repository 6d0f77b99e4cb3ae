// The gradient of the work mu . inverse_dynamics(q, v, a) along a virtual motion mu, by q and v.
//
// Along the axes of each node, with its twist V, acceleration A (less gravity), virtual twist X by the
// rates mu, and inertia I:
//   (1) W = I A + V x* I V - external wrench,   P = I X,   R = I (X x V) - X x* I V + V x* P
// If joint j with screws S moves, the nodes of its subtree move as one body with all that belongs to
// them, but what the parent gives (index p) does not move along:
//   (2) X_i, V_i lose S x X_p and S x V_p;   A_i loses S x A_p + (S x V_p) x (V_i - V_p)
// The terms of one body do not change by what moves all of them. So with sums W, P, R over the subtree
//   (3) by q:  -S . (X_p x* W + A_p x* P + V_p x* G),   G = R - V_p x* P
//   (4) by v:   S . (G - V x* P)
// in O(n). The tangent space at q is the left-trivialized one.
#pragma once

#include "jounce/dynamics/inverse_dynamics.hpp"

namespace jounce {

template <class S>
struct WorkGradientWork {
  struct Row {
    Pose<S> in_parent;
    Motion<S> V, A, X, parent_V, parent_A, parent_X;
    Force<S> W, P, R;
  };
  Angles<S> angles;
  Row* row;

  template <class P>
  WorkGradientWork(const Tree<P>& tree, Arena& arena)
      : angles(tree, arena), row(arena.take<Row>(tree.n)) {}
};

// Equation (1).
template <class S, class P>
JOUNCE_INLINE void virtual_work_outward(const Tree<P>& tree, const S* q, const S* v, const S* a,
                                        const S* mu, const S* f_ext, WorkGradientWork<S>& work) {
  work.angles.compute(tree, q);
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    auto& me = work.row[i];
    me.in_parent = joint_pose(node, q, work.angles.sine, work.angles.cosine);
    if (node.parent < 0) {
      me.parent_V = me.parent_X = Motion<S>::zero();
      me.parent_A = {Vec3<S>::zero(), -transposed(me.in_parent.R, tree.gravity)};
    } else {
      const auto& up = work.row[node.parent];
      me.parent_V = to_child(me.in_parent, up.V);
      me.parent_A = to_child(me.in_parent, up.A);
      me.parent_X = to_child(me.in_parent, up.X);
    }
    me.V = me.parent_V, me.A = me.parent_A, me.X = me.parent_X;
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      const Motion<S> j = joint_motion<K>(node, v + node.v);
      me.A += bracket(me.parent_V, j);
      me.A += joint_motion<K>(node, a + node.v);
      me.V += j;
      me.X += joint_motion<K>(node, mu + node.v);
    });
    const RigidInertia<P>& I = node.inertia;
    const Force<S> momentum = I * me.V;
    me.W = I * me.A;
    me.W += dual_bracket(me.V, momentum);
    if (f_ext && node.body >= 0) me.W -= external_wrench(node, f_ext);
    me.P = I * me.X;
    me.R = I * bracket(me.X, me.V);
    me.R -= dual_bracket(me.X, momentum);
    me.R += dual_bracket(me.V, me.P);
  }
}

// dq, dv: (nv). `visit(i, row, T, G)` sees each node: how the work changes with a displacement S of it and
// its subtree, by -S . T, and with a rate along S, by S . G.
template <class S, class P, class Visit>
void work_gradient(const Tree<P>& tree, const S* q, const S* v, const S* a, const S* mu,
                   const S* f_ext, S* dq, S* dv, WorkGradientWork<S>& work, Visit&& visit) {
  virtual_work_outward(tree, q, v, a, mu, f_ext, work);
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<P>& node = tree.nodes[i];
    auto& me = work.row[i];
    Force<S> G = me.R, T = dual_bracket(me.parent_A, me.P);
    if (node.parent >= 0) {
      G -= dual_bracket(me.parent_V, me.P);
      T += dual_bracket(me.parent_X, me.W);
      T += dual_bracket(me.parent_V, G);
    }
    G -= dual_bracket(me.V, me.P);
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = 0; k < rates(K); ++k) {
        dq[node.v + k] = -along<K>(node, k, T);  // (3)
        dv[node.v + k] = along<K>(node, k, G);   // (4)
      }
    });
    visit(i, me, T, G);
    if (node.parent < 0) continue;
    auto& up = work.row[node.parent];
    up.W += to_parent(me.in_parent, me.W);
    up.P += to_parent(me.in_parent, me.P);
    up.R += to_parent(me.in_parent, me.R);
  }
}

template <class S, class P>
void work_gradient(const Tree<P>& tree, const S* q, const S* v, const S* a, const S* mu,
                   const S* f_ext, S* dq, S* dv, WorkGradientWork<S>& work) {
  work_gradient(tree, q, v, a, mu, f_ext, dq, dv, work, [](auto&&...) {});
}

}  // namespace jounce
