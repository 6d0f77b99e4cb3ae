// Pose and twist of a frame as truncated Taylor series in time (ali, Remark 1; mueller, Sec. 2), by
// walks along the path from the root to the frame: nothing else is visited.
//
// The notation is that of joint_series.hpp. In body frames the twist needs no rotation but those of
// the joints on the path, without the root's:
//   (1) w = Rj^T y + w_j,   v = Rj^T (R0^T (v_p + w_p x p0) + y x pj) + v_j,   y = R0^T w_p
// In the world's axes, R the node's rotation, b its origin seen from its parent's, p from the
// world's:
//   (2) b = R_p p0 + R_p R0 pj,   R = R_p R0 Rj,   p = p_p + b
//   (3) spatial (W, V) = (W, V)_p + (R w_j, R v_j + p x R w_j),   hybrid (W, p')
// The sums (3) let an axis that is fixed in the world stay fixed to the last bit, where R w of the
// body-fixed w would turn it there and back.
#pragma once

#include <algorithm>

#include "jounce/kinematics/jacobian.hpp"
#include "jounce/series/joint_series.hpp"

namespace jounce {

template <class S>
struct MotionSeriesWork {
  int rows;           // coefficients: r + 3 of poses and Jacobians, one less of twists
  Angles<S> angles;
  S *rate, *sine, *cosine;  // [k] of the joint at hand, see JointSeries
  Mat3<S>* rotation;
  Vec3<S>* place;
  int* path;          // nodes by their depth
  Mat3<S>* R;         // [k] axes of the node at hand
  Vec3<S>* point;     // [k] its origin, or a lever to it
  Motion<S>*twist, *joint;  // [k]
  Vec3<S>* offset;    // [depth][k] b
  Vec3<S>* axis;      // [rate][k] axes of the joints, for Jacobians

