// Torques as a linear map of the inertial parameters.
//
// Of a body, these are pi = (m, h, Ixx, Ixy, Iyy, Ixz, Iyz, Izz) as in regressors.hpp. With its angular
// velocity w, the angular acceleration alpha, the acceleration a of its origin less gravity, and
// B = hat(alpha) + hat(w) hat(w), the wrench of inverse_dynamics.hpp, equation (5), is
//   (1) f = m a + B h,   n = h x a + I alpha + w x I w,
// and a screw (z, u) before the body, about its origin and along its axes, has the torque
//   (2) z.n + u.f = m (u.a) + h.(a x z + B^T u) + z.(I alpha + w x I w).
// The last term is the sum over the entries of I of z.c, where c has entries of
//   (3) B, alpha, the products wx wy, wx wz, wy wz, and differences of squares of w.
// These are ten numbers for each body and each rate before it. Motions go from node to node along the axes
// of the root, see base_frame.hpp. Then the matrix is written row by row: of one state many bodies of a row
// at once, of a pack of states one after the other.
#pragma once

#include <cstring>

#include "jounce/dynamics/body_rows.hpp"
#include "jounce/dynamics/inverse_dynamics.hpp"
#include "jounce/dynamics/regressors.hpp"
#include "jounce/kinematics/base_frame.hpp"
#include "jounce/vec/lanes.hpp"

namespace jounce {

namespace regressor {

// Of a node, along the axes of the root: w, alpha and a of equation (1).
template <class S>
struct NodeMotion {
  Vec3<S> w, alpha, a;

  // The acceleration of a point that is seen at d.
  JOUNCE_INLINE Vec3<S> of_point(const Vec3<S>& d) const { return a + cross(alpha, d) + cross(w, cross(w, d)); }
};

// What is kept of a body: its axes and its origin seen from the root, and along its axes a, B and what else
// equation (3) names.
enum Row { kAxes = 0, kOrigin = 9, kA = 12, kB = 15, kAlpha = 24, kProducts = 27, kDifferences = 30, kRows = 33 };

}  // namespace regressor

template <class S>
struct TorqueRegressorWork {
  BasePoses<S> base;
  regressor::NodeMotion<S>* motion;
  BodyRows<S, regressor::kRows> bodies;  // in the order of nodes
  int *number, *before;  // of each of these bodies; for each node, how many of them are before it
  bool in_order;         // whether the numbers are 0, 1, 2, ...
  S size;                // the sum of squares of what is multiplied
  bool is_bounded;       // that the results are finite is certain

