// Forward and hybrid dynamics with articulated inertias, in body frames
// (kim, Tables 3 and 4; ali, Algorithms 3 and 4 at order 0).
//
// The wrench that a joint must transmit is affine in the acceleration x = (alpha, a) of its node:
//   (1) F = J x + F0
// with x = X x_parent + c + sum_k s_k y_k, where y_k are the accelerations of the joint's rates
// and c its velocity-dependent part. Rates are eliminated one at a time, the last first, also
// within a multi-DoF joint, so that each may be prescribed or free. With U, D and J of factor.hpp:
//   free:       (2) u = tau - s^T F0,  y = (u - U^T x) / D,  F0 += U u / D
//   prescribed: (3) F0 += U y,  and later tau = U^T x + D y + s^T F0
// where x holds the parent's part and the rates before k.
#pragma once

#include "jounce/dynamics/factor.hpp"
#include "jounce/dynamics/inverse_dynamics.hpp"

namespace jounce {

template <class S>
struct ArticulatedWork {
  struct Row : ArticulatedNode<S> {
    Pose<S> in_parent;
    Vec3<S> w;
    Motion<S> c;
    Force<S> F0;
    Motion<S> x;
  };
  using Rate = SolvedRate<S>;
  Angles<S> angles;
  Row* row;
  Rate* rate;

  template <class P>
  ArticulatedWork(const Tree<P>& tree, Arena& arena)
      : angles(tree, arena), row(arena.take<Row>(tree.n)), rate(arena.take<Rate>(tree.nv)) {}
};

// Poses and factors of the mass matrix at q. Returns a singular node or -1.
template <class S, class P, class Row, class Rate>
JOUNCE_INLINE int factor_at(const Tree<P>& tree, const S* q, Angles<S>& angles, Row* row, Rate* rate) {
  angles.compute(tree, q);
  for (int i = 0; i < tree.n; ++i) {
    row[i].in_parent = joint_pose(tree.nodes[i], q, angles.sine, angles.cosine);
    row[i].start(tree.nodes[i].inertia);
  }
  int singular = -1;
  factor_inward<S>(tree, NoneMask{}, NodeAxes{}, row, rate, singular, FactorVisitor{});
  return singular;
}

// Velocities, velocity-dependent accelerations and wrenches, own inertias.
template <class S, class P>
JOUNCE_INLINE void articulated_outward(const Tree<P>& tree, const S* q, const S* v, const S* f_ext,
                                       ArticulatedWork<S>& work) {
  work.angles.compute(tree, q);
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    auto& me = work.row[i];
    me.in_parent = joint_pose(node, q, work.angles.sine, work.angles.cosine);
    me.w = Vec3<S>::zero();
    me.c = Motion<S>::zero();
    if (node.parent >= 0) {
      const Mat3<S>& R = me.in_parent.R;
      const Vec3<S>& parent_w = work.row[node.parent].w;
      me.w = transposed(R, parent_w);
      me.c.v = transposed(R, cross(parent_w, cross(parent_w, me.in_parent.p)));
    }
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      const Motion<S> j = joint_motion<K>(node, v + node.v);
      if constexpr (moves(K)) me.c.v += cross(me.w * 2.0 + j.w, j.v);
      if constexpr (rotates(K)) {
        me.c.w = cross(me.w, j.w);
        me.w += j.w;
      }
    });
    const RigidInertia<P>& I = node.inertia;
    me.start(I);
    me.F0 = {cross(me.w, I.I * me.w), cross(me.w, cross(me.w, I.h))};
    if (f_ext && node.body >= 0) me.F0 -= external_wrench(node, f_ext);
  }
}

// Equations (2) and (3) for the bias wrenches, while the inertias are factored.
template <class S, class P, class Mask>
struct BiasReduction : FactorVisitor {
  using Row = typename ArticulatedWork<S>::Row;
  using Rate = typename ArticulatedWork<S>::Rate;
  const Tree<P>& tree;
  Mask prescribed;
  const S *a, *tau;
  Row* row;

