// Partial derivatives of the time derivatives of forward and hybrid dynamics.
//
// With K_k = dtau_k/dq and P_kl = dtau_k/dv^(l) of inverse dynamics (series_partials.hpp) along the motion
// that the inputs cause, and a_k = v^(k+1), any change of q, v and the inputs obeys at order k
//   (1) M da_k = dtau_k - X,   X = K_k dq + P_k0 dv + sum_(l=1)^k P_kl da_(l-1).
// At free rates da_k is unknown, at prescribed ones dtau_k: hybrid dynamics of the columns of X
// (column_solve.hpp). What order k of the inputs does to order k is the same for all k.
#pragma once

#include "jounce/partials/column_solve.hpp"
#include "jounce/partials/series_partials.hpp"
#include "jounce/series/series_solve.hpp"

namespace jounce {

template <class S>
struct ForwardSeriesPartialsWork {
  int rows;           // orders, r + 1
  std::size_t width;  // columns: by q, by v, by orders 0 ... r of the inputs, nv each
  SeriesSolveWork<S> solve;
  SeriesPartialsWork<S> partials;
  InverseMassMatrixWork<S> factors;
  partials::ColumnBlock<S> block;
  S *motion, *forces;  // (r+2, nv), (r+1, nv): v and its derivatives, those of tau
  S *K, *P;
  S *by_own, *X;       // (nv, nv): by inputs of the same order; X of (1), and its solution
  S *a, *tau;          // [k] (nv, width): the derivatives

