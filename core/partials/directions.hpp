// Derivatives of inverse and forward dynamics of one state along many directions, in O(n) each, in body
// frames and in the notation of inverse_dynamics.hpp.
//
// What belongs to the state are plain numbers, computed once; what belongs to the directions (type D,
// written d...) lies in the lanes of packs. A joint that moves by the twist (e, l) along its own axes, as a
// direction dq says, changes what is given along the axes of its parent by
//   (1) d(R^T y) = R^T dy + (R^T y) x e,   d(p) = R l.
// So, with the parent's part w_p, alpha_p, a_p of equations (1) to (3) there, along the node's axes, and
// B x = alpha x x + w x (w x x), dB x = dalpha x x + dw x (w x x) + w x (dw x x),
//   (2) dw     = dw_p + dw_j,                                 dw_p = R^T dw_parent + w_p x e
//   (3) dalpha = dalpha_p + dw_p x w_j + w_p x dw_j + dw_j'    dalpha_p = R^T dalpha_parent + alpha_p x e
//   (4) da     = da_p + (2 dw_p + dw_j) x v_j + (2 w_p + w_j) x dv_j + dv_j',
//       da_p   = R^T (da_parent + dB_parent p) + a_p x e + B_p l
// and for the wrenches
//   (5) df = m da + dB h,  dn = I dalpha + dw x I w + w x I dw + h x da,  less the external one's,
//       and to the parent goes (dn, df) + (e, l) x* (n, f);   (6) dtau = screws^T (dn, df) + armature dv_j'.
// Forward dynamics: (7) da = M^-1 (dtau - dID), with dID of (6) at the accelerations of the state, dv_j' = 0.
#pragma once

#include "jounce/dynamics/articulated.hpp"

namespace jounce {

// Tangents of the inputs; each may be null, for zero.
template <class D>
struct Direction {
  const D *q, *v, *input, *f_ext;  // input: a of inverse dynamics, tau of forward dynamics
};

template <class D>
struct DirectionsWork {
  struct Row {
    Vec3<D> w, alpha, a;
    Force<D> f;
  };
  InverseDynamicsWork<double> state;
  Row* row;

