// Forward and hybrid dynamics with articulated inertias, in body frames
// (kim, Tables 3 and 4; ali, Algorithms 3 and 4 at order 0).
//
// The wrench that a joint must transmit is affine in the acceleration x = (alpha, a) of its node:
//   (1) F = J x + F0
// with x = X x_parent + c + sum_k s_k y_k, where y_k are the accelerations of the joint's rates
// and c its velocity-dependent part. Rates are eliminated one at a time, the last first, also
// within a multi-DoF joint, so that each may be prescribed or free. With U = J s, D = s^T U +
// armature:
//   free:       (2) u = tau - s^T F0,  y = (u - U^T x) / D,  J -= U U^T / D,  F0 += U u / D
//   prescribed: (3) F0 += U y,  and later tau = U^T x + D y + s^T F0
// where x holds the parent's part and the rates before k. D must not vanish: it is compared with
// the inertia before the eliminations below it, whose rounding errors it carries.
#pragma once

#include "inverse_dynamics.hpp"

namespace jounce {

template <class S>
struct ArticulatedWork {
  struct Row {
    Pose<S> pose;
    Vec3<S> w;
    Motion<S> c;
    ArticulatedInertia<S> J;
    Force<S> F0;
    Motion<S> x;
    S angular_scale, linear_scale;
  };
  struct Rate {
    Force<S> U;
    S inverse_D, D, u;
  };
  Angles<S> angles;
  Row* row;
  Rate* rate;

  template <class P>
  ArticulatedWork(const Tree<P>& tree, Arena& arena)
      : angles(tree, arena), row(arena.take<Row>(tree.n)), rate(arena.take<Rate>(tree.nv)) {}
};

// Which joints' accelerations are given: none, all that a mask says.
struct NoneMask {
  JOUNCE_INLINE bool operator()(int) const { return false; }
};
struct SomeMask {
  const unsigned char* prescribed;
  JOUNCE_INLINE bool operator()(int k) const { return prescribed[k] != 0; }
};

constexpr double kSingular = 64 * kEpsilon;

// Whether a pivot is within rounding errors of zero, negative or not a number.
template <class S>
JOUNCE_INLINE bool vanishes(const S& pivot, const S& scale) {
  return !all(value(pivot) > value(scale * kSingular));
}

// Velocities, velocity-dependent accelerations and wrenches, own inertias.
template <class S, class P>
JOUNCE_INLINE void articulated_outward(const Tree<P>& tree, const S* q, const S* v, const S* f_ext,
                                       ArticulatedWork<S>& work) {
  using Row = typename ArticulatedWork<S>::Row;
  work.angles.compute(tree, q);
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    Row& me = work.row[i];
    me.pose = joint_pose(node, q, work.angles.sine, work.angles.cosine);
    me.w = Vec3<S>::zero();
    me.c = Motion<S>::zero();
    if (node.parent >= 0) {
      const Row& up = work.row[node.parent];
      me.w = transposed(me.pose.R, up.w);
      me.c.v = transposed(me.pose.R, cross(up.w, cross(up.w, me.pose.p)));
    }
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      const Motion<S> j = joint_motion<K>(node, v + node.v);
      if constexpr (K != Kind::revolute && K != Kind::spherical) {
        me.c.v += cross(me.w * 2.0 + j.w, j.v);
      }
      if constexpr (K != Kind::prismatic) {
        me.c.w = cross(me.w, j.w);
        me.w += j.w;
      }
    });
    const RigidInertia<P>& I = node.inertia;
    me.J = ArticulatedInertia<S>::of(I);
    me.F0 = {cross(me.w, I.I * me.w), cross(me.w, cross(me.w, I.h))};
    if (f_ext && node.body >= 0) me.F0 -= external_wrench(node, f_ext);
    me.angular_scale = S(trace(I.I));
    me.linear_scale = S(I.m);
  }
}

