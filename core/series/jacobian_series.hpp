// The Jacobian of a frame as truncated Taylor series in time.
//
// Its columns are the axes a of the joints on the path, with their levers: e is the frame's origin
// (of a spatial Jacobian the world's) seen from the node's,
//   (1) column = (a, a x e) of a rotation,   (0, a) of a translation (mueller, eq. 12)
// The axes are those of motion_series.hpp, eq. (2), if along the world's axes, and if along the
// frame's, with X the rotation of the node as seen from the frame,
//   (2) X_p = X Rj^T R0^T,   b = X Rj^T pj + X_p p0     inward, from the transposed R of the frame
// so that no rotation of the root enters. Levers are sums of b.
#pragma once

#include "jounce/series/motion_series.hpp"

namespace jounce {
namespace series {

// Keeps the axes of the node at hand that its columns need.
template <Kind K, class S, class P>
JOUNCE_INLINE void keep_axes(const Node<P>& node, MotionSeriesWork<S>& work) {
  const int rows = work.rows;
  Vec3<S>* axis = work.axis + std::size_t(rows) * node.v;
  for (int k = 0; k < rows; ++k) {
    if constexpr (is_group(K)) {
      axis[k] = work.R[k].x;
      axis[rows + k] = work.R[k].y;
      axis[2 * rows + k] = work.R[k].z;
    } else {
      axis[k] = work.R[k].z;
    }
  }
}

template <class S, class P>
JOUNCE_INLINE void axes_in_world(const Tree<P>& tree, const FrameAt<P>& frame, const S* q,
                                 const S* motion, MotionSeriesWork<S>& work) {
  walk_outward(tree, frame, q, motion, work, [&](auto kind, const auto& s, const Vec3<S>*) {
    keep_axes<decltype(kind)::value>(s.node, work);
  });
}

// Equation (2); b of the root is not needed.
template <class S, class P>
JOUNCE_INLINE void axes_in_frame(const Tree<P>& tree, const FrameAt<P>& frame, const S* q,
                                 const S* motion, MotionSeriesWork<S>& work) {
  const int rows = work.rows;
  const Vec3<S> zero = Vec3<S>::zero();
  Mat3<S>* X = work.R;
  X[0] = Mat3<S>::identity() * transpose(frame.pose.R);
  for (int k = 1; k < rows; ++k) X[k] = {zero, zero, zero};
  int terms = 1;
  for (int i = frame.node; i >= 0; i = tree.nodes[i].parent) {
    const auto s = joint_at(tree, i, motion, work);
    const Mat3<P> back = transpose(s.node.placement.R);
    Vec3<S>* b = work.offset + std::size_t(rows) * s.node.depth;
    with_kind(s.node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      keep_axes<K>(s.node, work);
      if (s.node.parent < 0) return;
      expand_joint<K>(s, rows, q, work.angles);
      turn_axes<K, true>(s, rows, terms, X);
      if constexpr (rotates(K)) terms = rows;
      for (int k = 0; k < rows; ++k) {
        b[k] = zero;
        if constexpr (moves(K)) b[k] = moved_origin<K>(s, k, terms, X);
      }
      for (int k = 0; k < terms; ++k) {
        X[k] = X[k] * back;
        b[k] += X[k] * s.node.placement.p;
      }
    });
  }
}

// Which rows of the Jacobian to write.
struct Halves {
  bool angular, linear;
};

// The columns of a node, equation (1), with the lever in work.point.
template <Kind K, class S, class P>
JOUNCE_INLINE void store_columns(const Node<P>& node, int nv, Halves halves, S* J,
                                 const MotionSeriesWork<S>& work) {
  const int rows = work.rows;
  for (int i = 0; i < rates(K); ++i) {
    const bool turns_about = !slides(K, i);
    const Vec3<S>* axis = work.axis + std::size_t(rows) * (node.v + i % 3);
    for (int k = 0; k < rows; ++k) {
      const double factorial = kFactorial.of[k];
      S* column = J + std::size_t(k) * 6 * nv + node.v + i;
      if (halves.angular && turns_about) store(axis[k] * factorial, column, nv);
      if (!halves.linear) continue;
      Vec3<S> v = axis[k];
      if (turns_about) {
        v = K == Kind::helical ? v * node.pitch : Vec3<S>::zero();
        for (int j = 0; j <= k; ++j) v += cross(axis[k - j], work.point[j]);
      }
      store(v * factorial, column + 3 * nv, nv);
    }
  }
}

// Levers to the frame's origin: they grow from the frame to the root.
template <class S, class P>
JOUNCE_INLINE void columns_at_frame(const Tree<P>& tree, const FrameAt<P>& frame, Halves halves, S* J,
                                    MotionSeriesWork<S>& work) {
  for (int i = frame.node; i >= 0; i = tree.nodes[i].parent) {
    const Node<P>& node = tree.nodes[i];
    with_kind(node.kind, [&](auto kind) {
      store_columns<decltype(kind)::value>(node, tree.nv, halves, J, work);
    });
    const Vec3<S>* b = work.offset + std::size_t(work.rows) * node.depth;
    for (int k = 0; k < work.rows; ++k) work.point[k] += b[k];
  }
}

// Levers to the world's origin: they grow from the root to the frame.
template <class S, class P>
JOUNCE_INLINE void columns_at_world(const Tree<P>& tree, int length, S* J,
                                    MotionSeriesWork<S>& work) {
  for (int d = 0; d < length; ++d) {
    const Node<P>& node = tree.nodes[work.path[d]];
    const Vec3<S>* b = work.offset + std::size_t(work.rows) * d;
    for (int k = 0; k < work.rows; ++k) work.point[k] -= b[k];
    with_kind(node.kind, [&](auto kind) {
      store_columns<decltype(kind)::value>(node, tree.nv, {true, true}, J, work);
    });
  }
}

}  // namespace series

// jacobians: (r+3, 6, nv), the Jacobian and its derivatives up to order r+2.
template <class S, class P>
void jacobian_series(const Tree<P>& tree, const FrameAt<P>& frame, Representation representation,
                     const S* q, const S* motion, S* jacobians, MotionSeriesWork<S>& work) {
  using namespace series;
  const int rows = work.rows;
  const bool body = representation == Representation::body;
  const bool mixed = representation == Representation::mixed;
  for (std::size_t i = 0; i < std::size_t(rows) * 6 * tree.nv; ++i) jacobians[i] = S(0.0);
  begin(tree, q, work);
  if (body || mixed) {
    axes_in_frame(tree, frame, q, motion, work);
    work.point[0] += transposed(frame.pose.R, frame.pose.p);
    columns_at_frame(tree, frame, {true, body}, jacobians, work);
  }
  if (body) return;
  axes_in_world(tree, frame, q, motion, work);
  if (representation == Representation::spatial) {
    columns_at_world(tree, find_path(tree, frame, work), jacobians, work);
  } else {
    for (int k = 0; k < rows; ++k) work.point[k] = work.R[k] * frame.pose.p;
    columns_at_frame(tree, frame, {!mixed, true}, jacobians, work);
  }
}

}  // namespace jounce
