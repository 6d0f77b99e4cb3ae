// Rows of constraints: what they measure, its rate and acceleration, and the Jacobian.
//
// With X = (R, p) the pose of the first frame A in the second one B, V = (w, u) the twist of A
// relative to B in and about A, and V' its derivative, a row is a wrench W in and about A:
//   (1) rate = W . V,   acceleration = W . V' + bias
//   pose       W = e_k                      bias = 0
//   point      W = (0, R_A^T e_k)           bias = e_k . R_A (w_A x u), in world axes
//   distance   W = (0, R^T n), n = p/|p|    bias = n . R (w x u) + (|u|^2 - (n . R u)^2) / |p|
//   rolling    W = R^T (d x e_k, e_k)       bias = e_k . (R (w x u) + R w x d')
// where R_A is the rotation of A in the world, w_A its angular velocity, and d leads from the origin
// of A to the point of contact with the plane z = 0 of B. Between the frames and their last common
// ancestor C,
//   (2) V = V_A - Ad(X)^-1 V_B,   V' = V_A' - Ad(X)^-1 V_B' + [V, Ad(X)^-1 V_B]
// with the motions of A and B relative to C. The second frame gets the opposite wrench.
#pragma once

#include <limits>

#include "jounce/constraints/table.hpp"
#include "jounce/lie/group.hpp"

namespace jounce {

// A frame on its way to an ancestor: the nodes, and its pose in each.
template <class S>
struct Path {
  struct Step {
    int node;
    Pose<S> frame;
  };
  Step* step;
  int count;
};

template <class S>
struct RowsWork {
  Angles<S> angles;
  Path<S> first, second;
  const Mat3<S>* world = nullptr;  // [node] rotations in the world and angular velocities, if they are
  const Vec3<S>* spin = nullptr;   // known; else they are found along the way to the root

  template <class P>
  RowsWork(const Tree<P>& tree, Arena& arena) : angles(tree, arena) {
    first.step = arena.take<typename Path<S>::Step>(tree.depth);
    second.step = arena.take<typename Path<S>::Step>(tree.depth);
  }
};

// How A moves relative to B, and how it is turned in the world.
template <class S>
struct Relative {
  Pose<S> pose;
  Motion<S> twist, acceleration;
  Mat3<S> rotation;  // of A in the world, for points alone
  Vec3<S> w;         // of A in its own axes, likewise
};

template <class S>
struct ConstraintRow {
  Force<S> wrench;
  S bias;
  S residual;
};

// Records the way to an ancestor; returns the frame's pose there.
template <class S, class P>
Pose<S> find_path(const Tree<P>& tree, const FrameAt<>& frame, int stop, const S* q,
                  const Angles<S>& angles, Path<S>& path) {
  path.count = 0;
  return walk_to_ancestor(tree, frame, stop, q, angles, [&](const Node<P>& node, const Pose<S>& T) {
    path.step[path.count++] = {int(&node - tree.nodes.data()), T};
  });
}

// Twist and acceleration of the frame at the end of a path; a may be null.
template <class S, class P>
void path_motion(const Tree<P>& tree, const Path<S>& path, const S* v, const S* a, Motion<S>& twist,
                 Motion<S>& acceleration) {
  twist = acceleration = Motion<S>::zero();
  for (int i = 0; i < path.count; ++i) {
    const Node<P>& node = tree.nodes[path.step[i].node];
    const Pose<S>& T = path.step[i].frame;
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      const Motion<S> joint = to_child(T, joint_motion<K>(node, v + node.v));
      acceleration += bracket(joint, twist);
      if (a) acceleration += to_child(T, joint_motion<K>(node, a + node.v));
      twist += joint;
    });
  }
}

template <class S>
JOUNCE_INLINE Motion<S> operator-(const Motion<S>& a, const Motion<S>& b) {
  return {a.w - b.w, a.v - b.v};
}

// Rotation and angular velocity of A in the world, from those relative to the common ancestor.
template <class S, class P>
void turn_to_world(const Tree<P>& tree, const Constraint& c, const S* q, const S* v,
                   const Mat3<S>& in_common, const Vec3<S>& w, const RowsWork<S>& work,
                   Relative<S>& out) {
  if (work.world && c.common >= 0) {
    out.rotation = work.world[c.common] * in_common;
    out.w = w + transposed(in_common, work.spin[c.common]);
    return;
  }
  FrameAt<> at;
  at.node = c.common;
  Vec3<S> above = Vec3<S>::zero();  // in the axes of the common ancestor
  const Pose<S> world = walk_to_ancestor(tree, at, -1, q, work.angles, [&](const Node<P>& node, const Pose<S>& T) {
    if (!v) return;
    with_kind(node.kind, [&](auto kind) {
      above += transposed(T.R, joint_motion<decltype(kind)::value>(node, v + node.v).w);
    });
  });
  out.rotation = world.R * in_common;
  out.w = w + transposed(in_common, above);
}

