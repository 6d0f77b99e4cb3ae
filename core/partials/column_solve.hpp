// Hybrid dynamics without velocities and gravity for many right-hand sides at once, with the factors
// of base_factor.hpp (singh, "AZA", for any mask of prescribed rates).
//
// The rows of X that belong to free rates hold the forces -tau, and get accelerations. Rows of
// prescribed rates get the force added that it takes to keep their accelerations at zero, or, where
// `unit` says so, at one in the column of the same number:
//   free:       (1) u = -X - s^T F,  F += U u / D;   (2) X = (u - U^T A) / D,  A += s X
//   prescribed: (1) X += s^T F,  F += U y;           (2) X += U^T A + D y,  A += s y
// with the wrenches F on the way inward (1) and the accelerations A on the way outward (2).
#pragma once

#include <algorithm>

#include "jounce/dynamics/inverse_mass_matrix.hpp"

namespace jounce {
namespace partials {

// Columns on their way through the tree, one set of six rows per depth.
template <class S>
struct ColumnBlock {
  S *wrenches, *accelerations;
  int first = 0, width = 0;  // the columns in use
  std::size_t stride = 0;    // from a row of X to the next
  bool unit = false;         // prescribed accelerations are those of the identity matrix

  static constexpr std::size_t kWidth = lanes<S> > 1 ? 8 : 64;

  template <class P>
  ColumnBlock(const Tree<P>& tree, Arena& arena)
      : wrenches(arena.take<S>(6 * kWidth * (tree.depth + 1))),
        accelerations(arena.take<S>(6 * kWidth * (tree.depth + 1))) {}

