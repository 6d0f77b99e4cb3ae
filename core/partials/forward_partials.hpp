// Partial derivatives of forward dynamics (singh, Sec. IV-E): da/dtau = M^-1 and
//   da/dx = -M^-1 dtau/dx   at the accelerations that forward dynamics gives, x = q or v.
// Either M^-1 is multiplied with the partials, which are zero between unrelated bodies (DMM), or
// the articulated factors solve for their columns (AZA); the first wins for all but long chains.
#pragma once

#include "../dynamics/inverse_mass_matrix.hpp"
#include "inverse_partials.hpp"

namespace jounce {

// Measured cross-over (`make bench`): products of M^-1 while a rate is related to so many others in
// the mean (all, in a chain), solves above.
constexpr int kProductRates = 150;

namespace partials {

// Some columns of X without the rows that are zero in all of them.
template <class S>
struct GatheredColumns {
  S* entries;  // one row after the other
  int* rows;
  int count;

  static constexpr int kMostColumns = std::is_same_v<S, double> ? lanes<Wide> : 1;

  template <class P>
  GatheredColumns(const Tree<P>& tree, Arena& arena)
      : entries(arena.take<S>(std::size_t(tree.nv) * kMostColumns)),
        rows(arena.take<int>(tree.nv)),
        count(0) {}

  template <class C, class P>
  JOUNCE_INLINE void gather(const Tree<P>& tree, const C& c, const S* X) {
    constexpr int width = sizeof(typename C::Value) / sizeof(S);
    const int words = related_words(tree.nv);
    count = 0;
    for (int w = 0; w < words; ++w) {
      std::uint64_t bits = 0;
      for (int k = c.at; k < c.at + width; ++k) bits |= tree.related[std::size_t(k) * words + w];
      for (; bits; bits &= bits - 1) {
        const int row = 64 * w + __builtin_ctzll(bits);
        C{width * count}.store(entries, c.load(X + std::size_t(row) * tree.nv));
        rows[count++] = row;
      }
    }
  }
};

// Rows [r, r + R) of out = -N X in some columns.
template <int R, class C, class S>
JOUNCE_INLINE void product_tile(const C& c, const GatheredColumns<S>& x, std::size_t nv, int r,
                                const S* N, S* out) {
  using V = typename C::Value;
  constexpr int width = sizeof(V) / sizeof(S);
  V sum[R];
  for (int i = 0; i < R; ++i) sum[i] = V(0.0);
  for (int k = 0; k < x.count; ++k) {
    const V entry = C{width * k}.load(x.entries);
    const S* factor = N + x.rows[k] * nv + r;  // N is symmetric
    for (int i = 0; i < R; ++i) sum[i] -= entry * factor[i];
  }
  for (int i = 0; i < R; ++i) c.store(out + (r + i) * nv, sum[i]);
}

// X <- -N X, where X has the sparsity of the tree and N is symmetric.
template <class S, class P>
JOUNCE_INLINE void negative_product(const Tree<P>& tree, const S* N, S* X, GatheredColumns<S>& x) {
  const int nv = tree.nv;
  for_columns<S>(0, nv, [&](auto c) {
    x.gather(tree, c, X);
    int r = 0;
    for (; r + 8 <= nv; r += 8) product_tile<8>(c, x, nv, r, N, X);
    for (; r + 2 <= nv; r += 2) product_tile<2>(c, x, nv, r, N, X);
    if (r < nv) product_tile<1>(c, x, nv, r, N, X);
  });
}

// Columns of right-hand sides on their way through the tree: wrenches inward, accelerations
// outward, one set of six rows per depth.
template <class S>
struct ColumnBlock {
  S *wrenches, *accelerations;
  int width;           // columns in use
  std::size_t stride;  // from a row of the right-hand sides to the next

  static constexpr std::size_t kWidth = lanes<S> > 1 ? 8 : 64;

