// Partial derivatives of constrained dynamics and of jumps.
//
// Differentiating M a + b = tau + J^T f and J a + J' v = w by x (q or v) gives the same equations for
// the derivatives: with X the derivative of inverse dynamics less that of J^T f, Y that of the rows'
// accelerations, N = M^-1, K = J N J^T and G = N J^T K^+,
//   (1) da/dx = -(P X + G Y),   df/dx = G^T X - K^+ Y,   P = N - G J N
//   (2) da/dtau = P,            df/dtau = -G^T
// X has the sparsity of the tree unless a constraint holds two bodies. Where rows depend on each other,
// f of least norm lies in the range of J, with the projector Q Q^T on it:
//   (3) df/dq += (1 - Q Q^T) dJ/dq u,   J u = f
// If they contradict each other as well, r = (1 - Q Q^T) (w - J a - J' v) is left of the least squares, and turns:
//   (4) df/dq += E,   da/dq += N J^T E,   E = K^+ K^+ J N d(J^T r)/dq
// That asks for a rank that does not change nearby. J is analytic, so that almost everywhere the rank is
// the largest one; where it is less, derivatives by q exist along ker J only. They are then taken
// through (1 - G J), which is the derivative of the projection on the manifold in the norm of M.
#pragma once

#include <cmath>

#include "jounce/constraints/derivatives.hpp"
#include "jounce/constraints/dynamics.hpp"
#include "jounce/partials/forward_partials.hpp"

namespace jounce {

struct ConstrainedPartialsWork {
  int m;
  ConstrainedWork<double> dynamics;
  InverseMassMatrixWork<double> inverse;
  PartialsWork<double> partials;  // with the base frame of `inverse`
  RowDerivativesWork rows;
  partials::GatheredColumns<double> gathered;
  double *a, *f, *u;                       // (nv), (m), (nv)
  double *J, *JN, *GT;                     // (m, nv) each
  double *K;                               // (m, m) pseudoinverse
  double *W;                               // (nv + m, nv + m) what equation (1) multiplies with
  double *M, *unused;                      // (nv, nv)
  double *velocity_dq, *acceleration_dq, *acceleration_dv, *spare;  // (m, nv)
  bool sparse;  // X has the sparsity of the tree

