// An explicit step under constraints that ends on their manifold.
//
// Stages have the accelerations of constraints/dynamics.hpp. Their rows shall move with the rates w of
// moving_targets.hpp, and stabilized ones accelerate with
//   (1) w' + 2 alpha w - beta^2 e
// where e is the residual of a target that moves; of others the dynamics know it. The end of the step is
// projected, in the norm of the mass matrix:
//   (2) q <- q exp(-M^-1 J^T K^-1 g(q)) while that makes the residual g smaller, K = J M^-1 J^T
//   (3) v <- v + M^-1 J^T K^-1 (w - J v)
#pragma once

#include <limits>

#include "jounce/constraints/dynamics.hpp"
#include "jounce/kinematics/configuration.hpp"
#include "jounce/simulation/moving_targets.hpp"
#include "jounce/simulation/rollout.hpp"

namespace jounce {

template <class S>
struct ConstrainedStepWork {
  StepWork<S> step;
  ConstrainedWork<S> constrained;
  S *q, *v, *d;                      // of a projection: moved coordinates, rates, the move
  S *w, *force, *residual;           // (rows)
  S rank;
  MovedTargets<S> moved;

  template <class P>
  ConstrainedStepWork(const Tree<P>& tree, Extent extent, Arena& arena)
      : step(tree, arena),
        constrained(tree, extent, arena),
        q(arena.take<S>(tree.nq)),
        moved(extent.rows, arena) {
    for (S** x : {&v, &d}) *x = arena.take<S>(tree.nv);
    for (S** x : {&w, &force, &residual}) *x = arena.take<S>(extent.rows);
  }
};

// The stages of a step that starts at time t.
template <class S>
struct ConstrainedStages {
  const Tableau& method;
  const ConstraintTable& table;
  const RowMotion& motion;
  S t, dt;
  bool stabilizes;  // targets that move
  ConstrainedStepWork<S>& work;

  template <class P>
  int accelerate(const Tree<P>& tree, int i, const S* q, const S* v, const ForcesAt<S>& at, S* a) const {
    const S now = t + dt * method.time(i);
    motion.at(now, 1, work.w);
    if (motion.alpha != 0.0) {  // (1)
      motion.at(now, 0, work.force);
      for (int k = 0; k < motion.rows; ++k) work.w[k] += work.force[k] * (2.0 * motion.alpha);
    }
    if (stabilizes) {
      const S share(method.time(i));
      reach_share(tree, motion, share, work.moved);
      target_residuals(tree, motion, share, true, q, work.moved, work.constrained.rows, work.residual);
      for (int k = 0; k < motion.rows; ++k) work.w[k] -= work.residual[k] * (motion.beta * motion.beta);
    }
    return constrained_dynamics(tree, table, q, v, at.tau, work.w, at.f_ext, a, work.force, &work.rank,
                                work.constrained);
  }
  void keep(int, const S*, const S*) const {}
};

struct ConstrainedStepper : ExplicitStepper {
  ConstraintTable table;
  RowMotion motion;
  double tolerance;  // of residuals after a projection; 0: the end is where the method leads

  template <class S>
  using Work = ConstrainedStepWork<S>;

  template <class S, class P>
  int step(const Tree<P>& tree, std::ptrdiff_t t, const S& dt, const HeldForces<S>& forces, S* q, S* s,
           Work<S>& work) const {
    const bool moves = motion.any_moves();
    reach_step(tree, motion, t, dt, moves, work.moved);
    const ConstrainedStages<S> stages{method, table, motion, dt * double(t), dt, moves && motion.beta != 0.0, work};
    const int singular = explicit_step(tree, method, dt, forces, q, s, work.step, stages);
    if (!(tolerance > 0.0)) return singular;
    to_body_axes(tree, q, s, work.v);
    if (moves) reach_share(tree, motion, S(1.0), work.moved);
    project_q(tree, q, work);
    motion.at(dt * double(t + 1), 0, work.w);  // (3)
    constrained_jump(tree, table, q, work.v, work.w, work.d, work.force, &work.rank, work.constrained);
    for (int k = 0; k < tree.nv; ++k) work.v[k] += work.d[k];
    to_parent_axes(tree, q, work.v, s);
    return singular;
  }

 private:
  static constexpr int kMostProjections = 50;
  static constexpr double kEps = std::numeric_limits<double>::epsilon();

  // Equation (2). States that do not get there become NaN.
  template <class S, class P>
  void project_q(const Tree<P>& tree, S* q, Work<S>& work) const {
    const S zero(0.0), *still = nullptr;
    S size(1.0), worst(std::numeric_limits<double>::max()), going(1.0);
    for (int k = 0; k < tree.nq; ++k) size = larger(size, magnitude(q[k]));
    for (int pass = 0; pass <= kMostProjections; ++pass) {
      const S before = worst;
      worst = residuals(tree, q, work);
      going = select(worst < before, going, zero);  // also where it is NaN
      going = select(worst > size * (8.0 * kEps), going, zero);  // that much is rounding
      if (is_zero(going) || pass == kMostProjections) break;
      for (int i = 0; i < motion.rows; ++i) work.w[i] = zero - work.residual[i];
      constrained_jump(tree, table, q, still, work.w, work.d, work.force, &work.rank, work.constrained);
      integrate(tree, q, work.d, work.q);
      for (int k = 0; k < tree.nq; ++k) q[k] = select(going > zero, work.q[k], q[k]);
    }
    const S most = larger(S(tolerance), size * (64.0 * kEps));
    const S lost(std::numeric_limits<double>::quiet_NaN());
    for (int k = 0; k < tree.nq; ++k) q[k] = select(worst <= most, q[k], lost);
  }

  // Returns the largest.
  template <class S, class P>
  S residuals(const Tree<P>& tree, const S* q, Work<S>& work) const {
    target_residuals(tree, motion, S(1.0), false, q, work.moved, work.constrained.rows, work.residual);
    S most(0.0);
    for (int i = 0; i < motion.rows; ++i) {
      work.residual[i] = work.residual[i] * motion.held[i];
      most = larger(most, magnitude(work.residual[i]));
    }
    return most;
  }
};

}  // namespace jounce
