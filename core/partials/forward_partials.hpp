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
// numbers that are loaded serve several of them. One group of each matrix, where columns are in the lanes.
template <class S>
struct ProductTile {
  static constexpr bool kPacks = std::is_same_v<S, Wide>, kManyRegisters = lanes<Wide> > 4;
  static constexpr int kGroups = kPacks ? 4 : 1;
  static constexpr int kRows = kPacks ? (kManyRegisters ? 5 : 3) : (kManyRegisters ? 8 : 6);
};

constexpr int kMostMatrices = 2;  // that are multiplied at once

// Some columns of one or two matrices, in groups, without the rows that are zero in all of them.
template <class S>
struct GatheredColumns {
  S* entries;  // one row after the other
  int* rows;
  int count;

  static constexpr int kMostColumns =
      kMostMatrices * (std::is_same_v<S, double> ? lanes<Wide> : ProductTile<S>::kGroups);

  // Of the rows of X and `more`.
  template <class P>
  GatheredColumns(const Tree<P>& tree, Arena& arena, int more = 0)
      : entries(arena.take<S>(std::size_t(tree.nv + more) * kMostColumns)),
        rows(arena.take<int>(tree.nv + more)),
        count(0) {}

  // Groups as wide as V that begin at `groups`, which are among the columns [begin, end).
  template <class V, std::size_t G, class P>
  JOUNCE_INLINE void gather(const Tree<P>& tree, int begin, int end, S* const (&groups)[G]) {
    const int words = related_words(tree.nv);
    count = 0;
    for (int w = 0; w < words; ++w) {
      std::uint64_t bits = 0;
      for (int c = begin; c < end; ++c) bits |= tree.related[std::size_t(c) * words + w];
      for (; bits; bits &= bits - 1) {
        const int row = 64 * w + std::countr_zero(bits);
        append<V>(row, std::size_t(row) * tree.nv, groups);
      }
    }
  }
  // A row, which is so far from the first.
  template <class V, std::size_t G, class From>
  JOUNCE_INLINE void append(int row, std::size_t step, From* const (&groups)[G]) {
    constexpr int width = sizeof(V) / sizeof(S);
    for (std::size_t g = 0; g < G; ++g) {
      const Columns<V, S> to{int(G * count + g) * width};
      to.store(entries, Columns<V, S>{0}.load(groups[g] + step));
    }
    rows[count++] = row;
  }
};

// R rows of out = -N^T X in G of the groups that were gathered, of which there are `all`; rows of the
// matrices are so far apart.
template <int R, int G, class V, class S>
JOUNCE_INLINE void product_tile(const GatheredColumns<S>& x, int first, int all, const S* N,
                                std::size_t N_step, S* const* out, std::size_t step) {
  constexpr int width = sizeof(V) / sizeof(S);
  V sum[R][G];
  for (int i = 0; i < R; ++i) {
    for (int g = 0; g < G; ++g) sum[i][g] = V(0.0);
  }
  const S* entries = x.entries + first * width;
  for (int k = 0; k < x.count; ++k, entries += all * width) {
    const S* factor = N + x.rows[k] * N_step;
    V entry[G];
    for (int g = 0; g < G; ++g) entry[g] = Columns<V, S>{g * width}.load(entries);
    for (int i = 0; i < R; ++i) {
      for (int g = 0; g < G; ++g) sum[i][g] -= entry[g] * factor[i];
    }
  }
  for (int i = 0; i < R; ++i) {
    for (int g = 0; g < G; ++g) Columns<V, S>{0}.store(out[first + g] + i * step, sum[i][g]);
  }
}

// The first `count` rows of out = -N^T X, whose groups of columns, as wide as V, begin at `out`. If tiles
// do not fit, some rows are computed twice.
template <class V, std::size_t All, class S>
JOUNCE_INLINE void product_rows(const GatheredColumns<S>& x, int count, const S* N, std::size_t N_step,
                                S* const (&out)[All], std::size_t step) {
  using Tile = ProductTile<S>;
  constexpr int all = All, groups = Tile::kPacks && all > Tile::kGroups ? Tile::kGroups : all;
  const auto rows = [&](auto number, int r) JOUNCE_INLINED {
    S* place[all];
    for (int g = 0; g < all; ++g) place[g] = out[g] + r * step;
    for (int g = 0; g < all; g += groups) {
      product_tile<decltype(number)::value, groups, V>(x, g, all, N + r, N_step, place, step);
    }
  };
  constexpr std::integral_constant<int, Tile::kRows> most{};
  int r = 0;
  for (; r + most <= count; r += most) rows(most, r);
  if (r < count && count >= most) return rows(most, count - most);
  for (; r + 2 <= count; r += 2) rows(std::integral_constant<int, 2>{}, r);
  if (r < count) rows(std::integral_constant<int, 1>{}, r);
}

