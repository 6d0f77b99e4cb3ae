// Torques as a linear map of the inertial parameters.
//
// Of a body, these are pi = (m, h, Ixx, Ixy, Iyy, Ixz, Iyz, Izz) as in regressors.hpp. With its angular
// velocity w, the angular acceleration alpha, the acceleration a of its origin less gravity, and
// B = hat(alpha) + hat(w) hat(w), the wrench of inverse_dynamics.hpp, equation (5), is
//   (1) f = m a + B h,   n = h x a + I alpha + w x I w,
// and a screw (z, u) before the body, about its origin and along its axes, has the torque
//   (2) z.n + u.f = m (u.a) + h.(a x z + B^T u) + <I, z alpha^T + (z x w) w^T>.
// These are ten numbers for each body and each rate before it. The screws from the root to a body are
// kept as a stack, since nodes are numbered depth first. Of one state, many of them go at once.
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

}  // namespace regressor

template <class S>
struct TorqueRegressorWork {
  BasePoses<S> base;
  InverseDynamicsWork<S> motion;
  SixRows<S> screws;    // from the root to a node, along the axes of the root
  ThreeRows<S> origin;  // the points they refer to
  int *rate, *before;   // number of each screw's rate; for each node, how many screws are before it
  regressor::Bodies* bodies;
  S size;           // the sum of squares of what is multiplied
  bool is_bounded;  // that the results are finite is certain

  template <class P>
  TorqueRegressorWork(const Tree<P>& tree, Arena& arena)
      : base(tree, arena), motion(tree, arena, base.angles) {
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

// Motion of a body, and its axes and its origin seen from the root.
template <class S>
struct BodyMotion {
  Vec3<S> w, alpha, a, origin;
  Mat3<S> B, R;

  template <class P, class Row>
  JOUNCE_INLINE BodyMotion(const Node<P>& node, const Pose<S>& in_root, const Row& row) {
    if (node.aligned) {
      w = row.w, alpha = row.alpha, a = row.a, B = row.B;
      R = in_root.R, origin = in_root.p;
      return;
    }
    const Pose<P>& body = node.alignment;  // of the node in the body's frame
    w = body.R * row.w, alpha = body.R * row.alpha, a = row.a;
    R = in_root.R * transpose(body.R), origin = in_root.p;
    if (!is_zero(body.p.x) || !is_zero(body.p.y) || !is_zero(body.p.z)) {
      const Vec3<S> at = Vec3<S>::zero() - transposed(body.R, body.p);  // of the body, seen from the node
      a += row.B * at;
      origin += in_root.R * at;
    }
    a = body.R * a;
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

// Zeros for the bodies [begin, end) of a row, a block of known size at a time.
template <class S>
JOUNCE_INLINE void clear_bodies(S* row, int begin, int end) {
  for (int b = begin; b < end; ++b) {
    std::memset(static_cast<void*>(row + kParameters * std::ptrdiff_t(b)), 0, kParameters * sizeof(S));
  }
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
  const int at = node.parent < 0 ? 0 : work.before[node.parent] + tree.nodes[node.parent].nv;
  work.before[i] = at;
  with_kind(node.kind, [&](auto kind) {
    constexpr Kind K = decltype(kind)::value;
    for (int k = 0; k < rates(K); ++k) {
      const Columns<S, S> c{at + k};
      const Motion<S> s = base_frame_screw<K>(node, k, pose.R);
      if constexpr (K == Kind::helical) work.size += dot(s.v, s.v);
      store(s, work.screws, c);
      work.origin.set(c, pose.p);
      work.rate[at + k] = node.v + k;
    }
  });
  if (node.body < 0 || !node.aligned) work.size += dot(pose.p, pose.p);
  return at + node.nv;
}

}  // namespace regressor

// Y: (nv, 10 n_bodies), with tau = Y pi + armature a.
template <class S, class P, class Out>
void torque_regressor(const Tree<P>& tree, const S* q, const S* v, const S* a, const Out& out,
                      TorqueRegressorWork<S>& work) {
  using V = std::conditional_t<std::is_same_v<S, double>, Wide, S>;
  base_poses(tree, q, work.base, [](int, const Mat3<S>&) {});
  regressor::clear_rows(tree, work, out);
  work.size = S(0.0);
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    motion_from_parent(tree, i, q, work.motion);
    add_joint_motion(node, v + node.v, a + node.v, work.motion.row[i]);
    const int count = regressor::push_screws(tree, i, work);
    if (node.body < 0) continue;
    const regressor::BodyMotion<S> body(node, work.base.in_root[i], work.motion.row[i]);
    work.size += body.size();
    constexpr int W = lanes<V> / lanes<S>;
    for (int k = 0; k < count; k += W) {
      const Columns<V, S> c{k};
      V x[kParameters];
      body.torques(motion(work.screws, c), work.origin.get(c), x);
      out.put(x, work.rate + k, count - k < W ? count - k : W, kParameters * std::size_t(node.body));
    }
  }
  // so that sums of products of two of them are finite
  work.is_bounded = all(value(work.size) < value(S(0x1p1016)));
}

}  // namespace jounce