  JOUNCE_INLINE SixRows<S> wrench(int depth) const {
    return SixRows<S>(wrenches + 6 * kWidth * depth, kWidth);
  }
  JOUNCE_INLINE SixRows<S> acceleration(int depth) const {
    return SixRows<S>(accelerations + 6 * kWidth * depth, kWidth);
  }
  // No wrenches anywhere yet, and a world at rest.
  JOUNCE_INLINE void clear(int depth) const {
    for (int row = 0; row < 6 * (depth + 1); ++row) {
      for (int c = 0; c < width; ++c) wrenches[row * kWidth + c] = S(0.0);
    }
    for (int row = 0; row < 6; ++row) {
      for (int c = 0; c < width; ++c) accelerations[row * kWidth + c] = S(0.0);
    }
  }
};

// At a free root, whose screws are the unit vectors: x = J^-1 (-x - F), J^-1 from M^-1.
template <class S>
JOUNCE_INLINE void solve_free_root(const S* inverse, std::size_t nv, const SixRows<S>& F,
                                   const SixRows<S>& A, const ColumnBlock<S>& block, S* rows) {
  const std::size_t step = block.stride;
  for_columns<S>(0, block.width, [&](auto c) {
    using V = typename decltype(c)::Value;
    const auto n = F.angular(c), f = F.linear(c);
    const V u[] = {-c.load(rows) - n.x,            -c.load(rows + step) - n.y,
                   -c.load(rows + 2 * step) - n.z, -c.load(rows + 3 * step) - f.x,
                   -c.load(rows + 4 * step) - f.y, -c.load(rows + 5 * step) - f.z};
    V x[6];
    for (int k = 0; k < 6; ++k) {
      x[k] = u[0] * inverse[k * nv];
      for (int i = 1; i < 6; ++i) x[k] = x[k] + u[i] * inverse[k * nv + i];
      c.store(rows + k * step, x[k]);
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
      solve_free_root(N + node.v * (nv + 1), nv, F, A, block, X + node.v * block.stride);
    } else {
      with_kind(node.kind, [&](auto kind) {
        constexpr Kind K = decltype(kind)::value;
        for (int k = rates(K) - 1; k >= 0; --k) {
          const auto& rate = work.rate[node.v + k];
          const Force<S> U = rate.U * rate.inverse_D;
          S* row = X + (node.v + k) * block.stride;
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
        S* row = X + (node.v + k) * block.stride;
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
JOUNCE_INLINE void negative_solve(const Tree<P>& tree, const S* N, S* X, int columns,
                                  const InverseMassMatrixWork<S>& work, ColumnBlock<S> block) {
  constexpr int width = ColumnBlock<S>::kWidth;
  block.stride = columns;
  for (int c = 0; c < columns; c += width) {
    block.width = columns - c < width ? columns - c : width;
    block.clear(tree.depth);
    solve_inward(tree, N, X + c, work, block);
    solve_outward(tree, X + c, work, block);
  }
}

}  // namespace partials

template <class S>
struct ForwardPartialsWork {
  InverseDynamicsWork<S> bias;
  PartialsWork<S> partials;
  InverseMassMatrixWork<S> inverse;
  partials::GatheredColumns<S> gathered;
  partials::ColumnBlock<S> block;
  S *a, *M;

  template <class P>
  ForwardPartialsWork(const Tree<P>& tree, Arena& arena)
      : bias(tree, arena), partials(tree, arena), inverse(tree, arena), gathered(tree, arena) {
    const std::size_t nv = tree.nv, levels = tree.depth + 1;
    block.wrenches = arena.take<S>(6 * block.kWidth * levels);
    block.accelerations = arena.take<S>(6 * block.kWidth * levels);
    a = arena.take<S>(nv);
    M = arena.take<S>(nv * nv);
  }
};

enum class PartialsMethod { automatic = 0, products = 1, solves = 2 };

// dq, dv and dtau are nv x nv, row-major. Returns a singular node or -1.
template <class S, class P>
int forward_dynamics_partials(const Tree<P>& tree, PartialsMethod method, const S* q, const S* v,
                              const S* tau, const S* f_ext, S* dq, S* dv, S* dtau,
                              ForwardPartialsWork<S>& work) {
  const int singular = inverse_mass_matrix(tree, q, dtau, work.inverse);
  if (singular >= 0) return singular;
  inverse_dynamics(tree, q, v, (const S*)nullptr, f_ext, work.a, work.bias);
  for (int i = 0; i < tree.nv; ++i) work.a[i] -= tau[i];
  partials::negative_solve(tree, dtau, work.a, 1, work.inverse, work.block);  // M^-1 (tau - bias)
  inverse_dynamics_partials(tree, q, v, work.a, f_ext, dq, dv, work.M, work.partials);
  const bool sparse = method == PartialsMethod::automatic ? tree.mean_related <= kProductRates
                                                          : method == PartialsMethod::products;
  for (S* X : {dq, dv}) {
    if (sparse && tree.nv <= kMostRelated) {
      partials::negative_product(tree, dtau, X, work.gathered);
    } else {
      partials::negative_solve(tree, dtau, X, tree.nv, work.inverse, work.block);
    }
  }
  return -1;
}

}  // namespace jounce