  DirectionsWork(const Tree<double>& tree, Arena& arena)
      : DirectionsWork(tree, arena, Angles<double>(tree, arena)) {}
  DirectionsWork(const Tree<double>& tree, Arena& arena, const Angles<double>& shared)
      : state(tree, arena, shared), row(arena.take<Row>(tree.n)) {}
};

namespace directions {

// dB x.
template <class D>
JOUNCE_INLINE Vec3<D> gradient_change(const Vec3<double>& w, const Vec3<D>& dw, const Vec3<D>& dalpha,
                                      const Vec3<double>& x) {
  // dw x (w x x) + w x (dw x x) = w (dw.x) + dw (w.x) - 2 (w.dw) x
  const D along = dot(dw, x), twice = dot(dw, w) * 2.0;
  return cross(dalpha, x) + w * along + dw * dot(w, x) - x * twice;
}

// The parent's part of (2) to (4), without what the joint's own motion does to it.
template <class D>
JOUNCE_INLINE void from_parent(const Tree<double>& tree, int i, DirectionsWork<D>& work) {
  const int p = tree.nodes[i].parent;
  auto& me = work.row[i];
  if (p < 0) {
    me.w = me.alpha = me.a = Vec3<D>::zero();
    return;
  }
  const auto& up = work.row[p];
  const Pose<double>& at = work.state.row[i].in_parent;
  me.w = transposed(at.R, up.w);
  me.alpha = transposed(at.R, up.alpha);
  me.a = transposed(at.R, up.a + gradient_change(work.state.row[p].w, up.w, up.alpha, at.p));
}

// The motion of a joint by rates that may be null.
template <Kind K, class S>
JOUNCE_INLINE Motion<S> joint_part(const Node<double>& node, const S* x) {
  return x ? joint_motion<K>(node, x + node.v) : Motion<S>::zero();
}

// (e, l) of (1) in what the parent gives, with its w, alpha and a at the node.
template <Kind K, class D>
JOUNCE_INLINE void move_joint(const Motion<D>& x, const Vec3<double>& w, const Vec3<double>& alpha,
                              const Vec3<double>& a, typename DirectionsWork<D>::Row& me) {
  if constexpr (rotates(K)) {
    me.w += cross(w, x.w);
    me.alpha += cross(alpha, x.w);
    me.a += cross(a, x.w);
  }
  if constexpr (moves(K)) me.a += cross(alpha, x.v) + cross(w, cross(w, x.v));
}

// What a joint does, (1) to (4).
template <Kind K, class D>
JOUNCE_INLINE void joint_directions(const Tree<double>& tree, int i, const double* v, const double* a,
                                    const Direction<D>& d, const D* da, DirectionsWork<D>& work) {
  const Node<double>& node = tree.nodes[i];
  const auto& state = work.state.row[i];
  auto& me = work.row[i];
  const Motion<double> j = joint_part<K>(node, v), dj = joint_part<K>(node, a);
  const Vec3<double> w = state.w - j.w;  // of the parent
  if (d.q) {
    const Vec3<double> alpha = state.alpha - cross(w, j.w) - dj.w;
    const Vec3<double> from = state.a - cross(w * 2.0 + j.w, j.v) - dj.v;
    move_joint<K>(joint_motion<K>(node, d.q + node.v), w, alpha, from, me);
  }
  if constexpr (moves(K)) me.a += cross(me.w * 2.0, j.v);
  if constexpr (rotates(K)) me.alpha += cross(me.w, j.w);
  if (d.v) {
    const Motion<D> x = joint_motion<K>(node, d.v + node.v);
    if constexpr (moves(K)) me.a += cross(x.w, j.v) + cross(w * 2.0 + j.w, x.v);
    if constexpr (rotates(K)) {
      me.alpha += cross(w, x.w);
      me.w += x.w;
    }
  }
  if (da) {
    const Motion<D> x = joint_motion<K>(node, da + node.v);
    if constexpr (moves(K)) me.a += x.v;
    if constexpr (rotates(K)) me.alpha += x.w;
  }
}

// Equation (5), without the children's.
template <class D>
JOUNCE_INLINE void own_wrench_directions(const Node<double>& node, const Vec3<double>& w, const D* df_ext,
                                         typename DirectionsWork<D>::Row& me) {
  const RigidInertia<double>& J = node.inertia;
  me.f.n = J.I * me.alpha + cross(me.w, J.I * w) + cross(w, J.I * me.w) + cross(J.h, me.a);
  me.f.f = me.a * J.m + gradient_change(w, me.w, me.alpha, J.h);
  if (df_ext && node.body >= 0) me.f -= external_wrench(node, df_ext);
}

// After newton_euler() at these rates and accelerations (null for zero); `da` is null for zero too.
template <class D>
JOUNCE_INLINE void along_directions(const Tree<double>& tree, const double* v, const double* a,
                                    const Direction<D>& d, const D* da, D* dtau, DirectionsWork<D>& work) {
  for (int i = 0; i < tree.n; ++i) {
    const Node<double>& node = tree.nodes[i];
    from_parent(tree, i, work);
    with_kind(node.kind, [&](auto kind) JOUNCE_INLINED {
      joint_directions<decltype(kind)::value>(tree, i, v, a, d, da, work);
    });
    own_wrench_directions(node, work.state.row[i].w, d.f_ext, work.row[i]);
  }
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<double>& node = tree.nodes[i];
    auto& me = work.row[i];
    const Force<double>& f = work.state.row[i].f;
    with_kind(node.kind, [&](auto kind) JOUNCE_INLINED {
      constexpr Kind K = decltype(kind)::value;
      for (int k = 0; k < rates(K); ++k) {
        const int r = node.v + k;
        dtau[r] = along<K>(node, k, me.f);
        if (da) dtau[r] += da[r] * tree.armature[r];
      }
      if (node.parent < 0 || !d.q) return;
      const Motion<D> x = joint_motion<K>(node, d.q + node.v);
      if constexpr (rotates(K)) me.f += Force<D>{cross(x.w, f.n), cross(x.w, f.f)};
      if constexpr (moves(K)) me.f.n += cross(x.v, f.f);
    });
    if (node.parent >= 0) work.row[node.parent].f += to_parent(work.state.row[i].in_parent, me.f);
  }
}

// x becomes M^-1 x, with the factors that forward_dynamics() left.
template <class D>
struct PackedSolve {
  struct Row {
    Force<D> F;
    Motion<D> x;
  };
  Row* row;

