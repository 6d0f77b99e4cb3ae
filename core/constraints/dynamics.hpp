// Forward dynamics with constraints, and their answer to a jump, along the tree:
//   (1) M a + b = tau + J^T f,   J a + J' v = w
//   (2) M d = J^T f,             J (v + d) = w
// Free accelerations a_0 first, then K f = w - (J a_0 + J' v) with K of operational.hpp, and once more
// from the root to the leaves with the forces that f adds. If bodies are held by the world alone, a_0 is not
// needed: the sweep that reduces the rows gives J a_0 + J' v as well (contacts.hpp).
#pragma once

#include "jounce/constraints/contacts.hpp"
#include "jounce/constraints/solve.hpp"

namespace jounce {

template <class S>
struct ConstrainedWork {
  ArticulatedWork<S> factors;
  RowsWork<S> rows;
  OperationalWork<S> operational;
  RowSolveWork<S> solve;
  S *velocity, *acceleration;  // (m) of the rows
  S* zero;                     // (nv)
  int* path;                   // (depth)

  template <class P>
  ConstrainedWork(const Tree<P>& tree, Extent extent, Arena& arena)
      : factors(tree, arena),
        rows(tree, arena),
        operational(tree, extent.rows, arena),
        solve(extent.rows, arena),
        velocity(arena.take<S>(extent.rows)),
        acceleration(arena.take<S>(extent.rows)),
        zero(arena.take<S>(tree.nv)),
        path(arena.take<int>(tree.depth)) {}
};

// Rates and accelerations of all rows at (v, a), where v may be null, and equation (1) of
// operational.hpp. The factors must be there.
template <class S, class P>
void reduce_constraints(const Tree<P>& tree, const ConstraintTable& table, const S* q, const S* v,
                        const S* a, ConstrainedWork<S>& work) {
  OperationalWork<S>& reduced = work.operational;
  work.rows.angles = work.factors.angles;
  clear(tree, reduced);
  std::fill_n(work.velocity, reduced.m, S(0.0));
  std::fill_n(work.acceleration, reduced.m, S(0.0));
  for (std::ptrdiff_t k = 0; k < table.count; ++k) {
    if (k % kRowsBetweenPauses == kRowsBetweenPauses - 1) pause();
    const Constraint c = constraint_at(tree, reduced.m, table.numbers + k * kConstraintNumbers);
    ConstraintRow<S> row[kMostRows] = {};
    Relative<S> A{};
    int count = 0;
    if (c.kind != Constraint::coupling && c.selected) {
      A = relative_motion(tree, c, q, v, a, work.rows);
      count = rows_of(c, A, false, row);
      set_motion_of_rows(c, A, row, count, work.velocity, work.acceleration);
    } else if (v) {
      const RowsOut<S> out{nullptr, work.velocity, work.acceleration, nullptr};
      constraint_rows(tree, c, q, v, a, out, work.rows);
      if (c.is_stabilized() && c.selected) {
        work.acceleration[c.row] += coupling_stabilization(c, q[c.q], v[c.v]);
      }
    }
    reduce_rows(tree, work.factors, NoneMask{}, c, q, A, row, count, reduced);
  }
  operational_inertia(tree, work.factors, reduced);
}

// Adds Z^T f to the forces that accelerate the rates.
template <class S, class P>
void apply_forces(const Tree<P>& tree, const S* f, ConstrainedWork<S>& work) {
  const OperationalWork<S>& reduced = work.operational;
  for (int r = 0; r < tree.nv; ++r) {
    const S* z = reduced.Z + r * reduced.stride;
    S& u = work.factors.rate[r].u;
    for (int i = reduced.begin[r]; i < reduced.end[r]; ++i) u += z[i] * f[i];
  }
}

// Forces of the rows, which have some accelerations (or rates) already and shall have w.
template <class S>
void solve_forces(const S* w, const S* found, S* f, S* rank, ConstrainedWork<S>& work) {
  const OperationalWork<S>& reduced = work.operational;
  for (int i = 0; i < reduced.m; ++i) f[i] = w[i] - found[i];
  solve_rows(reduced.K, reduced.stride, reduced.scale, f, rank, work.solve);
}

// Equation (1); w are the accelerations that the rows shall have. Returns a singular node or -1; other
// states of a pack are not touched by it.
template <class S, class P>
int constrained_dynamics(const Tree<P>& tree, const ConstraintTable& table, const S* q, const S* v,
                         const S* tau, const S* w, const S* f_ext, S* a, S* f, S* rank,
                         ConstrainedWork<S>& work) {
  const S* none = nullptr;
  const S* found = work.acceleration;
  articulated_outward(tree, q, v, f_ext, work.factors);
  const int singular = articulated_inward(tree, none, tau, NoneMask{}, work.factors);
  if (are_contacts(tree, table, work.operational.m)) {
    reduce_contacts(tree, table, v, work.factors, work.path, work.operational);
    found = work.operational.acceleration;
  } else {
    articulated_solve(tree, tree.gravity, none, tau, NoneMask{}, a, (S*)nullptr, work.factors);
    reduce_constraints(tree, table, q, v, a, work);
  }
  solve_forces(w, found, f, rank, work);
  apply_forces(tree, f, work);
  articulated_solve(tree, tree.gravity, none, tau, NoneMask{}, a, (S*)nullptr, work.factors);
  return singular;
}

// Factors the articulated inertias at q, with nothing moving and no forces, not even gravity.
template <class S, class P>
int factor_at_rest(const Tree<P>& tree, const S* q, ConstrainedWork<S>& work) {
  std::fill_n(work.zero, tree.nv, S(0.0));
  articulated_outward(tree, q, work.zero, (const S*)nullptr, work.factors);
  return articulated_inward(tree, (const S*)nullptr, work.zero, NoneMask{}, work.factors);
}

// Equation (2); v may be null (zero).
template <class S, class P>
int constrained_jump(const Tree<P>& tree, const ConstraintTable& table, const S* q, const S* v, const S* w,
                     S* d, S* f, S* rank, ConstrainedWork<S>& work) {
  const int singular = factor_at_rest(tree, q, work);
  const S* still = nullptr;
  reduce_constraints(tree, table, q, v, still, work);
  solve_forces(w, (const S*)work.velocity, f, rank, work);
  apply_forces(tree, f, work);
  articulated_solve(tree, Vec3<P>::zero(), still, work.zero, NoneMask{}, d, (S*)nullptr, work.factors);
  return singular;
}

}  // namespace jounce
