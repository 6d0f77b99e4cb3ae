// What rows of constraints shall do during a rollout: their rates, and the targets that move with them.
//
// The rates are polynomials in time, and numbers and points move by their integral:
//   (1) w = sum_k w_k t^k / k!,   x(t) = x(0) + integral of w
// The target of a pose moves by X' = X hat(w). Over a time h from t on it is X F, F = sum_k F_k, with
//   (2) F_0 = 1,   (k + 1) F_(k+1) = sum_j F_(k-j) hat(w^(j)(t) h^(j+1) / j!)
// which is summed over times in which it moves by no more than about one. A rollout takes it from step to
// step; where another one than the last was before it (one lane of a pack alone), it begins anew.
#pragma once

#include <algorithm>
#include <cmath>

#include "jounce/constraints/rows.hpp"

namespace jounce {

struct RowMotion {
  int rows, orders;
  const double* rates;  // [k][row]: w_k, k below `orders`
  const double* held;   // [row]: 1 where a residual is brought to zero, else 0
  const double* moves;  // [row]: 1 where a target moves by (1), 2 by (2), else 0
  ConstraintTable targets;
  double alpha, beta;

  bool any_moves() const {
    for (int i = 0; i < rows; ++i) {
      if (moves[i] != 0.0) return true;
    }
    return false;
  }
  bool pose_moves(const Constraint& c) const { return c.kind == Constraint::pose && moves[c.row] == 2.0; }
  bool any_moves(const Constraint& c) const {
    for (int d = 0, row = c.row; d < kMostRows; ++d) {
      if (c.selects(d) && moves[row++] != 0.0) return true;
    }
    return false;
  }

  // Equation (1) or its derivative at time t; derivative -1 is the integral.
  template <class S>
  void at(const S& t, int derivative, S* w) const {
    for (int i = 0; i < rows; ++i) w[i] = rate(t, derivative, i);
  }
  template <class S>
  S rate(const S& t, int derivative, int row) const {
    S sum(0.0);
    for (int k = orders - 1; k >= derivative; --k) {
      sum = sum * t * (1.0 / (k - derivative + 1)) + S(k < 0 ? 0.0 : rates[k * rows + row]);
    }
    return sum;
  }

  // Calls visit(c) for the targets.
  template <class P, class Visit>
  void for_targets(const Tree<P>& tree, Visit&& visit) const {
    for (std::ptrdiff_t k = 0; k < targets.count; ++k) {
      const Constraint c = constraint_at(tree, rows, targets.numbers + k * kConstraintNumbers);
      if (c.selected) visit(c);
    }
  }
};

// How far the targets of poses have moved.
template <class S>
struct MovedTargets {
  Pose<S>* pose;  // [row] at the first one of each, at the start of step `step` of length dt
  Pose<S>* now;   // [row] likewise, at any time
  std::ptrdiff_t step = -1;
  S dt;