  template <class P>
  TorqueRegressorWork(const Tree<P>& tree, Arena& arena)
      : base(tree, arena),
        motion(arena.take<regressor::NodeMotion<S>>(tree.n)),
        bodies(tree.n_bodies, arena),
        number(arena.take<int>(tree.n_bodies + lanes<Wide>)),  // as many are read as a register holds
        before(arena.take<int>(tree.n + 1)) {}
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

// Motion of the body k, seen along the axes of the root; those of the body may differ from the node's.
template <class S, class P>
JOUNCE_INLINE void set_body(const Node<P>& node, const Pose<S>& pose, const NodeMotion<S>& own, int k,
                            TorqueRegressorWork<S>& work) {
  const auto& to = work.bodies;
  const Columns<S, S> c{k};
  Vec3<S> a = own.a, origin = pose.p;
  if (node.aligned) {
    to.set(kAxes, c, pose.R);
  } else {
    const Mat3<S> R = pose.R * transpose(node.alignment.R);
    const Vec3<S> from_node = -(R * node.alignment.p);
    a = own.of_point(from_node);
    origin += from_node;
    to.set(kAxes, c, R);
    work.size += dot(pose.p, pose.p);
  }
  to.set(kOrigin, c, origin);
  to.set(kA, c, a);
  to.set(kAlpha, c, own.alpha);
  to.set(kProducts, c, own.w);
  const S turn = dot(own.w, own.w);
  work.size += dot(a, a) + dot(origin, origin) + (dot(own.alpha, own.alpha) + turn * turn) * 2.0;
}

// Turns what belongs to bodies to their own axes, and adds the rest.
template <class S>
JOUNCE_INLINE void resolve_bodies(int first, int end, const BodyRows<S, kRows>& rows) {
  for_columns<S>(first, end, [&](auto c) JOUNCE_INLINED {
    const auto R = rows.matrix(kAxes, c);
    const auto w = transposed(R, rows.vector(kProducts, c)), alpha = transposed(R, rows.vector(kAlpha, c));
    const auto W = outer_square(w);
    rows.set(kA, c, transposed(R, rows.vector(kA, c)));
    rows.set(kB, c, acceleration_gradient(W, alpha));
    rows.set(kAlpha, c, alpha);
    using V = decltype(W.xy);
    rows.set(kProducts, c, Vec3<V>{W.xy, W.xz, W.yz});
    rows.set(kDifferences, c, Vec3<V>{W.xx - W.yy, W.zz - W.xx, W.yy - W.zz});
  });
}

// The same for all bodies. The squares of B sum up to 2 (alpha.alpha + (w.w)^2).
template <class S, class P>
JOUNCE_INLINE void move_bodies(const Tree<P>& tree, const S* q, const S* v, const S* a,
                               TorqueRegressorWork<S>& work) {
  base_poses(tree, q, work.base, [](int, const Triad<S>&) JOUNCE_INLINED {});
  work.size = S(0.0);
  work.in_order = true;
  int k = 0;
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    const Pose<S>& pose = work.base.in_root[i];
    move_node(tree, i, q, v, a, work);
    work.before[i] = k;
    if (node.kind == Kind::helical) work.size += S(node.pitch * node.pitch);
    if (node.body >= 0) {
      work.in_order = work.in_order && node.body == k;
      work.number[k] = node.body;
      set_body(node, pose, work.motion[i], k++, work);
      if (work.bodies.kTogether) resolve_bodies(k - 1, k, work.bodies);
    } else {
      work.size += dot(pose.p, pose.p);
    }
  }
  work.before[tree.n] = k;
  if (!work.bodies.kTogether) resolve_bodies(0, k, work.bodies);
  work.bodies.clear_end();
  // so that sums of products of two of them are finite
  work.is_bounded = all(value(work.size) < value(S(0x1p1016)));
}

// A screw along the axes of the root, about a point.
template <class S>
struct Screw : Motion<S> {
  Vec3<S> point;
};

// Equation (2) for the bodies c.
template <bool kTurns, class S, class C>
JOUNCE_INLINE void torques(const Screw<S>& screw, const BodyRows<S, kRows>& rows, const C& c, typename C::Value* x) {
  using V = typename C::Value;
  const Mat3<V> R = rows.matrix(kAxes, c);
  const Vec3<V> a = rows.vector(kA, c);
  Vec3<V> u = transposed(R, screw.v);
  if constexpr (kTurns) u = transposed(R, screw.v + cross(screw.w, rows.vector(kOrigin, c) - screw.point));
  const Mat3<V> B = rows.matrix(kB, c);
  Vec3<V> by_h = transposed(B, u);
  x[0] = dot(u, a);
  if constexpr (kTurns) {
    const Vec3<V> z = transposed(R, screw.w), alpha = rows.vector(kAlpha, c);
    const Vec3<V> off = rows.vector(kProducts, c), less = rows.vector(kDifferences, c);
    by_h += cross(a, z);
    x[4] = z.x * alpha.x + z.y * off.y - z.z * off.x;
    x[5] = z.y * B.y.z - z.x * B.x.z + z.z * less.x;
    x[6] = z.y * alpha.y - z.x * off.z + z.z * off.x;
    x[7] = z.x * B.x.y + z.y * less.y - z.z * B.z.y;
    x[8] = z.x * less.z - z.y * B.y.x + z.z * B.z.x;
    x[9] = z.x * off.z - z.y * off.y + z.z * alpha.z;
  } else {
    for (int k = 4; k < kParameters; ++k) x[k] = V(0.0);
  }
  x[1] = by_h.x, x[2] = by_h.y, x[3] = by_h.z;
}

// The numbers of a screw and the bodies [first, end), V at a time.
template <class V, bool kTurns, class S, class Out>
JOUNCE_INLINE void put_torques(const Screw<S>& screw, const TorqueRegressorWork<S>& work, int first, int end,
                               std::size_t row, Out& out) {
  constexpr int W = lanes<V> / lanes<S>;
  for (int k = first; k < end; k += W) {
    V x[kParameters];
    torques<kTurns>(screw, work.bodies, Columns<V, S>{k}, x);
    out.put(x, row, work.number + k, end - k < W ? end - k : W);
  }
}

// The same for a whole row: of one state, as many bodies at once as fill a register, or half of one.
template <bool kTurns, class S, class Out>
JOUNCE_SHARED void put_row(const Screw<S>& screw, const TorqueRegressorWork<S>& work, int first, int end,
                           std::size_t row, Out& out) {
  if constexpr (!std::is_same_v<S, double>) {
    put_torques<S, kTurns>(screw, work, first, end, row, out);
  } else if constexpr (lanes<Wide> > 2) {
    constexpr int W = lanes<Wide>;
    const int few = (end - first) % W, whole = few <= W / 2 ? end - few : end;
    put_torques<Wide, kTurns>(screw, work, first, whole, row, out);
    put_torques<Pack<W / 2>, kTurns>(screw, work, whole, end, row, out);
  } else {
    put_torques<Wide, kTurns>(screw, work, first, end, row, out);
  }
}

// Calls visit(k, turns, screw) for the screws of a node; some do not turn.
template <class S, class P, class Visit>
JOUNCE_INLINE void for_screws(const Node<P>& node, const Pose<S>& pose, Visit&& visit) {
  with_kind(node.kind, [&](auto kind) JOUNCE_INLINED {
    constexpr Kind K = decltype(kind)::value;
    for (int k = 0; k < rates(K); ++k) {
      visit(k, !slides(K, k), Screw<S>{base_frame_screw<K>(node, k, pose.R), pose.p});
    }
  });
}

}  // namespace regressor

