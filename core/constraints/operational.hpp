// The operational-space inertia of constraints, J M^-1 J^T, without M.
//
// The articulated inertias (factor.hpp) factor the mass matrix: with the screw s_r, U_r and D_r of rate r
// in the tree and the wrench F_i of row i on its way to the root,
//   (1) Z_ir = s_r^T F_i (plus the row's own force at r),   F_i -= U_r Z_ir / D_r
//   (2) J M^-1 J^T = Z D^-1 Z^T
// Z_ir is what the row's unit force adds to the force that is left to accelerate rate r, so that the
// same numbers bring the forces back into the recursion of forward dynamics. Z is kept rate by rate,
// with the range of rows that are not zero there: feet of different legs meet at the base only.
#pragma once

#include <algorithm>
#include <type_traits>

#include "jounce/constraints/rows.hpp"
#include "jounce/dynamics/articulated.hpp"

namespace jounce {

template <class S>
struct OperationalWork {
  int m, records;
  Constraint* constraint;
  S* Z;               // (nv, m)
  int *begin, *end;   // (nv) rows that are not zero
  S* K;               // (m, m) the upper half of J M^-1 J^T
  S* scale;           // (m) what its diagonal is made of

  template <class P>
  OperationalWork(const Tree<P>& tree, int rows, Arena& arena) : m(rows), records(0) {
    constraint = nullptr;
    Z = arena.take<S>(std::size_t(tree.nv) * m);
    begin = arena.take<int>(tree.nv);
    end = arena.take<int>(tree.nv);
    K = arena.take<S>(std::size_t(m) * m);
    scale = arena.take<S>(m);
  }
};

// Adds what row `row` has at a rate, or what `count` rows have, one in each lane of R.
template <class R, class S>
JOUNCE_INLINE void add_at_rate(const R& z, const R& size, int r, int row, int count, OperationalWork<S>& work) {
  S* Z = work.Z + std::size_t(r) * work.m + row;
  if constexpr (std::is_same_v<R, S>) {
    Z[0] += z;
    work.scale[row] += size;
  } else {
    for (int i = 0; i < count; ++i) {
      Z[i] += lane(z, i);
      work.scale[row + i] += lane(size, i);
    }
  }
  work.begin[r] = std::min(work.begin[r], row);
  work.end[r] = std::max(work.end[r], row + count);
}

// Equation (1) from a node to the root: `wrench` acts on the node, `force` at rate `at`. Of one state,
// several rows go at once, in the lanes of R. Rates that are prescribed take no part.
template <class R, class S, class P, class Factors, class Mask>
void reduce(const Tree<P>& tree, const Factors& factors, Mask prescribed, int node_index, Force<R> wrench,
            int at, const R& force, int row, int count, OperationalWork<S>& work) {
  for (int i = node_index; i >= 0; i = tree.nodes[i].parent) {
    const Node<P>& node = tree.nodes[i];
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = rates(K) - 1; k >= 0; --k) {
        const int r = node.v + k;
        if (prescribed(r)) continue;
        const auto& rate = factors.rate[r];
        R z = along<K>(node, k, wrench);
        R size = slides(K, k) ? dot(wrench.f, wrench.f) : dot(wrench.n, wrench.n);
        if (r == at) {
          z += force;
          size += force * force;
        }
        add_at_rate(z, R(size * rate.inverse_D), r, row, count, work);
        wrench -= rate.U * R(z * rate.inverse_D);
      }
    });
    wrench = to_parent(factors.row[i].in_parent, wrench);
  }
}

// Wrenches of rows [from, from + count), one in each lane.
inline Force<Wide> in_lanes(const Force<double>* row, int count) {
  Force<Wide> out = Force<Wide>::zero();
  for (int i = 0; i < count; ++i) {
    set_lane(out.n.x, i, row[i].n.x), set_lane(out.n.y, i, row[i].n.y), set_lane(out.n.z, i, row[i].n.z);
    set_lane(out.f.x, i, row[i].f.x), set_lane(out.f.y, i, row[i].f.y), set_lane(out.f.z, i, row[i].f.z);
  }
  return out;
}

template <class S, class P, class Factors, class Mask>
void reduce_wrenches(const Tree<P>& tree, const Factors& factors, Mask prescribed, int node,
                     const Force<S>* wrench, int row, int count, OperationalWork<S>& work) {
  if constexpr (std::is_same_v<S, double>) {
    for (int from = 0; from < count; from += lanes<Wide>) {
      const int some = std::min(count - from, lanes<Wide>);
      reduce(tree, factors, prescribed, node, in_lanes(wrench + from, some), -1, Wide(0.0), row + from, some,
             work);
    }
  } else {
    for (int i = 0; i < count; ++i) reduce(tree, factors, prescribed, node, wrench[i], -1, S(0.0), row + i, 1, work);
  }
}

// Equation (1) for all rows of one record.
template <class S, class P, class Factors, class Mask>
void reduce_rows(const Tree<P>& tree, const Factors& factors, Mask prescribed, const Constraint& c,
                 const S* q, const Relative<S>& A, const ConstraintRow<S>* row, int count,
                 OperationalWork<S>& work) {
  if (c.kind == Constraint::coupling) {
    if (!c.selected) return;
    const S slope = Term<S>(c, q[c.q]).slope;
    reduce(tree, factors, prescribed, node_of_rate(tree, c.v), Force<S>::zero(), c.v, slope, c.row, 1, work);
    return;
  }
  Force<S> first[kMostRows], second[kMostRows];
  for (int i = 0; i < count; ++i) {
    first[i] = to_parent(c.first.pose, row[i].wrench);
    second[i] = to_parent(c.second.pose, to_parent(A.pose, row[i].wrench)) * -1.0;
  }
  reduce_wrenches(tree, factors, prescribed, c.first.node, first, c.row, count, work);
  if (c.second.node >= 0) reduce_wrenches(tree, factors, prescribed, c.second.node, second, c.row, count, work);
}

template <class S, class P>
void clear(const Tree<P>& tree, OperationalWork<S>& work) {
  std::fill_n(work.Z, std::size_t(tree.nv) * work.m, S(0.0));
  std::fill_n(work.scale, work.m, S(0.0));
  std::fill_n(work.begin, tree.nv, work.m);
  std::fill_n(work.end, tree.nv, 0);
}

// Equation (2), the upper half.
template <class S, class P, class Factors>
void operational_inertia(const Tree<P>& tree, const Factors& factors, OperationalWork<S>& work) {
  const std::size_t m = work.m;
  std::fill_n(work.K, m * m, S(0.0));
  for (int r = 0; r < tree.nv; ++r) {
    const S* z = work.Z + r * m;  // empty for a rate that is prescribed
    for (int i = work.begin[r]; i < work.end[r]; ++i) {
      const S x = z[i] * factors.rate[r].inverse_D;
      for (int j = i; j < work.end[r]; ++j) work.K[i * m + j] += x * z[j];
    }
  }
}

}  // namespace jounce