  PackedSolve(const Tree<double>& tree, Arena& arena) : row(arena.take<Row>(tree.n)) {}

  void run(const Tree<double>& tree, const ArticulatedWork<double>& factors, D* x) const {
    for (int i = 0; i < tree.n; ++i) row[i].F = Force<D>::zero();
    for (int i = tree.n - 1; i >= 0; --i) {
      const Node<double>& node = tree.nodes[i];
      with_kind(node.kind, [&](auto kind) JOUNCE_INLINED {
        constexpr Kind K = decltype(kind)::value;
        for (int k = rates(K) - 1; k >= 0; --k) {
          const auto& rate = factors.rate[node.v + k];
          D& u = x[node.v + k];
          u -= along<K>(node, k, row[i].F);
          if (node.parent >= 0 || k > 0) row[i].F += rate.U * (u * rate.inverse_D);
        }
      });
      if (node.parent >= 0) row[node.parent].F += to_parent(factors.row[i].in_parent, row[i].F);
    }
    for (int i = 0; i < tree.n; ++i) {
      const Node<double>& node = tree.nodes[i];
      Motion<D>& at = row[i].x;
      at = node.parent < 0 ? Motion<D>::zero() : to_child(factors.row[i].in_parent, row[node.parent].x);
      with_kind(node.kind, [&](auto kind) JOUNCE_INLINED {
        constexpr Kind K = decltype(kind)::value;
        for (int k = 0; k < rates(K); ++k) {
          const auto& rate = factors.rate[node.v + k];
          D& y = x[node.v + k];
          y = (y - dot(rate.U, at)) * rate.inverse_D;
          add_rate<K>(node, k, y, at);
        }
      });
    }
  }
};

}  // namespace directions

// tau, and dtau along the directions; a may be null.
template <class D>
void inverse_dynamics_directions(const Tree<double>& tree, const double* q, const double* v,
                                 const double* a, const double* f_ext, const Direction<D>& d,
                                 double* tau, D* dtau, DirectionsWork<D>& work) {
  inverse_dynamics(tree, q, v, a, f_ext, tau, work.state);
  directions::along_directions(tree, v, a, d, d.input, dtau, work);
}

template <class D>
struct ForwardDirectionsWork {
  ArticulatedWork<double> factors;
  DirectionsWork<D> directions;  // with the angles of `factors`
  directions::PackedSolve<D> solve;
  double* bias;

  ForwardDirectionsWork(const Tree<double>& tree, Arena& arena)
      : factors(tree, arena),
        directions(tree, arena, factors.angles),
        solve(tree, arena),
        bias(arena.take<double>(tree.nv)) {}
};

// a, and da along the directions. Returns a singular node or -1.
template <class D>
int forward_dynamics_directions(const Tree<double>& tree, const double* q, const double* v,
                                const double* tau, const double* f_ext, const Direction<D>& d, double* a,
                                D* da, ForwardDirectionsWork<D>& work) {
  const int singular = forward_dynamics(tree, q, v, tau, f_ext, a, work.factors);
  if (singular >= 0) return singular;
  newton_euler(tree, q, v, a, f_ext, work.bias, work.directions.state);
  directions::along_directions(tree, v, a, d, (const D*)nullptr, da, work.directions);
  for (int r = 0; r < tree.nv; ++r) da[r] = d.input ? d.input[r] - da[r] : -da[r];
  work.solve.run(tree, work.factors, da);
  return -1;
}

}  // namespace jounce
