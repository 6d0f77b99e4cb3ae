// Second derivatives of w.a, a of forward dynamics, with respect to q, v and tau.
//
// Differentiating tau(q, v, a(q, v, tau)) = tau twice, with mu = M^-1 w and the second derivatives H of
// mu.tau of inverse dynamics at the accelerations that forward dynamics gives:
//   (1) dq dq = -H_qq - X_q - X_q^T,  dq dv = -H_qv - X_v,  dv dv = -H_vv,  dq dtau = P^T
// with P = -M^-1 H_aq and X = H_qa da/dx = P^T dtau/dx of inverse dynamics. The terms of (1) may be as much larger
// than their sum as the condition of M, so that P is solved for: a product with M^-1 would lose as many digits once
// more. dtau/dx is zero between unrelated bodies.
#pragma once

#include "jounce/partials/forward_partials.hpp"
#include "jounce/partials/inverse_hessian.hpp"

namespace jounce {

template <class S>
struct ForwardHessianWork {
  ForwardPartialsWork<S> forward;
  HessianWork<S> hessian;  // with its base frame
  S *mu, *inverse, *dq, *dv;

  template <class P>
  ForwardHessianWork(const Tree<P>& tree, Arena& arena)
      : forward(tree, arena), hessian(tree, arena, forward.partials), mu(arena.take<S>(tree.nv)) {
    for (S** x : {&inverse, &dq, &dv}) *x = arena.take<S>(std::size_t(tree.nv) * tree.nv);
  }
};

namespace partials {

template <class S>
JOUNCE_INLINE void transpose_square(int n, S* X) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) {
      const S kept = X[i * std::size_t(n) + j];
      X[i * std::size_t(n) + j] = X[j * std::size_t(n) + i];
      X[j * std::size_t(n) + i] = kept;
    }
  }
}

// X <- -P^T X for two matrices X with the sparsity of the tree; `spare` is as large as one of them.
template <class S, class T>
JOUNCE_INLINE void sparse_product(const Tree<T>& tree, const S* P, S* const (&both)[2], S* spare,
                                  GatheredColumns<S>& columns) {
  const std::size_t nv = tree.nv;
  if (tree.nv <= kMostRelated) return negative_product(tree, P, both, columns);
  constexpr std::size_t kRows = 4;  // for each of which X is read once
  for (S* X : both) {
    std::fill_n(spare, nv * nv, S(0.0));
    for (std::size_t first = 0; first < nv; first += kRows) {
      const std::size_t end = std::min(nv, first + kRows);
      for (std::size_t k = 0; k < nv; ++k) {
        for_columns<S>(0, tree.nv, [&](auto c) {
          const auto x = c.load(X + k * nv);
          for (std::size_t i = first; i < end; ++i) c.store(spare + i * nv, c.load(spare + i * nv) - x * P[k * nv + i]);
        });
      }
      pause();
    }
    std::copy_n(spare, nv * nv, X);
  }
}

}  // namespace partials

// Outputs as in Hessian, with qa by tau instead of a. Returns a singular node or -1.
template <class S, class T>
int forward_dynamics_hessian(const Tree<T>& tree, const S* q, const S* v, const S* tau, const S* weights,
                             const S* f_ext, const Hessian<S>& out, ForwardHessianWork<S>& work) {
  const int nv = tree.nv;
  ForwardPartialsWork<S>& forward = work.forward;
  const int singular = partials_at_forces(tree, q, v, tau, f_ext, work.dq, work.dv, work.inverse, forward);
  if (singular >= 0) return singular;
  for (int i = 0; i < nv; ++i) work.mu[i] = -weights[i];
  partials::negative_solve(tree, work.inverse, work.mu, 1, forward.inverse, forward.block);
  hessian_at_base(tree, q, v, forward.a, work.mu, f_ext, out, work.hessian);
  S* const P = out.qa;
  partials::transpose_square(nv, P);
  partials::negative_solve(tree, work.inverse, P, nv, forward.inverse, forward.block);
  partials::sparse_product(tree, P, {work.dq, work.dv}, forward.M, forward.gathered);  // -X_q and -X_v
  const auto at = [nv](int i, int j) { return std::size_t(i) * nv + j; };
  for (int i = 0; i < nv; ++i) {
    for (int j = 0; j <= i; ++j) {
      out.qq[at(i, j)] = out.qq[at(j, i)] = work.dq[at(i, j)] + work.dq[at(j, i)] - out.qq[at(i, j)];
    }
    for (int j = 0; j < nv; ++j) {
      out.qv[at(i, j)] = work.dv[at(i, j)] - out.qv[at(i, j)];
      out.vv[at(i, j)] = -out.vv[at(i, j)];
    }
  }
  partials::transpose_square(nv, P);
  return -1;
}

}  // namespace jounce
