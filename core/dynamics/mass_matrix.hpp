// Mass matrix from composite inertias, along the axes of the root (see base_frame.hpp).
//
// With the composite inertia I_i of the subtree of node i and F_i = I_i s_i (the wrench that
// moves the subtree with unit acceleration of rate i):
//   M_ji = s_j^T (F_i shifted from the origin of i to the origin of j),  j an ancestor of i.
// The wrenches lie in six arrays over the rates; a subtree is a contiguous range, so the inner
// loop runs over memory in order and many columns go at once, as do the wrenches of many rates.
#pragma once

#include <algorithm>

#include "jounce/kinematics/base_lanes.hpp"
#include "jounce/spatial/columns.hpp"

namespace jounce {

template <class S>
struct MassMatrixWork {
  BaseFrameWork<S> base;  // inertias become those of subtrees
  SixRows<S> wrenches;    // F, moment first
  ThreeRows<S> origin;    // the points they refer to

  template <class P>
  MassMatrixWork(const Tree<P>& tree, Arena& arena)
      : base(tree, arena),
        wrenches(arena.take<S>(6 * padded<S>(tree.nv)), padded<S>(tree.nv)),
        origin(arena.take<S>(3 * padded<S>(tree.nv)), padded<S>(tree.nv)) {}
};

// Adds the inertia of a subtree to that of the parent.
template <class S, class P>
JOUNCE_INLINE void pass_inertia(const Tree<P>& tree, int i, BaseFrameWork<S>& base) {
  const int p = tree.nodes[i].parent;
  if (p >= 0) base.inertia[p] += shifted(base.in_root[i].p - base.in_root[p].p, base.inertia[i]);
}

// F of a node's rates, and the block of the node itself in the upper triangle of M.
template <Kind K, class S, class P>
JOUNCE_INLINE void own_block(const Node<P>& node, const Pose<S>& pose, const RigidInertia<S>& composite,
                             const MassMatrixWork<S>& work, std::size_t nv, S* M) {
  for (int k = 0; k < rates(K); ++k) {
    const Columns<S, S> c{node.v + k};
    const Motion<S> s = base_frame_screw<K>(node, k, pose.R);
    const Force<S> F = moves(K) ? composite * s : Force<S>{composite.I * s.w, cross(s.w, composite.h)};
    for (int j = 0; j <= k; ++j) M[(node.v + j) * nv + c.at] = along<K>(F, base_frame_screw<K>(node, j, pose.R));
    store(F, work.wrenches, c);
    work.origin.set(c, pose.p);
  }
}

// The rows of a node in the upper triangle of M, from column `first`: its screws times wrenches of its subtree.
template <Kind K, class S, class P>
JOUNCE_INLINE void project_wrenches(const Node<P>& node, const Pose<S>& pose, const SixRows<S>& wrenches,
                                    const ThreeRows<S>& origin, int first, std::size_t nv, S* M) {
  for_packs<S>(first, node.v_end, [&](auto c, auto store_part) JOUNCE_INLINED {
    using V = typename decltype(c)::Value;
    const Force<V> F = shifted(origin.from(pose.p, c), wrench(wrenches, c));
    const Force<V> own{transposed(pose.R, F.n), transposed(pose.R, F.f)};  // along the node's axes
    constexpr int width = sizeof(V) / sizeof(S);
    for (int k = 0; k < rates(K); ++k) {
      S* row = M + (node.v + k) * nv;
      const V x = along<K>(node, k, own);
      if (node.v + k <= c.at && c.at + width <= node.v_end) {  // some processors take long for parts
        c.store(row, x);
      } else {
        store_part(row, x, node.v + k);
      }
    }
  });
}

// Copies the upper triangle of M, which is zero but for related rates, to the lower one; `parted` if the
// lower one is zero already where rates are not related.
template <class S, class P>
JOUNCE_INLINE void mirror_related(const Tree<P>& tree, S* M, bool parted = false) {
  const std::size_t nv = tree.nv;
  if (!tree.sparse) {
    if (!parted || tree.rate_node.empty()) return mirror_upper(tree.nv, M, nv, M);
    return mirror_upper(tree.nv, M, nv, M, [&](int r) JOUNCE_INLINED { return tree.nodes[tree.rate_node[r]].v_end; });
  }
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
  if (zeros && tree.depth < tree.n) std::fill_n(M, std::size_t(nv) * nv, S(0.0));
  base_frame(tree, q, work.base);
  constexpr bool in_lanes = has_triples<S>;  // the wrenches of many rates at once
  if constexpr (in_lanes) {
    for (int i = tree.n - 1; i > 0; --i) pass_inertia(tree, i, work.base);
    wrenches_in_lanes(tree, work.base, work.wrenches, work.origin);
  }
  const SixRows<S> wrenches = work.wrenches;
  const ThreeRows<S> origin = work.origin;
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<P>& node = tree.nodes[i];
    const Pose<S>& pose = work.base.in_root[i];
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      project_wrenches<K>(node, pose, wrenches, origin, in_lanes ? node.v : node.v + rates(K), nv, M);
      if constexpr (!in_lanes) own_block<K>(node, pose, work.base.inertia[i], work, nv, M);
    });
    if constexpr (!in_lanes) pass_inertia(tree, i, work.base);
  }
  for (int r = 0; r < nv; ++r) M[std::size_t(r) * (nv + 1)] += tree.armature[r];
  if constexpr (kFill == Fill::whole) mirror_related(tree, M, true);
}

}  // namespace jounce
