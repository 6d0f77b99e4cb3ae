// Forward and hybrid dynamics with constraints as truncated Taylor series.
//
// As in series/series_solve.hpp the articulated inertias are factored once, and so is K of
// operational.hpp. For order k, a bias pass with all that is known of order k (wrenches of the rows by
// forces of lower orders among it) gives the forces u that are left to accelerate the rates, and the
// rates g of the rows. With f_k still missing,
//   (1) K f_k = (k + 1) (w - g)_(k+1) - Z D^-1 u
// since Z D^-1 u = J M^-1 tau are the accelerations of the rows without it. On the way to the root f_k
// changes u by Z^T f_k, then the sweep outward finds the accelerations. Stabilized rows shall have
//   (2) (k + 1) g_(k+1) = (k + 1) w_(k+1) - 2 alpha (g - w)_k - beta^2 residual_k
// where targets move with w, too.
// Prescribed rates are part of the bias pass and left out of all factors.
#pragma once

#include "jounce/constraints/dynamics.hpp"
#include "jounce/constraints/series.hpp"

namespace jounce {

template <class S>
struct ConstrainedSeriesWork {
  SeriesSolveWork<S> solve;
  RowSeriesWork<S> rows;
  OperationalWork<S> operational;
  RowSolveWork<S> row_solve;
  S* known;  // (nv)

