// Partial derivatives of the rows of constraints, by dual numbers: of their rates and accelerations by
// q and v, and of the generalized forces J^T f by q, with f held fixed. Derivatives by q are along
// integrate(q, eps), left-trivialized. Each record is differentiated only along the rates that it
// depends on, as many at once as a register holds.
#pragma once

#include "jounce/constraints/rows.hpp"
#include "jounce/kinematics/configuration.hpp"
#include "jounce/scalar/pause.hpp"

namespace jounce {

// Of one state; (m, nv) each. To transposed_dq, (nv, nv), is added.
struct RowDerivatives {
  double *velocity_dq, *acceleration_dq, *acceleration_dv, *transposed_dq;
};

// A rate and its node.
struct RateDirection {
  int rate, node;
};

// Numbers D with tangents for the rows of one state.
template <class T>
struct RowDuals {
  using D = T;
  RowsWork<D> rows;
  D *q, *v, *a, *force;
  D *J_force;             // (nv)
  D *velocity, *acceleration;  // (m)
  RateDirection* direction;   // (nv) rates that a record depends on

  template <class P>
  RowDuals(const Tree<P>& tree, Extent extent, Arena& arena) : rows(tree, arena) {
    q = arena.take<D>(tree.nq);
    v = arena.take<D>(tree.nv);
    a = arena.take<D>(tree.nv);
    force = arena.take<D>(extent.rows);
    J_force = arena.take<D>(tree.nv);
    velocity = arena.take<D>(extent.rows);
    acceleration = arena.take<D>(extent.rows);
    direction = arena.take<RateDirection>(tree.nv);
  }
};

using RowDerivativesWork = RowDuals<Dual<Wide>>;

// Appends the rates between a node and an ancestor; returns how many there are.
inline int collect_rates(const Tree<double>& tree, int from, int stop, int count, RateDirection* direction) {
  for (int i = from; i != stop; i = tree.nodes[i].parent) {
    for (int k = 0; k < tree.nodes[i].nv; ++k) direction[count++] = {tree.nodes[i].v + k, i};
  }
  return count;
}

// Rates that a record depends on.
inline int directions_of(const Tree<double>& tree, const Constraint& c, RateDirection* direction) {
  if (c.kind == Constraint::coupling) {
    direction[0] = {c.v, node_of_rate(tree, c.v)};
    return 1;
  }
  int count = collect_rates(tree, c.first.node, c.common, 0, direction);
  count = collect_rates(tree, c.second.node, c.common, count, direction);
  if (c.kind != Constraint::point) return count;
  return collect_rates(tree, c.common, -1, count, direction);  // by the rotation in the world
}

// Calls visit(record, its rows, the number of rates that it depends on, which `direction` then has) for each record of
// the table that has rows.
template <class Table, class Visit>
void for_records(const Tree<double>& tree, const Table& table, int m, RateDirection* direction, Visit&& visit) {
  for (std::ptrdiff_t i = 0; i < table.count; ++i) {
    const Constraint c = constraint_at(tree, m, table.numbers + i * kConstraintNumbers);
    int rows = 0;
    for (int k = 0; k < kMostRows; ++k) rows += c.selects(k);
    if (rows) visit(c, rows, directions_of(tree, c, direction));
  }
}

// The tangent of q along a rate, times a sign, in one lane of the duals.
inline void seed_coordinates(const Tree<double>& tree, const double* q, const RateDirection& along, int at,
                             double sign, RowDerivativesWork& work) {
  const Node<double>& node = tree.nodes[along.node];
  double rate[6] = {}, tangent[7];
  rate[along.rate - node.v] = sign;
  joint_coordinate_rates(node, q + node.q, rate, tangent);
  for (int k = 0; k < coordinates(node.kind); ++k) set_lane(work.q[node.q + k].d, at, tangent[k]);
  if (node.angle < 0) return;
  auto &sine = work.rows.angles.sine[node.angle], &cosine = work.rows.angles.cosine[node.angle];
  set_lane(sine.d, at, lane(cosine.x, at) * tangent[0]);
  set_lane(cosine.d, at, -lane(sine.x, at) * tangent[0]);
}

// Rows and J^T f of one record at the duals of the workspace.
template <class D>
void evaluate(const Tree<double>& tree, const Constraint& c, bool with_forces, RowDuals<D>& work) {
  if (c.kind == Constraint::coupling) {
    work.velocity[c.row] = work.acceleration[c.row] = D(0.0);
    constraint_rows(tree, c, work.q, work.v, work.a,
                    RowsOut<D>{nullptr, work.velocity, work.acceleration, nullptr}, work.rows);
    if (c.is_stabilized()) work.acceleration[c.row] += coupling_stabilization(c, work.q[c.q], work.v[c.v]);
    if (with_forces) work.J_force[c.v] = Term<D>(c, work.q[c.q]).slope * work.force[c.row];
    return;
  }
  const Relative<D> A = relative_motion(tree, c, work.q, work.v, work.a, work.rows);
  ConstraintRow<D> row[kMostRows];
  const int count = rows_of(c, A, false, row);
  Force<D> total = Force<D>::zero();
  set_motion_of_rows(c, A, row, count, work.velocity, work.acceleration);
  for (int i = 0; i < count; ++i) total += row[i].wrench * work.force[c.row + i];
  if (!with_forces) return;
  add_columns(tree, work.rows.first, total, 1.0, work.J_force);
  add_columns(tree, work.rows.second, to_parent(A.pose, total), -1.0, work.J_force);
}

// Adds the tangents of rows [c.row, c.row + count) to columns of a matrix.
inline void add_tangents(const Constraint& c, int rows, const Dual<Wide>* x, const RateDirection* direction,
                         int count, int nv, double* out) {
  for (int i = c.row; i < c.row + rows; ++i) {
    for (int k = 0; k < count; ++k) out[std::size_t(i) * nv + direction[k].rate] += lane(x[i].d, k);
  }
}

// One record of so many rates along at most a register of them, from the rate `from`.
inline void differentiate(const Tree<double>& tree, const Constraint& c, int rows, const double* q,
                          int rates, int from, const RowDerivatives& out, RowDerivativesWork& work) {
  using D = RowDerivativesWork::D;
  const int nv = tree.nv, count = std::min(rates - from, lanes<Wide>);
  const RateDirection* along = work.direction + from;
  for (int i = 0; i < rates; ++i) work.J_force[work.direction[i].rate] = D(0.0);
  for (int k = 0; k < count; ++k) seed_coordinates(tree, q, along[k], k, 1.0, work);
  evaluate(tree, c, true, work);
  add_tangents(c, rows, work.velocity, along, count, nv, out.velocity_dq);
  add_tangents(c, rows, work.acceleration, along, count, nv, out.acceleration_dq);
  for (int i = 0; i < rates; ++i) {
    const int r = work.direction[i].rate;
    double* row = out.transposed_dq + std::size_t(r) * nv;
    for (int k = 0; k < count; ++k) row[along[k].rate] += lane(work.J_force[r].d, k);
  }
  for (int k = 0; k < count; ++k) {
    seed_coordinates(tree, q, along[k], k, 0.0, work);
    set_lane(work.v[along[k].rate].d, k, 1.0);
  }
  evaluate(tree, c, false, work);
  add_tangents(c, rows, work.acceleration, along, count, nv, out.acceleration_dv);
  for (int k = 0; k < count; ++k) set_lane(work.v[along[k].rate].d, k, 0.0);
}

template <class Table>
void row_derivatives(const Tree<double>& tree, const Table& table, int m, const double* q,
                     const double* v, const double* a, const double* force, const RowDerivatives& out,
                     RowDerivativesWork& work) {
  const std::size_t entries = std::size_t(m) * tree.nv;
  for (double* x : {out.velocity_dq, out.acceleration_dq, out.acceleration_dv}) std::fill_n(x, entries, 0.0);
  for (int k = 0; k < tree.nq; ++k) work.q[k] = q[k];
  for (int k = 0; k < tree.nv; ++k) work.v[k] = v[k], work.a[k] = a[k];
  for (int k = 0; k < m; ++k) work.force[k] = force[k];
  work.rows.angles.compute(tree, work.q);
  for_records(tree, table, m, work.direction, [&](const Constraint& c, int rows, int rates) {
    for (int from = 0; from < rates; from += lanes<Wide>) {
      pause();
      differentiate(tree, c, rows, q, rates, from, out, work);
    }
  });
}

}  // namespace jounce
