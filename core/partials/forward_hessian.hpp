// Second derivatives of w.a, a of forward dynamics, with respect to q, v and tau.
//
// Differentiating tau(q, v, a(q, v, tau)) = tau twice, with mu = M^-1 w and the second derivatives H of
// mu.tau of inverse dynamics at the accelerations that forward dynamics gives:
//   (1) dq dq = -H_qq - X_q - X_q^T,  dq dv = -H_qv - X_v,  dv dv = -H_vv,  dq dtau = -H_qa M^-1
// with X = H_qa da/dx. H_qa is zero between unrelated bodies, so that the products are those of
// forward_partials.hpp, of transposed matrices.
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

// out = -(H X)^T, where H^T has the sparsity of the tree and is given.
template <class S, class P>
JOUNCE_INLINE void sparse_product(const Tree<P>& tree, const S* H_transposed, const S* X, S* out,
                                  GatheredColumns<S>& columns) {
  const std::size_t nv = tree.nv;
  if (tree.nv <= kMostRelated) {
    std::copy_n(H_transposed, nv * nv, out);
    S* const one[] = {out};
    return negative_product(tree, X, one, columns);
  }
  constexpr std::size_t kRows = 4;  // for each of which H is read once
  for (std::size_t first = 0; first < nv; first += kRows) {
    const std::size_t end = std::min(nv, first + kRows);
    std::fill_n(out + first * nv, (end - first) * nv, S(0.0));
    for (std::size_t k = 0; k < nv; ++k) {
      for_columns<S>(0, tree.nv, [&](auto c) {
        const auto h = c.load(H_transposed + k * nv);
        for (std::size_t i = first; i < end; ++i) c.store(out + i * nv, c.load(out + i * nv) - h * X[k * nv + i]);
      });
    }
    pause();
  }
}

}  // namespace partials

// Outputs as in Hessian, with qa by tau instead of a. Returns a singular node or -1.
template <class S, class P>
int forward_dynamics_hessian(const Tree<P>& tree, const S* q, const S* v, const S* tau, const S* weights,
                             const S* f_ext, const Hessian<S>& out, ForwardHessianWork<S>& work) {
  const int nv = tree.nv;
  ForwardPartialsWork<S>& forward = work.forward;
  const int singular = forward_dynamics_partials(tree, PartialsMethod::automatic, q, v, tau, f_ext,
                                                 work.dq, work.dv, work.inverse, forward);
  if (singular >= 0) return singular;
  for (int i = 0; i < nv; ++i) work.mu[i] = -weights[i];
  partials::negative_solve(tree, work.inverse, work.mu, 1, forward.inverse, forward.block);
  hessian_at_base(tree, q, v, forward.a, work.mu, f_ext, out, work.hessian);
  S *turned = out.qa, *product = forward.M;  // which nobody needs any more
  partials::transpose_square(nv, turned);
  const auto multiply = [&](const S* X) {
    partials::sparse_product(tree, turned, X, product, forward.gathered);
  };
  const auto at = [nv](int i, int j) { return std::size_t(i) * nv + j; };
  multiply(work.dq);
  for (int i = 0; i < nv; ++i) {
    for (int j = 0; j <= i; ++j) {
      out.qq[at(i, j)] = out.qq[at(j, i)] = product[at(i, j)] + product[at(j, i)] - out.qq[at(i, j)];
    }
  }
  multiply(work.dv);
  for (int i = 0; i < nv; ++i) {
    for (int j = 0; j < nv; ++j) {
      out.qv[at(i, j)] = product[at(j, i)] - out.qv[at(i, j)];
      out.vv[at(i, j)] = -out.vv[at(i, j)];
    }
  }
  multiply(work.inverse);
  for (int i = 0; i < nv; ++i) {
    for (int j = 0; j < nv; ++j) turned[at(i, j)] = product[at(j, i)];
  }
  return -1;
}

}  // namespace jounce
