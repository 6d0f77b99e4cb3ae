// Inverse of the mass matrix without forming it (bos, Table 9, for every joint type), along the
// axes of the root (see base_frame.hpp).
//
// Inward, the articulated inertia is factored as in articulated.hpp and, for every rate r of the
// node, the columns c of its subtree get
//   (1) N_rc = -s_r^T F_c / D_r,  N_rr = 1 / D_r,  F_c += U_r N_rc
// where F_c is the wrench at the node's origin caused by a unit force at rate c. Subtrees do not
// share columns, so one array of columns serves the whole tree.
// Outward, for all columns c >= r, with A_c the acceleration of the node:
//   (2) N_rc -= U_r^T A_c / D_r,  A_c += s_r N_rc
#pragma once

#include "articulated.hpp"
#include "mass_matrix.hpp"

namespace jounce {

template <class S>
struct InverseMassMatrixWork {
  struct Row {
    ArticulatedInertia<S> J;
    S angular_scale, linear_scale;
  };
  struct Rate {
    Motion<S> s;
    Force<S> U;
    S inverse_D;
  };
  BaseFrameWork<S> base;
  Row* row;
  Rate* rate;
  S* columns;         // 6 arrays over the rates: wrenches, on the way inward
  S* accelerations;   // 6 arrays over the rates for each depth, on the way outward

  template <class P>
  InverseMassMatrixWork(const Tree<P>& tree, Arena& arena)
      : base(tree, arena),
        row(arena.take<Row>(tree.n)),
        rate(arena.take<Rate>(tree.nv)),
        columns(arena.take<S>(6 * std::size_t(tree.nv))),
        accelerations(arena.take<S>(6 * std::size_t(tree.nv) * tree.depth)) {}
};

// Columns [begin, end) of six arrays of length nv, as vectors.
template <class S>
struct Six {
  S *wx, *wy, *wz, *vx, *vy, *vz;

