// Inverse kinematics by damped least squares (Levenberg-Marquardt) on the group.
//
// The residual of a pose task, in the axes of its target (R0, p0), and how it changes with the body
// twist (delta, epsilon) of its frame (R, p):
//   (1) e = (w, x),  w = log(R0^T R),  x = R0^T (p - p0)
//   (2) dw = delta + w x delta / 2 + c w x (w x delta),  dx = R0^T R epsilon,  c as in lie/group.hpp
// A position has x alone, in world axes; so has the center of mass. Rows are scaled by weights.
// A step solves, over the rates that no limit stops,
//   (3) u = -J^T (J J^T + mu)^-1 e,
// is cut to the limits, and taken if the residual falls. How mu changes follows the ratio of that to
// what the linear model predicts (Nielsen, Damping parameter in Marquardt's method, 1999).
// A joint that follows another one has no rate of its own: its columns join those of its leader.
#pragma once

#include <algorithm>
#include <cmath>

#include "jounce/kinematics/center_of_mass.hpp"
#include "jounce/kinematics/configuration.hpp"
#include "jounce/kinematics/jacobian.hpp"

namespace jounce {

// What a task asks for; `frame` is where it acts in its node.
struct Task {
  enum Kind { center_of_mass = -2, pose = 0, position = 1 };
  Kind kind;
  FrameAt<> frame;
  Pose<double> target;
  const double* weights;  // (6) angular, linear

  int rows() const { return kind == pose ? 6 : 3; }
};

// One task of the arrays that Python hands over: nodes (tasks, 2) hold the node, of n, and the kind.
inline Task task_at(int n, const double* nodes, const double* frames, const double* targets,
                    const double* weights, int k) {
  Task task;
  const double node = nodes[2 * k], kind = nodes[2 * k + 1];
  task.kind = kind <= -2.0 ? Task::center_of_mass : kind < 1.0 ? Task::pose : Task::position;
  task.frame = {node >= 0.0 && node < n ? int(node) : -1, pose_from(frames + 16 * k)};
  task.target = pose_from(targets + 16 * k);
  task.weights = weights + 6 * k;
  return task;
}

// What stops the search.
struct SearchLimits {
  const double *lower, *upper;  // (nq), of joints of one rate
  const double* couplings;      // (nv, 3) leading rate, multiplier and offset of each, or null
  double tolerance;             // of the residual's length
  int iterations;               // at most
};

struct InverseKinematicsWork {
  int tasks, nv;
  FrameWork<double> frame;
  BodiesWork<double> bodies;
  CenterOfMassWork<double> center;
  Task* task;
  double *columns;                            // (6, nv) body-fixed Jacobian of one frame
  double *J, *e, *J_trial, *e_trial;          // (rows, nv), (rows), and where a step would lead
  double *K, *diagonal, *pivot, *y;           // (rows, rows), then (rows)
  double *q, *trial, *u;                      // (nq), (nq), (nv)
  double* slope;                              // (nv) of half the squared residual

