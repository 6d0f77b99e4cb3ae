// Mass matrix from composite inertias, along the axes of the root (see base_frame.hpp).
//
// With the composite inertia I_i of the subtree of node i and F_i = I_i s_i (the wrench that
// moves the subtree with unit acceleration of rate i):
//   M_ji = s_j^T (F_i shifted from the origin of i to the origin of j),  j an ancestor of i.
// The wrenches lie in six arrays over the rates; a subtree is a contiguous range, so the inner
// loop runs over memory in order.
#pragma once

#include "../kinematics/base_frame.hpp"

namespace jounce {

// Six arrays over the rates (moment x, y, z, force x, y, z) and the origins they refer to.
template <class S>
struct WrenchColumns {
  S *nx, *ny, *nz, *fx, *fy, *fz, *px, *py, *pz;

  template <class P>
  WrenchColumns(const Tree<P>& tree, Arena& arena) {
    for (S** x : {&nx, &ny, &nz, &fx, &fy, &fz, &px, &py, &pz}) *x = arena.take<S>(tree.nv);
  }
  JOUNCE_INLINE void set(int k, const Force<S>& F, const Vec3<S>& p) {
    nx[k] = F.n.x; ny[k] = F.n.y; nz[k] = F.n.z;
    fx[k] = F.f.x; fy[k] = F.f.y; fz[k] = F.f.z;
    px[k] = p.x; py[k] = p.y; pz[k] = p.z;
  }
};

template <class S>
struct MassMatrixWork {
  BaseFrameWork<S> base;
  WrenchColumns<S> columns;

  template <class P>
  MassMatrixWork(const Tree<P>& tree, Arena& arena) : base(tree, arena), columns(tree, arena) {}
};

// row[i] = s^T (column i shifted to p), for i in [begin, end).
template <class S>
JOUNCE_INLINE void project_columns(const WrenchColumns<S>& c, const Motion<S>& s, const Vec3<S>& p,
                                   int begin, int end, S* __restrict row) {
  for (int i = begin; i < end; ++i) {
    const Vec3<S> d{c.px[i] - p.x, c.py[i] - p.y, c.pz[i] - p.z};
    const Vec3<S> f{c.fx[i], c.fy[i], c.fz[i]};
    const Vec3<S> n = Vec3<S>{c.nx[i], c.ny[i], c.nz[i]} + cross(d, f);
    row[i] = dot(s.w, n) + dot(s.v, f);
  }
}

// M is nv x nv, row-major.
template <class S, class P>
void mass_matrix(const Tree<P>& tree, const S* q, S* __restrict M, MassMatrixWork<S>& work) {
  const int nv = tree.nv;
  base_frame_poses(tree, q, work.base);
  for (int k = 0; k < nv * nv; ++k) M[k] = S(0.0);
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<P>& node = tree.nodes[i];
    const Pose<S>& pose = work.base.pose[i];
    const RigidInertia<S>& composite = work.base.inertia[i];
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = 0; k < rates(K); ++k) {
        const Motion<S> s = base_frame_screw<K>(node, k, pose.R);
        work.columns.set(node.v + k, composite * s, pose.p);
      }
      for (int k = 0; k < rates(K); ++k) {
        const int j = node.v + k;
        const Motion<S> s = base_frame_screw<K>(node, k, pose.R);
        project_columns(work.columns, s, pose.p, j, node.v_end, M + j * nv);
        for (int c = j + 1; c < node.v_end; ++c) M[c * nv + j] = M[j * nv + c];
        M[j * nv + j] += tree.armature[j];
      }
    });
    if (node.parent >= 0) {
      RigidInertia<S>& up = work.base.inertia[node.parent];
      const RigidInertia<S> moved = shifted(pose.p - work.base.pose[node.parent].p, composite);
      up.m += moved.m;
      up.h += moved.h;
      up.I += moved.I;
    }
  }
}

}  // namespace jounce
