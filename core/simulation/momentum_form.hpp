// The equations of motion in momenta (mueller, eq. 79), stepped by a method of Munthe-Kaas.
//
// The state is q with the momenta s of momenta.hpp; v is found from them at every stage, so that state
// and rates never part. With the momentum H of a node's subtree, its twist V and screws S,
//   (1) s' = S . (outer wrench of the subtree - V x* H) + tau
// The momentum of a free root, about its center of mass, changes by the outer wrench alone. A
// Runge-Kutta method keeps what is linear in the state: total momentum is conserved to rounding,
// whatever the step.
#pragma once

#include "jounce/simulation/momenta.hpp"
#include "jounce/simulation/step.hpp"

namespace jounce {

template <class S>
struct MomentumFormWork {
  MomentaWork<S> momenta;
  StepWork<S> step;
  S *s, *turned;  // (nv) momenta of a stage, and what their turning axes give

  template <class P>
  MomentumFormWork(const Tree<P>& tree, Arena& arena)
      : momenta(tree, arena),
        step(tree, arena),
        s(arena.take<S>(tree.nv)),
        turned(arena.take<S>(tree.nv)) {}
};

struct MomentumStepper : MomentaBetweenSteps {
  const Tableau& method;
  explicit MomentumStepper(const Tableau& tableau) : method(tableau) {}
  template <class S>
  using Work = MomentumFormWork<S>;

  template <class S, class P>
  int step(const Tree<P>& tree, std::ptrdiff_t, const S& dt, const HeldForces<S>& forces, S* q,
           S* s, Work<S>& work) const {
    StepWork<S>& own = work.step;
    const int nv = tree.nv, n = method.slopes;
    int singular = -1;
    for (int i = 0; i < n; ++i) {
      S *at = own.q + i * tree.nq, *rate = own.rates + i * nv, *slope = own.slopes + i * nv;
      if (i == 0) {
        for (int k = 0; k < tree.nq; ++k) at[k] = q[k];
        for (int k = 0; k < nv; ++k) work.s[k] = s[k];
      } else {
        add_weighted((const S*)nullptr, dt, method.weights(i), i, own.rates, nv, own.u);
        move_coordinates(tree, q, own.u, at);
        add_weighted(s, dt, method.weights(i), i, own.slopes, nv, work.s);
      }
      const int bad = prepare_momenta(tree, at, work.momenta);
      if (singular < 0) singular = bad;
      rates_of_momenta(tree, work.s, own.v, work.momenta);
      slopes(tree, forces(tree, method.time(i), at, own.v), own.v, slope, work);
      to_parent_axes(tree, at, own.v, rate);
      if (i > 0) pull_back(tree, own.u, rate);
    }
    add_weighted((const S*)nullptr, dt, method.finish(0), n, own.rates, nv, own.u);
    add_weighted(s, dt, method.finish(0), n, own.slopes, nv, s);
    move_coordinates(tree, q, own.u, q);
    return singular;
  }

 private:
  // Equation (1).
  template <class S, class P>
  static void slopes(const Tree<P>& tree, const ForcesAt<S>& at, const S* v, S* slope,
                     Work<S>& work) {
    MomentaWork<S>& own = work.momenta;
    generalized_momentum(tree, v, own.rhs, own);  // rows: twists and momenta of subtrees
    for (int i = 0; i < tree.n; ++i) {
      const Node<P>& node = tree.nodes[i];
      const bool still = has_momentum(tree, node);
      const Force<S> turned = dual_bracket(own.row[i].twist, own.row[i].F);
      with_kind(node.kind, [&](auto kind) {
        constexpr Kind K = decltype(kind)::value;
        for (int k = 0; k < rates(K); ++k) {
          work.turned[node.v + k] = still ? S(0.0) : along<K>(node, k, turned);
        }
      });
    }
    outer_forces(tree, at, slope, own);
    to_world(tree, slope, own);
    for (int k = 0; k < tree.nv; ++k) slope[k] -= work.turned[k];
  }
};

}  // namespace jounce