  InverseKinematicsWork(const Tree<double>& tree, int order, Arena& arena)
      : tasks(order + 1), nv(tree.nv), frame(tree, arena), bodies(tree, arena),
        center(tree, arena) {
    const std::size_t rows = 6 * std::size_t(tasks);
    task = arena.take<Task>(tasks);
    columns = arena.take<double>(6 * std::size_t(nv));
    J = arena.take<double>(rows * nv);
    e = arena.take<double>(rows);
    J_trial = arena.take<double>(rows * nv);
    e_trial = arena.take<double>(rows);
    K = arena.take<double>(rows * rows);
    diagonal = arena.take<double>(rows);
    pivot = arena.take<double>(rows);
    y = arena.take<double>(rows);
    q = arena.take<double>(tree.nq);
    trial = arena.take<double>(tree.nq);
    u = arena.take<double>(nv);
    slope = arena.take<double>(nv);
  }
  int rows() const {
    int sum = 0;
    for (int k = 0; k < tasks; ++k) sum += task[k].rows();
    return sum;
  }
};

// Writes weight times a vector's components to every `step`-th entry.
inline void store_weighted(const Vec3<double>& x, const double* weights, double* out, int step) {
  out[0] = x.x * weights[0];
  out[step] = x.y * weights[1];
  out[2 * step] = x.z * weights[2];
}

// (1), weighted; returns the rotation vector of a pose.
inline Vec3<double> frame_residual(const Task& task, const Pose<double>& world, double* e) {
  const Vec3<double> away = world.p - task.target.p;
  if (task.kind == Task::position) {
    store_weighted(away, task.weights + 3, e, 1);
    return Vec3<double>::zero();
  }
  const Vec3<double> w = rotation_log(transpose(task.target.R) * world.R);
  store_weighted(w, task.weights, e, 1);
  store_weighted(transposed(task.target.R, away), task.weights + 3, e + 3, 1);
  return w;
}

// Residual and Jacobian of the center of mass.
inline void center_of_mass_task(const Tree<double>& tree, const Task& task, const double* q, double* e,
                                double* J, InverseKinematicsWork& work) {
  const double* none = nullptr;
  double center[3];
  center_of_mass(tree, q, center, work.bodies);
  store_weighted(vector_from(center) - task.target.p, task.weights + 3, e, 1);
  center_of_mass_motion(tree, -1, q, none, J, (double*)nullptr, (double*)nullptr, work.center);
  for (int k = 0; k < 3; ++k) {
    for (int j = 0; j < tree.nv; ++j) J[std::size_t(k) * tree.nv + j] *= task.weights[3 + k];
  }
}

// (2), weighted, in the columns of the frame's ancestors; the others are zero.
inline void frame_task(const Tree<double>& tree, const Task& task, const double* q, double* e,
                       double* J, InverseKinematicsWork& work) {
  const int nv = tree.nv;
  const auto store_columns = [&](const Node<double>& node, const Pose<double>& T) {
    for (int k = 0; k < node.nv; ++k) {
      store(to_child(T, screw<double>(node, k)), work.columns + node.v + k, nv);
    }
  };
  const Pose<double> world = walk_to_root(tree, task.frame, q, work.frame, store_columns);
  const Vec3<double> w = frame_residual(task, world, e);
  std::fill_n(J, task.rows() * std::size_t(nv), 0.0);
  const bool turns = task.kind == Task::pose;
  const Mat3<double> axes = turns ? transpose(task.target.R) * world.R : world.R;
  for (int i = task.frame.node; i >= 0; i = tree.nodes[i].parent) {
    for (int j = tree.nodes[i].v; j < tree.nodes[i].v + tree.nodes[i].nv; ++j) {
      const double* c = work.columns + j;
      const Vec3<double> turn{c[0], c[nv], c[2 * nv]}, shift{c[3 * nv], c[4 * nv], c[5 * nv]};
      if (turns) store_weighted(inverse_translation(-w, turn), task.weights, J + j, nv);
      store_weighted(axes * shift, task.weights + 3, J + (turns ? 3 * nv : 0) + j, nv);
    }
  }
}

// Which rate a rate follows: itself, if it is free to move.
inline int leader_of(int nv, const double* couplings, int j) {
  return std::clamp(int(couplings[3 * j]), 0, nv - 1);
}

// The columns of rates that follow others join those of their leaders.
inline void join_columns(int rows, int nv, const double* couplings, double* J) {
  for (int j = 0; couplings && j < nv; ++j) {
    const int leader = leader_of(nv, couplings, j);
    for (int i = 0; leader != j && i < rows; ++i) {
      double* row = J + std::size_t(i) * nv;
      row[leader] += couplings[3 * j + 1] * row[j];
      row[j] = 0.0;
    }
  }
}

// All residuals and their Jacobian; returns the squared length.
inline double residuals(const Tree<double>& tree, const SearchLimits& limits, const double* q,
                        double* e, double* J, InverseKinematicsWork& work) {
  int row = 0;
  for (int k = 0; k < work.tasks; ++k) {
    const Task& task = work.task[k];
    const auto one = task.kind == Task::center_of_mass ? center_of_mass_task : frame_task;
    one(tree, task, q, e + row, J + std::size_t(row) * tree.nv, work);
    row += task.rows();
  }
  join_columns(row, tree.nv, limits.couplings, J);
  double sum = 0.0;
  for (int i = 0; i < row; ++i) sum += e[i] * e[i];
  return sum;
}

// Marks joints of one rate at a limit towards which the residual would push them, and clears their
// columns. Returns the largest slope of the others.
inline double find_stopped(const Tree<double>& tree, int rows, const SearchLimits& limits,
                         InverseKinematicsWork& work) {
  const int nv = tree.nv;
  std::fill_n(work.slope, nv, 0.0);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < nv; ++j) work.slope[j] += work.J[std::size_t(i) * nv + j] * work.e[i];
  }
  double steepest = 0.0;
  for (const Node<double>& node : tree.nodes) {
    const double at = work.q[node.q], slope = work.slope[node.v];
    const bool stopped = node.nv == 1 && ((at <= limits.lower[node.q] && slope > 0.0) ||
                                          (at >= limits.upper[node.q] && slope < 0.0));
    for (int i = 0; stopped && i < rows; ++i) work.J[std::size_t(i) * nv + node.v] = 0.0;
    for (int j = node.v; !stopped && j < node.v + node.nv; ++j) {
      steepest = std::max(steepest, std::abs(work.slope[j]));
    }
  }
  return steepest;
}

// J J^T in the upper half of K, its diagonal beside it; returns the mean of that.
inline double normal_matrix(int rows, InverseKinematicsWork& work) {
  double trace = 0.0;
  for (int i = 0; i < rows; ++i) {
    const double* a = work.J + std::size_t(i) * work.nv;
    for (int j = i; j < rows; ++j) {
      const double* b = work.J + std::size_t(j) * work.nv;
      double sum = 0.0;
      for (int k = 0; k < work.nv; ++k) sum += a[k] * b[k];
      work.K[i * rows + j] = sum;
    }
    trace += work.diagonal[i] = work.K[i * rows + i];
  }
  return trace / rows;
}