// Equation (2). Without v, which may be null as a may be, nothing moves.
template <class S, class P>
Relative<S> relative_motion(const Tree<P>& tree, const Constraint& c, const S* q, const S* v, const S* a,
                            RowsWork<S>& work) {
  Relative<S> out;
  const Pose<S> first = find_path(tree, c.first, c.common, q, work.angles, work.first);
  const Pose<S> second = find_path(tree, c.second, c.common, q, work.angles, work.second);
  out.pose = inverse(second) * first;
  out.twist = out.acceleration = Motion<S>::zero();
  Vec3<S> w = Vec3<S>::zero();
  if (v) {
    Motion<S> V, dV;
    path_motion(tree, work.first, v, a, out.twist, out.acceleration);
    w = out.twist.w;
    path_motion(tree, work.second, v, a, V, dV);
    const Motion<S> V_B = to_child(out.pose, V);
    out.twist = out.twist - V_B;
    out.acceleration = out.acceleration - to_child(out.pose, dV);
    out.acceleration += bracket(out.twist, V_B);
  }
  if (c.kind == Constraint::point) turn_to_world(tree, c, q, v, first.R, w, work, out);
  return out;
}

template <class S>
JOUNCE_INLINE S component(const Vec3<S>& x, int k) {
  return k == 0 ? x.x : k == 1 ? x.y : x.z;
}
template <class S>
JOUNCE_INLINE Vec3<S> unit(int k) {
  return {S(k == 0 ? 1.0 : 0.0), S(k == 1 ? 1.0 : 0.0), S(k == 2 ? 1.0 : 0.0)};
}

// 2 alpha rate + beta^2 residual
template <class S>
JOUNCE_INLINE S stabilization(const Constraint& c, const S& rate, const S& residual) {
  return rate * (2.0 * c.alpha) + residual * (c.beta * c.beta);
}

// Rates and accelerations of the rows of a record, where its relative motion is A.
template <class S>
JOUNCE_INLINE void set_motion_of_rows(const Constraint& c, const Relative<S>& A, const ConstraintRow<S>* row,
                                      int count, S* velocity, S* acceleration) {
  for (int i = 0; i < count; ++i) {
    const S rate = velocity[c.row + i] = dot(row[i].wrench, A.twist);
    acceleration[c.row + i] = dot(row[i].wrench, A.acceleration) + row[i].bias;
    if (c.is_stabilized()) acceleration[c.row + i] += stabilization(c, rate, row[i].residual);
  }
}

// What stabilizes instead of the turn of pose_residual: its axis times the sine of its angle. R is the
// rotation of A as seen from its target, whose derivatives follow.
template <class S>
Vec3<S> sine_of_turn(const Constraint& c, const Mat3<S>& R) {
  const int free = 3 - int(c.selects(0)) - int(c.selects(1)) - int(c.selects(2));
  for (int k = 0; free == 1 && k < 3; ++k) {
    if (!c.selects(k)) return cross(transposed(R, unit<S>(k)), unit<S>(k));
  }
  return Vec3<S>{R.y.z - R.z.y, R.z.x - R.x.z, R.x.y - R.y.x} * 0.5;
}

// The shortest turn S of R = T S with a turn T about the axis k, by quaternions q = t s: t is q without its parts
// across k. Where k points back to where it came from, t is zero and any turn by pi across k will do.
template <class S>
Vec3<S> turn_of_axis(int k, const Mat3<S>& R) {
  S q[4], turn[4];
  quaternion_multiple(R, q);
  const S along = q[k], squared = along * along + q[3] * q[3];
  const auto ahead = value(squared) > value(S(0.0));
  const S length = sqrt(select(ahead, squared, S(1.0)));
  const int i = (k + 1) % 3, j = (k + 2) % 3;
  turn[k] = S(0.0);
  turn[i] = select(ahead, (q[3] * q[i] + along * q[j]) / length, q[i]);
  turn[j] = select(ahead, (q[3] * q[j] - along * q[i]) / length, q[j]);
  turn[3] = select(ahead, length, S(0.0));
  return quaternion_log(turn);
}

