// Torque regressors of one state, or of its directions, see torque_blocks.hpp.
//
// Motions go from node to node along the axes of the root, see base_frame.hpp: then a screw is at hand along the
// axes of any body, and many bodies of a row are worked on at once.
#pragma once

#include "jounce/dynamics/body_rows.hpp"
#include "jounce/dynamics/torque_blocks.hpp"
#include "jounce/kinematics/base_frame.hpp"

namespace jounce::regressor {

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

template <class S>
struct SingleWork {
  BasePoses<S> base;
  NodeMotion<S>* motion;
  BodyRows<S, kRows> bodies;  // in the order of nodes
  bool is_bounded;  // that the results are finite is certain

  template <class P>
  SingleWork(const Tree<P>& tree, Arena& arena)
      : base(tree, arena),
        motion(arena.take<NodeMotion<S>>(tree.n)),
        bodies(tree.n_bodies, arena) {}
};

// Motion of a joint along the axes of its root, for rates x.
template <Kind K, class S, class P>
JOUNCE_INLINE Motion<S> joint_motion_in_root(const Node<P>& node, const Mat3<S>& R, const S* x) {
  if constexpr (K == Kind::revolute) return {R.z * x[0], Vec3<S>::zero()};
  if constexpr (K == Kind::prismatic) return {Vec3<S>::zero(), R.z * x[0]};
  if constexpr (K == Kind::helical) return {R.z * x[0], R.z * (x[0] * node.pitch)};
  if constexpr (K == Kind::spherical) return {R * vector_from(x), Vec3<S>::zero()};
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
                             SingleWork<S>& work) {
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

// Motion of the body k, seen along the axes of the root; those of the body may differ from the node's. Returns the
// sum of squares of what is multiplied.
template <class S, class P>
JOUNCE_INLINE S set_body(const Node<P>& node, const Pose<S>& pose, const NodeMotion<S>& own, int k,
                         const BodyRows<S, kRows>& to) {
  const Columns<S, S> c{k};
  S size(0.0);
  Vec3<S> a = own.a, origin = pose.p;
  if (node.aligned()) {
    to.set(kAxes, c, pose.R);
  } else {
    const Mat3<S> R = pose.R * transpose(node.alignment.R);
    const Vec3<S> from_node = -(R * node.alignment.p);
    a = own.of_point(from_node);
    origin += from_node;
    to.set(kAxes, c, R);
    size = dot(pose.p, pose.p);
  }
  to.set(kOrigin, c, origin);
  to.set(kA, c, a);
  to.set(kAlpha, c, own.alpha);
  to.set(kProducts, c, own.w);
  const S turn = dot(own.w, own.w);
  return size + dot(a, a) + dot(origin, origin) + (dot(own.alpha, own.alpha) + turn * turn) * 2.0;
}

// What is kept of the bodies c.
template <class S, class C>
JOUNCE_INLINE BodyMotion<typename C::Value> motion_at(const BodyRows<S, kRows>& rows, const C& c) {
  return {rows.vector(kA, c), rows.vector(kAlpha, c), rows.matrix(kB, c), rows.vector(kProducts, c),
          rows.vector(kDifferences, c)};
}

// Turns what belongs to bodies to their own axes, and adds the rest.
template <class S>
JOUNCE_INLINE void resolve_bodies(int first, int end, const BodyRows<S, kRows>& rows) {
  for_columns<S>(first, end, [&](auto c) JOUNCE_INLINED {
    const auto R = rows.matrix(kAxes, c);
    BodyMotion<typename decltype(c)::Value> body;
    body.a = transposed(R, rows.vector(kA, c));
    body.alpha = transposed(R, rows.vector(kAlpha, c));
    body.set_turning(transposed(R, rows.vector(kProducts, c)));
    rows.set(kA, c, body.a);
    rows.set(kB, c, body.B);
    rows.set(kAlpha, c, body.alpha);
    rows.set(kProducts, c, body.products);
    rows.set(kDifferences, c, body.differences);
  });
}

// The same for all bodies. The squares of B sum up to 2 (alpha.alpha + (w.w)^2).
template <class S, class P>
JOUNCE_INLINE void move_bodies(const Tree<P>& tree, const S* q, const S* v, const S* a, SingleWork<S>& work) {
  base_poses(tree, q, work.base, [](int, const Triad<S>&) JOUNCE_INLINED {});
  const BodyRows<S, kRows> bodies = work.bodies;
  bodies.clear_end();
  S size(0.0);
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    const Pose<S>& pose = work.base.in_root[i];
    move_node(tree, i, q, v, a, work);
    if (node.kind == Kind::helical) size += S(node.pitch * node.pitch);
    if (node.body >= 0) {
      const int k = tree.bodies_before[i];
      size += set_body(node, pose, work.motion[i], k, bodies);
      if (bodies.kTogether) resolve_bodies(k, k + 1, bodies);
    } else {
      size += dot(pose.p, pose.p);
    }
  }
  if (!bodies.kTogether) resolve_bodies(0, tree.bodies_before[tree.n], bodies);
  // so that sums of products of two of them are finite
  work.is_bounded = all(value(size) < value(S(0x1p1016)));
}

// A screw along the axes of the root, about a point, and the bodies [first, end) behind it, in the order of nodes.
template <class S>
struct Screw : Motion<S> {
  Vec3<S> point;
  int axis;  // of the root, if it is along or about one, or -1
  int first, end;
  const int* body;
};

// A screw about the origins of the bodies c, along their axes. Those of the root, seen from a body, are at hand.
template <bool kTurns, class S, class C>
JOUNCE_INLINE Motion<typename C::Value> seen_from(const BodyRows<S, kRows>& rows, const C& c, const Screw<S>& screw) {
  using V = typename C::Value;
  if (screw.axis >= 0) {
    const auto axis = [&](int k) JOUNCE_INLINED -> Vec3<V> {
      return {rows.get(kAxes + k, c), rows.get(kAxes + 3 + k, c), rows.get(kAxes + 6 + k, c)};
    };
    const Vec3<V> own = axis(screw.axis);
    if constexpr (!kTurns) return {Vec3<V>::zero(), own};
    const int y = screw.axis == 2 ? 0 : screw.axis + 1, z = y == 2 ? 0 : y + 1;
    const S* const point = &screw.point.x;
    return {own, axis(z) * (rows.get(kOrigin + y, c) - point[y]) - axis(y) * (rows.get(kOrigin + z, c) - point[z])};
  }
  const Mat3<V> R = rows.matrix(kAxes, c);
  if constexpr (!kTurns) return {Vec3<V>::zero(), transposed(R, screw.v)};
  const Vec3<V> v = screw.v + cross(screw.w, rows.vector(kOrigin, c) - screw.point);
  return {transposed(R, screw.w), transposed(R, v)};
}

// Equation (2) of torque_blocks.hpp for a row, V at a time.
template <class V, bool kTurns, class S, class Out>
JOUNCE_INLINE void put_torques(const Screw<S>& screw, const BodyRows<S, kRows>& rows, int first, int end,
                               std::size_t row, Out& out) {
  constexpr int W = lanes<V> / lanes<S>;
  for (int k = first; k < end; k += W) {
    const Columns<V, S> c{k};
    const Motion<V> s = seen_from<kTurns>(rows, c, screw);
    V x[kParameters];
    block<kTurns>(s.w, s.v, motion_at(rows, c), x);
    out.put(x, row, screw.body + k, end - k < W ? end - k : W);
  }
}

// The same; of one state, as many bodies at once as fill a register, or half of one.
template <bool kTurns, class S, class Out>
JOUNCE_SHARED void put_screw(const Screw<S>& screw, const BodyRows<S, kRows>& rows, std::size_t row, Out& out) {
  const int first = screw.first, end = screw.end;
  if constexpr (!std::is_same_v<S, double>) {
    put_torques<S, kTurns>(screw, rows, first, end, row, out);
  } else if constexpr (lanes<Wide> > 2) {
    constexpr int W = lanes<Wide>;
    const int few = (end - first) % W, whole = few <= W / 2 ? end - few : end;
    put_torques<Wide, kTurns>(screw, rows, first, whole, row, out);
    put_torques<Pack<W / 2>, kTurns>(screw, rows, whole, end, row, out);
  } else {
    put_torques<Wide, kTurns>(screw, rows, first, end, row, out);
  }
}

// The rows of node i.
template <class S, class P, class Out, class Before>
JOUNCE_INLINE void put_rows(const Tree<P>& tree, int i, SingleWork<S>& work, Out& out, Before&& before) {
  const Node<P>& node = tree.nodes[i];
  const Pose<S>& pose = work.base.in_root[i];
  const int first = tree.bodies_before[i], end = tree.bodies_before[node.end];
  with_kind(node.kind, [&](auto kind) JOUNCE_INLINED {
    constexpr Kind K = decltype(kind)::value;
    for (int k = 0; k < rates(K); ++k) {
      const int axis = is_group(K) && node.parent < 0 ? k % 3 : -1;
      const Screw<S> screw{base_frame_screw<K>(node, k, pose.R), pose.p, axis, first, end, tree.bodies.data()};
      before(k);
      if (slides(K, k)) {
        put_screw<false>(screw, work.bodies, node.v + k, out);
      } else {
        put_screw<true>(screw, work.bodies, node.v + k, out);
      }
    }
  });
}

}  // namespace jounce::regressor
