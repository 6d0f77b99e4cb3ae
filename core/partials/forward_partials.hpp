// Partial derivatives of forward dynamics (singh, Sec. IV-E): da/dtau = M^-1 and
//   da/dx = -M^-1 dtau/dx   at the accelerations that forward dynamics gives, x = q or v.
// Either M^-1 is multiplied with the partials, which are zero between unrelated bodies (DMM), or
// the articulated factors solve for their columns (AZA); the first wins for small robots.
#pragma once

#include "../dynamics/inverse_mass_matrix.hpp"
#include "inverse_partials.hpp"

namespace jounce {

// Measured cross-over: products of M^-1 up to this many rates, solves above.
constexpr int kProductRates = 64;

namespace partials {

// out = -N X, where row i of X is zero but for rates related to i: its ancestors' and its
// subtree's.
template <class S, class P>
JOUNCE_INLINE void negative_product(const Tree<P>& tree, const S* N, const S* X, S* out) {
  const std::size_t nv = tree.nv;
  for (std::size_t r = 0; r < nv; ++r) {
    S* row = out + r * nv;
    for (std::size_t c = 0; c < nv; ++c) row[c] = S(0.0);
    for (int i = 0; i < tree.n; ++i) {
      const Node<P>& node = tree.nodes[i];
      for (int k = node.v; k < node.v + node.nv; ++k) {
        const S factor = N[r * nv + k];
        const S* x = X + k * nv;
        for (const Span& span : tree.related[i]) {
          for_columns<S>(span.begin, span.end, [&](auto c) {
            c.store(row, c.load(row) - c.load(x) * factor);
          });
        }
      }
    }
  }
}

// Columns of right-hand sides on their way through the tree: wrenches inward, accelerations
// outward, one set of six rows per depth.
template <class S>
struct ColumnBlock {
  S *wrenches, *accelerations;
  int width;

  static constexpr std::size_t kWidth = 64;

  JOUNCE_INLINE SixRows<S> wrench(int depth) const {
    return SixRows<S>(wrenches + 6 * kWidth * depth, kWidth);
  }
  JOUNCE_INLINE SixRows<S> acceleration(int depth) const {
    return SixRows<S>(accelerations + 6 * kWidth * depth, kWidth);
  }
};

// At a free root, whose screws are the unit vectors: x = J^-1 (-x - F), J^-1 from M^-1.
template <class S>
JOUNCE_INLINE void solve_free_root(const S* inverse, std::size_t nv, const SixRows<S>& F,
                                   const SixRows<S>& A, int width, S* rows) {
  for_columns<S>(0, width, [&](auto c) {
    using V = typename decltype(c)::Value;
    const auto n = F.angular(c), f = F.linear(c);
    const V u[] = {-c.load(rows) - n.x,          -c.load(rows + nv) - n.y,
                   -c.load(rows + 2 * nv) - n.z, -c.load(rows + 3 * nv) - f.x,
                   -c.load(rows + 4 * nv) - f.y, -c.load(rows + 5 * nv) - f.z};
    V x[6];
    for (int k = 0; k < 6; ++k) {
      x[k] = u[0] * inverse[k * nv];
      for (int i = 1; i < 6; ++i) x[k] = x[k] + u[i] * inverse[k * nv + i];
      c.store(rows + k * nv, x[k]);
    }
    A.set_angular(c, Vec3<V>{x[0], x[1], x[2]});
    A.set_linear(c, Vec3<V>{x[3], x[4], x[5]});
  });
}

// Right-hand sides -X from the leaves to the root; X gets what is left of them at each rate.
template <class S, class P>
JOUNCE_INLINE void solve_inward(const Tree<P>& tree, const S* N, S* X,
                                const InverseMassMatrixWork<S>& work, const ColumnBlock<S>& block) {
  const std::size_t nv = tree.nv;
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<P>& node = tree.nodes[i];
    const SixRows<S> F = block.wrench(node.depth + 1), up = block.wrench(node.depth);
    if (is_free_root(node)) {
      const SixRows<S> A = block.acceleration(node.depth + 1);
      solve_free_root(N + node.v * (nv + 1), nv, F, A, block.width, X + node.v * nv);
    } else {
      with_kind(node.kind, [&](auto kind) {
        constexpr Kind K = decltype(kind)::value;
        for (int k = rates(K) - 1; k >= 0; --k) {
          const auto& rate = work.rate[node.v + k];
          const Force<S> U = rate.U * rate.inverse_D;
          S* row = X + (node.v + k) * nv;
          for_columns<S>(0, block.width, [&](auto c) {
            const auto n = F.angular(c), f = F.linear(c);
            const auto u = -c.load(row) - along<K>(n, f, rate.s);
            c.store(row, u);
            F.set_angular(c, n + Vec3{u * U.n.x, u * U.n.y, u * U.n.z});
            F.set_linear(c, f + Vec3{u * U.f.x, u * U.f.y, u * U.f.z});
          });
        }
      });
    }
    const Vec3<S> d = work.offset(tree, i);
    for_columns<S>(0, block.width, [&](auto c) {
      const auto n = F.angular(c), f = F.linear(c), zero = n - n;
      up.set_angular(c, up.angular(c) + shifted_moment(n, f, d));
      up.set_linear(c, up.linear(c) + f);
      F.set_angular(c, zero);
      F.set_linear(c, zero);
    });
  }
}

// Accelerations from the root to the leaves.
template <class S, class P>
JOUNCE_INLINE void solve_outward(const Tree<P>& tree, S* X, const InverseMassMatrixWork<S>& work,
                                 const ColumnBlock<S>& block) {
  const std::size_t nv = tree.nv;
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    const SixRows<S> me = block.acceleration(node.depth + 1);
    if (is_free_root(node)) continue;
    SixRows<S> up = block.acceleration(node.depth);
    Vec3<S> d = work.offset(tree, i);
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = 0; k < rates(K); ++k) {
        const auto& rate = work.rate[node.v + k];
        S* row = X + (node.v + k) * nv;
        for_columns<S>(0, block.width, [&](auto c) { c.store(row, c.load(row) * rate.inverse_D); });
        outward_columns<K>(rate.s, rate.U, rate.inverse_D, d, true, 0, block.width, up, me, row);
        up = me;
        d = Vec3<S>::zero();
      }
    });
  }
}