  template <class P>
  ConstrainedPartialsWork(const Tree<P>& tree, Extent extent, Arena& arena)
      : m(extent.rows),
        dynamics(tree, extent, arena),
        inverse(tree, arena),
        partials(tree, arena, inverse.base),
        rows(tree, extent, arena),
        gathered(tree, arena, m),
        a(arena.take<double>(tree.nv)),
        f(arena.take<double>(m)),
        u(arena.take<double>(tree.nv)),
        sparse(false) {
    const std::size_t nv = tree.nv, all = nv + m;
    for (double** x : {&J, &JN, &GT, &velocity_dq, &acceleration_dq, &acceleration_dv, &spare}) {
      *x = arena.take<double>(nv * m);
    }
    K = arena.take<double>(std::size_t(m) * m);
    W = arena.take<double>(all * all);
    M = arena.take<double>(nv * nv);
    unused = arena.take<double>(nv * nv);
  }
};

// y -= factor x
JOUNCE_INLINE void subtract_row(std::size_t n, double factor, const double* x, double* y) {
  for (std::size_t i = 0; i < n; ++i) y[i] -= factor * x[i];
}

// The Jacobian of all rows, and whether no constraint holds two bodies.
inline void all_rows(const Tree<double>& tree, const ConstraintTable& table, const double* q,
                     ConstrainedPartialsWork& work) {
  const std::size_t nv = tree.nv;
  work.sparse = tree.nv <= kMostRelated;
  std::fill_n(work.J, nv * work.m, 0.0);
  const double* still = nullptr;
  for (std::ptrdiff_t k = 0; k < table.count; ++k) {
    const Constraint c = constraint_at(tree, work.m, table.numbers + k * kConstraintNumbers);
    if (c.kind != Constraint::coupling && c.first.node >= 0 && c.second.node >= 0) work.sparse = false;
    constraint_rows(tree, c, q, still, still, RowsOut<double>{nullptr, nullptr, nullptr, work.J},
                    work.dynamics.rows);
  }
}

// G, K^+ and W of equation (1), from N at q and the factors of the rows.
inline void invert_saddle(const Tree<double>& tree, const ConstraintTable& table, const double* q,
                          int rank, const double* N, ConstrainedPartialsWork& work) {
  const std::size_t nv = tree.nv, m = work.m, all = nv + m;
  all_rows(tree, table, q, work);
  for (std::size_t i = 0; i < m; ++i) {
    pause();
    double* row = work.JN + i * nv;
    std::fill_n(row, nv, 0.0);
    for (std::size_t k = 0; k < nv; ++k) {
      if (work.J[i * nv + k] != 0.0) subtract_row(nv, -work.J[i * nv + k], N + k * nv, row);
    }
  }
  std::copy_n(work.JN, m * nv, work.GT);
  solve_columns(rank, nv, work.GT, work.spare, work.dynamics.solve);
  std::fill_n(work.K, m * m, 0.0);
  for (std::size_t i = 0; i < m; ++i) work.K[i * (m + 1)] = 1.0;
  solve_columns(rank, m, work.K, work.W, work.dynamics.solve);  // W is not yet in use
  for (std::size_t k = 0; k < nv; ++k) {
    pause();
    double* row = work.W + k * all;
    std::copy(N + k * nv + k, N + (k + 1) * nv, row + k);
    for (std::size_t i = 0; i < m; ++i) {
      subtract_row(nv - k, work.JN[i * nv + k], work.GT + i * nv + k, row + k);
      row[nv + i] = -work.GT[i * nv + k];
    }
    for (std::size_t j = k + 1; j < nv; ++j) work.W[j * all + k] = row[j];
  }
  for (std::size_t i = 0; i < m; ++i) {
    std::copy_n(work.GT + i * nv, nv, work.W + (nv + i) * all);
    std::copy_n(work.K + i * m, m, work.W + (nv + i) * all + nv);
  }
}

// Some columns of X, and of the rows of Y that are not zero there.
template <class C>
JOUNCE_INLINE void gather_columns(const Tree<double>& tree, const C& c, double* X, const double* Y,
                                  ConstrainedPartialsWork& work) {
  using V = typename C::Value;
  constexpr int width = sizeof(V) / sizeof(double);
  partials::GatheredColumns<double>& x = work.gathered;
  const std::size_t nv = tree.nv;
  const auto append = [&](int row, const double* from) { x.append<V>(row, 0, {from + c.at}); };
  if (work.sparse) {
    x.gather<V>(tree, c.at, c.at + width, {X + c.at});
  } else {
    x.count = 0;
    for (int r = 0; r < tree.nv; ++r) append(r, X + r * nv);
  }
  for (int i = 0; i < work.m; ++i) {
    const double* row = Y + i * nv;
    if (std::any_of(row + c.at, row + c.at + width, [](double y) { return y != 0.0; })) append(tree.nv + i, row);
  }
}

// Equation (1): X becomes the derivative of the accelerations, that of the forces goes to `force`.
inline void solve_saddle(const Tree<double>& tree, double* X, const double* Y, double* force,
                         ConstrainedPartialsWork& work) {
  const std::size_t nv = tree.nv, all = nv + work.m;
  for_columns<double>(0, tree.nv, [&](auto c) {
    pause();
    gather_columns(tree, c, X, Y, work);
    using V = typename decltype(c)::Value;
    partials::product_rows<V>(work.gathered, tree.nv, work.W, all, {X + c.at}, nv);
    partials::product_rows<V>(work.gathered, work.m, work.W + nv, all, {force + c.at}, nv);
  });
}

// x <- (1 - Q Q^T) x for the rows of x, (m, columns); work.spare is used.
inline void leave_range(int rank, std::size_t columns, double* x, ConstrainedPartialsWork& work) {
  const std::size_t m = work.m;
  for (int k = 0; k < rank; ++k) {
    pause();
    const double* column = work.dynamics.solve.Q + k * m;
    std::fill_n(work.spare, columns, 0.0);
    for (std::size_t i = 0; i < m; ++i) subtract_row(columns, -column[i], x + i * columns, work.spare);
    for (std::size_t i = 0; i < m; ++i) subtract_row(columns, column[i], work.spare, x + i * columns);
  }
}

// Equations (3) and (4), with u = G f and what the rows lack without forces, which becomes r.
inline void add_turning(const Tree<double>& tree, const ConstraintTable& table, int rank, const double* q,
                        const double* f, double* lack, double* motion_dq, double* force_dq,
                        ConstrainedPartialsWork& work) {
  const std::size_t nv = tree.nv, m = work.m;
  std::fill_n(work.u, nv, 0.0);
  for (std::size_t i = 0; i < m; ++i) subtract_row(nv, -f[i], work.GT + i * nv, work.u);
  leave_range(rank, 1, lack, work);
  std::fill_n(work.dynamics.zero, nv, 0.0);
  std::fill_n(work.unused, nv * nv, 0.0);
  const RowDerivatives out{work.velocity_dq, work.acceleration_dq, work.acceleration_dv, work.unused};
  row_derivatives(tree, table, work.m, q, work.u, work.dynamics.zero, lack, out, work.rows);
  leave_range(rank, nv, work.velocity_dq, work);
  double *GT_turned = work.acceleration_dq, *extra = work.acceleration_dv;
  std::fill_n(GT_turned, m * nv, 0.0);
  std::fill_n(extra, m * nv, 0.0);
  for (std::size_t i = 0; i < m; ++i) {
    pause();
    for (std::size_t k = 0; k < nv; ++k) {
      subtract_row(nv, -work.GT[i * nv + k], work.unused + k * nv, GT_turned + i * nv);
    }
  }
  for (std::size_t i = 0; i < m; ++i) {
    pause();
    for (std::size_t k = 0; k < m; ++k) subtract_row(nv, -work.K[i * m + k], GT_turned + k * nv, extra + i * nv);
    for (std::size_t k = 0; k < nv; ++k) subtract_row(nv, -work.JN[i * nv + k], extra + i * nv, motion_dq + k * nv);
  }
  subtract_row(m * nv, -1.0, work.velocity_dq, force_dq);
  subtract_row(m * nv, -1.0, extra, force_dq);
}

// x <- x (1 - G J) for some rows x.
inline void project_directions(int rows, std::size_t nv, double* x, const ConstrainedPartialsWork& work) {
  for (int r = 0; r < rows; ++r) {
    pause();
    double* row = x + r * nv;
    for (int i = 0; i < work.m; ++i) {
      double sum = 0.0;
      for (std::size_t k = 0; k < nv; ++k) sum += row[k] * work.GT[i * nv + k];
      work.dynamics.velocity[i] = sum;
    }
    for (int i = 0; i < work.m; ++i) subtract_row(nv, work.dynamics.velocity[i], work.J + i * nv, row);
  }
}

// What rows that depend on each other ask for; `most` is the rank that they have almost everywhere. Forces f
// solve K f = w - found.
inline void dependent_rows(const Tree<double>& tree, const ConstraintTable& table, int rank, double most,
                           const double* q, const double* f, const double* w, const double* found,
                           double* motion_dq, double* force_dq, ConstrainedPartialsWork& work) {
  if (rank == work.m) return;
  double* lack = work.dynamics.velocity;
  for (int i = 0; i < work.m; ++i) lack[i] = w[i] - found[i];
  add_turning(tree, table, rank, q, f, lack, motion_dq, force_dq, work);
  if (rank >= most) return;
  project_directions(tree.nv, tree.nv, motion_dq, work);
  project_directions(work.m, tree.nv, force_dq, work);
}

struct ConstrainedPartials {
  double *a_dq, *a_dv, *a_dtau, *force_dq, *force_dv, *force_dtau;
  double* rank;
};

// Returns a singular node or -1.
inline int constrained_partials(const Tree<double>& tree, const ConstraintTable& table, const double* q,
                                const double* v, const double* tau, const double* w,
                                const double* f_ext, double most, const ConstrainedPartials& out,
                                ConstrainedPartialsWork& work) {
  const std::size_t nv = tree.nv, m = work.m;
  const int singular = constrained_dynamics(tree, table, q, v, tau, w, f_ext, work.a, work.f, out.rank,
                                            work.dynamics);
  if (singular >= 0) return singular;
  work.dynamics.rows.angles = work.dynamics.factors.angles;
  const int rank = int(*out.rank);
  const int also = inverse_mass_matrix(tree, q, out.a_dtau, work.inverse);
  if (also >= 0) return also;
  invert_saddle(tree, table, q, rank, out.a_dtau, work);
  partials_at_base(tree, q, v, work.a, f_ext, out.a_dq, out.a_dv, work.M, work.partials);
  for (std::size_t i = 0; i < m; ++i) work.f[i] = -work.f[i];
  const RowDerivatives rows{work.velocity_dq, work.acceleration_dq, work.acceleration_dv, out.a_dq};
  row_derivatives(tree, table, work.m, q, v, work.a, work.f, rows, work.rows);
  for (std::size_t i = 0; i < m; ++i) work.f[i] = -work.f[i];
  solve_saddle(tree, out.a_dq, work.acceleration_dq, out.force_dq, work);
  solve_saddle(tree, out.a_dv, work.acceleration_dv, out.force_dv, work);
  for (std::size_t k = 0; k < nv; ++k) std::copy_n(work.W + k * (nv + m), nv, out.a_dtau + k * nv);
  for (std::size_t k = 0; k < m * nv; ++k) out.force_dtau[k] = -work.GT[k];
  const bool contacts = are_contacts(tree, table, work.m);
  const double* found = contacts ? work.dynamics.operational.acceleration : work.dynamics.acceleration;
  dependent_rows(tree, table, rank, most, q, work.f, w, found, out.a_dq, out.force_dq, work);
  return -1;
}

struct JumpPartials {
  double *v_dq, *v_dv, *impulse_dq, *impulse_dv;
  double* rank;
};

// Of M d = J^T p, J (v + d) = jump - e J v, v after the jump being v + d; the tree must be without weight.
inline int jump_partials(const Tree<double>& tree, const ConstraintTable& table, const double* q,
                         const double* v, const double* jump, double e, double most, const JumpPartials& out,
                         ConstrainedPartialsWork& work) {
  const std::size_t nv = tree.nv, m = work.m;
  const double* still = nullptr;
  const int singular = constrained_jump(tree, table, q, still, jump, work.a, work.f, out.rank, work.dynamics);
  if (singular >= 0) return singular;
  const int rank = int(*out.rank);
  const int also = inverse_mass_matrix(tree, q, out.v_dv, work.inverse);
  if (also >= 0) return also;
  invert_saddle(tree, table, q, rank, out.v_dv, work);
  std::fill_n(work.dynamics.zero, nv, 0.0);
  partials_at_base(tree, q, work.dynamics.zero, work.a, (const double*)nullptr, out.v_dq, work.unused,
                   work.M, work.partials);
  for (std::size_t k = 0; k < nv; ++k) work.u[k] = (1.0 + e) * v[k] + work.a[k];  // whose rows are held
  for (std::size_t i = 0; i < m; ++i) work.f[i] = -work.f[i];
  const RowDerivatives rows{work.velocity_dq, work.acceleration_dq, work.acceleration_dv, out.v_dq};
  row_derivatives(tree, table, work.m, q, work.u, work.dynamics.zero, work.f, rows, work.rows);
  for (std::size_t i = 0; i < m; ++i) work.f[i] = -work.f[i];
  solve_saddle(tree, out.v_dq, work.velocity_dq, out.impulse_dq, work);
  std::fill_n(out.v_dv, nv * nv, 0.0);  // 1 - (1 + e) G J
  std::fill_n(out.impulse_dv, m * nv, 0.0);
  for (std::size_t k = 0; k < nv; ++k) out.v_dv[k * (nv + 1)] = 1.0;
  for (std::size_t i = 0; i < m; ++i) {
    pause();
    const double* row = work.J + i * nv;
    for (std::size_t k = 0; k < nv; ++k) subtract_row(nv, (1.0 + e) * work.GT[i * nv + k], row, out.v_dv + k * nv);
    for (std::size_t k = 0; k < m; ++k) subtract_row(nv, (1.0 + e) * work.K[k * m + i], row, out.impulse_dv + k * nv);
  }
  const double* found = work.dynamics.velocity;
  dependent_rows(tree, table, rank, most, q, work.f, jump, found, out.v_dq, out.impulse_dq, work);
  return -1;
}

}  // namespace jounce
