// Inverse of the mass matrix without forming it (bos, Table 9, for every joint type), along the
// axes of the root (see base_frame.hpp).
//
// Inward, the articulated inertia is factored as in articulated.hpp and, for every rate r of the
// node, the columns c of its subtree get
//   (1) N_rc = -s_r^T F_c / D_r,  N_rr = 1 / D_r,  F_c += U_r N_rc
// where F_c is the wrench at the node's origin caused by a unit force at rate c. Subtrees do not
// share columns, so one array of columns serves the whole tree.
// Outward, for the columns c >= r of the subtree, with A_c the acceleration of the node:
//   (2) N_rc -= U_r^T A_c / D_r,  A_c += s_r N_rc
// a block of columns at a time, so that the accelerations along one path need little memory. Where
// branches meet, in node m, the rates r of one and c of a later one know of each other by m alone:
//   (3) N_rc = -F_r^T A_c   with both at m.
// A free root is solved as one 6x6 block.
#pragma once

#include <algorithm>

#include "jounce/dynamics/base_factor.hpp"
#include "jounce/spatial/columns.hpp"

namespace jounce {

template <class S>
struct InverseMassMatrixWork : BaseFactorWork<S> {
  S* columns;        // 6 arrays over the rates: wrenches, on the way inward
  S* accelerations;  // 6 arrays over a block of columns for each depth, on the way outward
  S* copies;         // wrenches where branches meet
  int* meeting;      // of each node: how many columns are copied before its own, -1: no meeting
  int* reach;        // and where its columns of equation (2) end

  static constexpr int kBlock = lanes<S> > 1 ? 16 : 64;
  static constexpr int kCopies = 2;  // at most so many for each rate

  template <class P>
  InverseMassMatrixWork(const Tree<P>& tree, Arena& arena)
      : BaseFactorWork<S>(tree, arena),
        columns(arena.take<S>(6 * std::size_t(tree.nv))),
        accelerations(arena.take<S>(6 * std::size_t(kBlock) * tree.depth)),
        copies(arena.take<S>(6 * std::size_t(kCopies) * tree.nv)),
        meeting(arena.take<int>(tree.n)),
        reach(arena.take<int>(tree.n)) {}

  // The wrenches that equation (3) needs at a node, over the rates. A free root is the end of the way
  // inward, so that its own need no copies.
  template <class P>
  JOUNCE_INLINE SixRows<S> met(const Tree<P>& tree, int m) const {
    const Node<P>& node = tree.nodes[m];
    if (is_free_root(node)) return {columns, std::size_t(tree.nv)};
    const int first = node.v + node.nv;
    return {copies + 6 * std::size_t(meeting[m]) - first, std::size_t(node.v_end - first)};
  }
};

// Decides where branches meet: where there are many pairs of rates for each column that is copied.
template <class S, class P>
JOUNCE_INLINE void find_meetings(const Tree<P>& tree, InverseMassMatrixWork<S>& work) {
  if (tree.depth == tree.n) {  // a chain
    std::fill_n(work.reach, tree.n, tree.nv);
    std::fill_n(work.meeting, tree.n, -1);
    return;
  }
  int copied = 0;
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    const int p = node.parent;
    work.reach[i] = p < 0 || work.meeting[p] >= 0 ? node.v_end : work.reach[p];
    work.meeting[i] = -1;
    if (i + 1 == node.end || tree.nodes[i + 1].end == node.end) continue;  // no branches
    const int columns = is_free_root(node) ? 0 : node.v_end - node.v - node.nv;
    std::ptrdiff_t pairs = 0;
    for (int b = i + 1; b < node.end; b = tree.nodes[b].end) {
      const Node<P>& branch = tree.nodes[b];
      pairs += std::ptrdiff_t(branch.v_end - branch.v) * (node.v_end - branch.v_end);
    }
    // columns beyond the subtree, of branches that meet further inward without copies, go all the way
    if (work.reach[i] != node.v_end) continue;
    if (pairs <= 2 * columns || copied + columns > work.kCopies * tree.nv) continue;
    work.meeting[i] = copied;
    copied += columns;
  }
}