  template <class P>
  MotionSeriesWork(const Tree<P>& tree, int order, Arena& arena)
      : rows(order + 3), angles(tree, arena) {
    const std::size_t n = rows;
    rate = arena.take<S>(6 * n);
    sine = arena.take<S>(n);
    cosine = arena.take<S>(n);
    rotation = arena.take<Mat3<S>>(n);
    place = arena.take<Vec3<S>>(n);
    path = arena.take<int>(tree.depth);
    R = arena.take<Mat3<S>>(n);
    point = arena.take<Vec3<S>>(n);
    twist = arena.take<Motion<S>>(n);
    joint = arena.take<Motion<S>>(n);
    offset = arena.take<Vec3<S>>(n * tree.depth);
    axis = arena.take<Vec3<S>>(n * tree.nv);
  }
};

namespace series {

// What does not depend on the node.
template <class S, class P>
JOUNCE_INLINE void begin(const Tree<P>& tree, const S* q, MotionSeriesWork<S>& work) {
  work.angles.compute(tree, q);
  for (int k = 0; k < work.rows; ++k) work.point[k] = Vec3<S>::zero();
}

// Fills the path to a frame and returns its length.
template <class S, class P>
JOUNCE_INLINE int find_path(const Tree<P>& tree, const FrameAt<P>& frame, MotionSeriesWork<S>& work) {
  for (int i = frame.node; i >= 0; i = tree.nodes[i].parent) work.path[tree.nodes[i].depth] = i;
  return frame.node >= 0 ? tree.nodes[frame.node].depth + 1 : 0;
}

// The joint of a node; motion holds the derivatives of all rates.
template <class S, class P>
JOUNCE_INLINE JointSeries<S, P> joint_at(const Tree<P>& tree, int i, const S* motion,
                                         const MotionSeriesWork<S>& work) {
  const Node<P>& node = tree.nodes[i];
  for (int k = 0; k + 1 < work.rows; ++k) {
    const S* from = motion + std::size_t(k) * tree.nv + node.v;
    for (int j = 0; j < node.nv; ++j) work.rate[6 * k + j] = from[j] * kFactorial.inverse[k];
  }
  return {node, work.rate, 6, work.sine, work.cosine, work.rotation, work.place};
}

// Coefficients 0 ... rows-1 of the joint's own pose.
template <Kind K, class S, class P>
JOUNCE_INLINE void expand_joint(const JointSeries<S, P>& s, int rows, const S* q,
                                const Angles<S>& angles) {
  start_joint<K>(s, q, angles);
  for (int k = 1; k < rows; ++k) extend_joint<K>(s, k);
}

// Twists of the parent, seen from the child, in place: coefficient k needs those up to k.
template <Kind K, class S, class P>
JOUNCE_INLINE void carry_twist(const JointSeries<S, P>& s, int rows, Motion<S>* x) {
  for (int k = 0; k < rows; ++k) x[k] = to_child(s.node.placement, x[k]);
  if constexpr (moves(K)) {
    for (int k = 0; k < rows; ++k) {
      for (int j = 0; j <= k; ++j) x[k].v += cross(x[k - j].w, s.place[j]);
    }
  }
  for (int k = rows - 1; k >= 0; --k) {
    x[k] = turn_motion_in<K>(s, k, x);
  }
}

// Body-fixed twist of the frame, equation (1), in x, which is zero before; rows-1 coefficients.
template <class S, class P>
JOUNCE_INLINE void body_twist_series(const Tree<P>& tree, const FrameAt<P>& frame, const S* q,
                                     const S* motion, Motion<S>* x, MotionSeriesWork<S>& work) {
  const int length = find_path(tree, frame, work), count = work.rows - 1;
  for (int d = 0; d < length; ++d) {
    const auto s = joint_at(tree, work.path[d], motion, work);
    with_kind(s.node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      if (d > 0) {
        expand_joint<K>(s, count, q, work.angles);
        carry_twist<K>(s, count, x);
      }
      for (int k = 0; k < count; ++k) x[k] += s.template joint<K>(k);
    });
  }
  for (int k = 0; k < count; ++k) x[k] = to_child(frame.pose, x[k]);
}

// A <- A Rj, or A Rj^T, in place; only the first `terms` coefficients of A are not zero.
template <Kind K, bool Back, class S, class P>
JOUNCE_INLINE void turn_axes(const JointSeries<S, P>& s, int rows, int terms, Mat3<S>* A) {
  if constexpr (!rotates(K)) return;
  for (int k = rows - 1; k >= 0; --k) {
    Mat3<S> sum{Vec3<S>::zero(), Vec3<S>::zero(), Vec3<S>::zero()};
    for (int j = std::max(0, k - terms + 1); j <= k; ++j) {
      const Mat3<S>& a = A[k - j];
      if constexpr (turns(K)) {
        const S c = s.cosine[j], d = Back ? -s.sine[j] : s.sine[j];
        sum.x += a.x * c;
        sum.y += a.y * c;
        sum.x += a.y * d;
        sum.y -= a.x * d;
      }
      if constexpr (is_group(K)) sum = sum + a * (Back ? transpose(s.rotation[j]) : s.rotation[j]);
    }
    if constexpr (turns(K)) sum.z = A[k].z;
    A[k] = sum;
  }
}

// Coefficient k of A pj, for a joint that moves its origin.
template <Kind K, class S, class P>
JOUNCE_INLINE Vec3<S> moved_origin(const JointSeries<S, P>& s, int k, int terms, const Mat3<S>* A) {
  Vec3<S> sum = Vec3<S>::zero();
  for (int j = std::max(0, k - terms + 1); j <= k; ++j) {
    if constexpr (K == Kind::free) sum += A[k - j] * s.place[j];
    if constexpr (advances(K)) sum += A[k - j].z * s.place[j].z;
  }
  return sum;
}

// Equation (2). Calls visit(kind, joint, b) at each node, with its R in the workspace; in the end
// that of the last node stays there.
template <class S, class P, class Visit>
JOUNCE_INLINE void walk_outward(const Tree<P>& tree, const FrameAt<P>& frame, const S* q,
                                const S* motion, MotionSeriesWork<S>& work, Visit&& visit) {
  const int length = find_path(tree, frame, work), rows = work.rows;
  const Vec3<S> zero = Vec3<S>::zero();
  Mat3<S>* R = work.R;
  R[0] = Mat3<S>::identity();
  for (int k = 1; k < rows; ++k) R[k] = {zero, zero, zero};
  int terms = 1;
  for (int d = 0; d < length; ++d) {
    const auto s = joint_at(tree, work.path[d], motion, work);
    Vec3<S>* b = work.offset + std::size_t(rows) * d;
    with_kind(s.node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      expand_joint<K>(s, rows, q, work.angles);
      for (int k = 0; k < rows; ++k) {
        b[k] = k < terms ? R[k] * s.node.placement.p : zero;
        if (k < terms) R[k] = R[k] * s.node.placement.R;
        if constexpr (moves(K)) b[k] += moved_origin<K>(s, k, terms, R);
      }
      turn_axes<K, false>(s, rows, terms, R);
      if constexpr (rotates(K)) terms = rows;
      visit(kind, s, b);
    });
  }
}

