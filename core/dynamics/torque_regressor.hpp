// Torques as a linear map of the inertial parameters.
//
// Of a body, these are pi = (m, h, Ixx, Ixy, Iyy, Ixz, Iyz, Izz) as in regressors.hpp. With its angular
// velocity w, the angular acceleration alpha, the acceleration a of its origin less gravity, and
// B = hat(alpha) + hat(w) hat(w), the wrench of inverse_dynamics.hpp, equation (5), is
//   (1) f = m a + B h,   n = h x a + I alpha + w x I w,
// and a screw (z, u) before the body, about its origin and along its axes, has the torque
//   (2) z.n + u.f = m (u.a) + h.(a x z + B^T u) + <I, z alpha^T + (z x w) w^T>.
// These are ten numbers for each body and each rate before it. Motions go from node to node along the axes
// of the root, see base_frame.hpp. The screws from the root to a body are kept as a stack, since nodes are
// numbered depth first. Of one state, many of them go at once.
#pragma once

#include <algorithm>
#include <cstring>

#include "jounce/dynamics/inverse_dynamics.hpp"
#include "jounce/dynamics/regressors.hpp"
#include "jounce/kinematics/base_frame.hpp"
#include "jounce/spatial/columns.hpp"
#include "jounce/vec/lanes.hpp"

namespace jounce {

namespace regressor {

// Of a subtree: between which numbers they lie, and how many they are.
struct Bodies {
  int begin, end, count;

  JOUNCE_INLINE void add(const Bodies& more) {
    begin = more.begin < begin ? more.begin : begin;
    end = more.end > end ? more.end : end;
    count += more.count;
  }
};

// Of a node, along the axes of the root: w, alpha and a of equation (1).
template <class S>
struct NodeMotion {
  Vec3<S> w, alpha, a;

  // The acceleration of a point that is seen at d.
  JOUNCE_INLINE Vec3<S> of_point(const Vec3<S>& d) const { return a + cross(alpha, d) + cross(w, cross(w, d)); }
};

}  // namespace regressor

template <class S>
struct TorqueRegressorWork {
  BasePoses<S> base;
  regressor::NodeMotion<S>* motion;
  SixRows<S> screws;    // from the root to a node, along the axes of the root
  ThreeRows<S> origin;  // the points they refer to
  int *rate, *before;   // number of each screw's rate; for each node, how many screws are before it
  regressor::Bodies* bodies;
  S size;           // the sum of squares of what is multiplied
  bool is_bounded;  // that the results are finite is certain

  template <class P>
  TorqueRegressorWork(const Tree<P>& tree, Arena& arena)
      : base(tree, arena), motion(arena.take<regressor::NodeMotion<S>>(tree.n)) {
    const std::size_t room = tree.nv + lanes<Wide>;  // whole registers are read
    screws = {arena.take<S>(6 * room), room};
    origin = {arena.take<S>(3 * room), room};
    rate = arena.take<int>(room);
    before = arena.take<int>(tree.n);
    bodies = arena.take<regressor::Bodies>(tree.n);
  }
};

// Where the numbers of one state go: (nv, 10 n_bodies).
template <class S>
struct RegressorOut {
  S* Y;
  std::size_t step;  // from a row to the next

  template <class Visit>
  JOUNCE_INLINE void each_state(Visit&& visit) const { visit(Y); }

  // Ten numbers of some screws, in the rows `rate` from column `at` on.
  template <class V>
  JOUNCE_INLINE void put(const V (&x)[kParameters], const int* rate, int count, std::size_t at) const {
    if constexpr (!std::is_same_v<V, S>) {
      store_lanes(x, count, [&](int i) JOUNCE_INLINED { return Y + rate[i] * step + at; });
    } else {
      for (int k = 0; k < kParameters; ++k) Y[rate[0] * step + at + k] = x[k];
    }
  }
};

// The same for a pack of states, whose numbers lie `state_step` apart.
template <int W>
struct RegressorsOut {
  double* Y;
  std::size_t step;
  std::ptrdiff_t state_step;
  int states;

