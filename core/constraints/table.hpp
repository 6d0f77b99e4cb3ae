// Constraints as a table of numbers: one record for each, as Python hands it over.
//
// All but couplings speak of a first frame A relative to a second one B. A record has kNumbers entries:
//   0 kind, 1 first row, 2 its rows as bits (of rx, ry, rz, x, y, z for a pose), 3 which of them have a
//   residual, as bits; 4, 5 the nodes of A and B; 6, 22 their poses in the nodes, row-major 4x4; 38 the
//   target, a pose of A in B; 54 a length (of a rod, or the radius of a wheel); 55 the wheel's axis in
//   A, zero for a ball.
// Both kinds end with the gains of Baumgarte's stabilization, 58 alpha and 59 beta: instead of a row's
// acceleration, acceleration + 2 alpha rate + beta^2 residual shall vanish.
// A term of a coupling, c_1 x + c_2 x^2 + c_3 x^3 + c_4 x^4 of a coordinate x, has
//   4 the coordinate, 5 its rate, 6 the coefficients, 10 what the residual starts with.
#pragma once

#include "jounce/kinematics/jacobian.hpp"

namespace jounce {

constexpr int kConstraintNumbers = 60;
constexpr int kMostRows = 6;  // of one record

struct Constraint {
  enum Kind { pose, point, distance, rolling, coupling };
  Kind kind;
  int row;                     // of the whole set
  unsigned selected, targeted;  // bits of its rows
  FrameAt<> first, second;
  int common;                  // the last node that moves both frames, or -1
  Pose<double> target;
  double length;
  Vec3<double> axis;
  int q, v;
  double coefficients[4];
  double offset;
  double alpha, beta;

  JOUNCE_INLINE bool is_stabilized() const { return alpha != 0.0 || beta != 0.0; }
  JOUNCE_INLINE bool selects(int k) const { return selected >> k & 1; }
  JOUNCE_INLINE bool targets(int k) const { return targeted >> k & 1; }
  // A wheel or a ball has an x, y and z row, in the axes of the plane.
  JOUNCE_INLINE bool is_ball() const { return axis.x == 0.0 && axis.y == 0.0 && axis.z == 0.0; }
};

// A table of constraints as the kernels get it.
struct ConstraintTable {
  const double* numbers;
  std::ptrdiff_t count;
};

// The deepest node that is an ancestor of both, or one of them; -1 for the world.
template <class P>
int common_ancestor(const Tree<P>& tree, int a, int b) {
  while (a != b) {
    if (a < 0 || b < 0) return -1;
    if (a > b) {
      a = tree.nodes[a].parent;
    } else {
      b = tree.nodes[b].parent;
    }
  }
  return a;
}

// The node that has a rate.
template <class P>
int node_of_rate(const Tree<P>& tree, int rate) {
  int node = 0;
  while (node + 1 < tree.n && tree.nodes[node + 1].v <= rate) ++node;
  return node;
}

// A whole number that lies where it must.
inline int whole(double x, int least, int most) {
  return x >= most ? most : x >= least ? int(x) : least;
}

// A record of a set of m rows. Numbers that make no sense are read as some that do no harm.
template <class P>
Constraint constraint_at(const Tree<P>& tree, int m, const double* numbers) {
  Constraint c;
  c.kind = Constraint::Kind(whole(numbers[0], 0, Constraint::coupling));
  c.selected = unsigned(whole(numbers[2], 0, 63));
  c.targeted = unsigned(whole(numbers[3], 0, 63));
  int rows = 0;
  for (int k = 0; k < kMostRows; ++k) rows += c.selects(k);
  if (rows > m) c.selected = 0, rows = 0;
  c.row = whole(numbers[1], 0, m - rows);
  c.q = whole(numbers[4], 0, tree.nq - 1);
  c.v = whole(numbers[5], 0, tree.nv - 1);
  for (int k = 0; k < 4; ++k) c.coefficients[k] = numbers[6 + k];
  c.offset = numbers[10];
  c.alpha = numbers[58];
  c.beta = numbers[59];
  if (c.kind == Constraint::coupling) return c;
  c.first = {whole(numbers[4], -1, tree.n - 1), pose_from(numbers + 6)};
  c.second = {whole(numbers[5], -1, tree.n - 1), pose_from(numbers + 22)};
  c.common = common_ancestor(tree, c.first.node, c.second.node);
  c.target = pose_from(numbers + 38);
  c.length = numbers[54];
  c.axis = {numbers[55], numbers[56], numbers[57]};
  return c;
}

}  // namespace jounce