// X <- -N X for one or two matrices X with the sparsity of the tree, and N symmetric.
template <class S, class P, std::size_t K>
JOUNCE_INLINE void negative_product(const Tree<P>& tree, const S* N, S* const (&X)[K],
                                    GatheredColumns<S>& x) {
  static_assert(K <= kMostMatrices);
  const int nv = tree.nv;
  const auto columns = [&](auto c, auto number) JOUNCE_INLINED {
    using V = typename decltype(c)::Value;
    constexpr int G = decltype(number)::value, width = sizeof(V) / sizeof(S);
    S* groups[K * G];
    for (std::size_t k = 0; k < K * G; ++k) groups[k] = X[k / G] + c.at + k % G * width;
    x.template gather<V>(tree, c.at, c.at + G * width, groups);
    product_rows<V>(x, nv, N, nv, groups, nv);
  };
  constexpr std::integral_constant<int, ProductTile<S>::kGroups> many{};
  int first = 0;
  if constexpr (many > 1) {
    for (; first + many <= nv; first += many) columns(Columns<S, S>{first}, many);
  }
  for_columns<S>(first, nv, [&](auto c) { columns(c, std::integral_constant<int, 1>{}); });
}

// Whether products with M^-1 are faster than solves.
template <class P>
bool has_few_related(const Tree<P>& tree) {
  return tree.mean_related <= kProductRates && tree.nv <= kMostRelated;
}

// X becomes -N X, N = M^-1, for matrices X with the sparsity of the tree: by products or by solves.
template <class S, class P, std::size_t K>
JOUNCE_INLINE void negative_apply(const Tree<P>& tree, bool products, const S* N, S* const (&X)[K],
                                  InverseMassMatrixWork<S>& inverse, GatheredColumns<S>& gathered,
                                  ColumnBlock<S>& block) {
  if (products) return negative_product(tree, N, X, gathered);
  for (S* x : X) negative_solve(tree, N, x, tree.nv, inverse, block);
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

// The accelerations work.a of forward dynamics, the partials dq and dv of inverse dynamics at them, and M^-1 with its
// factors in work.inverse. Returns a singular node or -1.
template <class S, class P>
JOUNCE_INLINE int partials_at_forces(const Tree<P>& tree, const S* q, const S* v, const S* tau, const S* f_ext, S* dq,
                                     S* dv, S* inverse, ForwardPartialsWork<S>& work) {
  const int singular = inverse_mass_matrix(tree, q, inverse, work.inverse);
  if (singular >= 0) return singular;
  newton_euler(tree, q, v, (const S*)nullptr, f_ext, work.a, work.bias);
  for (int i = 0; i < tree.nv; ++i) work.a[i] -= tau[i];
  // M^-1 (tau - bias): products would lose as many digits as M has in its condition
  partials::negative_solve(tree, inverse, work.a, 1, work.inverse, work.block);
  partials_at_base(tree, q, v, work.a, f_ext, dq, dv, work.M, work.partials);
  return -1;
}

// dq, dv and dtau are nv x nv, row-major. Returns a singular node or -1.
template <class S, class P>
int forward_dynamics_partials(const Tree<P>& tree, PartialsMethod method, const S* q, const S* v,
                              const S* tau, const S* f_ext, S* dq, S* dv, S* dtau,
                              ForwardPartialsWork<S>& work) {
  const int singular = partials_at_forces(tree, q, v, tau, f_ext, dq, dv, dtau, work);
  if (singular >= 0) return singular;
  const bool products = method == PartialsMethod::automatic
                            ? partials::has_few_related(tree)
                            : method == PartialsMethod::products && tree.nv <= kMostRelated;
  partials::negative_apply(tree, products, dtau, {dq, dv}, work.inverse, work.gathered, work.block);
  return -1;
}

}  // namespace jounce