  template <class P>
  ConstrainedSeriesWork(const Tree<P>& tree, Extent extent, Arena& arena)
      : solve(tree, extent.order, arena),
        rows(tree, extent, arena),
        operational(tree, extent.rows, arena),
        row_solve(extent.rows, arena),
        known(arena.take<S>(tree.nv)) {}
};

namespace series {

// Calls visit(c) for each record.
template <class P, class Visit>
JOUNCE_INLINE void for_records(const Tree<P>& tree, const ConstraintTable& table, int m, Visit&& visit) {
  for (std::ptrdiff_t i = 0; i < table.count; ++i) {
    const Constraint c = constraint_at(tree, m, table.numbers + i * kConstraintNumbers);
    if (!c.selected) continue;
    pause();
    visit(c);
  }
}

// How many rows a record has.
JOUNCE_INLINE int row_count(const Constraint& c) {
  int count = 0;
  for (int k = 0; k < kMostRows; ++k) count += c.selects(k);
  return count;
}

// Poses, wrenches and K at the start. The factors must be there.
template <class S, class P, class Mask>
void start_rows(const Tree<P>& tree, const ConstraintTable& table, Mask prescribed, const S* q,
                ConstrainedSeriesWork<S>& work) {
  RowSeriesWork<S>& rows = work.rows;
  const SeriesWork<S>& w = work.solve.series;
  rows.paths.angles = w.angles;
  clear(tree, work.operational);
  linear_velocities(tree, 0, w, rows);
  for_records(tree, table, rows.m, [&](const Constraint& c) {
    const S* still = nullptr;
    ConstraintRow<S> row[kMostRows] = {};
    Relative<S> A{};
    int count = 0;
    if (c.kind != Constraint::coupling) {
      A = relative_motion(tree, c, q, still, still, rows.paths);
      count = rows_of(c, A, false, row);
      const RecordSeries<S> x = rows.at(c.row);
      x.R[0] = A.pose.R;
      x.p[0] = A.pose.p;
      if (c.kind == Constraint::point) x.world[0] = A.rotation;
      extend_wrenches(c, 0, x, rows);
      relative_twist(c, 0, w, rows);
    }
    reduce_rows(tree, work.solve, prescribed, c, q, A, row, count, work.operational);
  });
  operational_inertia(tree, work.solve, work.operational);
}

// The wrenches (2) of series.hpp of order k, with f_k as it is known; and what a new f_k adds to them.
template <class S>
Force<S> wrench_on_first(const Constraint& c, int k, int least, const RowSeriesWork<S>& rows) {
  Force<S> F = Force<S>::zero();
  for (int i = c.row; i < c.row + row_count(c); ++i) {
    const Force<S>* W = rows.wrench_of(i);
    for (int j = least; j <= k; ++j) F += W[j] * rows.force[std::size_t(k - j) * rows.m + i];
  }
  return F;
}
template <class S>
Force<S> wrench_on_second(int k, const RecordSeries<S>& x) {
  x.push[k] = turned_forth(x.R, k, [&](int j) { return x.F[j].f; });
  Force<S> F{turned_forth(x.R, k, [&](int j) { return x.F[j].n; }), x.push[k]};
  for (int j = 0; j <= k; ++j) F.n += cross(x.p[j], x.push[k - j]);
  return F * -1.0;
}

// What forces of lower orders do at order k, into the wrenches of the nodes and the forces of the rates.
template <class S, class P>
void known_forces(const Tree<P>& tree, const ConstraintTable& table, int k, const S* q,
                  ConstrainedSeriesWork<S>& work) {
  RowSeriesWork<S>& rows = work.rows;
  SeriesWork<S>& w = work.solve.series;
  for_records(tree, table, rows.m, [&](const Constraint& c) {
    if (c.kind == Constraint::coupling) {
      S& tau = work.solve.force[std::size_t(k) * tree.nv + c.v];
      slope_series(c, k, tree.nv, q, w, rows.term);
      for (int j = 1; j <= k; ++j) tau += rows.term[j] * rows.force[std::size_t(k - j) * rows.m + c.row];
      return;
    }
    const RecordSeries<S> x = rows.at(c.row);
    x.F[k] = wrench_on_first(c, k, 1, rows);
    const auto act = [&](const FrameAt<>& frame, const Force<S>& F) {
      if (frame.node >= 0) w.row[std::size_t(w.rows) * frame.node + k].F -= to_parent(frame.pose, F);
    };
    act(c.first, x.F[k]);
    if (c.second.node >= 0) act(c.second, wrench_on_second(k, x));
  });
}

// Coefficient k of the rates of the rows, in rows.rate.
template <class S, class P>
void row_rates(const Tree<P>& tree, const ConstraintTable& table, int k, const S* q,
               ConstrainedSeriesWork<S>& work) {
  RowSeriesWork<S>& rows = work.rows;
  const SeriesWork<S>& w = work.solve.series;
  std::fill_n(rows.rate, rows.m, S(0.0));
  for_records(tree, table, rows.m, [&](const Constraint& c) {
    if (c.kind == Constraint::coupling) {
      slope_series(c, k, tree.nv, q, w, rows.term);
      for (int j = 0; j <= k; ++j) rows.rate[c.row] += rows.term[j] * w.rate[std::size_t(k - j) * tree.nv + c.v];
      return;
    }
    relative_twist(c, k, w, rows);
    const Motion<S>* V = rows.at(c.row).V;
    for (int i = c.row; i < c.row + row_count(c); ++i) {
      const Force<S>* W = rows.wrench_of(i);
      for (int j = 0; j <= k; ++j) rows.rate[i] += dot(W[j], V[k - j]);
    }
  });
}

// Equation (2): adds what stabilizes to the accelerations that rows shall have at order k.
template <class S, class P>
void stabilize(const Tree<P>& tree, const ConstraintTable& table, int k, const S* q,
               const WantedRates<S>& rates, S* wanted, ConstrainedSeriesWork<S>& work) {
  RowSeriesWork<S>& rows = work.rows;
  const SeriesWork<S>& w = work.solve.series;
  int last = -1;  // row of a coupling, which may have several records
  for_records(tree, table, rows.m, [&](const Constraint& c) {
    if (!c.is_stabilized()) return;
    if (c.kind == Constraint::coupling) {
      const double* a = c.coefficients;
      const double value[5] = {c.offset, a[0], a[1], a[2], a[3]};
      S rate(0.0);
      slope_series(c, k, tree.nv, q, w, rows.term);
      for (int j = 0; j <= k; ++j) rate += rows.term[j] * w.rate[std::size_t(k - j) * tree.nv + c.v];
      polynomial(c, value, 4, k, tree.nv, q, w, rows.term);
      if (c.row != last) {
        rate -= rates.rate(k, c.row);
        rows.term[k] -= rates.way(k, c.row);
      }
      last = c.row;
      wanted[c.row] -= stabilization(c, rate, c.targeted ? rows.term[k] : S(0.0));
      return;
    }
    const RecordSeries<S> x = rows.at(c.row);
    S residual[kMostRows] = {};
    if (c.targeted && c.beta != 0.0) residuals(c, k, rates, x, residual);
    for (int i = 0; i < row_count(c); ++i) {
      const Force<S>* W = rows.wrench_of(c.row + i);
      S rate = S(0.0) - rates.rate(k, c.row + i);
      for (int j = 0; j <= k; ++j) rate += dot(W[j], x.V[k - j]);
      wanted[c.row + i] -= stabilization(c, rate, residual[i]);
    }
  });
}

// Brings a wrench on a node, and a force at a rate, into the sweep inward of an order that is already done.
template <class S, class P, class Mask>
void add_inward(const Tree<P>& tree, int order, Mask prescribed, int node_index, Force<S> F, int at,
                const S& force, SeriesSolveWork<S>& work) {
  for (int i = node_index; i >= 0; i = tree.nodes[i].parent) {
    const SeriesNode<S, P> s(tree, work.series, i);
    const Node<P>& node = s.node;
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = rates(K) - 1; k >= 0; --k) {
        auto& rate = work.rate[node.v + k];
        if (prescribed(node.v + k)) continue;
        S u = -along<K>(node, k, F);
        if (node.v + k == at) u += force;
        rate.u += u;
        F += rate.U * (u * rate.inverse_D);
      }
      add_wrench<K>(s, order, F);
    });
    F = to_parent(work.row[i].in_parent, F);
  }
}

