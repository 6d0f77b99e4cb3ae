// Momentum of the whole robot, the matrix that gives it from the rates, and that matrix's rate.
//
// Nodes are resolved along the axes of their root and seen from the reference point of its tree
// (base_frame.hpp); the trees of several roots are put together as seen from the heaviest one. So
// what does not depend on the world's origin does not lose digits far from it.
//
// With the inertia I of the subtree of a node and d its origin seen from the center of mass c, a
// screw s of its joint gives the column
//   (1) (n + d x f, f),  (n, f) = I s.
// At a fixed point, I changes like a rigid inertia without mass: its first moment by the linear
// momentum, its rotational part by `rotational_rate`. These rates add and shift as inertias do. With
// the node's twist V,
//   (2) (n', f') = I' s + I (V x s),  and the column's rate is (n' + d x f' - c' x f, f').
#pragma once

#include <algorithm>

#include "jounce/kinematics/base_frame.hpp"
#include "jounce/spatial/columns.hpp"

namespace jounce {

template <class S>
struct MomentumWork {
  BaseFrameWork<S> base;
  Motion<S>* twist;

  template <class P>
  MomentumWork(const Tree<P>& tree, Arena& arena)
      : base(tree, arena), twist(arena.take<Motion<S>>(tree.n)) {}
};

// Where all trees are seen from.
template <class S, class P>
JOUNCE_INLINE Vec3<S> common_origin(const Tree<P>& tree, const S* q, const BaseFrameWork<S>& work) {
  if (tree.n == 0) return Vec3<S>::zero();
  return base_frame_in_world(tree, tree.heaviest, q, work).p;
}

// Momentum (angular, linear) along the world's axes, about the world's origin or, if `centroidal`,
// about the center of mass.
template <class S, class P>
void momentum(const Tree<P>& tree, bool centroidal, const S* q, const S* v, S* out,
              MomentumWork<S>& work) {
  base_frame(tree, q, work.base);
  base_frame_twists(tree, v, work.base, work.twist);
  const Vec3<S> origin = common_origin(tree, q, work.base);
  Force<S> total = Force<S>::zero();
  Vec3<S> h = Vec3<S>::zero();
  S m(0.0);
  for (int root = 0; root < tree.n; root = tree.nodes[root].end) {
    Force<S> own = Force<S>::zero();
    Vec3<S> own_h = Vec3<S>::zero();
    S own_m(0.0);
    for (int i = root; i < tree.nodes[root].end; ++i) {
      const RigidInertia<S>& I = work.base.inertia[i];
      const Vec3<S>& p = work.base.in_root[i].p;
      own += shifted(p, I * work.twist[i]);
      own_h += I.h + p * I.m;
      own_m += I.m;
    }
    Pose<S> at = base_frame_in_world(tree, root, q, work.base);
    at.p -= origin;
    total += to_parent(at, own);
    h += at.R * own_h + at.p * own_m;
    m += own_m;
  }
  const Vec3<S> to = centroidal ? h * inverse_mass(m) : -origin;
  store(Motion<S>{total.n - cross(to, total.f), total.f}, out);
}

template <class S>
struct CentroidalWork {
  BaseFrameWork<S> base;            // inertias become those of subtrees
  ThreeRows<S> origin;              // the points that the columns refer to
  Motion<S>* twist = nullptr;       // for the rate of the matrix
  RigidInertia<S>* rate = nullptr;  // of the subtree's inertia, about a fixed point

  template <class P>
  CentroidalWork(const Tree<P>& tree, Arena& arena)
      : base(tree, arena), origin(arena.take<S>(3 * std::size_t(tree.nv)), tree.nv) {}
};

template <class S>
struct CentroidalRateWork : CentroidalWork<S> {
  S* A;