  template <class T>
  ForwardSeriesPartialsWork(const Tree<T>& tree, int order, Arena& arena)
      : rows(order + 1), width(std::size_t(order + 3) * tree.nv), solve(tree, order, arena),
        partials(tree, order, arena), factors(tree, arena), block(tree, arena) {
    const std::size_t nv = tree.nv, n = rows;
    motion = arena.take<S>((n + 1) * nv);
    forces = arena.take<S>(n * nv);
    K = arena.take<S>(n * nv * nv);
    P = arena.take<S>(n * nv * (n + 1) * nv);
    by_own = arena.take<S>(nv * nv);
    X = arena.take<S>(nv * width);
    a = arena.take<S>(n * nv * width);
    tau = arena.take<S>(n * nv * width);
  }
};

namespace series_partials {

// out += x B, for a row x and the first `width` columns of B.
template <class S>
JOUNCE_INLINE void add_row_product(int n, const S* x, const S* B, std::size_t stride, int width, S* out) {
  for_columns<S>(0, width, [&](auto c) {
    auto sum = c.load(out);
    for (int k = 0; k < n; ++k) sum += c.load(B + k * stride) * x[k];
    c.store(out, sum);
  });
}

// X of equation (1): columns by q, by v and by orders 0 ... k-1 of the inputs.
template <class S>
JOUNCE_INLINE void known_part(int k, std::size_t nv, const ForwardSeriesPartialsWork<S>& work) {
  const std::size_t columns = (k + 2) * nv;
  for (std::size_t i = 0; i < nv; ++i) {
    S* row = work.X + i * columns;
    const S* P = work.P + (k * nv + i) * (work.rows + 1) * nv;  // [l]
    std::copy_n(work.K + (k * nv + i) * nv, nv, row);
    std::copy_n(P, nv, row + nv);
    std::fill_n(row + 2 * nv, columns - 2 * nv, S(0.0));
    for (int l = 1; l <= k; ++l) {
      const S* before = work.a + (l - 1) * nv * work.width;
      add_row_product(int(nv), P + l * nv, before, work.width, int((l + 2) * nv), row);
    }
    pause();
  }
}

// Order k from the solution X: its rows belong to accelerations, or to forces where these are unknown.
template <class S, class Mask>
JOUNCE_INLINE void keep_order(int k, std::size_t nv, Mask prescribed, const ForwardSeriesPartialsWork<S>& work) {
  const std::size_t columns = (k + 2) * nv, own = columns;
  for (std::size_t i = 0; i < nv; ++i) {
    const std::size_t at = (k * nv + i) * work.width;
    const bool given = prescribed(int(i));
    S *unknown = (given ? work.tau : work.a) + at, *known = (given ? work.a : work.tau) + at;
    for (S* x : {unknown, known}) std::fill_n(x, work.width, S(0.0));
    std::copy_n(work.X + i * columns, columns, unknown);
    std::copy_n(work.by_own + i * nv, nv, unknown + own);
    known[own + i] = S(1.0);
  }
}

// All derivatives, in work.a and work.tau. Returns a singular node or -1.
template <class S, class T, class Mask>
JOUNCE_INLINE int differentiate(const Tree<T>& tree, Mask prescribed, const S* q, const S* v, const S* a,
                                const S* tau, const S* f_ext, ForwardSeriesPartialsWork<S>& work) {
  using partials::solve_columns;
  const std::size_t nv = tree.nv;
  constexpr bool masked = !std::is_same_v<Mask, NoneMask>;
  int singular = masked ? (base_frame(tree, q, work.factors.base), factor(tree, prescribed, work.factors))
                        : inverse_mass_matrix(tree, q, work.by_own, work.factors);
  if (singular >= 0) return singular;
  if constexpr (masked) {
    std::fill_n(work.by_own, nv * nv, S(0.0));
    for (int i = 0; i < tree.nv; ++i) work.by_own[i * (nv + 1)] = S(prescribed(i) ? 0.0 : -1.0);
    solve_columns(tree, prescribed, (const S*)nullptr, work.by_own, tree.nv, true, work.factors, work.block);
  }
  const S* N = masked ? nullptr : work.by_own;
  std::copy_n(v, nv, work.motion);
  singular = solve_series(tree, prescribed, q, v, a, tau, f_ext, work.motion + nv, work.forces, work.solve);
  if (singular >= 0) return singular;
  inverse_dynamics_series_partials(tree, q, work.motion, f_ext, work.K, work.P, work.partials);
  for (int k = 0; k < work.rows; ++k) {
    known_part(k, nv, work);
    solve_columns(tree, prescribed, N, work.X, int((k + 2) * nv), false, work.factors, work.block);
    keep_order(k, nv, prescribed, work);
  }
  return -1;
}

// Copies the parts by q and by v, (r+1, nv, nv), and calls f(k, i, m, j, x) for the entries by order m of
// input j.
template <class S, class F>
JOUNCE_INLINE void deliver(std::size_t nv, const S* from, S* dq, S* dv, const ForwardSeriesPartialsWork<S>& work,
                           F&& by_input) {
  for (std::size_t row = 0; row < work.rows * nv; ++row, from += work.width) {
    std::copy_n(from, nv, dq + row * nv);
    std::copy_n(from + nv, nv, dv + row * nv);
    for (std::size_t c = 0; c < work.rows * nv; ++c) by_input(row * work.rows * nv + c, c % nv, from[2 * nv + c]);
    if (row % nv == 0) pause();
  }
}

}  // namespace series_partials

// tau: (r+1, nv) derivatives; f_ext: (r+1, n_bodies, 6) or null. dq, dv: (r+1, nv, nv), dtau:
// (r+1, nv, r+1, nv). Returns a singular node or -1.
template <class S, class T>
int forward_dynamics_series_partials(const Tree<T>& tree, const S* q, const S* v, const S* tau,
                                     const S* f_ext, S* dq, S* dv, S* dtau,
                                     ForwardSeriesPartialsWork<S>& work) {
  using namespace series_partials;
  const S* none = nullptr;
  const int singular = differentiate(tree, NoneMask{}, q, v, none, tau, f_ext, work);
  if (singular >= 0) return singular;
  deliver(tree.nv, work.a, dq, dv, work, [&](std::size_t at, std::size_t, const S& x) { dtau[at] = x; });
  return -1;
}

// Derivatives of accelerations and forces; by q and v (r+1, nv, nv), by orders of a and tau (r+1, nv,
// r+1, nv). Of the inputs, a_j counts where prescribed and tau_j elsewhere: other columns are zero.
template <class S>
struct HybridSeriesPartials {
  S *a_dq, *a_dv, *a_da, *a_dtau, *tau_dq, *tau_dv, *tau_da, *tau_dtau;
};

template <class S, class T>
int hybrid_dynamics_series_partials(const Tree<T>& tree, const unsigned char* mask, const S* q, const S* v,
                                    const S* a, const S* tau, const S* f_ext,
                                    const HybridSeriesPartials<S>& d, ForwardSeriesPartialsWork<S>& work) {
  using namespace series_partials;
  const SomeMask prescribed{mask};
  const int singular = differentiate(tree, prescribed, q, v, a, tau, f_ext, work);
  if (singular >= 0) return singular;
  const auto split = [&](S* by_a, S* by_tau) {
    return [=](std::size_t at, std::size_t j, const S& x) {
      by_a[at] = prescribed(int(j)) ? x : S(0.0);
      by_tau[at] = prescribed(int(j)) ? S(0.0) : x;
    };
  };
  deliver(tree.nv, work.a, d.a_dq, d.a_dv, work, split(d.a_da, d.a_dtau));
  deliver(tree.nv, work.tau, d.tau_dq, d.tau_dv, work, split(d.tau_da, d.tau_dtau));
  return -1;
}

}  // namespace jounce