// What f_k, or a part f of it, does before the sweep outward.
template <class S, class P, class Mask>
void new_forces(const Tree<P>& tree, const ConstraintTable& table, int k, Mask prescribed, const S* q,
                const S* f, ConstrainedSeriesWork<S>& work) {
  RowSeriesWork<S>& rows = work.rows;
  const S none(0.0);
  for_records(tree, table, rows.m, [&](const Constraint& c) {
    if (c.kind == Constraint::coupling) {
      const S force = Term<S>(c, q[c.q]).slope * f[c.row];
      add_inward(tree, k, prescribed, node_of_rate(tree, c.v), Force<S>::zero(), c.v, force, work.solve);
      return;
    }
    const RecordSeries<S> x = rows.at(c.row);
    Force<S> F = Force<S>::zero();
    for (int i = c.row; i < c.row + row_count(c); ++i) F += rows.wrench_of(i)[0] * f[i];
    x.F[k] += F;
    add_inward(tree, k, prescribed, c.first.node, to_parent(c.first.pose, F) * -1.0, -1, none, work.solve);
    if (c.second.node < 0) return;
    x.push[k] += x.R[0] * F.f;
    const Force<S> opposite = to_parent(c.second.pose, to_parent(Pose<S>{x.R[0], x.p[0]}, F));
    add_inward(tree, k, prescribed, c.second.node, opposite, -1, none, work.solve);
  });
}

// The forces f of rows that shall have the accelerations in f, at order k.
template <class S>
void solve_order(int k, S* f, S* rank, ConstrainedSeriesWork<S>& work) {
  const OperationalWork<S>& reduced = work.operational;
  if (k > 0 && !work.row_solve.chosen) return substitute_rows(work.row_solve, f);
  if constexpr (std::is_same_v<S, double>) {
    if (k > 0) return least_norm(int(*rank), work.row_solve, f);
  }
  solve_rows(reduced.K, reduced.stride, reduced.scale, f, rank, work.row_solve);
}