// Factors the inertia of a node: eliminates its free rates from J, the last first, into `rate`.
// Returns whether a D vanishes.
template <Kind K, class S, class P, class Row, class Rate, class Mask>
JOUNCE_INLINE bool factor_node(const Tree<P>& tree, const Node<P>& node, Mask prescribed, Row& me,
                               Rate* rate) {
  bool singular = false;
  for (int k = rates(K) - 1; k >= 0; --k) {
    Rate& r = rate[node.v + k];
    r.U = times_screw<K>(me.J, node, k);
    r.D = along<K>(node, k, r.U) + tree.armature[node.v + k];
    if (prescribed(node.v + k)) continue;
    const bool slides = K == Kind::prismatic || (K == Kind::free && k >= 3);
    const S scale = slides ? me.linear_scale
                           : me.angular_scale + me.linear_scale * (node.pitch * node.pitch);
    if (vanishes(r.D, scale)) singular = true;
    r.inverse_D = S(1.0) / r.D;
    if (node.parent >= 0 || k > 0) me.J.eliminate(r.U, r.U * r.inverse_D);
  }
  return singular;
}

// Equations (2) and (3) for the bias wrench F0 of a factored node.
template <Kind K, class S, class P, class Rate, class Mask>
JOUNCE_INLINE void reduce_node(const Node<P>& node, Mask prescribed, const S* a, const S* tau,
                               Force<S>& F0, Rate* rate) {
  for (int k = rates(K) - 1; k >= 0; --k) {
    Rate& r = rate[node.v + k];
    r.u = along<K>(node, k, F0);
    if (prescribed(node.v + k)) {
      F0 += r.U * a[node.v + k];
    } else {
      r.u = tau[node.v + k] - r.u;
      F0 += r.U * (r.u * r.inverse_D);
    }
  }
}

// Adds an eliminated node's inertia and scale to its parent's.
template <class Row, class S>
JOUNCE_INLINE void pass_inertia(const Row& me, Row& up, S angular, S linear) {
  up.J += shifted(me.pose.p, rotated(me.pose.R, me.J));
  up.angular_scale += angular + dot(me.pose.p, me.pose.p) * linear;
  up.linear_scale += linear;
}

// Eliminates the rates from the leaves to the root. Returns the node with a vanishing D, or -1.
template <class S, class P, class Mask>
JOUNCE_INLINE int articulated_inward(const Tree<P>& tree, const S* a, const S* tau, Mask prescribed,
                                     ArticulatedWork<S>& work) {
  int singular = -1;
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<P>& node = tree.nodes[i];
    auto& me = work.row[i];
    me.F0 += me.J * me.c;
    const S angular = trace(me.J.A), linear = trace(me.J.C);
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      if (factor_node<K, S>(tree, node, prescribed, me, work.rate) && singular < 0) singular = i;
      reduce_node<K>(node, prescribed, a, tau, me.F0, work.rate);
    });
    if (node.parent < 0) continue;
    pass_inertia(me, work.row[node.parent], angular, linear);
    work.row[node.parent].F0 += to_parent(me.pose, me.F0);
  }
  return singular;
}

// Accelerations (and forces at prescribed rates) from the root to the leaves.
template <class S, class P, class Mask>
JOUNCE_INLINE void articulated_solve(const Tree<P>& tree, const S* a, const S* tau, Mask prescribed,
                                     S* a_out, S* tau_out, ArticulatedWork<S>& work) {
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    auto& me = work.row[i];
    if (node.parent < 0) {
      me.x = {Vec3<S>::zero(), -transposed(me.pose.R, tree.gravity)};
    } else {
      me.x = to_child(me.pose, work.row[node.parent].x);
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
          y = (rate.u - dot(rate.U, me.x)) * rate.inverse_D;
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
  articulated_solve(tree, (const S*)nullptr, tau, NoneMask{}, a, (S*)nullptr, work);
  return singular;
}

template <class S, class P>
int hybrid_dynamics(const Tree<P>& tree, const unsigned char* mask, const S* q, const S* v,
                    const S* a, const S* tau, const S* f_ext, S* a_out, S* tau_out,
                    ArticulatedWork<S>& work) {
  const SomeMask prescribed{mask};
  articulated_outward(tree, q, v, f_ext, work);
  const int singular = articulated_inward(tree, a, tau, prescribed, work);
  articulated_solve(tree, a, tau, prescribed, a_out, tau_out, work);
  return singular;
}

}  // namespace jounce