// Equation (1) for one rate, columns [begin, end); then the wrenches are shifted by d.
template <Kind K, class S>
JOUNCE_INLINE void inward_columns(const Motion<S>& s, const Force<S>& U, const S& inverse_D,
                                  const Vec3<S>& d, int begin, int end, const SixRows<S>& F, S* N) {
  const Motion<S> scaled{s.w * -inverse_D, s.v * -inverse_D};
  for_columns<S>(begin, end, [&](auto c) {
    auto column = wrench(F, c);
    const auto x = along<K>(column, scaled);
    c.store(N, x);
    column += U * x;
    store(shifted(d, column), F, c);
  });
}

// Equation (2) for one rate, columns [begin, end): `up` holds the accelerations of the parent,
// whose origin sees the node's at d; those of the node go to `me`, unless nobody needs them.
template <Kind K, class S>
JOUNCE_INLINE void outward_columns(const Motion<S>& s, const Force<S>& U, const S& inverse_D,
                                   const Vec3<S>& d, bool keep, int begin, int end,
                                   const SixRows<S>& up, const SixRows<S>& me, S* N) {
  // U^T (w, v + w x d) = (n + d x f)^T w + f^T v
  const Force<S> seen_from_parent = shifted(d, U * inverse_D);
  for_columns<S>(begin, end, [&](auto c) {
    const auto parent = motion(up, c);
    const auto x = c.load(N) - dot(seen_from_parent, parent);
    c.store(N, x);
    if (!keep) return;
    auto own = moved(parent, d);
    if constexpr (rotates(K)) own.w += s.w * x;
    if constexpr (moves(K)) own.v += s.v * x;
    store(own, me, c);
  });
}

// The same for the first rate of a root, whose parent, the world, does not accelerate.
template <Kind K, class S>
JOUNCE_INLINE void outward_root_columns(const Motion<S>& s, int begin, int end,
                                        const SixRows<S>& me, const S* N) {
  for_columns<S>(begin, end, [&](auto c) {
    const auto x = c.load(N);
    me.set_angular(c, s.w * x);
    me.set_linear(c, s.v * x);
  });
}

// Inverse of a free root's articulated inertia J (plus armature), rows and columns angular first.
// The rates are eliminated one at a time, the last first. Returns whether a pivot vanishes.
template <class S, class P, class Row>
JOUNCE_INLINE bool invert_root(const Tree<P>& tree, const Node<P>& node, const Row& me,
                               S (&inverse)[6][6]) {
  S m[6][6], pivot[6];
  bool singular = false;
  for (int k = 0; k < 6; ++k) {
    const Force<S> c = me.J.column(k);
    const S column[] = {c.n.x, c.n.y, c.n.z, c.f.x, c.f.y, c.f.z};
    for (int i = 0; i < 6; ++i) m[i][k] = column[i];
    m[k][k] += tree.armature[node.v + k];
  }
  for (int k = 5; k >= 0; --k) {  // m = L^T D L, L unit lower triangular, stored below D
    if (vanishes(m[k][k], pivot_scale<Kind::free, S>(node, k, me))) singular = true;
    pivot[k] = S(1.0) / m[k][k];
    for (int i = k - 1; i >= 0; --i) {
      const S l = m[k][i] * pivot[k];
      for (int j = 0; j <= i; ++j) m[i][j] -= l * m[k][j];
    }
    for (int i = 0; i < k; ++i) m[k][i] *= pivot[k];
  }
  for (int c = 0; c < 6; ++c) {  // m x = e_c: first L^T, then D, then L
    S x[6];
    for (int k = 5; k >= 0; --k) {
      x[k] = S(k == c ? 1.0 : 0.0);
      for (int i = k + 1; i < 6 && i <= c; ++i) x[k] -= m[i][k] * x[i];
      if (k > c) x[k] = S(0.0);
    }
    for (int k = 0; k < 6; ++k) {
      x[k] *= pivot[k];
      for (int i = 0; i < k; ++i) x[k] -= m[k][i] * x[i];
    }
    for (int k = 0; k < 6; ++k) inverse[k][c] = x[k];
  }
  return singular;
}

