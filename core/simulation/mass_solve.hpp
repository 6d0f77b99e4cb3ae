// The mass matrix, factored once at a configuration, and right-hand sides:
//   (1) M(q) y = rhs
// by one sweep inward and one outward over the factors of dynamics/factor.hpp. Prescribed rates are
// left out: their y is zero, and the force that they need is what (1) leaves there.
#pragma once

#include "jounce/dynamics/articulated.hpp"

namespace jounce {

// Poses and factors at q. Returns a singular node or -1.
template <class S, class P>
int factor_mass(const Tree<P>& tree, const S* q, ArticulatedWork<S>& work) {
  return factor_at(tree, q, work.angles, work.row, work.rate);
}

// Equation (1), with the factors of `work`; `forces` gets M y at prescribed rates if it is not null.
// `y` may be `rhs`.
template <class S, class P, class Mask>
void solve_mass(const Tree<P>& tree, Mask prescribed, const S* rhs, S* y, S* forces,
                ArticulatedWork<S>& work) {
  for (int i = 0; i < tree.n; ++i) work.row[i].F0 = Force<S>::zero();
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<P>& node = tree.nodes[i];
    auto& me = work.row[i];
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = rates(K) - 1; k >= 0; --k) {
        auto& rate = work.rate[node.v + k];
        const S bias = along<K>(node, k, me.F0);
        if (prescribed(node.v + k)) {
          rate.u = bias;
        } else {
          rate.release(rhs[node.v + k] - bias, me.F0);
        }
      }
    });
    if (node.parent >= 0) work.row[node.parent].F0 += to_parent(me.in_parent, me.F0);
  }
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    auto& me = work.row[i];
    me.x = node.parent < 0 ? Motion<S>::zero() : to_child(me.in_parent, work.row[node.parent].x);
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = 0; k < rates(K); ++k) {
        const auto& rate = work.rate[node.v + k];
        if (prescribed(node.v + k)) {
          if (forces) forces[node.v + k] = dot(rate.U, me.x) + rate.u;
          y[node.v + k] = S(0.0);
          continue;
        }
        y[node.v + k] = rate.acceleration(me.x);
        add_rate<K>(node, k, y[node.v + k], me.x);
      }
    });
  }
}

}  // namespace jounce
