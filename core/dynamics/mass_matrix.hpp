// Mass matrix from composite inertias, along the axes of the root (see base_frame.hpp).
//
// With the composite inertia I_i of the subtree of node i and F_i = I_i s_i (the wrench that
// moves the subtree with unit acceleration of rate i):
//   M_ji = s_j^T (F_i shifted from the origin of i to the origin of j),  j an ancestor of i.
// The wrenches lie in six arrays over the rates; a subtree is a contiguous range, so the inner
// loop runs over memory in order and many columns go at once.
#pragma once

#include <algorithm>

#include "jounce/kinematics/base_frame.hpp"
#include "jounce/spatial/columns.hpp"

namespace jounce {

template <class S>
struct MassMatrixWork {
  BaseFrameWork<S> base;
  SixRows<S> wrenches;  // F, moment first
  ThreeRows<S> origin;  // the points they refer to

  template <class P>
  MassMatrixWork(const Tree<P>& tree, Arena& arena)
      : base(tree, arena),
        wrenches(arena.take<S>(6 * std::size_t(tree.nv)), tree.nv),
        origin(arena.take<S>(3 * std::size_t(tree.nv)), tree.nv) {}
};

// The screws of a node with axes R times the columns [begin, end) of wrenches at its origin; one row
// for each screw, `step` apart.
template <Kind K, class S, class P, class Wrench>
JOUNCE_INLINE void project_wrenches(const Node<P>& node, const Mat3<S>& R, Wrench&& at_origin, int begin,
                                    int end, std::size_t step, S* rows) {
  for_columns<S>(begin, end, [&](auto c) {
    using V = typename decltype(c)::Value;
    const Force<V> F = at_origin(c);
    const Force<V> own{transposed(R, F.n), transposed(R, F.f)};  // along the node's axes
    for (int k = 0; k < rates(K); ++k) c.store(rows + k * step, along<K>(node, k, own));
  });
}

// Copies the upper triangle of M, which is zero but for related rates, to the lower one.
template <class S, class P>
JOUNCE_INLINE void mirror_related(const Tree<P>& tree, S* M) {
  const std::size_t nv = tree.nv;
  if (!tree.sparse) return mirror_upper(tree.nv, M, nv, M);
  for (const Node<P>& node : tree.nodes) {
    for (std::size_t r = node.v; r < std::size_t(node.v + node.nv); ++r) {
      for (std::size_t c = r + 1; c < std::size_t(node.v_end); ++c) M[c * nv + r] = M[r * nv + c];
    }
  }
}

// M is nv x nv, row-major.
template <Fill kFill = Fill::whole, class S, class P>
void mass_matrix(const Tree<P>& tree, const S* q, S* M, MassMatrixWork<S>& work) {
  const int nv = tree.nv;
  const bool zeros = kFill == Fill::whole || tree.related.empty();  // else who reads M knows where they are
  if (tree.sparse && zeros) std::fill_n(M, std::size_t(nv) * nv, S(0.0));
  base_frame(tree, q, work.base);
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<P>& node = tree.nodes[i];
    const Pose<S>& pose = work.base.in_root[i];
    const RigidInertia<S>& composite = work.base.inertia[i];
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      S* rows = M + std::size_t(node.v) * nv;
      const auto at_origin = [&](auto c) JOUNCE_INLINED {
        return shifted(work.origin.from(pose.p, c), wrench(work.wrenches, c));
      };
      project_wrenches<K>(node, pose.R, at_origin, node.v + rates(K), node.v_end, nv, rows);
      for (int k = 0; k < rates(K); ++k) {
        const int at = node.v + k;
        const Force<S> F = composite * base_frame_screw<K>(node, k, pose.R);
        for (int j = 0; j <= k; ++j) {  // the block of the joint itself
          rows[j * nv + at] = dot(F, base_frame_screw<K>(node, j, pose.R));
        }
        rows[k * nv + at] += tree.armature[at];
        for (int c = zeros && !tree.sparse ? node.v_end : nv; c < nv; ++c) rows[k * nv + c] = S(0.0);
        store(F, work.wrenches, Columns<S, S>{at});
        work.origin.set(Columns<S, S>{at}, pose.p);
      }
    });
    if (node.parent >= 0) {
      const Vec3<S> d = pose.p - work.base.in_root[node.parent].p;
      work.base.inertia[node.parent] += shifted(d, composite);
    }
  }
  if constexpr (kFill == Fill::whole) mirror_related(tree, M);
}

}  // namespace jounce