// Equation (1) at order k. What the rates of order k shall give the rows goes to rows.wanted.
template <class S, class P, class Mask>
void solve_forces(const Tree<P>& tree, const ConstraintTable& table, int k, Mask prescribed, const S* q,
                  const WantedRates<S>& rates, S* rank, ConstrainedSeriesWork<S>& work) {
  RowSeriesWork<S>& rows = work.rows;
  const int m = rows.m;
  S* f = rows.force + std::size_t(k) * m;
  for (int i = 0; i < m; ++i) rows.wanted[i] = rates.acceleration(k, i);
  stabilize(tree, table, k, q, rates, rows.wanted, work);
  row_rates(tree, table, k + 1, q, work);
  for (int i = 0; i < m; ++i) f[i] = rows.wanted[i] = rows.wanted[i] - rows.rate[i] * double(k + 1);
  for (int r = 0; r < tree.nv; ++r) {
    if (prescribed(r)) continue;
    const S y = work.solve.rate[r].u * work.solve.rate[r].inverse_D;
    const S* z = work.operational.Z + r * work.operational.stride;
    for (int i = work.operational.begin[r]; i < work.operational.end[r]; ++i) f[i] -= z[i] * y;
  }
  solve_order(k, f, rank, work);
}

// What the accelerations of order k add to the velocities of the nodes' origins.
template <class S, class P>
void advance_linear(const Tree<P>& tree, int k, ConstrainedSeriesWork<S>& work) {
  const auto over_next = reciprocal<S>(k + 1);
  const std::size_t n = work.rows.rows;
  for (int i = 0; i < tree.n; ++i) {
    const auto& me = work.solve.row[i];
    const Node<P>& node = tree.nodes[i];
    work.rows.linear[n * i + k + 1] += me.x.v * over_next;
    if (node.parent < 0) continue;
    const Motion<S>& x = work.solve.row[node.parent].x;
    work.rows.carried[n * i + k + 1] +=
        transposed(node.placement.R, x.v + cross(x.w, me.in_parent.p)) * over_next;
  }
}

// What is left of rows.wanted after the rates of order k, into f.
template <class S, class P, class Mask>
void missing_accelerations(const Tree<P>& tree, const ConstraintTable& table, int k, Mask prescribed,
                           const S* q, S* f, ConstrainedSeriesWork<S>& work) {
  const RowSeriesWork<S>& rows = work.rows;
  std::copy_n(rows.wanted, rows.m, f);
  const auto node_motion = [&](const FrameAt<>& frame) {
    return frame.node < 0 ? Motion<S>::zero() : to_child(frame.pose, work.solve.row[frame.node].x);
  };
  for_records(tree, table, rows.m, [&](const Constraint& c) {
    if (c.kind == Constraint::coupling) {
      if (prescribed(c.v)) return;
      const S a = work.solve.series.rate[std::size_t(k + 1) * tree.nv + c.v] * double(k + 1);
      f[c.row] -= Term<S>(c, q[c.q]).slope * a;
      return;
    }
    const RecordSeries<S> x = rows.at(c.row);
    const Motion<S> V = node_motion(c.first) - to_child(Pose<S>{x.R[0], x.p[0]}, node_motion(c.second));
    for (int i = c.row; i < c.row + row_count(c); ++i) f[i] -= dot(rows.wrench_of(i)[0], V);
  });
}

// One step of iterative refinement at order k: the accelerations that the forces leave to the rows are
// those of light bodies that are free, and their rounding errors would add up along a motion.
template <class S, class P, class Mask>
void refine(const Tree<P>& tree, const ConstraintTable& table, int k, Mask prescribed, const S* q, S* rank,
            ConstrainedSeriesWork<S>& work) {
  RowSeriesWork<S>& rows = work.rows;
  S *more = rows.rate, *next = work.solve.series.rate + std::size_t(k + 1) * tree.nv;
  missing_accelerations(tree, table, k, prescribed, q, more, work);
  solve_order(k + 1, more, rank, work);  // K is factored
  for (int i = 0; i < rows.m; ++i) rows.force[std::size_t(k) * rows.m + i] += more[i];
  for (int r = 0; r < tree.nv; ++r) {
    work.solve.rate[r].u = S(0.0);
    work.known[r] = next[r];
  }
  new_forces(tree, table, k, prescribed, q, (const S*)more, work);
  solve_outward(tree, k, prescribed, work.solve);
  for (int r = 0; r < tree.nv; ++r) {
    if (!prescribed(r)) next[r] += work.known[r];
  }
}

