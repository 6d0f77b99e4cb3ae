// Articulated inertias, factored rate by rate from the leaves to the root.
//
// For every rate, the last of a node first, with its screw s and the articulated inertia J before it:
//   (1) U = J s,  D = s^T U + armature,  J -= U U^T / D
// A prescribed rate keeps U and D and eliminates nothing. What is left of J goes to the parent. D must
// not vanish: it is compared with the inertia before the eliminations below it, whose rounding errors
// it carries.
//
// There is one loop for two choices of axes: those of each node (`NodeAxes`), and those of the root
// (`RootAxes`, base_factor.hpp). They say what a screw is, and how a node looks from its parent; also
// whether the last elimination is left to them (`kLast`), or J shall be as all of them leave it.
#pragma once

#include "jounce/spatial/triples.hpp"
#include "jounce/tree/joint.hpp"

namespace jounce {

template <class S, class Inertia = ArticulatedInertia<S>>
struct ArticulatedNode {
  Inertia J;
  S angular_scale, linear_scale;  // what J was made of

  template <class P>
  JOUNCE_INLINE void start(const RigidInertia<P>& own) {
    J = Inertia::of(own);
    angular_scale = S(trace(own.I));
    linear_scale = S(own.m);
  }
};

template <class S>
struct ArticulatedRate {
  Force<S> U;
  S inverse_D;
  S D;  // of prescribed rates only
};

// A rate in the solution of one right-hand side: first it is let go, then it gets its acceleration.
template <class S>
struct SolvedRate : ArticulatedRate<S> {
  S u;  // the force that is left to accelerate it

  // What it passes on to F, the node's wrench with the parent at rest.
  JOUNCE_INLINE void release(const S& force, Force<S>& F) {
    u = force;
    F += this->U * (u * this->inverse_D);
  }
  // With the acceleration x of its node by the parent and the rates before it.
  JOUNCE_INLINE S acceleration(const Motion<S>& x) const {
    return (u - dot(this->U, x)) * this->inverse_D;
  }
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

// What the pivot of screw k is compared with.
template <Kind K, class S, class P, class Row>
JOUNCE_INLINE S pivot_scale(const Node<P>& node, int k, const Row& me) {
  if (slides(K, k)) return me.linear_scale;
  return me.angular_scale + me.linear_scale * (node.pitch * node.pitch);
}

// Vectors along the axes of their node, whose row knows its pose in the parent.
struct NodeAxes {
  static constexpr bool kLast = false;

  template <Kind K, class S, class P, class Rate>
  JOUNCE_INLINE void set_U(const Node<P>& node, int, int k, const ArticulatedInertia<S>& J,
                           Rate& rate) const {
    rate.U = times_screw<K>(J, node, k);
  }
  template <Kind K, class P, class Rate>
  JOUNCE_INLINE auto along_screw(const Node<P>& node, int k, const Rate& rate) const {
    return along<K>(node, k, rate.U);
  }
  template <class Row>
  JOUNCE_INLINE const auto& offset(int, const Row& me) const { return me.in_parent.p; }
  template <class S, class P, class Row, class Rate>
  JOUNCE_INLINE void pass_to_parent(const Node<P>& node, const Vec3<S>& d, const Row& me, const Rate*,
                                    Row& parent) const {
    if constexpr (has_triples<S>) {
      add_turned(me.in_parent, me.J, parent.J);
    } else {
      parent.J += own(node.sharing, shifted(d, rotated(me.in_parent.R, me.J)));
    }
  }
};

// What else happens at a node while the tree is factored; by default nothing.
struct FactorVisitor {
  // Before its rates are eliminated: whether they shall be.
  template <class Row>
  JOUNCE_INLINE bool enter(int, Row&) { return true; }
  // After the elimination of rate k; d is the node's origin seen from its parent's.
  template <Kind K, class Row, class Rate, class Offset>
  JOUNCE_INLINE void eliminated(int, int, Row&, Rate&, const Offset&) {}
  // After all of them.
  template <class Row>
  JOUNCE_INLINE void leave(int, Row&) {}
};

// Equation (1) at the rates of a node. Returns whether a D vanishes.
template <Kind K, class S, class P, class Mask, class Axes, class Row, class Rate, class Offset, class Visitor>
JOUNCE_INLINE bool factor_node(const Tree<P>& tree, int i, Mask prescribed, const Axes& axes,
                               const Offset& d, Row& me, Row* row, Rate* rate, Visitor& visitor) {
  const Node<P>& node = tree.nodes[i];
  bool singular = false;
  for (int k = rates(K) - 1; k >= 0; --k) {
    Rate& r = rate[node.v + k];
    axes.template set_U<K>(node, i, k, me.J, r);
    const S D = axes.template along_screw<K>(node, k, r) + tree.armature[node.v + k];
    if (prescribed(node.v + k)) {
      r.D = D;
    } else {
      if (vanishes<S>(D, pivot_scale<K, S>(node, k, me))) singular = true;
      r.inverse_D = S(1.0) / D;
      if (k > 0 || (node.parent >= 0 && !Axes::kLast)) me.J.eliminate(r.U, r.U * r.inverse_D);
    }
    if (Axes::kLast && k == 0 && node.parent >= 0) {
      axes.pass_to_parent(node, d, me, prescribed(node.v) ? nullptr : &r, row[node.parent]);
    }
    visitor.template eliminated<K>(i, k, me, r, d);
  }
  return singular;
}

// The whole tree. `singular` becomes the first node with a vanishing D unless it is one already.
template <class S, class P, class Mask, class Axes, class Row, class Rate, class Visitor>
JOUNCE_INLINE void factor_inward(const Tree<P>& tree, Mask prescribed, const Axes& axes, Row* row,
                                 Rate* rate, int& singular, Visitor&& visitor) {
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<P>& node = tree.nodes[i];
    Row& me = row[i];
    join(node.sharing, me.J);
    if (!visitor.enter(i, me)) continue;
    const int p = node.parent;
    decltype(auto) d = axes.offset(i, me);
    const S angular = trace(me.J.A), linear = trace(me.J.C);
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      const bool bad = factor_node<K, S>(tree, i, prescribed, axes, d, me, row, rate, visitor);
      if (bad && singular < 0) singular = i;
    });
    visitor.leave(i, me);
    if (p < 0) continue;
    if constexpr (!Axes::kLast) axes.pass_to_parent(node, d, me, rate, row[p]);
    row[p].angular_scale += angular + dot(d, d) * linear;
    row[p].linear_scale += linear;
  }
}

}  // namespace jounce
