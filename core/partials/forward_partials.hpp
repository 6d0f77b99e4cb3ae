// Partial derivatives of forward dynamics (singh, Sec. IV-E): da/dtau = M^-1 and
//   da/dx = -M^-1 dtau/dx   at the accelerations that forward dynamics gives, x = q or v.
// Either M^-1 is multiplied with the partials, which are zero between unrelated bodies (DMM), or
// the articulated factors solve for their columns (AZA); the first wins for all but long chains.
#pragma once

#include <bit>

#include "jounce/partials/column_solve.hpp"
#include "jounce/partials/inverse_partials.hpp"

namespace jounce {

// Measured cross-over (`make bench`): products of M^-1 while a rate is related to so many others in
// the mean (all, in a chain), solves above.
constexpr int kProductRates = 125;

namespace partials {

// Rows and groups of columns of a product that are summed at once: their sums stay in registers, and
// numbers that are loaded serve several of them. One group, where columns are in the lanes.
template <class S>
struct ProductTile {
  static constexpr bool kPacks = std::is_same_v<S, Wide>, kManyRegisters = lanes<Wide> > 4;
  static constexpr int kGroups = kPacks ? 4 : 1;
  static constexpr int kRows = !kPacks ? 8 : kManyRegisters ? 5 : 3;
};

// Some columns of X, in groups, without the rows that are zero in all of them.
template <class S>
struct GatheredColumns {
  S* entries;  // one row after the other
  int* rows;
  int count;

  static constexpr int kMostColumns = std::is_same_v<S, double> ? lanes<Wide> : ProductTile<S>::kGroups;

  // Of the rows of X and `more`.
  template <class P>
  GatheredColumns(const Tree<P>& tree, Arena& arena, int more = 0)
      : entries(arena.take<S>(std::size_t(tree.nv + more) * kMostColumns)),
        rows(arena.take<int>(tree.nv + more)),
        count(0) {}

