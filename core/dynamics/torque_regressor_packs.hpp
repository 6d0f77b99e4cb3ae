// Torque regressors of a pack of states, see torque_blocks.hpp.
//
// Motions are those of inverse dynamics, along the axes of each node. The screw of a rate goes from node to
// node outward, so that a row of the matrix is written from one end to the other:
//   (1) z' = R^T z,   u' = R^T (u + z x p)
// for a child with the pose (R, p). A joint's own axis costs nothing. The frame of a body often is that of its
// node or a quarter turn away from it, and then the ten numbers only change places.
#pragma once

#include "jounce/dynamics/torque_blocks.hpp"

namespace jounce::regressor {

template <class S>
struct PacksWork {
  struct Row : BodyMotion<S> {
    Pose<S> in_parent;
    Vec3<S> w;
  };
  Angles<S> angles;
  Row* row;             // of each node, along its axes
  BodyMotion<S>* body;  // along those of its body, if they are no quarter turn away
  Motion<S>* screw;     // where a row branches
  double* window;       // for batches that the caches do not hold
  bool is_bounded;      // that the results are finite is certain

  template <class P>
  PacksWork(const Tree<P>& tree, Arena& arena)
      : angles(tree, arena),
        row(arena.take<Row>(tree.n)),
        body(arena.take<BodyMotion<S>>(tree.n)),
        screw(arena.take<Motion<S>>(tree.n)),
        window(arena.take<double>(Window<lanes<S>>::size(std::size_t(kParameters) * tree.n_bodies))) {}
};

// The motion of a node as its body has it, whose origin may be another one.
template <class S, class P>
JOUNCE_SHARED void turn_to_body(const Node<P>& node, const typename PacksWork<S>::Row& own, BodyMotion<S>& body) {
  const Pose<P>& at = node.alignment;
  body.alpha = at.R * own.alpha;
  body.a = at.R * (own.a - own.B * transposed(at.R, at.p));
  body.set_turning(at.R * own.w);
}

// Motions of all nodes and bodies. Results are sums of products of a screw with a motion, and a screw is at most as
// long as all placements together: with squares below 2^900 these are finite, however many nodes there are.
template <class S, class P>
JOUNCE_INLINE void move_bodies(const Tree<P>& tree, const S* q, const S* v, const S* a, PacksWork<S>& work) {
  work.angles.compute(tree, q);
  S size(0.0);
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    auto& me = work.row[i];
    motion_from_parent(tree, i, q, work);
    add_joint_motion(node, v + node.v, a + node.v, me);
    me.set_turning(me.w);
    if (node.turn == Turn::other) turn_to_body(node, me, work.body[i]);
    const Vec3<S>& p = me.in_parent.p;
    const S turning = dot(me.w, me.w), far(node.pitch * node.pitch + dot(node.alignment.p, node.alignment.p));
    size += dot(me.a, me.a) + dot(p, p) + dot(me.alpha, me.alpha) + turning * turning + far;
  }
  work.is_bounded = all(size < S(0x1p900));
}

// Calls f with the turn of a node as a compile-time constant.
template <class F>
JOUNCE_INLINE void with_turn(Turn turn, F&& f) {
  switch (turn) {
    case Turn::none: return f(std::integral_constant<Turn, Turn::none>{});
    case Turn::to_x: return f(std::integral_constant<Turn, Turn::to_x>{});
    case Turn::to_y: return f(std::integral_constant<Turn, Turn::to_y>{});
    case Turn::other: return f(std::integral_constant<Turn, Turn::other>{});
  }
}

// The ten numbers of a node as its body has them, whose frame is a quarter turn away: (x, y, z) of the node are
// (-z, y, x) or (x, -z, y) of the body.
template <Turn kTurn, class S, class Put>
JOUNCE_INLINE void turned(const S (&x)[kParameters], Put&& put) {
  if constexpr (kTurn == Turn::to_x) {
    put({x[0], x[3], x[2], -x[1], x[9], x[8], x[6], -x[7], -x[5], x[4]});
  } else if constexpr (kTurn == Turn::to_y) {
    put({x[0], x[1], x[3], -x[2], x[4], x[7], x[9], -x[5], -x[8], x[6]});
  } else {
    put(x);
  }
}

