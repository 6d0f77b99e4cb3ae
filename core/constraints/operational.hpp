// The operational-space inertia of constraints, J M^-1 J^T, without M.
//
// The articulated inertias (factor.hpp) factor the mass matrix: with the screw s_r, U_r and D_r of rate r
// in the tree and the wrench F_i of row i on its way to the root,
//   (1) Z_ir = s_r^T F_i (plus the row's own force at r),   F_i -= U_r Z_ir / D_r
//   (2) J M^-1 J^T = Z D^-1 Z^T
// Z_ir is what the row's unit force adds to the force that is left to accelerate rate r, so that the
// same numbers bring the forces back into the recursion of forward dynamics. Z is kept rate by rate,
// with the range of rows that are not zero there: feet of different legs meet at the base only.
//
// Whether a pivot of (2) vanishes is judged against the sum of size_ir / D_r. A rate that slides has the size
// |f|^2; one that turns has |n|^2 and the squares |p|^2 |f|^2 of all the levers that the moment n was carried
// along: where a rod points at the joint, n is what rounding left of them.
#pragma once

#include <algorithm>
#include <type_traits>

#include "jounce/constraints/rows.hpp"
#include "jounce/constraints/solve.hpp"
#include "jounce/dynamics/articulated.hpp"

namespace jounce {

template <class S>
struct OperationalWork {
  int m;
  std::size_t stride;  // of Z and K
  S* Z;                // (nv, m)
  int *begin, *end;    // (nv) rows that are not zero
  S* K;                // (m, m) the upper half of J M^-1 J^T
  S* scale;            // (m) what its diagonal is made of
  S* acceleration;     // (m) see SweptMotion

  template <class P>
  OperationalWork(const Tree<P>& tree, int rows, Arena& arena) : m(rows), stride(row_stride<S>(rows)) {
    Z = arena.take<S>(tree.nv * stride);
    begin = arena.take<int>(tree.nv);
    end = arena.take<int>(tree.nv);
    K = arena.take<S>(m * stride);
    scale = arena.take<S>(stride);
    acceleration = arena.take<S>(stride);
  }
};

// One row of numbers S, or as many rows as R has lanes for.
template <class R, class S>
JOUNCE_INLINE R load_rows(const S* from) {
  if constexpr (std::is_same_v<R, S>) {
    return *from;
  } else {
    return R::load(from);
  }
}
template <class R, class S>
JOUNCE_INLINE void store_rows(const R& x, S* to) {
  if constexpr (std::is_same_v<R, S>) {
    *to = x;
  } else {
    x.store(to);
  }
}
// Lanes of no row are zero.
template <class R, class S>
JOUNCE_INLINE void add_rows(const R& x, S* to) {
  store_rows(R(load_rows<R>(to) + x), to);
}

// The sweep to the root gives the rows' accelerations as well, if forward dynamics has begun: with the
// force u that is left to accelerate each rate and the accelerations c of nodes that come from rates,
//   (3) F_i . x_node = sum Z_ir u_r / D_r + sum F_i . c - F_i . gravity
template <class R, class Factors, class P>
struct SweptMotion {
  const Factors& factors;
  const Vec3<P>& gravity;
  R sum = R(0.0);

  JOUNCE_INLINE void enter(int i, const Force<R>& F) { sum += dot(F, factors.row[i].c); }
  JOUNCE_INLINE void eliminated(int r, const R& z) {
    sum += z * (factors.rate[r].u * factors.rate[r].inverse_D);
  }
  JOUNCE_INLINE void leave(const Force<R>& F) { sum -= dot(F.f, gravity); }
};
struct NoMotion {
  template <class F>
  JOUNCE_INLINE void enter(int, const F&) {}
  template <class R>
  JOUNCE_INLINE void eliminated(int, const R&) {}
  template <class F>
  JOUNCE_INLINE void leave(const F&) {}
};

// A force at a rate, and the squares of the terms that it is a sum of.
template <class R>
struct RateForce {
  int at = -1;
  R force = R(0.0), size = R(0.0);
};

// The slope of a coupling's term.
template <class S>
JOUNCE_INLINE RateForce<S> slope_of(const Constraint& c, const S& x) {
  const double* k = c.coefficients;
  const double squares[] = {k[0] * k[0], 4.0 * k[1] * k[1], 9.0 * k[2] * k[2], 16.0 * k[3] * k[3]};
  const S xx = x * x;
  const S size = xx * (xx * (xx * squares[3] + S(squares[2])) + S(squares[1])) + S(squares[0]);
  return {c.v, Term<S>(c, x).slope, size};
}

// The square of the lever that a row's wrench has at its own frame.
JOUNCE_INLINE double own_reach(const Constraint& c) {
  return c.kind == Constraint::rolling ? c.length * c.length : 0.0;
}

template <class S>
JOUNCE_INLINE S squared(const Vec3<S>& x) {
  return dot(x, x);
}

// Equation (1) from a node to the root: `wrench` acts on the node, where it has come along levers whose
// squares sum up to `reach`. Of one state, several rows go at once, in the lanes of R. Rates that are
// prescribed take no part.
template <class R, class S, class P, class Factors, class Mask, class Moving>
void reduce(const Tree<P>& tree, const Factors& factors, Mask prescribed, int node_index, Force<R> wrench,
            const S& reach, const RateForce<R>& own, int row, int count, Moving& moving,
            OperationalWork<S>& work) {
  R levers = squared(wrench.f) * reach;
  for (int i = node_index; i >= 0; i = tree.nodes[i].parent) {
    const Node<P>& node = tree.nodes[i];
    moving.enter(i, wrench);
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = rates(K) - 1; k >= 0; --k) {
        const int r = node.v + k;
        if (prescribed(r)) continue;
        const auto& rate = factors.rate[r];
        R z = along<K>(node, k, wrench);
        R size = slides(K, k) ? squared(wrench.f) : squared(wrench.n) + levers;
        if (r == own.at) {
          z += own.force;
          size += own.size;
        }
        add_rows(z, work.Z + r * work.stride + row);
        add_rows(R(size * rate.inverse_D), work.scale + row);
        work.begin[r] = std::min(work.begin[r], row);
        work.end[r] = std::max(work.end[r], row + count);
        moving.eliminated(r, z);
        wrench -= rate.U * R(z * rate.inverse_D);
      }
    });
    levers += squared(wrench.f) * squared(factors.row[i].in_parent.p);
    wrench = to_parent(factors.row[i].in_parent, wrench);
  }
  moving.leave(wrench);
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