  // Rows are as long as columns are in use, so that one column lies in a few lines of the cache.
  JOUNCE_INLINE SixRows<S> wrench(int depth) const { return rows(wrenches, depth); }
  JOUNCE_INLINE SixRows<S> acceleration(int depth) const { return rows(accelerations, depth); }
  JOUNCE_INLINE SixRows<S> rows(S* first, int depth) const {
    return SixRows<S>(first + 6 * std::size_t(width) * depth, width);
  }
  // The column in which rate r has a prescribed acceleration of one, or -1.
  JOUNCE_INLINE int column_of(int r) const {
    return unit && r >= first && r < first + width ? r - first : -1;
  }
  // No wrenches anywhere yet, and a world at rest.
  JOUNCE_INLINE void clear(int depth) const {
    const std::size_t six = 6 * std::size_t(width);
    std::fill_n(wrenches, six * (depth + 1), S(0.0));
    std::fill_n(accelerations, six, S(0.0));
  }
};

// Equation (1) at a free root without prescribed rates, whose screws are the unit vectors:
// X = J^-1 (-X - F), J^-1 from M^-1; these are its accelerations already.
template <class S>
JOUNCE_INLINE void solve_free_root(const S* inverse, std::size_t nv, const SixRows<S>& F,
                                   const ColumnBlock<S>& block, S* rows) {
  const std::size_t step = block.stride;
  for_columns<S>(0, block.width, [&](auto c) {
    using V = typename decltype(c)::Value;
    const auto n = F.angular(c), f = F.linear(c);
    const V u[] = {-c.load(rows) - n.x,            -c.load(rows + step) - n.y,
                   -c.load(rows + 2 * step) - n.z, -c.load(rows + 3 * step) - f.x,
                   -c.load(rows + 4 * step) - f.y, -c.load(rows + 5 * step) - f.z};
    for (int k = 0; k < 6; ++k) {
      V x = u[0] * inverse[k * nv];
      for (int i = 1; i < 6; ++i) x = x + u[i] * inverse[k * nv + i];
      c.store(rows + k * step, x);
    }
  });
}

// Equation (2) there. Roots share the place of their accelerations, so that each sets them before its children.
template <class S>
JOUNCE_INLINE void accelerate_free_root(const ColumnBlock<S>& block, S* rows, const SixRows<S>& A) {
  const SixRows<S> x(rows, block.stride);
  for_columns<S>(0, block.width, [&](auto c) {
    A.set_angular(c, x.angular(c));
    A.set_linear(c, x.linear(c));
  });
}

// Equation (1) at one rate.
template <Kind K, class S, class Rate>
JOUNCE_INLINE void inward_free(const Rate& rate, const SixRows<S>& F, int width, S* row) {
  const Force<S> U = rate.U * rate.inverse_D;
  for_columns<S>(0, width, [&](auto c) {
    auto column = wrench(F, c);
    const auto u = -c.load(row) - along<K>(column, rate.s);
    c.store(row, u);
    column += U * u;
    store(column, F, c);
  });
}
template <Kind K, class S, class Rate>
JOUNCE_INLINE void inward_prescribed(const Rate& rate, const SixRows<S>& F, int width, int unit,
                                     S* row) {
  for_columns<S>(0, width, [&](auto c) {
    c.store(row, c.load(row) + along<K>(wrench(F, c), rate.s));
  });
  if (unit < 0) return;
  const Columns<S, S> c{unit};
  Force<S> column = wrench(F, c);
  column += rate.U;
  store(column, F, c);
}

// Equation (2) at a prescribed rate: `up` holds the accelerations before it, whose origin sees the
// node's at d.
template <Kind K, class S, class Rate>
JOUNCE_INLINE void outward_prescribed(const Rate& rate, const Vec3<S>& d, const SixRows<S>& up,
                                      const SixRows<S>& me, int width, int unit, S* row) {
  for_columns<S>(0, width, [&](auto c) {
    const auto x = moved(motion(up, c), d);
    c.store(row, c.load(row) + dot(rate.U, x));
    store(x, me, c);
  });
  if (unit < 0) return;
  const Columns<S, S> c{unit};
  row[unit] += rate.D;
  Motion<S> x = motion(me, c);
  x += rate.s;
  store(x, me, c);
}

// Equation (1) from the leaves to the root. Without a mask, a free root takes J^-1 from N = M^-1.
template <class S, class P, class Mask>
JOUNCE_INLINE void solve_inward(const Tree<P>& tree, Mask prescribed, const S* N, S* X,
                                const BaseFactorWork<S>& work, const ColumnBlock<S>& block) {
  const std::size_t nv = tree.nv;
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<P>& node = tree.nodes[i];
    const SixRows<S> F = block.wrench(node.depth + 1), up = block.wrench(node.depth);
    if (N && is_free_root(node)) {
      solve_free_root(N + node.v * (nv + 1), nv, F, block, X + node.v * block.stride);
    } else {
      with_kind(node.kind, [&](auto kind) {
        constexpr Kind K = decltype(kind)::value;
        for (int k = rates(K) - 1; k >= 0; --k) {
          const int r = node.v + k;
          S* row = X + r * block.stride;
          if (prescribed(r)) {
            inward_prescribed<K>(work.rate[r], F, block.width, block.column_of(r), row);
          } else {
            inward_free<K>(work.rate[r], F, block.width, row);
          }
        }
      });
    }
    const Vec3<S> d = work.offset(tree, i);
    for_columns<S>(0, block.width, [&](auto c) {
      using V = typename decltype(c)::Value;
      auto sum = wrench(up, c);
      sum += shifted(d, wrench(F, c));
      store(sum, up, c);
      store(Force<V>::zero(), F, c);
    });
  }
}

// Equation (2) from the root to the leaves.
template <class S, class P, class Mask>
JOUNCE_INLINE void solve_outward(const Tree<P>& tree, Mask prescribed, const S* N, S* X,
                                 const BaseFactorWork<S>& work, const ColumnBlock<S>& block) {
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    const SixRows<S> me = block.acceleration(node.depth + 1);
    if (N && is_free_root(node)) {
      accelerate_free_root(block, X + node.v * block.stride, me);
      continue;
    }
    SixRows<S> up = block.acceleration(node.depth);
    Vec3<S> d = work.offset(tree, i);
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = 0; k < rates(K); ++k) {
        const int r = node.v + k, width = block.width;
        const auto& rate = work.rate[r];
        S* row = X + r * block.stride;
        if (prescribed(r)) {
          outward_prescribed<K, S>(rate, d, up, me, width, block.column_of(r), row);
        } else {
          for_columns<S>(0, width, [&](auto c) { c.store(row, c.load(row) * rate.inverse_D); });
          outward_columns<K>(rate.s, rate.U, rate.inverse_D, d, true, 0, width, up, me, row);
        }
        up = me;
        d = Vec3<S>::zero();
      }
    });
  }
}

// All columns of X, a block at a time.
template <class S, class P, class Mask>
JOUNCE_INLINE void solve_columns(const Tree<P>& tree, Mask prescribed, const S* N, S* X, int columns,
                                 bool unit, const BaseFactorWork<S>& work, ColumnBlock<S> block) {
  constexpr int width = ColumnBlock<S>::kWidth;
  block.stride = columns;
  block.unit = unit;
  for (int c = 0; c < columns; c += width) {
    block.first = c;
    block.width = columns - c < width ? columns - c : width;
    block.clear(tree.depth);
    solve_inward(tree, prescribed, N, X + c, work, block);
    solve_outward(tree, prescribed, N, X + c, work, block);
  }
}

// X <- -M^-1 X with the factors that the inverse mass matrix N left.
template <class S, class P>
JOUNCE_INLINE void negative_solve(const Tree<P>& tree, const S* N, S* X, int columns,
                                  const InverseMassMatrixWork<S>& work, const ColumnBlock<S>& block) {
  solve_columns(tree, NoneMask{}, N, X, columns, false, work, block);
}

}  // namespace partials
}  // namespace jounce