  template <class P>
  CentroidalRateWork(const Tree<P>& tree, Arena& arena) : CentroidalWork<S>(tree, arena) {
    this->twist = arena.take<Motion<S>>(tree.n);
    this->rate = arena.take<RigidInertia<S>>(tree.n);
    A = arena.take<S>(6 * std::size_t(tree.nv));
  }
};

namespace centroidal {

// The node whose origin is the reference point of a root's tree.
template <class P>
JOUNCE_INLINE int base_of(const Tree<P>& tree, int root) {
  while (tree.nodes[root].recenter < 0) ++root;
  return root;
}

// Adds the inertias (or their rates) of subtrees, each about its node's origin. Massless nodes that
// lead from a root to the base may lie far away: theirs are about the origin of the base.
template <class S, class P>
JOUNCE_INLINE void sum_subtrees(const Tree<P>& tree, const Pose<S>* pose, RigidInertia<S>* sum) {
  for (int root = 0; root < tree.n; root = tree.nodes[root].end) {
    const int base = base_of(tree, root);
    for (int i = root; i < base; ++i) sum[i] = shifted(pose[i].p - pose[base].p, sum[i]);
    for (int i = tree.nodes[root].end - 1; i > root; --i) {
      const int parent = tree.nodes[i].parent;
      sum[parent] += i <= base ? sum[i] : shifted(pose[i].p - pose[parent].p, sum[i]);
    }
  }
}

// (n, f) and (n', f') of equations (1) and (2), for the joint of node i, about the origin of the
// node `at`.
template <class S, class P>
JOUNCE_INLINE void columns(const Tree<P>& tree, int i, int at, const SixRows<S>& A,
                           const SixRows<S>* dA, CentroidalWork<S>& work) {
  const Node<P>& node = tree.nodes[i];
  const Vec3<S>& p = work.base.in_root[at].p;
  const Vec3<S> d = p - work.base.in_root[i].p;
  const RigidInertia<S>& I = work.base.inertia[i];
  with_kind(node.kind, [&](auto kind) {
    constexpr Kind K = decltype(kind)::value;
    for (int k = 0; k < rates(K); ++k) {
      const Columns<S, S> c{node.v + k};
      Motion<S> s = base_frame_screw<K>(node, k, work.base.in_root[i].R);
      if (i != at) s = moved(s, d);
      const Force<S> x = I * s;
      store(x, A, c);
      work.origin.set(c, p);
      if (!dA) continue;
      Force<S> dx = work.rate[i] * s;
      dx += I * bracket(moved(work.twist[i], d), s);
      store(dx, *dA, c);
    }
  });
}

// The center of mass and its velocity (without rates zero), as the world's axes see them from the
// reference point of the heaviest tree.
template <class S>
struct Center {
  Vec3<S> c, dc;
};

template <class S, class P>
JOUNCE_INLINE Center<S> center(const Tree<P>& tree, const S* q, const Vec3<S>& origin,
                               const CentroidalWork<S>& work) {
  Vec3<S> h = Vec3<S>::zero(), dh = h;
  S m(0.0);
  for (int root = 0; root < tree.n; root = tree.nodes[root].end) {
    const RigidInertia<S>& I = work.base.inertia[root];
    const Pose<S> at = base_frame_in_world(tree, root, q, work.base);
    h += at.R * I.h + (at.p - origin) * I.m;
    if (work.rate) dh += at.R * work.rate[root].h;
    m += I.m;
  }
  return {h * inverse_mass(m), dh * inverse_mass(m)};
}

// Moves the columns [begin, end) to the center of mass and turns them to the world's axes R.
template <class S>
JOUNCE_INLINE void finish(int begin, int end, const Mat3<S>& R, const Center<S>& to,
                          const SixRows<S>& A, const SixRows<S>* dA, const CentroidalWork<S>& work) {
  for_columns<S>(begin, end, [&](auto c) {
    const auto d = work.origin.from(to.c, c);
    const auto column = shifted(d, wrench(A, c));
    A.set_angular(c, R * column.n);
    A.set_linear(c, R * column.f);
    if (!dA) return;
    auto rate = shifted(d, wrench(*dA, c));
    rate.n -= cross(to.dc, column.f);
    dA->set_angular(c, R * rate.n);
    dA->set_linear(c, R * rate.f);
  });
}

}  // namespace centroidal

// A and its rate dA along v, which may be null, are 6 x nv, row-major.
template <class S, class P>
void centroidal_momentum_matrix(const Tree<P>& tree, const S* q, const S* v, S* A, S* dA,
                                CentroidalWork<S>& work) {
  using namespace centroidal;
  const SixRows<S> rows(A, tree.nv), changes(dA, dA ? tree.nv : 0);
  const SixRows<S>* d_rows = dA ? &changes : nullptr;
  BaseFrameWork<S>& base = work.base;
  base_frame(tree, q, base);
  if (dA) {
    base_frame_twists(tree, v, base, work.twist);
    for (int i = 0; i < tree.n; ++i) {
      const RigidInertia<S>& I = base.inertia[i];
      const Motion<S>& V = work.twist[i];
      work.rate[i] = {S(0.0), V.v * I.m - cross(I.h, V.w), rotational_rate(I, V)};
    }
    sum_subtrees(tree, base.in_root, work.rate);
  }
  sum_subtrees(tree, base.in_root, base.inertia);
  const Vec3<S> origin = common_origin(tree, q, base);
  const Center<S> all = center(tree, q, origin, work);
  for (int root = 0; root < tree.n; root = tree.nodes[root].end) {
    const Node<P>& first = tree.nodes[root];
    const int lead = base_of(tree, root);
    for (int i = root; i < first.end; ++i) columns(tree, i, std::max(i, lead), rows, d_rows, work);
    const Pose<S> at = base_frame_in_world(tree, root, q, base);
    const Center<S> to{transposed(at.R, all.c - (at.p - origin)), transposed(at.R, all.dc)};
    finish(first.v, first.v_end, at.R, to, rows, d_rows, work);
  }
}

}  // namespace jounce