  BiasReduction(const Tree<P>& t, Mask mask, const S* given_a, const S* given_tau, Row* rows)
      : tree(t), prescribed(mask), a(given_a), tau(given_tau), row(rows) {}

  JOUNCE_INLINE bool enter(int i, Row& me) {
    join(tree.nodes[i].sharing, me.F0);
    me.F0 += me.J * me.c;
    return true;
  }
  template <Kind K>
  JOUNCE_INLINE void eliminated(int i, int k, Row& me, Rate& rate, const Vec3<S>&) {
    const Node<P>& node = tree.nodes[i];
    const S bias = along<K>(node, k, me.F0);
    if (prescribed(node.v + k)) {
      rate.u = bias;
      me.F0 += rate.U * a[node.v + k];
    } else {
      rate.release(tau[node.v + k] - bias, me.F0);
    }
  }
  JOUNCE_INLINE void leave(int i, Row& me) {
    const Node<P>& node = tree.nodes[i];
    if (node.parent >= 0) row[node.parent].F0 += own(node.sharing, to_parent(me.in_parent, me.F0));
  }
};

// Eliminates the rates from the leaves to the root. Returns the node with a vanishing D, or -1.
template <class S, class P, class Mask>
JOUNCE_INLINE int articulated_inward(const Tree<P>& tree, const S* a, const S* tau, Mask prescribed,
                                     ArticulatedWork<S>& work) {
  int singular = -1;
  BiasReduction<S, P, Mask> reduction(tree, prescribed, a, tau, work.row);
  factor_inward<S>(tree, prescribed, NodeAxes{}, work.row, work.rate, singular, reduction);
  return singular;
}

// Accelerations (and forces at prescribed rates) from the root to the leaves.
template <class S, class P, class Mask>
JOUNCE_INLINE void articulated_solve(const Tree<P>& tree, const Vec3<P>& gravity, const S* a,
                                     const S* tau, Mask prescribed, S* a_out, S* tau_out,
                                     ArticulatedWork<S>& work) {
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    auto& me = work.row[i];
    if (node.parent < 0) {
      me.x = {Vec3<S>::zero(), -transposed(me.in_parent.R, gravity)};
    } else {
      me.x = to_child(me.in_parent, work.row[node.parent].x);
    }
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = 0; k < rates(K); ++k) {
        const int at = node.v + k;
        const auto& rate = work.rate[at];
        S y;
        if (prescribed(at)) {
          y = a[at];
          if (tau_out) tau_out[at] = dot(rate.U, me.x) + rate.D * y + rate.u;
        } else {
          y = rate.acceleration(me.x);
          if (tau_out) tau_out[at] = tau[at];
        }
        a_out[at] = y;
        add_rate<K>(node, k, y, me.x);
      }
    });
    me.x += me.c;
  }
}

template <class S, class P>
int forward_dynamics(const Tree<P>& tree, const S* q, const S* v, const S* tau, const S* f_ext,
                     S* a, ArticulatedWork<S>& work) {
  articulated_outward(tree, q, v, f_ext, work);
  const int singular = articulated_inward(tree, (const S*)nullptr, tau, NoneMask{}, work);
  articulated_solve(tree, tree.gravity, (const S*)nullptr, tau, NoneMask{}, a, (S*)nullptr, work);
  return singular;
}

template <class S, class P>
int hybrid_dynamics(const Tree<P>& tree, const unsigned char* mask, const S* q, const S* v,
                    const S* a, const S* tau, const S* f_ext, S* a_out, S* tau_out,
                    ArticulatedWork<S>& work) {
  const SomeMask prescribed{mask};
  articulated_outward(tree, q, v, f_ext, work);
  const int singular = articulated_inward(tree, a, tau, prescribed, work);
  articulated_solve(tree, tree.gravity, a, tau, prescribed, a_out, tau_out, work);
  return singular;
}

}  // namespace jounce