// Equations (1) and (2) at a free root at once: its rates are its acceleration, so A = -J^-1 F.
template <class S, class P>
JOUNCE_INLINE bool free_root(const Tree<P>& tree, const Node<P>& node,
                             const InverseMassMatrixWork<S>& work, S* N) {
  const std::size_t nv = tree.nv;
  const SixRows<S> F(work.columns, nv);
  S inverse[6][6];
  const bool singular = invert_root(tree, node, work.row[&node - tree.nodes.data()], inverse);
  S* rows = N + node.v * nv;
  for (int k = 0; k < 6; ++k) {
    for (int c = 0; c < 6; ++c) rows[k * nv + node.v + c] = inverse[k][c];
  }
  for_columns<S>(node.v + 6, node.v_end, [&](auto c) {
    const auto n = F.angular(c), f = F.linear(c);
    for (int k = 0; k < 6; ++k) {
      const S* row = inverse[k];
      const auto x = -(n.x * row[0] + n.y * row[1] + n.z * row[2] + f.x * row[3] + f.y * row[4] +
                       f.z * row[5]);
      c.store(rows + k * nv, x);
    }
  });
  return singular;
}

// Equation (1) while the inertias are factored; a free root needs no factors.
template <class S, class P>
struct InverseMassInward : FactorVisitor {
  const Tree<P>& tree;
  const InverseMassMatrixWork<S>& work;
  S* N;
  int& singular;
  SixRows<S> F;

  InverseMassInward(const Tree<P>& t, const InverseMassMatrixWork<S>& w, S* matrix, int& bad)
      : tree(t), work(w), N(matrix), singular(bad), F(w.columns, t.nv) {}

  template <class Row>
  JOUNCE_INLINE bool enter(int i, Row&) {
    const Node<P>& node = tree.nodes[i];
    if (!is_free_root(node)) {
      if (work.meeting[i] < 0) return true;
      const SixRows<S> met = work.met(tree, i);
      for_columns<S>(node.v + node.nv, node.v_end, [&](auto c) { store(wrench(F, c), met, c); });
      return true;
    }
    if (free_root(tree, tree.nodes[i], work, N) && singular < 0) singular = i;
    return false;
  }
  template <Kind K, class Row, class Rate>
  JOUNCE_INLINE void eliminated(int i, int k, Row&, const Rate& rate, const Vec3<S>& offset) {
    const Node<P>& node = tree.nodes[i];
    const int nv = tree.nv, r = node.v + k;
    S* row = N + std::size_t(r) * nv;
    const Force<S> U_over_D = rate.U * rate.inverse_D;
    const Vec3<S> d = k == 0 ? offset : Vec3<S>::zero();  // to the parent, after the last rate
    inward_columns<K>(rate.s, rate.U, rate.inverse_D, d, r + 1, node.v_end, F, row);
    row[r] = rate.inverse_D;
    for (int c = node.v_end; c < work.reach[i]; ++c) row[c] = S(0.0);
    store(shifted(d, U_over_D), F, Columns<S, S>{r});
  }
};

// Rates of different trees know nothing of each other.
template <class S, class P>
JOUNCE_INLINE void part_trees(const Tree<P>& tree, S* N) {
  for (int root = 0; root < tree.n; root = tree.nodes[root].end) {
    const Node<P>& node = tree.nodes[root];
    for (int r = node.v; r < node.v_end; ++r) {
      for (int c = node.v_end; c < tree.nv; ++c) N[std::size_t(r) * tree.nv + c] = S(0.0);
    }
  }
}

// Factors the articulated inertias and runs equation (1). Returns a singular node or -1.
template <class S, class P>
JOUNCE_INLINE int inverse_mass_inward(const Tree<P>& tree, S* N, InverseMassMatrixWork<S>& work) {
  int singular = -1;
  find_meetings(tree, work);
  work.reset(tree.n);
  factor_inward<S>(tree, NoneMask{}, RootAxes<S, P>{tree, work}, work.row, work.rate, singular,
                   InverseMassInward<S, P>(tree, work, N, singular));
  part_trees(tree, N);
  return singular;
}