// Poses and wrenches of the rows at order k + 1.
template <class S, class P>
void advance_rows(const Tree<P>& tree, const ConstraintTable& table, int k, ConstrainedSeriesWork<S>& work) {
  for_records(tree, table, work.rows.m, [&](const Constraint& c) {
    if (c.kind == Constraint::coupling) return;
    const RecordSeries<S> x = work.rows.at(c.row);
    extend_pose(c, k + 1, work.solve.series, x, work.rows);
    extend_wrenches(c, k + 1, x, work.rows);
  });
}

// What couplings do at prescribed rates is not for their actuators to do.
template <class S, class P, class Mask>
void relieve_prescribed(const Tree<P>& tree, const ConstraintTable& table, int k, Mask prescribed,
                        const S* q, ConstrainedSeriesWork<S>& work) {
  RowSeriesWork<S>& rows = work.rows;
  for_records(tree, table, rows.m, [&](const Constraint& c) {
    if (c.kind != Constraint::coupling || !prescribed(c.v)) return;
    slope_series(c, k, tree.nv, q, work.solve.series, rows.term);
    S& tau = work.solve.force[std::size_t(k) * tree.nv + c.v];
    for (int j = 0; j <= k; ++j) tau -= rows.term[j] * rows.force[std::size_t(k - j) * rows.m + c.row];
  });
}

}  // namespace series

// Inputs and outputs as those of solve_series, and w: (r+2, m) the rates that the rows shall have and their
// derivatives, force: (r+1, m), rank: of the rows. Where rows depend on each other,
// orders above 0 are meant only if they do so by combinations that never change. Returns a singular node or -1.
template <class S, class P, class Mask>
int constrained_series(const Tree<P>& tree, const ConstraintTable& table, Mask prescribed, const S* q,
                       const S* v, const S* a, const S* tau, const S* w, const S* f_ext, S* a_out,
                       S* tau_out, S* force, S* rank, ConstrainedSeriesWork<S>& work) {
  using namespace series;
  SeriesWork<S>& s = work.solve.series;
  RowSeriesWork<S>& rows = work.rows;
  const int r = s.r, m = rows.m;
  start_coefficients(tree, prescribed, v, a, tau, work.solve);
  s.angles.compute(tree, q);
  const int singular = factor(tree, q, prescribed, work.solve);
  start_velocities(tree, q, s);
  start_rows(tree, table, prescribed, q, work);
  for (int k = 0; k <= r; ++k) {
    bias_outward(tree, k, f_ext ? f_ext + k * 6 * std::size_t(tree.n_bodies) : nullptr, s);
    linear_velocities(tree, k + 1, s, rows);
    advance_rows(tree, table, k, work);
    known_forces(tree, table, k, q, work);
    solve_inward(tree, k, prescribed, work.solve);
    solve_forces(tree, table, k, prescribed, q, WantedRates<S>{w, m}, rank, work);
    new_forces(tree, table, k, prescribed, q, (const S*)(rows.force + std::size_t(k) * m), work);
    solve_outward(tree, k, prescribed, work.solve);
    advance_linear(tree, k, work);
    refine(tree, table, k, prescribed, q, rank, work);
    advance_linear(tree, k, work);
    for_records(tree, table, m, [&](const Constraint& c) {
      if (c.kind != Constraint::coupling) relative_twist(c, k + 1, s, rows);
    });
    relieve_prescribed(tree, table, k, prescribed, q, work);
  }
  finish_coefficients(tree, prescribed, a, tau, a_out, tau_out, work.solve);
  for (int k = 0; k <= r; ++k) {
    for (int i = 0; i < m; ++i) force[std::size_t(k) * m + i] = rows.force[std::size_t(k) * m + i] * kFactorial.of[k];
  }
  return singular;
}

}  // namespace jounce
