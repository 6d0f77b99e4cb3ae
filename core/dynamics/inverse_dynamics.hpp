// Inverse dynamics: recursive Newton-Euler in body frames (mueller, eq. 66-67).
//
// Accelerations are classical: `a` is the acceleration of the origin of a frame, less gravity, so
// that linear velocities never appear and nothing depends on where the robot stands.
//
// Forward, for a node with pose (R, p) in its parent (index p), joint rates (w_j, v_j) and their
// derivatives (w_j', v_j'):
//   (1) w     = R^T w_p + w_j
//   (2) alpha = R^T alpha_p + (R^T w_p) x w_j + w_j'
//   (3) a     = R^T (a_p + B_p p) + 2 (R^T w_p) x v_j + w_j x v_j + v_j'
// with (4) B = hat(alpha) + hat(w) hat(w), which maps a fixed point to its acceleration.
// Wrench on the node, with mass m, first moment h, inertia I about the origin:
//   (5) f = m a + B h,   n = I alpha + w x I w + h x a
// Backward: (6) tau = screws^T (n, f) + armature v_j', and the wrench goes to the parent.
#pragma once

#include "../tree/joint.hpp"

namespace jounce {

template <class S>
struct InverseDynamicsWork {
  struct Row {
    Pose<S> pose;
    Vec3<S> w, alpha, a;
    Mat3<S> B;
    Force<S> f;
  };
  Angles<S> angles;
  Row* row;

  template <class P>
  InverseDynamicsWork(const Tree<P>& tree, Arena& arena)
      : angles(tree, arena), row(arena.take<Row>(tree.n)) {}
};

// hat(alpha) + hat(w)^2, equation (4).
template <class S>
JOUNCE_INLINE Mat3<S> acceleration_gradient(const Vec3<S>& w, const Vec3<S>& alpha) {
  const S xx = w.x * w.x, yy = w.y * w.y, zz = w.z * w.z;
  const S xy = w.x * w.y, xz = w.x * w.z, yz = w.y * w.z;
  return {{-(yy + zz), xy + alpha.z, xz - alpha.y},
          {xy - alpha.z, -(xx + zz), yz + alpha.x},
          {xz + alpha.y, yz - alpha.x, -(xx + yy)}};
}

// External wrench of a node, given in the public frame of its body.
template <class S, class P>
JOUNCE_INLINE Force<S> external_wrench(const Node<P>& node, const S* f_ext) {
  const S* x = f_ext + 6 * node.body;
  const Force<S> w{{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
  return node.aligned ? w : to_child(node.alignment, w);
}

// v and a may be null (zero); so may f_ext.
template <class S, class P>
void inverse_dynamics(const Tree<P>& tree, const S* q, const S* v, const S* a, const S* f_ext,
                      S* tau, InverseDynamicsWork<S>& work) {
  using Row = typename InverseDynamicsWork<S>::Row;
  work.angles.compute(tree, q);
  const S zeros[6] = {S(0.0), S(0.0), S(0.0), S(0.0), S(0.0), S(0.0)};
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    Row& me = work.row[i];
    me.pose = joint_pose(node, q, work.angles.sine, work.angles.cosine);
    const Mat3<S>& R = me.pose.R;
    if (node.parent < 0) {
      me.w = me.alpha = Vec3<S>::zero();
      me.a = -transposed(R, tree.gravity);
    } else {
      const Row& up = work.row[node.parent];
      me.w = transposed(R, up.w);
      me.alpha = transposed(R, up.alpha);
      me.a = transposed(R, up.a + up.B * me.pose.p);
    }
    const S* rate = v ? v + node.v : zeros;
    const S* acceleration = a ? a + node.v : zeros;
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      const Motion<S> j = joint_motion<K>(node, rate), dj = joint_motion<K>(node, acceleration);
      if constexpr (K != Kind::revolute && K != Kind::spherical) {  // (3)
        me.a += cross(me.w * 2.0 + j.w, j.v) + dj.v;
      }
      if constexpr (K != Kind::prismatic) {  // (2), (1)
        me.alpha += cross(me.w, j.w) + dj.w;
        me.w += j.w;
      }
    });
    me.B = acceleration_gradient(me.w, me.alpha);
    const RigidInertia<P>& J = node.inertia;
    me.f = {J.I * me.alpha + cross(me.w, J.I * me.w) + cross(J.h, me.a), me.a * J.m + me.B * J.h};
    if (f_ext && node.body >= 0) me.f -= external_wrench(node, f_ext);
  }
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<P>& node = tree.nodes[i];
    const Row& me = work.row[i];
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = 0; k < rates(K); ++k) {  // (6)
        tau[node.v + k] = along<K>(node, k, me.f);
        if (a) tau[node.v + k] += a[node.v + k] * tree.armature[node.v + k];
      }
    });
    if (node.parent >= 0) work.row[node.parent].f += to_parent(me.pose, me.f);
  }
}

}  // namespace jounce