  JOUNCE_INLINE Six(S* x, int nv)
      : wx(x), wy(x + nv), wz(x + 2 * nv), vx(x + 3 * nv), vy(x + 4 * nv), vz(x + 5 * nv) {}
};

// Equation (1) for one rate.
template <class S>
JOUNCE_INLINE void inward_columns(const Motion<S>& s, const Force<S>& U, const S& inverse_D,
                                  int begin, int end, Six<S> F, S* __restrict N) {
  S *__restrict nx = F.wx, *__restrict ny = F.wy, *__restrict nz = F.wz;
  S *__restrict fx = F.vx, *__restrict fy = F.vy, *__restrict fz = F.vz;
  const Motion<S> scaled{s.w * -inverse_D, s.v * -inverse_D};
  for (int c = begin; c < end; ++c) {
    const S x = scaled.w.x * nx[c] + scaled.w.y * ny[c] + scaled.w.z * nz[c] +
                scaled.v.x * fx[c] + scaled.v.y * fy[c] + scaled.v.z * fz[c];
    N[c] = x;
    nx[c] += U.n.x * x; ny[c] += U.n.y * x; nz[c] += U.n.z * x;
    fx[c] += U.f.x * x; fy[c] += U.f.y * x; fz[c] += U.f.z * x;
  }
}

// Wrench columns seen from a point that sees their origin at d.
template <class S>
JOUNCE_INLINE void shift_columns(const Vec3<S>& d, int begin, int end, Six<S> F) {
  S *__restrict nx = F.wx, *__restrict ny = F.wy, *__restrict nz = F.wz;
  const S *__restrict fx = F.vx, *__restrict fy = F.vy, *__restrict fz = F.vz;
  for (int c = begin; c < end; ++c) {
    nx[c] += d.y * fz[c] - d.z * fy[c];
    ny[c] += d.z * fx[c] - d.x * fz[c];
    nz[c] += d.x * fy[c] - d.y * fx[c];
  }
}

// Accelerations of the parent seen from a child whose origin is at d: a + alpha x d.
template <class S>
JOUNCE_INLINE void child_accelerations(const Vec3<S>& d, int begin, int end, Six<S> up, Six<S> me) {
  const S *__restrict ux = up.wx, *__restrict uy = up.wy, *__restrict uz = up.wz;
  const S *__restrict ax = up.vx, *__restrict ay = up.vy, *__restrict az = up.vz;
  S *__restrict wx = me.wx, *__restrict wy = me.wy, *__restrict wz = me.wz;
  S *__restrict vx = me.vx, *__restrict vy = me.vy, *__restrict vz = me.vz;
  for (int c = begin; c < end; ++c) {
    const S x = ux[c], y = uy[c], z = uz[c];
    wx[c] = x; wy[c] = y; wz[c] = z;
    vx[c] = ax[c] + (y * d.z - z * d.y);
    vy[c] = ay[c] + (z * d.x - x * d.z);
    vz[c] = az[c] + (x * d.y - y * d.x);
  }
}

// Equation (2) for one rate; a leaf needs no accelerations of its own.
template <class S>
JOUNCE_INLINE void outward_columns(const Motion<S>& s, const Force<S>& U, const S& inverse_D,
                                   bool keep, int begin, int end, Six<S> A, S* __restrict N) {
  S *__restrict wx = A.wx, *__restrict wy = A.wy, *__restrict wz = A.wz;
  S *__restrict vx = A.vx, *__restrict vy = A.vy, *__restrict vz = A.vz;
  const Force<S> scaled = U * inverse_D;
  for (int c = begin; c < end; ++c) {
    N[c] = N[c] - (scaled.n.x * wx[c] + scaled.n.y * wy[c] + scaled.n.z * wz[c] +
                   scaled.f.x * vx[c] + scaled.f.y * vy[c] + scaled.f.z * vz[c]);
  }
  if (!keep) return;
  for (int c = begin; c < end; ++c) {
    const S x = N[c];
    wx[c] += s.w.x * x; wy[c] += s.w.y * x; wz[c] += s.w.z * x;
    vx[c] += s.v.x * x; vy[c] += s.v.y * x; vz[c] += s.v.z * x;
  }
}

// Factors the articulated inertias and runs equation (1). Returns a singular node or -1.
template <class S, class P>
JOUNCE_INLINE int inverse_mass_inward(const Tree<P>& tree, S* N, InverseMassMatrixWork<S>& work) {
  const int nv = tree.nv;
  int singular = -1;
  const Six<S> F(work.columns, nv);
  for (int i = 0; i < tree.n; ++i) {
    work.row[i].J = ArticulatedInertia<S>::of(work.base.inertia[i]);
    work.row[i].angular_scale = trace(work.base.inertia[i].I);
    work.row[i].linear_scale = work.base.inertia[i].m;
  }
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<P>& node = tree.nodes[i];
    auto& me = work.row[i];
    const S angular = trace(me.J.A), linear = trace(me.J.C);
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = rates(K) - 1; k >= 0; --k) {
        const int r = node.v + k;
        auto& rate = work.rate[r];
        rate.s = base_frame_screw<K>(node, k, work.base.pose[i].R);
        rate.U = me.J * rate.s;
        const S D = dot(rate.U, rate.s) + tree.armature[r];
        const bool slides = K == Kind::prismatic || (K == Kind::free && k >= 3);
        const S scale = slides ? me.linear_scale : me.angular_scale + me.linear_scale * (node.pitch * node.pitch);
        if (any(value(D) <= value(scale * kSingular))) singular = i;
        rate.inverse_D = S(1.0) / D;
        const Force<S> U_over_D = rate.U * rate.inverse_D;
        if (node.parent >= 0 || k > 0) me.J.eliminate(rate.U, U_over_D);
        inward_columns(rate.s, rate.U, rate.inverse_D, r + 1, node.v_end, F, N + r * nv);
        N[r * nv + r] = rate.inverse_D;
        F.wx[r] = U_over_D.n.x; F.wy[r] = U_over_D.n.y; F.wz[r] = U_over_D.n.z;
        F.vx[r] = U_over_D.f.x; F.vy[r] = U_over_D.f.y; F.vz[r] = U_over_D.f.z;
      }
    });
    if (node.parent >= 0) {
      const Vec3<S> d = work.base.pose[i].p - work.base.pose[node.parent].p;
      auto& up = work.row[node.parent];
      up.J += shifted(d, me.J);
      up.angular_scale += angular + dot(d, d) * linear;
      up.linear_scale += linear;
      shift_columns(d, node.v, node.v_end, F);
    }
  }
  return singular;
}

// N is nv x nv, row-major.
template <class S, class P>
int inverse_mass_matrix(const Tree<P>& tree, const S* q, S* __restrict N,
                        InverseMassMatrixWork<S>& work) {
  const int nv = tree.nv;
  base_frame_poses(tree, q, work.base);
  for (int k = 0; k < nv * nv; ++k) N[k] = S(0.0);
  const int singular = inverse_mass_inward(tree, N, work);
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    const std::size_t level = 6 * std::size_t(nv) * node.depth;
    const Six<S> A(work.accelerations + level, nv);
    const int end = node.parent < 0 ? node.v_end : nv;
    if (node.parent < 0) {
      for (std::size_t c = 0; c < 6 * std::size_t(nv); ++c) A.wx[c] = S(0.0);
    } else {
      const Vec3<S> d = work.base.pose[i].p - work.base.pose[node.parent].p;
      const Six<S> up(work.accelerations + level - 6 * std::size_t(nv), nv);
      child_accelerations(d, node.v, nv, up, A);
    }
    const bool keep = node.end > i + 1;
    for (int k = 0; k < node.nv; ++k) {
      const int r = node.v + k;
      const auto& rate = work.rate[r];
      outward_columns(rate.s, rate.U, rate.inverse_D, keep || k + 1 < node.nv, r, end, A, N + r * nv);
    }
    for (int r = node.v; r < node.v + node.nv; ++r) {
      for (int c = r + 1; c < nv; ++c) N[c * nv + r] = N[r * nv + c];
    }
  }
  return singular;
}

}  // namespace jounce