  template <class Visit>
  JOUNCE_INLINE void each_state(Visit&& visit) const {
    for (int i = 0; i < states; ++i) visit(Y + i * state_step);
  }
  JOUNCE_INLINE void put(const Pack<W> (&x)[kParameters], const int* rate, int, std::size_t at) const {
    double* first = Y + rate[0] * step + at;
    store_lanes(x, states, [&](int i) JOUNCE_INLINED { return first + i * state_step; });
  }
};

namespace regressor {

// Motion of a joint along the axes of its root, for rates x.
template <Kind K, class S, class P>
JOUNCE_INLINE Motion<S> joint_motion_in_root(const Node<P>& node, const Mat3<S>& R, const S* x) {
  const Vec3<S> zero = Vec3<S>::zero();
  if constexpr (K == Kind::revolute) return {R.z * x[0], zero};
  if constexpr (K == Kind::prismatic) return {zero, R.z * x[0]};
  if constexpr (K == Kind::helical) return {R.z * x[0], R.z * (x[0] * node.pitch)};
  if constexpr (K == Kind::spherical) return {R * vector_from(x), zero};
  if constexpr (K == Kind::free) return {R * vector_from(x), R * vector_from(x + 3)};
}

// What the joint of node i makes of its parent's motion, in which a point at the node's origin accelerates
// by `at`. Sums, not copies: numbers that were just written are read one by one.
template <class S, class P>
JOUNCE_INLINE void move_node(const Node<P>& node, const NodeMotion<S>& up, const Vec3<S>& at, const Mat3<S>& R,
                             const S* v, const S* a, NodeMotion<S>& me) {
  with_kind(node.kind, [&](auto kind) JOUNCE_INLINED {
    constexpr Kind K = decltype(kind)::value;
    const Motion<S> j = joint_motion_in_root<K>(node, R, v + node.v);
    const Motion<S> dj = joint_motion_in_root<K>(node, R, a + node.v);
    me.w = up.w + j.w;
    me.alpha = up.alpha + cross(up.w, j.w) + dj.w;
    me.a = at + dj.v;
    if constexpr (moves(K)) me.a += cross(up.w * 2.0 + j.w, j.v);
  });
}

// The same for each node in turn; the parent of a root accelerates against gravity.
template <class S, class P>
JOUNCE_INLINE void move_node(const Tree<P>& tree, int i, const S* q, const S* v, const S* a,
                             TorqueRegressorWork<S>& work) {
  const Node<P>& node = tree.nodes[i];
  const Pose<S>* pose = work.base.in_root;
  if (node.parent < 0) {
    const NodeMotion<S> world{Vec3<S>::zero(), Vec3<S>::zero(), Vec3<S>::zero()};
    const Pose<S> at = joint_pose(node, q, work.base.angles.sine, work.base.angles.cosine);
    move_node(node, world, -transposed(at.R, tree.gravity), pose[i].R, v, a, work.motion[i]);
  } else {
    const NodeMotion<S>& up = work.motion[node.parent];
    const Vec3<S> at = up.of_point(pose[i].p - pose[node.parent].p);
    move_node(node, up, at, pose[i].R, v, a, work.motion[i]);
  }
}

// Motion of a body along its axes, and these and its origin seen from the root.
template <class S>
struct BodyMotion {
  const Mat3<S>& R;
  Vec3<S> w, alpha, a, origin;
  Mat3<S> B;

  // The axes are those of the node, or differ from them by `body`, its pose in the body's frame.
  template <class P>
  JOUNCE_INLINE BodyMotion(const Mat3<S>& axes, const Pose<P>& body, const Vec3<S>& at, const NodeMotion<S>& own)
      : R(axes), w(transposed(R, own.w)), alpha(transposed(R, own.alpha)) {
    if (is_zero(body.p.x) && is_zero(body.p.y) && is_zero(body.p.z)) {
      a = transposed(R, own.a);
      origin = at;
    } else {
      const Vec3<S> from_node = -(R * body.p);
      a = transposed(R, own.of_point(from_node));
      origin = at + from_node;
    }
    B = acceleration_gradient(outer_square(w), alpha);
  }