// What separates A from its target, from which it is seen as E: rotation first. If A may turn about one of
// its axes, the others measure how far that axis is from the target's.
template <class S>
void pose_residual(const Constraint& c, const Pose<S>& E, S (&residual)[6]) {
  const int free = 3 - int(c.selects(0)) - int(c.selects(1)) - int(c.selects(2));
  const int axis = !c.selects(0) ? 0 : !c.selects(1) ? 1 : 2;
  store(free == 1 ? turn_of_axis(axis, E.R) : rotation_log(E.R), residual);
  store(transposed(E.R, E.p), residual + 3);
}

// The same as it stabilizes.
template <class S>
void pose_sines(const Constraint& c, const Pose<S>& E, S (&residual)[6]) {
  store(sine_of_turn(c, E.R), residual);
  store(transposed(E.R, E.p), residual + 3);
}

template <class S>
int pose_rows(const Constraint& c, const Relative<S>& A, bool residuals, ConstraintRow<S>* row) {
  S residual[6] = {S(0.0), S(0.0), S(0.0), S(0.0), S(0.0), S(0.0)};
  if constexpr (!is_dual<S>) {
    if (residuals && c.targeted) pose_residual(c, Pose<S>(widened<S>(inverse(c.target)) * A.pose), residual);
  }
  if (!residuals && c.targeted && c.beta != 0.0) {
    pose_sines(c, Pose<S>(widened<S>(inverse(c.target)) * A.pose), residual);
  }
  int count = 0;
  for (int k = 0; k < 6; ++k) {
    if (!c.selects(k)) continue;
    const Vec3<S> zero = Vec3<S>::zero(), e = unit<S>(k % 3);
    row[count++] = {k < 3 ? Force<S>{e, zero} : Force<S>{zero, e}, S(0.0),
                    c.targets(k) ? residual[k] : S(0.0)};
  }
  return count;
}

template <class S>
int point_rows(const Constraint& c, const Relative<S>& A, ConstraintRow<S>* row) {
  const Vec3<S> turning = A.rotation * cross(A.w, A.twist.v);
  const Vec3<S> shift = A.rotation * transposed(A.pose.R, A.pose.p - c.target.p);
  for (int k = 0; k < 3; ++k) {
    const Vec3<S> e = transposed(A.rotation, unit<S>(k));
    row[k] = {{Vec3<S>::zero(), e}, component(turning, k), c.targeted ? component(shift, k) : S(0.0)};
  }
  return 3;
}

// The inverse of a length that gives a direction. Where it is too short for one (a rod whose ends coincide, a
// wheel that lies flat), or its square overflows, there is none: NaN, which Python tells by the constraint's name.
constexpr double kShortest = 1e-12;
template <class S>
JOUNCE_INLINE S inverse_length(const S& length) {
  const auto gives = value(length) > value(S(kShortest));
  const S none(std::numeric_limits<double>::quiet_NaN());
  return select(gives, S(1.0) / length + (length - length), none);
}

template <class S>
int distance_rows(const Constraint& c, const Relative<S>& A, ConstraintRow<S>* row) {
  const Mat3<S>& R = A.pose.R;
  const S length = sqrt(dot(A.pose.p, A.pose.p));
  const Vec3<S> n = A.pose.p * inverse_length(length);
  const Vec3<S> u = R * A.twist.v;
  const S along = dot(n, u);
  const S bias = dot(n, R * cross(A.twist.w, A.twist.v)) + (dot(u, u) - along * along) / length;
  row[0] = {{Vec3<S>::zero(), transposed(R, n)}, bias, c.targeted ? length - S(c.length) : S(0.0)};
  return 1;
}

// Where the wheel or ball touches the plane, seen from its center in the axes of B, and the rate of that.
template <class S>
void contact_point(const Constraint& c, const Mat3<S>& R, const Vec3<S>& w, Vec3<S>& d, Vec3<S>& rate) {
  d = unit<S>(2) * S(-c.length);
  rate = Vec3<S>::zero();
  if (c.is_ball()) return;
  // down in the wheel's plane: -(e - (e . s) s) scaled, with its axis s and the normal e
  const Vec3<S> s = R * c.axis, ds = cross(w, s);
  const Vec3<S> down = s * s.z - unit<S>(2);
  const Vec3<S> down_rate = ds * s.z + s * ds.z;
  const S scale = inverse_length(sqrt(dot(down, down)));
  const Vec3<S> n = down * scale;
  d = n * S(c.length);
  rate = (down_rate - n * dot(n, down_rate)) * (scale * c.length);
}