// Solves (J J^T + mu) y = e by Cholesky's method, whose factor fills the lower half of K, so that the
// upper one serves another mu.
inline void solve_damped(int n, double mu, InverseKinematicsWork& work) {
  double *K = work.K, *y = work.y, *pivot = work.pivot;
  for (int i = 0; i < n; ++i) {
    double sum = work.e[i];
    for (int j = 0; j < i; ++j) {
      double entry = K[j * n + i];
      for (int k = 0; k < j; ++k) entry -= K[i * n + k] * K[j * n + k];
      K[i * n + j] = entry / pivot[j];
      sum -= K[i * n + j] * y[j];
    }
    double square = work.diagonal[i] + mu;
    for (int k = 0; k < i; ++k) square -= K[i * n + k] * K[i * n + k];
    pivot[i] = std::sqrt(std::max(square, mu));
    y[i] = sum / pivot[i];
  }
  for (int i = n - 1; i >= 0; --i) {
    double sum = y[i];
    for (int k = i + 1; k < n; ++k) sum -= K[k * n + i] * y[k];
    y[i] = sum / pivot[i];
  }
}

// (3): the step to try, no joint moving farther than a radian or a meter; returns the longest part.
inline double damped_step(int rows, double mu, InverseKinematicsWork& work) {
  solve_damped(rows, mu, work);
  double longest = 0.0;
  for (int j = 0; j < work.nv; ++j) {
    double sum = 0.0;
    for (int i = 0; i < rows; ++i) sum += work.J[std::size_t(i) * work.nv + j] * work.y[i];
    work.u[j] = -sum;
    longest = std::max(longest, std::abs(sum));
  }
  if (longest > 1.0) {
    for (int j = 0; j < work.nv; ++j) work.u[j] /= longest;
  }
  return longest;
}

// By how much the square of the linear model e + J u = mu y of the residual falls: with the slope
// g = J^T e that is u . (mu u - g), where both terms are positive.
inline double predicted_fall(double mu, const InverseKinematicsWork& work) {
  double fall = 0.0;
  for (int j = 0; j < work.nv; ++j) fall += work.u[j] * (mu * work.u[j] - work.slope[j]);
  return fall;
}

// Then what follows others goes where they lead it.
inline void cut_to_limits(const Tree<double>& tree, const SearchLimits& limits,
                          InverseKinematicsWork& work, double* q) {
  for (const Node<double>& node : tree.nodes) {
    if (node.nv == 1) q[node.q] = std::clamp(q[node.q], limits.lower[node.q], limits.upper[node.q]);
  }
  if (!limits.couplings) return;
  for (const Node<double>& node : tree.nodes) work.columns[node.v] = q[node.q];
  for (const Node<double>& node : tree.nodes) {
    const double* own = limits.couplings + 3 * std::size_t(node.v);
    const int leader = leader_of(tree.nv, limits.couplings, node.v);
    if (node.nv == 1 && leader != node.v) q[node.q] = own[1] * work.columns[leader] + own[2];
  }
}

// Searches from work.q, where it also ends, until the residual is small or stationary. Returns the
// residual's length and how many steps were tried.
inline void find_configuration(const Tree<double>& tree, const SearchLimits& limits, double* error,
                               double* tried, InverseKinematicsWork& work) {
  constexpr double kLeast = 1e-12, kMost = 1e9, kStill = 1e-15, kFlat = 1e-12;
  const int rows = work.rows();
  const double enough = limits.tolerance * limits.tolerance;
  cut_to_limits(tree, limits, work, work.q);
  double cost = residuals(tree, limits, work.q, work.e, work.J, work), scale = 0.0;
  double damping = 1e-3, growth = 2.0;
  bool fresh = true;
  int k = 0;
  for (; k < limits.iterations && cost > enough; ++k) {
    if (fresh) {
      const double steepest = find_stopped(tree, rows, limits, work);
      scale = normal_matrix(rows, work);
      if (steepest <= kFlat * std::sqrt(cost * scale)) break;
    }
    const double mu = damping * scale;
    if (damped_step(rows, mu, work) < kStill || damping > kMost) break;
    integrate(tree, work.q, work.u, work.trial);
    cut_to_limits(tree, limits, work, work.trial);
    const double next = residuals(tree, limits, work.trial, work.e_trial, work.J_trial, work);
    fresh = next < cost;
    if (!fresh) {
      damping = std::max(damping, 1e-6) * growth;
      growth *= 2.0;
      continue;
    }
    const double gain = (cost - next) / predicted_fall(mu, work), bend = 2.0 * gain - 1.0;
    damping = std::max(damping * std::clamp(1.0 - bend * bend * bend, 0.1, 2.0), kLeast);
    growth = 2.0;
    cost = next;
    std::swap(work.q, work.trial);
    std::swap(work.e, work.e_trial);
    std::swap(work.J, work.J_trial);
  }
  *error = std::sqrt(cost);
  *tried = k;
}

}  // namespace jounce