// Calls sweep(wrench, row, count) for some rows, as many at once as scalars hold.
template <class S, class Sweep>
JOUNCE_INLINE void for_wrenches(const Force<S>* wrench, int row, int count, Sweep&& sweep) {
  if constexpr (std::is_same_v<S, double>) {
    for (int from = 0; from < count; from += lanes<Wide>) {
      const int some = std::min(count - from, lanes<Wide>);
      sweep(in_lanes(wrench + from, some), row + from, some);
    }
  } else {
    for (int i = 0; i < count; ++i) sweep(wrench[i], row + i, 1);
  }
}

template <class S, class P, class Factors, class Mask>
void reduce_wrenches(const Tree<P>& tree, const Factors& factors, Mask prescribed, int node,
                     const Force<S>* wrench, const S& reach, int row, int count, OperationalWork<S>& work) {
  for_wrenches(wrench, row, count, [&](const auto& F, int first, int some) {
    using R = std::decay_t<decltype(F.f.x)>;
    NoMotion still;
    reduce(tree, factors, prescribed, node, F, reach, RateForce<R>{}, first, some, still, work);
  });
}

// The same with equation (3), added to work.acceleration.
template <class S, class P, class Factors>
void reduce_moving(const Tree<P>& tree, const Factors& factors, int node, const Force<S>* wrench,
                   const S& reach, int row, int count, OperationalWork<S>& work) {
  for_wrenches(wrench, row, count, [&](const auto& F, int first, int some) {
    using R = std::decay_t<decltype(F.f.x)>;
    SweptMotion<R, Factors, P> moving{factors, tree.gravity};
    reduce(tree, factors, NoneMask{}, node, F, reach, RateForce<R>{}, first, some, moving, work);
    add_rows(moving.sum, work.acceleration + first);
  });
}

// Equation (1) for all rows of one record.
template <class S, class P, class Factors, class Mask>
void reduce_rows(const Tree<P>& tree, const Factors& factors, Mask prescribed, const Constraint& c,
                 const S* q, const Relative<S>& A, const ConstraintRow<S>* row, int count,
                 OperationalWork<S>& work) {
  if (c.kind == Constraint::coupling) {
    if (!c.selected) return;
    NoMotion still;
    reduce(tree, factors, prescribed, node_of_rate(tree, c.v), Force<S>::zero(), S(0.0), slope_of(c, q[c.q]), c.row,
           1, still, work);
    return;
  }
  Force<S> first[kMostRows], second[kMostRows];
  for (int i = 0; i < count; ++i) {
    first[i] = to_parent(c.first.pose, row[i].wrench);
    if (c.second.node >= 0) second[i] = to_parent(c.second.pose, to_parent(A.pose, row[i].wrench)) * -1.0;
  }
  const S reach(own_reach(c) + squared(c.first.pose.p));
  reduce_wrenches(tree, factors, prescribed, c.first.node, first, reach, c.row, count, work);
  if (c.second.node < 0) return;
  const S opposite = squared(A.pose.p) + S(own_reach(c) + squared(c.second.pose.p));
  reduce_wrenches(tree, factors, prescribed, c.second.node, second, opposite, c.row, count, work);
}

template <class S, class P>
void clear(const Tree<P>& tree, OperationalWork<S>& work) {
  std::fill_n(work.Z, tree.nv * work.stride, S(0.0));
  std::fill_n(work.scale, work.stride, S(0.0));
  std::fill_n(work.acceleration, work.stride, S(0.0));
  std::fill_n(work.begin, tree.nv, work.m);
  std::fill_n(work.end, tree.nv, 0);
}

// Equation (2), the upper half: a run of rates that move the same rows at a time and, of one state, as many
// columns at once as a register holds.
template <class S, class P, class Factors>
void operational_inertia(const Tree<P>& tree, const Factors& factors, OperationalWork<S>& work) {
  using V = std::conditional_t<std::is_same_v<S, double>, Wide, S>;
  constexpr int width = lanes<V> / lanes<S>;
  std::fill_n(work.K, work.m * work.stride, S(0.0));
  for (int first = 0, last; first < tree.nv; first = last) {
    const int begin = work.begin[first], end = work.end[first];
    for (last = first + 1; last < tree.nv && work.begin[last] == begin && work.end[last] == end;) ++last;
    if (end - begin >= kRowsBetweenPauses) pause();
    for (int i = begin; i < end; ++i) {  // empty for rates that are prescribed
      for (int c = i / width * width; c < end; c += width) {
        S* to = work.K + i * work.stride + c;
        V sum = load_rows<V>(to);
        for (int r = first; r < last; ++r) {
          const S* z = work.Z + r * work.stride;
          sum += load_rows<V>(z + c) * S(z[i] * factors.rate[r].inverse_D);
        }
        store_rows(sum, to);
      }
    }
  }
}

}  // namespace jounce