  MovedTargets(int rows, Arena& arena) : pose(arena.take<Pose<S>>(rows)), now(arena.take<Pose<S>>(rows)) {}
};

constexpr int kMostFlowTerms = 24;
constexpr double kMostFlows = 1e4;

// Equation (2) once, with so many terms: X F, from time t on over a time h.
template <class S>
Pose<S> flow_once(const RowMotion& motion, const Constraint& c, const S& t, const S& h, int terms,
                  const Pose<S>& X) {
  Mat3<S> R[kMostFlowTerms + 1] = {Mat3<S>::identity()};
  Motion<S> w[kMostFlowTerms];
  const int orders = std::min(motion.orders, terms);
  S scale = h;
  for (int j = 0; j < orders; ++j) {
    S x[6] = {S(0.0), S(0.0), S(0.0), S(0.0), S(0.0), S(0.0)};
    for (int d = 0, row = c.row; d < 6; ++d) {
      if (c.selects(d)) x[d] = motion.rate(t, j, row++) * scale;
    }
    w[j] = {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
    scale = scale * h * (1.0 / (j + 1));
  }
  Pose<S> F{R[0], Vec3<S>::zero()};
  for (int k = 0; k < terms; ++k) {
    Mat3<S> turn{Vec3<S>::zero(), Vec3<S>::zero(), Vec3<S>::zero()};
    Vec3<S> shift = Vec3<S>::zero();
    for (int j = 0; j <= k && j < orders; ++j) {
      const Mat3<S>& Q = R[k - j];
      const Vec3<S>& x = w[j].w;
      turn = turn + Mat3<S>{Q.y * x.z - Q.z * x.y, Q.z * x.x - Q.x * x.z, Q.x * x.y - Q.y * x.x};
      shift += Q * w[j].v;
    }
    const S over(1.0 / (k + 1));
    R[k + 1] = turn * over;
    F.R = F.R + R[k + 1];
    F.p += shift * over;
  }
  return X * F;
}

// By how much a target moves at most over a time h from t on, the largest of all lanes.
template <class S>
double most_way(const RowMotion& motion, const Constraint& c, const S& t, const S& h) {
  S most(0.0);
  for (int d = 0, row = c.row; d < 6; ++d) {
    if (!c.selects(d)) continue;
    S way(0.0), scale = magnitude(h);
    for (int j = 0; j < motion.orders; ++j) {
      way += magnitude(motion.rate(t, j, row)) * scale;
      scale = scale * magnitude(h) * (1.0 / (j + 1));
    }
    most = larger(most, way);
    ++row;
  }
  double largest = 0.0;
  for (int i = 0; i < lanes<S>; ++i) largest = std::max(largest, lane(most, i));
  return largest;
}

// Equation (2) over any time, from time t on. What moves too far ends where no robot gets.
template <class S>
Pose<S> flow(const RowMotion& motion, const Constraint& c, const S& t, const S& h, const Pose<S>& X) {
  const double way = most_way(motion, c, t, h), pieces = std::max(1.0, std::ceil(way));
  if (!(pieces <= kMostFlows)) {
    const S far(1e150);
    return {X.R, {far, far, far}};
  }
  // terms are below those of exp(2 way): a turn and a shift, each of rates that sum up to `way`
  const double each = 2.0 * way / pieces;
  int terms = 1;
  for (double next = each; next > 1e-18 && terms < kMostFlowTerms; next *= each / terms) ++terms;
  const S piece = h * (1.0 / pieces);
  Pose<S> Y = X;
  for (int i = 0; i < int(pieces); ++i) Y = flow_once(motion, c, S(t + piece * double(i)), piece, terms, Y);
  return Y;
}

// Brings work.pose to the start of a step, if a target moves.
template <class S, class P>
void reach_step(const Tree<P>& tree, const RowMotion& motion, std::ptrdiff_t step, const S& dt, bool moves,
                MovedTargets<S>& work) {
  if (!moves) {
    work.step = step;
    work.dt = dt;
    return;
  }
  if (step == 0 || work.step != step || !is_zero(work.dt - dt)) {
    work.step = 0;
    work.dt = dt;
    motion.for_targets(tree, [&](const Constraint& c) {
      work.pose[c.row] = {Mat3<S>::identity(), Vec3<S>::zero()};
    });
  }
  for (; work.step < step; ++work.step) {
    motion.for_targets(tree, [&](const Constraint& c) {
      if (!motion.pose_moves(c)) return;
      work.pose[c.row] = flow(motion, c, S(dt * double(work.step)), dt, work.pose[c.row]);
    });
  }
}

// What separates rows from their targets at time t = (step + share) dt, share >= 0, as it is projected or, with
// `sines`, as it stabilizes: then of rows whose targets move alone. reach_step must have been there.
template <class S, class P>
void target_residuals(const Tree<P>& tree, const RowMotion& motion, const S& share, bool sines, const S* q,
                      MovedTargets<S>& work, RowsWork<S>& rows, S* residual) {
  std::fill_n(residual, motion.rows, S(0.0));
  const S start = work.dt * double(work.step), t = start + work.dt * share;
  rows.angles.compute(tree, q);
  const S* still = nullptr;
  motion.for_targets(tree, [&](const Constraint& c) {
    if (sines && !motion.any_moves(c)) return;
    if (!motion.pose_moves(c)) {
      constraint_rows(tree, c, q, still, still, {residual, nullptr, nullptr, nullptr}, rows);
      return;
    }
    const Pose<S> target = widened<S>(c.target) * work.now[c.row];
    const Pose<S> E = inverse(target) * relative_motion(tree, c, q, still, still, rows).pose;
    S all[6];
    if (sines) {
      pose_sines(c, E, all);
    } else {
      pose_residual(c, E, all);
    }
    for (int d = 0, row = c.row; d < 6; ++d) {
      if (c.selects(d)) residual[row++] = c.targets(d) ? all[d] : S(0.0);
    }
  });
  for (int i = 0; i < motion.rows; ++i) {
    if (motion.moves[i] == 1.0) residual[i] -= motion.rate(t, -1, i);
  }
}

// The poses of target_residuals at (step + share) dt.
template <class S, class P>
void reach_share(const Tree<P>& tree, const RowMotion& motion, const S& share, MovedTargets<S>& work) {
  motion.for_targets(tree, [&](const Constraint& c) {
    if (!motion.pose_moves(c)) return;
    work.now[c.row] = flow(motion, c, S(work.dt * double(work.step)), S(work.dt * share), work.pose[c.row]);
  });
}

}  // namespace jounce