// Coefficient k of R (w_j, v_j) or, with `shift` = 1, of R (w_j', v_j').
template <Kind K, class S, class P>
JOUNCE_INLINE Motion<S> joint_in_world(const JointSeries<S, P>& s, int k, int shift,
                                       const Mat3<S>* R) {
  Motion<S> sum = Motion<S>::zero();
  for (int j = 0; j <= k; ++j) {
    const double scale = shift ? j + 1 : 1;
    if constexpr (is_group(K)) {
      const Motion<S> x = s.template joint<K>(j + shift);
      sum.w += R[k - j] * (x.w * scale);
      if constexpr (K == Kind::free) sum.v += R[k - j] * (x.v * scale);
    } else {
      sum.w += R[k - j].z * s.rate[j * s.step];
    }
  }
  if constexpr (!rotates(K)) return {sum.v, sum.w};
  if constexpr (K == Kind::helical) sum.v = sum.w * s.node.pitch;
  return sum;
}

// Adds what a joint does to the twists x, equation (3). At a root x is Ad(T) of the joint's twist
// and, since that commutes with itself, x' is Ad(T) of its derivative: nothing large cancels.
template <Kind K, class S, class P>
JOUNCE_INLINE void add_joint_twist(const JointSeries<S, P>& s, bool spatial, Motion<S>* x,
                                   MotionSeriesWork<S>& work) {
  const int count = work.rows - 1;
  const auto add = [&](int from, int shift, int terms) {
    Motion<S>* u = work.joint;
    for (int k = 0; k < terms; ++k) {
      u[k] = joint_in_world<K>(s, k, shift, work.R);
      Motion<S> sum = u[k];
      if (rotates(K) && spatial) {
        for (int j = 0; j <= k; ++j) sum.v += cross(work.point[j], u[k - j].w);
      }
      const double scale = shift ? 1.0 / (k + 1) : 1.0;
      x[from + k] += Motion<S>{sum.w * scale, sum.v * scale};
    }
  };
  if (is_group(K) && s.node.parent < 0) {
    add(0, 0, 1);
    add(1, 1, count - 1);
  } else {
    add(0, 0, count);
  }
}

// The frame's origin in the world, from that of its node.
template <class S, class P>
JOUNCE_INLINE Vec3<S> frame_origin(const FrameAt<P>& frame, int k, const MotionSeriesWork<S>& work) {
  return work.point[k] + work.R[k] * frame.pose.p;
}

}  // namespace series

// poses: (r+3, 4, 4), the pose and its derivatives up to order r+2.
template <class S, class P>
void pose_series(const Tree<P>& tree, const FrameAt<P>& frame, const S* q, const S* motion, S* poses,
                 MotionSeriesWork<S>& work) {
  using namespace series;
  const int rows = work.rows;
  begin(tree, q, work);
  walk_outward(tree, frame, q, motion, work, [&](auto, const auto&, const Vec3<S>* b) {
    for (int k = 0; k < rows; ++k) work.point[k] += b[k];
  });
  for (int k = 0; k < rows; ++k) {
    const double factorial = kFactorial.of[k];
    const Mat3<S> R = work.R[k] * frame.pose.R;
    store(Pose<S>{{R.x * factorial, R.y * factorial, R.z * factorial},
                  frame_origin(frame, k, work) * factorial},
          poses + 16 * k);
    if (k > 0) poses[16 * k + 15] = S(0.0);
  }
}

// twists: (r+2, 6), the twist and the derivatives of its components up to order r+1.
template <class S, class P>
void twist_series(const Tree<P>& tree, const FrameAt<P>& frame, Representation representation,
                  const S* q, const S* motion, S* twists, MotionSeriesWork<S>& work) {
  using namespace series;
  const bool body = representation == Representation::body;
  const bool mixed = representation == Representation::mixed;
  const bool spatial = representation == Representation::spatial;
  Motion<S>* x = work.twist;
  begin(tree, q, work);
  for (int k = 0; k < work.rows; ++k) x[k] = Motion<S>::zero();
  if (body || mixed) body_twist_series(tree, frame, q, motion, x, work);
  if (!body) {
    walk_outward(tree, frame, q, motion, work, [&](auto kind, const auto& s, const Vec3<S>* b) {
      for (int k = 0; k < work.rows; ++k) work.point[k] += b[k];
      if (!mixed) add_joint_twist<decltype(kind)::value>(s, spatial, x, work);
    });
  }
  for (int k = 0; k + 1 < work.rows; ++k) {
    const double factorial = kFactorial.of[k];
    if (!body && !spatial) x[k].v = frame_origin(frame, k + 1, work) * double(k + 1);
    store(Motion<S>{x[k].w * factorial, x[k].v * factorial}, twists + 6 * k);
  }
}

}  // namespace jounce