template <class S>
int rolling_rows(const Constraint& c, const Relative<S>& A, ConstraintRow<S>* row) {
  const Mat3<S>& R = A.pose.R;
  const Vec3<S> w = R * A.twist.w;
  Vec3<S> d, rate;
  contact_point(c, R, w, d, rate);
  const Vec3<S> bias = R * cross(A.twist.w, A.twist.v) + cross(w, rate);
  for (int k = 0; k < 3; ++k) {
    const Vec3<S> e = unit<S>(k);
    const S height = A.pose.p.z + d.z;
    row[k] = {{transposed(R, cross(d, e)), transposed(R, e)}, component(bias, k),
              c.targets(k) ? height : S(0.0)};
  }
  return 3;
}

// The rows of a constraint between frames; returns how many.
template <class S>
int rows_of(const Constraint& c, const Relative<S>& A, bool residuals, ConstraintRow<S>* row) {
  switch (c.kind) {
    case Constraint::pose: return pose_rows(c, A, residuals, row);
    case Constraint::point: return point_rows(c, A, row);
    case Constraint::distance: return distance_rows(c, A, row);
    default: return rolling_rows(c, A, row);
  }
}

// A term of a coupling and its first two derivatives.
template <class S>
struct Term {
  S value, slope, bend;

  Term(const Constraint& c, const S& x) {
    const double* k = c.coefficients;
    value = x * (x * (x * (x * k[3] + S(k[2])) + S(k[1])) + S(k[0]));
    slope = x * (x * (x * (4.0 * k[3]) + S(3.0 * k[2])) + S(2.0 * k[1])) + S(k[0]);
    bend = x * (x * (12.0 * k[3]) + S(6.0 * k[2])) + S(2.0 * k[1]);
  }
};

// What stabilizes a term of a coupling, at a coordinate and its rate.
template <class S>
S coupling_stabilization(const Constraint& c, const S& q, const S& v) {
  const Term<S> term(c, q);
  return stabilization(c, term.slope * v, c.targeted ? term.value + S(c.offset) : S(0.0));
}

// Adds the columns that a row has along a path, times a sign; the row's wrench at the path's frame.
template <class S, class P>
void add_columns(const Tree<P>& tree, const Path<S>& path, const Force<S>& wrench, double sign, S* J) {
  for (int i = 0; i < path.count; ++i) {
    const Node<P>& node = tree.nodes[path.step[i].node];
    const Force<S> at_node = to_parent(path.step[i].frame, wrench);
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = 0; k < rates(K); ++k) J[node.v + k] += along<K>(node, k, at_node) * sign;
    });
  }
}

// Where rows go; each may be null but velocity and acceleration, which need v.
template <class S>
struct RowsOut {
  S *residual, *velocity, *acceleration, *jacobian;
};

// Rows of one record. What a coupling adds to its row is added, so outputs start at zero.
template <class S, class P>
void constraint_rows(const Tree<P>& tree, const Constraint& c, const S* q, const S* v, const S* a,
                     const RowsOut<S>& out, RowsWork<S>& work) {
  const std::size_t nv = tree.nv;
  if (c.kind == Constraint::coupling) {
    if (!c.selected) return;
    const Term<S> term(c, q[c.q]);
    if (out.residual) out.residual[c.row] += c.targeted ? term.value + S(c.offset) : S(0.0);
    if (out.jacobian) out.jacobian[c.row * nv + c.v] += term.slope;
    if (!v) return;
    const S rate = v[c.v];
    out.velocity[c.row] += term.slope * rate;
    out.acceleration[c.row] += term.bend * rate * rate;
    if (a) out.acceleration[c.row] += term.slope * a[c.v];
    return;
  }
  const Relative<S> A = relative_motion(tree, c, q, v, a, work);
  ConstraintRow<S> row[kMostRows];
  const int count = rows_of(c, A, out.residual != nullptr, row);
  for (int i = 0; i < count && c.selected; ++i) {
    const int at = c.row + i;
    if (out.residual) out.residual[at] = row[i].residual;
    if (v) {
      out.velocity[at] = dot(row[i].wrench, A.twist);
      out.acceleration[at] = dot(row[i].wrench, A.acceleration) + row[i].bias;
    }
    if (!out.jacobian) continue;
    add_columns(tree, work.first, row[i].wrench, 1.0, out.jacobian + at * nv);
    add_columns(tree, work.second, to_parent(A.pose, row[i].wrench), -1.0, out.jacobian + at * nv);
  }
}

}  // namespace jounce
