// Articulated inertias along the axes of the root (see base_frame.hpp), factored by factor.hpp.
#pragma once

#include "jounce/dynamics/factor.hpp"
#include "jounce/kinematics/base_frame.hpp"

namespace jounce {

// Of one state by itself, in registers of four.
template <class S>
using RootInertia = std::conditional_t<has_triples<S>, TriadInertia<S>, ArticulatedInertia<S>>;

template <Kind K, class S>
JOUNCE_INLINE Force<S> times_screw(const TriadInertia<S>& j, const Motion<S>& s) {
  return image<rotates(K), moves(K)>(j, s);
}

template <class S>
struct BaseFactorWork {
  struct Rate : ArticulatedRate<S> {
    Motion<S> s;
  };
  using Row = ArticulatedNode<S, RootInertia<S>>;
  BaseFrameWork<S> base;
  Row* row;
  Rate* rate;

  template <class P>
  BaseFactorWork(const Tree<P>& tree, Arena& arena)
      : base(tree, arena),
        row(arena.take<Row>(tree.n)),
        rate(arena.take<Rate>(tree.nv)) {}

  // Origin of node i seen from its parent's; zero at a root.
  template <class P>
  JOUNCE_INLINE Vec3<S> offset(const Tree<P>& tree, int i) const {
    const int p = tree.nodes[i].parent;
    return p < 0 ? Vec3<S>::zero() : base.in_root[i].p - base.in_root[p].p;
  }
  // Each node with its own inertia.
  JOUNCE_INLINE void reset(int n) {
    for (int i = 0; i < n; ++i) row[i].start(base.inertia[i]);
  }
};

// Vectors along the axes of the root: a node differs from its parent by a shift.
template <class S, class P>
struct RootAxes {
  const Tree<P>& tree;
  const BaseFactorWork<S>& work;
  static constexpr bool kLast = true;

  template <Kind K, class Rate>
  JOUNCE_INLINE void set_U(const Node<P>& node, int i, int k, const RootInertia<S>& J, Rate& rate) const {
    rate.s = base_frame_screw<K>(node, k, work.base.in_root[i].R);
    rate.U = times_screw<K>(J, rate.s);
  }
  template <Kind K, class Rate>
  JOUNCE_INLINE S along_screw(const Node<P>&, int, const Rate& rate) const {
    return along<K>(rate.U, rate.s);
  }
  template <class Row>
  JOUNCE_INLINE Vec3<S> offset(int i, const Row&) const { return work.offset(tree, i); }
  // The rate that is left, if any, is eliminated from what the parent sees, which does not wait for it.
  template <class Row, class Rate>
  JOUNCE_INLINE void pass_to_parent(const Node<P>& node, const Vec3<S>& d, const Row& me, const Rate* rate,
                                    Row& parent) const {
    auto J = shifted(d, me.J);
    if (rate) {
      const Force<S> U = shifted(d, rate->U);
      J.eliminate(U, U * rate->inverse_D);
    }
    parent.J += own(node.sharing, J);
  }
};

// Factors all rates, at the configuration of work.base. Returns a singular node or -1.
template <class S, class P, class Mask>
JOUNCE_INLINE int factor(const Tree<P>& tree, Mask prescribed, BaseFactorWork<S>& work) {
  int singular = -1;
  work.reset(tree.n);
  factor_inward<S>(tree, prescribed, RootAxes<S, P>{tree, work}, work.row, work.rate, singular,
                   FactorVisitor{});
  return singular;
}

}  // namespace jounce