// Where the numbers of one state go: (nv, 10 n_bodies).
template <class S>
struct RegressorOut {
  S* Y;
  std::size_t step;  // from a row to the next

  JOUNCE_INLINE void clear(std::size_t begin, std::size_t end) const { clear_numbers(Y + begin, Y + end); }

  // Ten numbers of some bodies in a row.
  template <class V>
  JOUNCE_INLINE void put(const V (&x)[kParameters], std::size_t row, const int* body, int count) const {
    S* first = Y + row * step;
    if constexpr (!std::is_same_v<V, S>) {
      store_lanes(x, count, [&](int i) JOUNCE_INLINED { return first + kParameters * body[i]; });
    } else {
      for (int k = 0; k < kParameters; ++k) first[kParameters * body[0] + k] = x[k];
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

  JOUNCE_INLINE void clear(std::size_t begin, std::size_t end) const {
    for (int i = 0; i < states; ++i) clear_numbers(Y + i * state_step + begin, Y + i * state_step + end);
  }
  JOUNCE_INLINE void put(const Pack<W> (&x)[kParameters], std::size_t row, const int* body, int) const {
    double* first = Y + row * step + kParameters * std::size_t(body[0]);
    store_lanes(x, states, [&](int i) JOUNCE_INLINED { return first + i * state_step; });
  }
};

// What is not zero of them, (n_blocks, 10): row by row, the bodies of a row in the order of nodes.
template <class S>
struct BlocksOut {
  static constexpr std::size_t step = 0;
  double* blocks;
  std::ptrdiff_t state_step;
  int states;

  JOUNCE_INLINE void clear(std::size_t, std::size_t) const {}
  template <class V>
  JOUNCE_INLINE void put(const V (&x)[kParameters], std::size_t, const int*, int count) {
    const std::ptrdiff_t apart = lanes<S> > 1 ? state_step : kParameters;
    store_lanes(x, lanes<S> > 1 ? states : count, [&](int i) JOUNCE_INLINED { return blocks + i * apart; });
    blocks += kParameters * count;
  }
};

// Y: (nv, 10 n_bodies), with tau = Y pi + armature a.
template <class S, class P, class Out>
void torque_regressor(const Tree<P>& tree, const S* q, const S* v, const S* a, Out out,
                      TorqueRegressorWork<S>& work) {
  regressor::move_bodies(tree, q, v, a, work);
  std::size_t done = 0;  // numbers that are written
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    const int first = work.before[i], end = work.before[node.end];
    regressor::for_screws(node, work.base.in_root[i], [&](int k, bool turns, const auto& screw) JOUNCE_INLINED {
      const std::size_t row = node.v + k, begin = row * out.step;
      out.clear(done, work.in_order ? begin + kParameters * first : begin + out.step);
      if (turns) {
        regressor::put_row<true>(screw, work, first, end, row, out);
      } else {
        regressor::put_row<false>(screw, work, first, end, row, out);
      }
      done = work.in_order ? begin + kParameters * end : begin + out.step;
    });
  }
  out.clear(done, tree.nv * out.step);
}

}  // namespace jounce
