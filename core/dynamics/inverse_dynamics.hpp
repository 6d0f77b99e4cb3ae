// Inverse dynamics: recursive Newton-Euler in body frames (mueller, eq. 66-67).
//
// Accelerations are classical: `a` is the acceleration of the origin of a frame, less gravity, so
// that linear velocities never appear and nothing depends on where the robot stands. All vectors of a
// node are along its own axes.
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

#include "jounce/tree/joint.hpp"

namespace jounce {

template <class S>
struct InverseDynamicsWork {
  struct Row {
    Pose<S> in_parent;
    Vec3<S> w, alpha, a;
    Mat3<S> B;
    Force<S> f;
  };
  Angles<S> angles;
  Row* row;

  template <class P>
  InverseDynamicsWork(const Tree<P>& tree, Arena& arena)
      : InverseDynamicsWork(tree, arena, Angles<S>(tree, arena)) {}
  template <class P>
  InverseDynamicsWork(const Tree<P>& tree, Arena& arena, const Angles<S>& shared)
      : angles(shared), row(arena.take<Row>(tree.n)) {}
};

// hat(alpha) + hat(w)^2, equation (4), with W = w w^T.
template <class S>
JOUNCE_INLINE Mat3<S> acceleration_gradient(const Sym3<S>& W, const Vec3<S>& alpha) {
  return {{-(W.yy + W.zz), W.xy + alpha.z, W.xz - alpha.y},
          {W.xy - alpha.z, -(W.xx + W.zz), W.yz + alpha.x},
          {W.xz + alpha.y, W.yz - alpha.x, -(W.xx + W.yy)}};
}

// External wrench of a node, given in the public frame of its body.
template <class S, class P>
JOUNCE_INLINE Force<S> external_wrench(const Node<P>& node, const S* f_ext) {
  const S* x = f_ext + 6 * node.body;
  const Force<S> w{{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
  return node.aligned() ? w : to_child(node.alignment, w);
}

// What the parent gives of equations (1) to (3); the parent of a root accelerates against gravity.
template <class S, class P, class Work>
JOUNCE_INLINE void motion_from_parent(const Tree<P>& tree, int i, const S* q, Work& work) {
  const Node<P>& node = tree.nodes[i];
  auto& me = work.row[i];
  me.in_parent = joint_pose(node, q, work.angles.sine, work.angles.cosine);
  const Mat3<S>& R = me.in_parent.R;
  if (node.parent < 0) {
    me.w = me.alpha = Vec3<S>::zero();
    me.a = -transposed(R, tree.gravity);
  } else {
    const auto& parent = work.row[node.parent];
    me.w = transposed(R, parent.w);
    me.alpha = transposed(R, parent.alpha);
    me.a = transposed(R, parent.a + parent.B * me.in_parent.p);
  }
}

// What the joint adds, and (4).
template <class S, class P, class Row>
JOUNCE_INLINE void add_joint_motion(const Node<P>& node, const S* rate, const S* acceleration,
                                    Row& me) {
  with_kind(node.kind, [&](auto kind) {
    constexpr Kind K = decltype(kind)::value;
    const Motion<S> j = joint_motion<K>(node, rate), dj = joint_motion<K>(node, acceleration);
    if constexpr (moves(K)) me.a += cross(me.w * 2.0 + j.w, j.v) + dj.v;  // (3)
    if constexpr (rotates(K)) {                                          // (2), (1)
      me.alpha += cross(me.w, j.w) + dj.w;
      me.w += j.w;
    }
  });
  me.B = acceleration_gradient(outer_square(me.w), me.alpha);
}

// Equation (5), less the external wrench.
template <class S, class P, class Row>
JOUNCE_INLINE void own_wrench(const Node<P>& node, const S* f_ext, Row& me) {
  const RigidInertia<P>& J = node.inertia;
  me.f = {J.I * me.alpha + cross(me.w, J.I * me.w) + cross(J.h, me.a), me.a * J.m + me.B * J.h};
  if (f_ext && node.body >= 0) me.f -= external_wrench(node, f_ext);
}

// Equation (6), from the leaves to the root.
template <class S, class P>
JOUNCE_INLINE void forces_inward(const Tree<P>& tree, const S* a, S* tau,
                                 InverseDynamicsWork<S>& work) {
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<P>& node = tree.nodes[i];
    auto& me = work.row[i];
    join(node.sharing, me.f);
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = 0; k < rates(K); ++k) {
        tau[node.v + k] = along<K>(node, k, me.f);
        if (a) tau[node.v + k] += a[node.v + k] * tree.armature[node.v + k];
      }
    });
    if (node.parent >= 0) work.row[node.parent].f += own(node.sharing, to_parent(me.in_parent, me.f));
  }
}

struct ForgetMotion {
  template <class Row>
  JOUNCE_INLINE void operator()(int, const Row&) const {}
};

// With the angles that are in the workspace; v and a may be null (zero), so may f_ext. What the parent of
// node i gives of (1) to (3) is shown to keep(i, row).
template <class S, class P, class Keep = ForgetMotion>
JOUNCE_INLINE void newton_euler(const Tree<P>& tree, const S* q, const S* v, const S* a,
                                const S* f_ext, S* tau, InverseDynamicsWork<S>& work,
                                const Keep& keep = {}) {
  const S zeros[6] = {S(0.0), S(0.0), S(0.0), S(0.0), S(0.0), S(0.0)};
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    motion_from_parent(tree, i, q, work);
    keep(i, work.row[i]);
    add_joint_motion(node, v ? v + node.v : zeros, a ? a + node.v : zeros, work.row[i]);
    own_wrench(node, f_ext, work.row[i]);
  }
  forces_inward(tree, a, tau, work);
}

template <class S, class P>
void inverse_dynamics(const Tree<P>& tree, const S* q, const S* v, const S* a, const S* f_ext,
                      S* tau, InverseDynamicsWork<S>& work) {
  work.angles.compute(tree, q);
  newton_euler(tree, q, v, a, f_ext, tau, work);
}

}  // namespace jounce