// Equation (2) of torque_blocks.hpp for the body of node i, if it has one, and a screw about the node's origin;
// kZ: a turn about its z-axis.
template <bool kTurns, bool kZ, class S, class Out>
JOUNCE_INLINE void put_block(const Node<double>& node, const Motion<S>& s, const PacksWork<S>& work, int i,
                             std::size_t row, Out& out) {
  if (node.body < 0) return;
  with_turn(node.turn, [&](auto turn) JOUNCE_INLINED {
    constexpr Turn kTurn = decltype(turn)::value;
    S x[kParameters];
    if constexpr (kTurn == Turn::other) {
      const Motion<S> seen = to_parent(node.alignment, s);
      block<kTurns>(seen.w, seen.v, work.body[i], x);
    } else if constexpr (kZ) {
      block_about_z(work.row[i], x);
    } else {
      block<kTurns>(s.w, s.v, work.row[i], x);
    }
    turned<kTurn>(x, [&](const S (&y)[kParameters]) JOUNCE_INLINED { out.put(y, row, &node.body, 1); });
  });
}

// Equation (1) for a turn about the z-axis: z = e_z, u = 0.
template <class S>
JOUNCE_INLINE Motion<S> z_axis_to_child(const Pose<S>& at) {
  const Mat3<S>& R = at.R;
  const Vec3<S>& p = at.p;
  return {{R.x.z, R.y.z, R.z.z}, {R.x.y * p.x - R.x.x * p.y, R.y.y * p.x - R.y.x * p.y, R.z.y * p.x - R.z.x * p.y}};
}

// Screw k of a node, along its axes.
template <class S>
JOUNCE_SHARED Motion<S> screw_of(const Node<double>& node, int k) {
  Motion<S> s = Motion<S>::zero();
  with_kind(node.kind, [&](auto kind) JOUNCE_INLINED { add_rate<decltype(kind)::value>(node, k, S(1.0), s); });
  return s;
}

// A row: the screw k of node i at all bodies behind it. The one of most joints never goes through memory.
template <bool kTurns, class S, class Out>
JOUNCE_SHARED void put_screw(const Tree<double>& tree, int i, int k, PacksWork<S>& work, std::size_t row, Out& out) {
  const Node<double>* const nodes = tree.nodes.data();
  const int end = nodes[i].end;
  const bool about_z = kTurns && nodes[i].kind == Kind::revolute;
  Motion<S> s{{S(0.0), S(0.0), S(1.0)}, Vec3<S>::zero()};
  if (!about_z) s = screw_of<S>(nodes[i], k);
  if (about_z) {
    put_block<kTurns, true>(nodes[i], s, work, i, row, out);
  } else {
    put_block<kTurns, false>(nodes[i], s, work, i, row, out);
  }
  for (int j = i + 1; j < end; ++j) {
    const bool branches = nodes[j].end < nodes[j - 1].end;  // the node before has other children
    if (branches) work.screw[j - 1] = s;
    if (nodes[j].parent != j - 1) s = work.screw[nodes[j].parent];
    const Pose<S>& at = work.row[j].in_parent;
    if constexpr (kTurns) {
      s = about_z && j == i + 1 ? z_axis_to_child(at) : to_child(at, s);  // (1)
    } else {
      s.v = transposed(at.R, s.v);
    }
    put_block<kTurns, false>(nodes[j], s, work, j, row, out);
  }
}

// The rows of node i.
template <class S, class Out, class Before>
JOUNCE_INLINE void put_rows(const Tree<double>& tree, int i, PacksWork<S>& work, Out& out, Before&& before) {
  const Node<double>& node = tree.nodes[i];
  for (int k = 0; k < node.nv; ++k) {
    before(k);
    if (slides(node.kind, k)) {
      put_screw<false>(tree, i, k, work, node.v + k, out);
    } else {
      put_screw<true>(tree, i, k, work, node.v + k, out);
    }
  }
}

}  // namespace jounce::regressor