  // Groups as wide as the columns c, from there on.
  template <int G = 1, class C, class P>
  JOUNCE_INLINE void gather(const Tree<P>& tree, const C& c, const S* X) {
    constexpr int width = sizeof(typename C::Value) / sizeof(S);
    const int words = related_words(tree.nv);
    count = 0;
    for (int w = 0; w < words; ++w) {
      std::uint64_t bits = 0;
      for (int k = c.at; k < c.at + G * width; ++k) bits |= tree.related[std::size_t(k) * words + w];
      for (; bits; bits &= bits - 1) {
        const int row = 64 * w + std::countr_zero(bits);
        const S* from = X + std::size_t(row) * tree.nv;
        for (int g = 0; g < G; ++g) {
          C{(G * count + g) * width}.store(entries, C{c.at + g * width}.load(from));
        }
        rows[count++] = row;
      }
    }
  }
};

// R rows of out = -N^T X in some columns, of matrices whose rows are so far apart.
template <int R, int G, class C, class S>
JOUNCE_INLINE void product_tile(const C& c, const GatheredColumns<S>& x, const S* N, std::size_t N_step,
                                S* out, std::size_t step) {
  using V = typename C::Value;
  constexpr int width = sizeof(V) / sizeof(S);
  V sum[R][G];
  for (int i = 0; i < R; ++i) {
    for (int g = 0; g < G; ++g) sum[i][g] = V(0.0);
  }
  for (int k = 0; k < x.count; ++k) {
    const S* factor = N + x.rows[k] * N_step;
    V entry[G];
    for (int g = 0; g < G; ++g) entry[g] = C{(G * k + g) * width}.load(x.entries);
    for (int i = 0; i < R; ++i) {
      for (int g = 0; g < G; ++g) sum[i][g] -= entry[g] * factor[i];
    }
  }
  for (int i = 0; i < R; ++i) {
    for (int g = 0; g < G; ++g) C{c.at + g * width}.store(out + i * step, sum[i][g]);
  }
}

// The first `count` rows of out = -N^T X in G groups of columns.
template <int G = 1, class C, class S>
JOUNCE_INLINE void product_rows(const C& c, const GatheredColumns<S>& x, int count, const S* N,
                                std::size_t N_step, S* out, std::size_t step) {
  constexpr int rows = ProductTile<S>::kRows;
  int r = 0;
  for (; r + rows <= count; r += rows) product_tile<rows, G>(c, x, N + r, N_step, out + r * step, step);
  for (; r + 2 <= count; r += 2) product_tile<2, G>(c, x, N + r, N_step, out + r * step, step);
  if (r < count) product_tile<1, G>(c, x, N + r, N_step, out + r * step, step);
}

// X <- -N X, where X has the sparsity of the tree and N is symmetric.
template <class S, class P>
JOUNCE_INLINE void negative_product(const Tree<P>& tree, const S* N, S* X, GatheredColumns<S>& x) {
  constexpr int groups = ProductTile<S>::kGroups;
  const int nv = tree.nv;
  int first = 0;
  if constexpr (groups > 1) {
    for (; first + groups <= nv; first += groups) {
      const Columns<S, S> c{first};
      x.template gather<groups>(tree, c, X);
      product_rows<groups>(c, x, nv, N, nv, X, nv);
    }
  }
  for_columns<S>(first, nv, [&](auto c) {
    x.gather(tree, c, X);
    product_rows(c, x, nv, N, nv, X, nv);
  });
}

// Whether products with M^-1 are faster than solves.
template <class P>
bool has_few_related(const Tree<P>& tree) {
  return tree.mean_related <= kProductRates && tree.nv <= kMostRelated;
}

// X becomes -N X, N = M^-1, for X with the sparsity of the tree: by products or by solves.
template <class S, class P>
JOUNCE_INLINE void negative_apply(const Tree<P>& tree, bool products, const S* N, S* X,
                                  InverseMassMatrixWork<S>& inverse, GatheredColumns<S>& gathered,
                                  ColumnBlock<S>& block) {
  if (products) {
    negative_product(tree, N, X, gathered);
  } else {
    negative_solve(tree, N, X, tree.nv, inverse, block);
  }
}

}  // namespace partials

template <class S>
struct ForwardPartialsWork {
  InverseMassMatrixWork<S> inverse;
  InverseDynamicsWork<S> bias;  // with the angles of `inverse`
  PartialsWork<S> partials;     // with its base frame
  partials::GatheredColumns<S> gathered;
  partials::ColumnBlock<S> block;
  S *a, *M;

  template <class P>
  ForwardPartialsWork(const Tree<P>& tree, Arena& arena)
      : inverse(tree, arena),
        bias(tree, arena, inverse.base.angles),
        partials(tree, arena, inverse.base),
        gathered(tree, arena),
        block(tree, arena),
        a(arena.take<S>(tree.nv)),
        M(arena.take<S>(std::size_t(tree.nv) * tree.nv)) {}
};

enum class PartialsMethod { automatic = 0, products = 1, solves = 2 };

// dq, dv and dtau are nv x nv, row-major. Returns a singular node or -1.
template <class S, class P>
int forward_dynamics_partials(const Tree<P>& tree, PartialsMethod method, const S* q, const S* v,
                              const S* tau, const S* f_ext, S* dq, S* dv, S* dtau,
                              ForwardPartialsWork<S>& work) {
  const int singular = inverse_mass_matrix(tree, q, dtau, work.inverse);
  if (singular >= 0) return singular;
  newton_euler(tree, q, v, (const S*)nullptr, f_ext, work.a, work.bias);
  for (int i = 0; i < tree.nv; ++i) work.a[i] -= tau[i];
  partials::negative_solve(tree, dtau, work.a, 1, work.inverse, work.block);  // M^-1 (tau - bias)
  partials_at_base(tree, q, v, work.a, f_ext, dq, dv, work.M, work.partials);
  const bool products = method == PartialsMethod::automatic
                            ? partials::has_few_related(tree)
                            : method == PartialsMethod::products && tree.nv <= kMostRelated;
  for (S* X : {dq, dv}) {
    partials::negative_apply(tree, products, dtau, X, work.inverse, work.gathered, work.block);
  }
  return -1;
}

}  // namespace jounce
