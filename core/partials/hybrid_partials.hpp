// Partial derivatives of hybrid dynamics in closed form: for all inputs at once what kim, Table 7,
// computes for one parameter at a time.
//
// With p the prescribed rates, f the free ones, and D = dtau/dx of inverse dynamics at the solution,
// x = q or v:
//   da_f/dx = -M_ff^-1 D_f,  dtau_p/dx = D_p + M_pf da_f/dx
// and the same with D = M for the inputs: hybrid dynamics of the columns of D without velocities
// and gravity (column_solve.hpp).
#pragma once

#include "jounce/partials/column_solve.hpp"
#include "jounce/partials/inverse_partials.hpp"

namespace jounce {

template <class S>
struct HybridPartialsWork {
  BaseFactorWork<S> factors;
  InverseDynamicsWork<S> bias;  // with the angles of `factors`
  PartialsWork<S> partials;     // with its base frame
  partials::ColumnBlock<S> block;
  S *a, *unknown;  // accelerations; one column of unknowns

  template <class P>
  HybridPartialsWork(const Tree<P>& tree, Arena& arena)
      : factors(tree, arena),
        bias(tree, arena, factors.base.angles),
        partials(tree, arena, factors.base),
        block(tree, arena),
        a(arena.take<S>(tree.nv)),
        unknown(arena.take<S>(tree.nv)) {}
};

// Derivatives of accelerations and forces, nv x nv each, row-major. Of the inputs, a_j counts where
// prescribed and tau_j elsewhere: other columns are zero. A given a_i or tau_i is its own derivative.
template <class S>
struct HybridPartials {
  S *a_dq, *a_dv, *a_da, *a_dtau, *tau_dq, *tau_dv, *tau_da, *tau_dtau;
};

// Moves the rows of prescribed rates from `a` to `tau`; zeros take their place.
template <class S, class Mask>
JOUNCE_INLINE void split_rows(int nv, Mask prescribed, S* a, S* tau) {
  for (int r = 0; r < nv; ++r, a += nv, tau += nv) {
    const bool given = prescribed(r);
    for (int c = 0; c < nv; ++c) {
      tau[c] = given ? a[c] : S(0.0);
      a[c] = given ? S(0.0) : a[c];
    }
  }
}

// The same for the derivatives by what is given, which are in d.a_da; columns are split, too.
template <class S, class Mask>
JOUNCE_INLINE void split_inputs(int nv, Mask prescribed, const HybridPartials<S>& d) {
  for (int r = 0; r < nv; ++r) {
    const std::size_t row = std::size_t(r) * nv;
    const bool given = prescribed(r);
    for (int c = 0; c < nv; ++c) {
      const bool by_a = prescribed(c);
      const S x = d.a_da[row + c], zero(0.0), own(r == c ? 1.0 : 0.0);
      d.a_da[row + c] = given ? own : by_a ? x : zero;
      d.a_dtau[row + c] = given || by_a ? zero : x;
      d.tau_da[row + c] = given && by_a ? x : zero;
      d.tau_dtau[row + c] = !given ? own : by_a ? zero : x;
    }
  }
}

// All accelerations, in work.a: of the free rates by the column of unbalanced forces.
template <class S, class P, class Mask>
JOUNCE_INLINE void solve_accelerations(const Tree<P>& tree, Mask prescribed, const S* q, const S* v,
                                       const S* a, const S* tau, const S* f_ext,
                                       HybridPartialsWork<S>& work) {
  for (int r = 0; r < tree.nv; ++r) work.a[r] = prescribed(r) ? a[r] : S(0.0);
  newton_euler(tree, q, v, work.a, f_ext, work.unknown, work.bias);
  for (int r = 0; r < tree.nv; ++r) {
    if (!prescribed(r)) work.unknown[r] -= tau[r];
  }
  partials::solve_columns(tree, prescribed, (const S*)nullptr, work.unknown, 1, false, work.factors,
                          work.block);
  for (int r = 0; r < tree.nv; ++r) {
    if (!prescribed(r)) work.a[r] = work.unknown[r];
  }
}

// Returns a singular node or -1.
template <class S, class P>
int hybrid_dynamics_partials(const Tree<P>& tree, const unsigned char* mask, const S* q, const S* v,
                             const S* a, const S* tau, const S* f_ext, const HybridPartials<S>& d,
                             HybridPartialsWork<S>& work) {
  const SomeMask prescribed{mask};
  const std::size_t nv = tree.nv;
  base_frame(tree, q, work.factors.base);
  const int singular = factor(tree, prescribed, work.factors);
  if (singular >= 0) return singular;
  solve_accelerations(tree, prescribed, q, v, a, tau, f_ext, work);
  // First as one matrix for each of q, v and the inputs, rows of a or tau, whichever is unknown.
  S *by_q = d.a_dq, *by_v = d.a_dv, *by_input = d.a_da;
  partials_at_base(tree, q, v, work.a, f_ext, by_q, by_v, by_input, work.partials);
  mirror_related(tree, by_input);
  std::fill_n(by_input, nv * nv, S(0.0));
  for (int r = 0; r < tree.nv; ++r) by_input[r * (nv + 1)] = S(prescribed(r) ? 0.0 : -1.0);
  for (S* X : {by_q, by_v, by_input}) {
    const bool unit = X == by_input;
    partials::solve_columns(tree, prescribed, (const S*)nullptr, X, tree.nv, unit, work.factors,
                            work.block);
  }
  split_rows(tree.nv, prescribed, by_q, d.tau_dq);
  split_rows(tree.nv, prescribed, by_v, d.tau_dv);
  split_inputs(tree.nv, prescribed, d);
  return -1;
}

}  // namespace jounce