// X <- -M^-1 X, some columns at a time, with the factors of the inverse mass matrix N.
template <class S, class P>
JOUNCE_INLINE void negative_solve(const Tree<P>& tree, const S* N, S* X,
                                  const InverseMassMatrixWork<S>& work, ColumnBlock<S> block) {
  constexpr int width = ColumnBlock<S>::kWidth;
  for (int c = 0; c < tree.nv; c += width) {
    block.width = tree.nv - c < width ? tree.nv - c : width;
    for (int k = 0; k < 6 * width * (tree.depth + 1); ++k) block.wrenches[k] = S(0.0);
    for (int k = 0; k < 6 * width; ++k) block.accelerations[k] = S(0.0);
    solve_inward(tree, N, X + c, work, block);
    solve_outward(tree, X + c, work, block);
  }
}

}  // namespace partials

template <class S>
struct ForwardPartialsWork {
  ArticulatedWork<S> dynamics;
  PartialsWork<S> partials;
  InverseMassMatrixWork<S> inverse;
  S *a, *dq, *dv, *M;
  partials::ColumnBlock<S> block;

  template <class P>
  ForwardPartialsWork(const Tree<P>& tree, Arena& arena)
      : dynamics(tree, arena), partials(tree, arena), inverse(tree, arena) {
    const std::size_t nv = tree.nv, levels = tree.depth + 1;
    a = arena.take<S>(nv);
    dq = arena.take<S>(nv * nv);
    dv = arena.take<S>(nv * nv);
    M = arena.take<S>(nv * nv);
    block.wrenches = arena.take<S>(6 * block.kWidth * levels);
    block.accelerations = arena.take<S>(6 * block.kWidth * levels);
  }
};

// dq, dv and dtau are nv x nv, row-major. Returns a singular node or -1.
template <class S, class P>
int forward_dynamics_partials(const Tree<P>& tree, const S* q, const S* v, const S* tau,
                              const S* f_ext, S* dq, S* dv, S* dtau, ForwardPartialsWork<S>& work) {
  const int singular = forward_dynamics(tree, q, v, tau, f_ext, work.a, work.dynamics);
  if (singular >= 0) return singular;
  inverse_mass_matrix(tree, q, dtau, work.inverse);
  if (tree.nv <= kProductRates) {
    inverse_dynamics_partials(tree, q, v, work.a, f_ext, work.dq, work.dv, work.M, work.partials);
    partials::negative_product(tree, dtau, work.dq, dq);
    partials::negative_product(tree, dtau, work.dv, dv);
    return -1;
  }
  inverse_dynamics_partials(tree, q, v, work.a, f_ext, dq, dv, work.M, work.partials);
  for (S* X : {dq, dv}) partials::negative_solve(tree, dtau, X, work.inverse, work.block);
  return -1;
}

}  // namespace jounce
