// Derivatives of forward dynamics of one state along many directions: da = M^-1 (dtau - dID), where dID is
// the derivative of inverse dynamics (directions.hpp) with the accelerations of the state held.
//
// The bias wrenches of that derivative are eliminated with the factors of forward dynamics while they go to
// the root, as those of the state are in articulated.hpp: with F = (dn, df) of a node,
//   u = dtau - s^T F,   F += U u / D,   and then from the root   y = (u - U^T x) / D,   x += s y.
#pragma once

#include "jounce/dynamics/articulated.hpp"
#include "jounce/partials/directions.hpp"

namespace jounce {

template <class S>
struct ForwardStateWork {
  ArticulatedWork<S> factors;
  StateWork<S> inverse;  // with the angles of `factors`
  S* bias;

  template <class P>
  ForwardStateWork(const Tree<P>& tree, Arena& arena)
      : factors(tree, arena), inverse(tree, arena, factors.angles), bias(arena.take<S>(tree.nv)) {}

  // The accelerations, and inverse dynamics there. Returns a singular node or -1.
  template <class P>
  int forward_dynamics(const Tree<P>& tree, const S* q, const S* v, const S* tau, const S* f_ext, S* a) {
    const int singular = jounce::forward_dynamics(tree, q, v, tau, f_ext, a, factors);
    if (singular < 0) inverse.inverse_dynamics(tree, q, v, a, f_ext, bias);
    return singular;
  }
};

template <class D>
struct ForwardDirectionsWork : DirectionsWork<D> {
  Motion<D>* x;  // by depth

  ForwardDirectionsWork(const Tree<double>& tree, Arena& arena)
      : DirectionsWork<D>(tree, arena), x(arena.take<Motion<D>>(tree.depth)) {}
};

namespace directions {

// First rate of a node among those of the tree that the state is on.
template <class S>
JOUNCE_INLINE const SolvedRate<S>* rates_of(const Tree<double>& tree, const ForwardStateWork<S>& state, int node) {
  if constexpr (lanes<S> > 1) return state.factors.rate + tree.branched->tree.nodes[node].v;
  return state.factors.rate + tree.nodes[node].v;
}

// x = (angular, linear) of the parent seen from the child.
template <class D>
JOUNCE_INLINE Motion<D> seen_from_child(const Pose<double>& at, const Motion<D>& x) {
  return {transposed(at.R, x.w), transposed(at.R, plus_cross(x.v, x.w, at.p))};
}

template <class D>
JOUNCE_INLINE D less_product(const D& u, const Force<double>& U, const Motion<D>& x) {
  return u - U.n.x * x.w.x - U.n.y * x.w.y - U.n.z * x.w.z - U.f.x * x.v.x - U.f.y * x.v.y - U.f.z * x.v.z;
}

}  // namespace directions

// da, after forward dynamics of the state.
template <class S, class D>
void forward_dynamics_directions(const Tree<double>& tree, const ForwardStateWork<S>& state, const double* v,
                                 const Direction<D>& d, D* da, ForwardDirectionsWork<D>& work) {
  using namespace directions;
  outward(tree, state.inverse, v, d, (const D*)nullptr, work);
  inward(tree, state.inverse, d.q, work,
         [&](auto kind, const Node<double>& node, PlaceOfNode at, Force<D>& F) JOUNCE_INLINED {
           constexpr Kind K = decltype(kind)::value;
           const SolvedRate<S>* rate = rates_of(tree, state, at.node);
           for (int k = rates(K) - 1; k >= 0; --k) {
             const int r = node.v + k;
             const D force = along<K>(node, k, F), u = d.input ? d.input[r] - force : -force;
             da[r] = u;
             if (node.parent < 0 && k == 0) continue;
             const D part = u * in_lane(rate[k].inverse_D, at.lane);
             const Force<double> U = in_lane(rate[k].U, at.lane);
             F += Force<D>{U.n * part, U.f * part};
           }
         });
  for (int i = 0; i < tree.n; ++i) {
    const Node<double>& node = tree.nodes[i];
    const PlaceOfNode at = place_of<S>(tree, i);
    const SolvedRate<S>* rate = rates_of(tree, state, at.node);
    Motion<D> x;
    if (node.parent < 0) {
      x = Motion<D>::zero();
    } else {
      x = seen_from_child(in_lane(state.inverse.passes.row[at.node].in_parent, at.lane), work.x[node.depth - 1]);
    }
    with_kind(node.kind, [&](auto kind) JOUNCE_INLINED {
      constexpr Kind K = decltype(kind)::value;
      for (int k = 0; k < rates(K); ++k) {
        D& y = da[node.v + k];
        y = less_product(y, in_lane(rate[k].U, at.lane), x) * in_lane(rate[k].inverse_D, at.lane);
        add_rate<K>(node, k, y, x);
      }
    });
    work.x[node.depth] = x;
  }
}

}  // namespace jounce
