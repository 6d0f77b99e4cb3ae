// Articulated inertias along the axes of the root (see base_frame.hpp), factored rate by rate: the
// same eliminations as in articulated.hpp, which works in body frames.
//
// For every rate r, with screw s and the articulated inertia J before its elimination:
//   U = J s,  D = s^T U + armature,  J -= U U^T / D
// A prescribed rate keeps U and eliminates nothing.
#pragma once

#include "../kinematics/base_frame.hpp"
#include "articulated.hpp"

namespace jounce {

template <class S>
struct BaseFactorWork {
  struct Row {
    ArticulatedInertia<S> J;
    S angular_scale, linear_scale;
  };
  struct Rate {
    Motion<S> s;
    Force<S> U;
    S inverse_D;
  };
  BaseFrameWork<S> base;
  Row* row;
  Rate* rate;

  template <class P>
  BaseFactorWork(const Tree<P>& tree, Arena& arena)
      : base(tree, arena), row(arena.take<Row>(tree.n)), rate(arena.take<Rate>(tree.nv)) {}

  // Origin of node i seen from its parent's; zero at a root.
  template <class P>
  JOUNCE_INLINE Vec3<S> offset(const Tree<P>& tree, int i) const {
    const int p = tree.nodes[i].parent;
    return p < 0 ? Vec3<S>::zero() : base.pose[i].p - base.pose[p].p;
  }
  // Each node with its own inertia.
  JOUNCE_INLINE void reset(int n) {
    for (int i = 0; i < n; ++i) {
      const RigidInertia<S>& own = base.inertia[i];
      row[i] = {ArticulatedInertia<S>::of(own), trace(own.I), own.m};
    }
  }
};

// Factors rate k of a node with the axes R. Returns whether its D vanishes.
template <Kind K, class S, class P>
JOUNCE_INLINE bool factor_rate(const Tree<P>& tree, const Node<P>& node, int k, bool prescribed,
                               const Mat3<S>& R, typename BaseFactorWork<S>::Row& me,
                               typename BaseFactorWork<S>::Rate& rate) {
  rate.s = base_frame_screw<K>(node, k, R);
  rate.U = times_screw<K>(me.J, rate.s);
  if (prescribed) return false;
  const S D = along<K>(rate.U.n, rate.U.f, rate.s) + tree.armature[node.v + k];
  const bool slides = K == Kind::prismatic || (K == Kind::free && k >= 3);
  const bool singular =
      vanishes(D, slides ? me.linear_scale
                         : me.angular_scale + me.linear_scale * (node.pitch * node.pitch));
  rate.inverse_D = S(1.0) / D;
  if (node.parent >= 0 || k > 0) me.J.eliminate(rate.U, rate.U * rate.inverse_D);
  return singular;
}

// Adds a node's inertia, after its eliminations, to its parent's; the scale is that before them.
template <class S>
JOUNCE_INLINE void pass_inertia(const Vec3<S>& d, const typename BaseFactorWork<S>::Row& me,
                                const S& angular, const S& linear,
                                typename BaseFactorWork<S>::Row& up) {
  up.J += shifted(d, me.J);
  up.angular_scale += angular + dot(d, d) * linear;
  up.linear_scale += linear;
}

// Factors all rates, at the configuration of work.base. Returns a singular node or -1.
template <class S, class P, class Mask>
JOUNCE_INLINE int factor(const Tree<P>& tree, Mask prescribed, BaseFactorWork<S>& work) {
  int singular = -1;
  work.reset(tree.n);
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<P>& node = tree.nodes[i];
    auto& me = work.row[i];
    const S angular = trace(me.J.A), linear = trace(me.J.C);
    const Mat3<S>& R = work.base.pose[i].R;
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = rates(K) - 1; k >= 0; --k) {
        const int r = node.v + k;
        const bool bad = factor_rate<K, S>(tree, node, k, prescribed(r), R, me, work.rate[r]);
        if (bad && singular < 0) singular = i;
      }
    });
    if (node.parent < 0) continue;
    pass_inertia(work.offset(tree, i), me, angular, linear, work.row[node.parent]);
  }
  return singular;
}

}  // namespace jounce