  // The sum of the squares of what the results are products of; B bounds w and alpha.
  JOUNCE_INLINE S size() const {
    return dot(a, a) + dot(origin, origin) + dot(B.x, B.x) + dot(B.y, B.y) + dot(B.z, B.z);
  }

  // Equation (2) for screws about points, along the axes of the root.
  template <class V>
  JOUNCE_INLINE void torques(const Motion<V>& screw, const Vec3<V>& point, V (&x)[kParameters]) const {
    const Vec3<V> z = transposed(R, screw.w);
    const Vec3<V> u = transposed(R, screw.v + cross(screw.w, origin - point));
    const Vec3<V> y = cross(z, w), by_h = cross(a, z) + transposed(B, u);
    x[0] = dot(u, a);
    x[1] = by_h.x, x[2] = by_h.y, x[3] = by_h.z;
    x[4] = z.x * alpha.x + y.x * w.x;
    x[5] = z.x * alpha.y + z.y * alpha.x + y.x * w.y + y.y * w.x;
    x[6] = z.y * alpha.y + y.y * w.y;
    x[7] = z.x * alpha.z + z.z * alpha.x + y.x * w.z + y.z * w.x;
    x[8] = z.y * alpha.z + z.z * alpha.y + y.y * w.z + y.z * w.y;
    x[9] = z.z * alpha.z + y.z * w.z;
  }
};

// Zeros for the bodies [begin, end) of a row.
template <class S>
JOUNCE_INLINE void clear_bodies(S* row, int begin, int end) {
  S* at = row + kParameters * std::ptrdiff_t(begin);
  S* const last = row + kParameters * std::ptrdiff_t(end);
  if constexpr (std::is_same_v<S, double>) {
    for (; at + lanes<Wide> <= last; at += lanes<Wide>) Wide(0.0).store(at);
  }
  for (; at < last; ++at) *at = S(0.0);
}

// Zeros in the rows of nodes, where bodies are not in their subtrees.
template <class S, class P, class Out>
JOUNCE_INLINE void clear_rows(const Tree<P>& tree, TorqueRegressorWork<S>& work, const Out& out) {
  for (int i = 0; i < tree.n; ++i) {
    const int b = tree.nodes[i].body;
    work.bodies[i] = b < 0 ? Bodies{tree.n_bodies, 0, 0} : Bodies{b, b + 1, 1};
  }
  for (int i = tree.n - 1; i >= 0; --i) {
    if (tree.nodes[i].parent >= 0) work.bodies[tree.nodes[i].parent].add(work.bodies[i]);
  }
  out.each_state([&](auto* Y) JOUNCE_INLINED {
    for (int i = 0; i < tree.n; ++i) {
      const Node<P>& node = tree.nodes[i];
      const Bodies& in = work.bodies[i];
      const bool together = in.end - in.begin == in.count;
      for (int row = node.v; row < node.v + node.nv; ++row) {
        auto* at = Y + row * out.step;
        clear_bodies(at, 0, together ? in.begin : tree.n_bodies);
        if (together) clear_bodies(at, in.end, tree.n_bodies);
      }
    }
  });
}

// The screws of a node on the stack; returns how many there are.
template <class S, class P>
JOUNCE_INLINE int push_screws(const Tree<P>& tree, int i, TorqueRegressorWork<S>& work) {
  const Node<P>& node = tree.nodes[i];
  const Pose<S>& pose = work.base.in_root[i];
  const Mat3<S>& R = pose.R;
  const Vec3<S> none = Vec3<S>::zero();
  const SixRows<S> screws = work.screws;
  const ThreeRows<S> origin = work.origin;
  int* const rate = work.rate;
  const int at = node.parent < 0 ? 0 : work.before[node.parent] + tree.nodes[node.parent].nv;
  const auto put = [&](int k, const Vec3<S>& w, const Vec3<S>& u) JOUNCE_INLINED {
    const Columns<S, S> c{at + k};
    screws.set_angular(c, w);
    screws.set_linear(c, u);
    origin.set(c, pose.p);
    rate[at + k] = node.v + k;
  };
  work.before[i] = at;
  switch (node.kind) {
    case Kind::revolute: put(0, R.z, none); break;
    case Kind::prismatic: put(0, none, R.z); break;
    case Kind::helical:
      put(0, R.z, R.z * node.pitch);
      work.size += dot(R.z, R.z) * (node.pitch * node.pitch);
      break;
    case Kind::spherical:
    case Kind::free: put(0, R.x, none), put(1, R.y, none), put(2, R.z, none);
  }
  if (node.kind == Kind::free) put(3, none, R.x), put(4, none, R.y), put(5, none, R.z);
  if (node.body < 0 || !node.aligned) work.size += dot(pose.p, pose.p);
  return at + node.nv;
}

// Calls visit(b, count, body) for every body b with its motion; the first `count` screws on the stack are
// those before it.
template <class S, class P, class Visit>
JOUNCE_INLINE void for_moving_bodies(const Tree<P>& tree, const S* q, const S* v, const S* a,
                                     TorqueRegressorWork<S>& work, Visit&& visit) {
  base_poses(tree, q, work.base, [](int, const Mat3<S>&) JOUNCE_INLINED {});
  work.size = S(0.0);
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    move_node(tree, i, q, v, a, work);
    const int count = push_screws(tree, i, work);
    if (node.body < 0) continue;
    const Pose<S>& pose = work.base.in_root[i];
    Mat3<S> turned;
    if (!node.aligned) turned = pose.R * transpose(node.alignment.R);
    const BodyMotion<S> body(node.aligned ? pose.R : turned, node.alignment, pose.p, work.motion[i]);
    work.size += body.size();
    visit(node.body, count, body);
  }
  // so that sums of products of two of them are finite
  work.is_bounded = all(value(work.size) < value(S(0x1p1016)));
}

// The numbers of equation (2) for a body and the screws before it, V at a time. By itself, so that registers
// are filled from what is in memory.
template <class V, class S, class Out>
JOUNCE_SHARED void put_torques_by(const BodyMotion<S>& body, const TorqueRegressorWork<S>& work, int b, int count,
                               const Out& out) {
  constexpr int W = lanes<V> / lanes<S>;
  for (int k = 0; k < count; k += W) {
    const Columns<V, S> c{k};
    V x[kParameters];
    body.torques(motion(work.screws, c), work.origin.get(c), x);
    out.put(x, work.rate + k, count - k < W ? count - k : W, kParameters * std::size_t(b));
  }
}

// The same: of one state, as many screws at once as fill a register or half of one.
template <class S, class Out>
JOUNCE_INLINE void put_torques(const BodyMotion<S>& body, const TorqueRegressorWork<S>& work, int b, int count,
                               const Out& out) {
  if constexpr (!std::is_same_v<S, double>) {
    put_torques_by<S>(body, work, b, count, out);
  } else if constexpr (lanes<Wide> > 2) {
    using Half = Pack<lanes<Wide> / 2>;
    count > lanes<Half> ? put_torques_by<Wide>(body, work, b, count, out) : put_torques_by<Half>(body, work, b, count, out);
  } else {
    put_torques_by<Wide>(body, work, b, count, out);
  }
}

}  // namespace regressor

// Y: (nv, 10 n_bodies), with tau = Y pi + armature a.
template <class S, class P, class Out>
void torque_regressor(const Tree<P>& tree, const S* q, const S* v, const S* a, const Out& out,
                      TorqueRegressorWork<S>& work) {
  regressor::clear_rows(tree, work, out);
  regressor::for_moving_bodies(tree, q, v, a, work, [&](int b, int count, const auto& body) JOUNCE_INLINED {
    regressor::put_torques(body, work, b, count, out);
  });
}

}  // namespace jounce