// Equation (2) at the rates of a node; `up` holds the accelerations of the parent, if there is one.
template <class S, class P>
JOUNCE_INLINE void outward_node(const Tree<P>& tree, int i, int first, int last, const SixRows<S>& me,
                                SixRows<S> up, S* N, const InverseMassMatrixWork<S>& work) {
  const Node<P>& node = tree.nodes[i];
  Vec3<S> d = work.offset(tree, i);
  const bool has_children = node.end > i + 1;
  const int end = (work.reach[i] < last ? work.reach[i] : last) - first;
  with_kind(node.kind, [&](auto kind) {
    constexpr Kind K = decltype(kind)::value;
    for (int k = 0; k < rates(K); ++k) {
      const int r = node.v + k, begin = r < first ? 0 : r - first;
      const auto& rate = work.rate[r];
      const bool keep = has_children || k + 1 < rates(K);
      S* row = N + std::size_t(r) * tree.nv + first;
      if (node.parent < 0 && k == 0) {
        outward_root_columns<K>(rate.s, begin, end, me, row);
      } else {
        outward_columns<K>(rate.s, rate.U, rate.inverse_D, d, keep, begin, end, up, me, row);
      }
      up = me;
      d = Vec3<S>::zero();
    }
  });
}

// Equation (3) at a node whose accelerations in the columns from `first` on are A, up to `last`.
template <class S, class P>
JOUNCE_INLINE void join_branches(const Tree<P>& tree, int m, int first, int last, const SixRows<S>& A,
                                 const SixRows<S>& F, S* N) {
  const Node<P>& node = tree.nodes[m];
  const int end = node.v_end < last ? node.v_end : last;
  for (int b = m + 1; b < node.end; b = tree.nodes[b].end) {
    const Node<P>& branch = tree.nodes[b];
    const int begin = branch.v_end < first ? first : branch.v_end;
    for_columns<S>(begin - first, end - first, [&](auto c) {
      const auto x = motion(A, c);
      for (int r = branch.v; r < branch.v_end; ++r) {
        c.store(N + std::size_t(r) * tree.nv + first, -dot(wrench(F, Columns<S, S>{r}), x));
      }
    });
  }
}

// Equations (2) and (3) for the columns [first, last).
template <class S, class P>
JOUNCE_INLINE void inverse_mass_outward(const Tree<P>& tree, int first, int last, S* N,
                                        InverseMassMatrixWork<S>& work) {
  const std::size_t nv = tree.nv;
  const auto accelerations = [&](int i) -> SixRows<S> {
    const Node<P>& node = tree.nodes[i];
    if (is_free_root(node)) return {N + node.v * nv + first, nv};  // its rates
    constexpr std::size_t length = InverseMassMatrixWork<S>::kBlock;
    return {work.accelerations + 6 * length * node.depth, length};
  };
  for (int i = 0; i < tree.n && tree.nodes[i].v < last;) {
    const Node<P>& node = tree.nodes[i];
    if (work.reach[i] <= first) {
      i = node.end;
      continue;
    }
    const SixRows<S> me = accelerations(i);
    if (!is_free_root(node)) {
      const SixRows<S> up = node.parent < 0 ? me : accelerations(node.parent);
      outward_node(tree, i, first, last, me, up, N, work);
    }
    if (work.meeting[i] >= 0) join_branches(tree, i, first, last, me, work.met(tree, i), N);
    ++i;
  }
}

// At the configuration of work.base; N is nv x nv, row-major.
template <Fill kFill = Fill::whole, class S, class P>
JOUNCE_INLINE int inverse_mass_matrix(const Tree<P>& tree, S* N, InverseMassMatrixWork<S>& work) {
  const int singular = inverse_mass_inward(tree, N, work);
  for (int first = 0; first < tree.nv; first += work.kBlock) {
    const int last = first + work.kBlock;
    inverse_mass_outward(tree, first, last < tree.nv ? last : tree.nv, N, work);
  }
  if constexpr (kFill == Fill::whole) mirror_upper(tree.nv, N, tree.nv, N);
  return singular;
}

template <Fill kFill = Fill::whole, class S, class P>
int inverse_mass_matrix(const Tree<P>& tree, const S* q, S* N, InverseMassMatrixWork<S>& work) {
  base_frame(tree, q, work.base);
  return inverse_mass_matrix<kFill>(tree, N, work);
}

}  // namespace jounce
