// Derivatives of inverse dynamics of one state along many directions, in O(n) each, in body frames and in
// the notation of inverse_dynamics.hpp.
//
// What belongs to the state are plain numbers, computed once, with branches in lanes where the robot has
// them; what belongs to the directions (type D, written d...) lies in the lanes of packs. A joint that moves
// by the twist (e, l) along its own axes, as a direction dq says, changes what is given along the axes of
// its parent by
//   (1) d(R^T y) = R^T dy + (R^T y) x e,   d(p) = R l.
// So, with the parent's part w_p, alpha_p, a_p of equations (1) to (3) there, along the node's axes,
//   (2) dw     = dw_p + dw_j,                                 dw_p = R^T dw_parent + w_p x e
//   (3) dalpha = dalpha_p + dw_p x w_j + w_p x dw_j + dw_j'    dalpha_p = R^T dalpha_parent + alpha_p x e
//   (4) da     = da_p + (2 dw_p + dw_j) x v_j + (2 w_p + w_j) x dv_j + dv_j',
//       da_p   = R^T (da_parent + dB_parent p) + a_p x e + B_p l
// and for the wrenches, with the second moments Sigma = tr(I) / 2 - I of the mass, of which I is made,
//   (5) df = m da + dB h,  dn = axial(dB Sigma) + h x da,  less the external one's,
//       axial(X) = (X_zy - X_yz, X_xz - X_zx, X_yx - X_xy),
//       and to the parent goes (dn, df) + (e, l) x* (n, f);   (6) dtau = screws^T (dn, df) + armature dv_j'.
#pragma once

#include "jounce/dynamics/inverse_dynamics.hpp"
#include "jounce/tree/branched_tree.hpp"

namespace jounce {

// Tangents of the inputs; each may be null, for zero.
template <class D>
struct Direction {
  const D *q, *v, *input, *f_ext;  // input: a of inverse dynamics, tau of forward dynamics
};

// Inverse dynamics of the state, on its tree or on the branched one.
template <class S>
struct StateWork {
  struct FromParent {
    Vec3<S> w, alpha, a;
  };
  InverseDynamicsWork<S> passes;
  FromParent* from_parent;

  template <class P>
  StateWork(const Tree<P>& tree, Arena& arena) : StateWork(tree, arena, Angles<S>(tree, arena)) {}
  template <class P>
  StateWork(const Tree<P>& tree, Arena& arena, const Angles<S>& shared)
      : passes(tree, arena, shared), from_parent(arena.take<FromParent>(tree.n)) {}

  // With the angles that are in the workspace.
  template <class P>
  void inverse_dynamics(const Tree<P>& tree, const S* q, const S* v, const S* a, const S* f_ext, S* tau) {
    newton_euler(tree, q, v, a, f_ext, tau, passes, [&](int i, const auto& row) JOUNCE_INLINED {
      from_parent[i] = {row.w, row.alpha, row.a};
    });
  }
};

// Nodes are numbered depth first: motions of a node and its ancestors are all that is needed at a time.
template <class D>
struct DirectionsWork {
  struct Row {
    Vec3<D> w, alpha, a;
    Mat3<D> B;
  };
  Row* row;     // by depth
  Force<D>* f;  // by node

  DirectionsWork(const Tree<double>& tree, Arena& arena)
      : row(arena.take<Row>(tree.depth)), f(arena.take<Force<D>>(tree.n)) {}
};

namespace directions {

// Where the numbers of the state are that belong to a node.
template <class S>
JOUNCE_INLINE PlaceOfNode place_of(const Tree<double>& tree, int i) {
  if constexpr (lanes<S> > 1) return tree.branched->place[i];
  return {i, 0};
}

// The numbers of one lane, read from memory one by one.
template <class S>
JOUNCE_ALWAYS_INLINE double in_lane(const S& x, int i) { return reinterpret_cast<const double*>(&x)[i]; }
template <class S>
JOUNCE_ALWAYS_INLINE Vec3<double> in_lane(const Vec3<S>& x, int i) {
  return {in_lane(x.x, i), in_lane(x.y, i), in_lane(x.z, i)};
}
template <class S>
JOUNCE_ALWAYS_INLINE Pose<double> in_lane(const Pose<S>& x, int i) {
  return {{in_lane(x.R.x, i), in_lane(x.R.y, i), in_lane(x.R.z, i)}, in_lane(x.p, i)};
}
template <class S>
JOUNCE_ALWAYS_INLINE Force<double> in_lane(const Force<S>& x, int i) {
  return {in_lane(x.n, i), in_lane(x.f, i)};
}

// Sums that begin with x, so that every product is fused with one: x + m y, x + m^T y, x + a x b.
template <class D>
JOUNCE_ALWAYS_INLINE Vec3<D> plus(const Vec3<D>& x, const auto& m, const auto& y) {
  return {x.x + m.x.x * y.x + m.y.x * y.y + m.z.x * y.z, x.y + m.x.y * y.x + m.y.y * y.y + m.z.y * y.z,
          x.z + m.x.z * y.x + m.y.z * y.y + m.z.z * y.z};
}
template <class D>
JOUNCE_ALWAYS_INLINE Vec3<D> plus_cross(const Vec3<D>& x, const auto& a, const auto& b) {
  return {x.x + a.y * b.z - a.z * b.y, x.y + a.z * b.x - a.x * b.z, x.z + a.x * b.y - a.y * b.x};
}

// e is added, the angular part of a joint's motion by the rates x; and y x e.
template <Kind K, class D>
JOUNCE_INLINE void add_turning(const D* x, Vec3<D>& to) {
  if constexpr (turns(K)) {
    to.z += x[0];
  } else if constexpr (rotates(K)) {
    to += vector_from(x);
  }
}
template <Kind K, class D, class X>
JOUNCE_INLINE void add_turn(const auto& y, const X* x, Vec3<D>& to) {
  if constexpr (turns(K)) {
    to.x += y.y * x[0];
    to.y -= y.x * x[0];
  } else if constexpr (rotates(K)) {
    to = plus_cross(to, y, vector_from(x));
  }
}

// The change of B = hat(alpha) + w w^T - (w.w) 1.
template <class D>
JOUNCE_INLINE Mat3<D> gradient_change(const Vec3<double>& w, const Vec3<D>& dw, const Vec3<D>& dalpha) {
  const Vec3<double> twice = w * -2.0;
  const D y = dw.y * twice.y, z = dw.z * twice.z;
  const D xy = dalpha.z + dw.x * w.y + dw.y * w.x, zx = dalpha.y + dw.x * w.z + dw.z * w.x,
          yz = dalpha.x + dw.y * w.z + dw.z * w.y;
  return {{y + z, xy, zx - dalpha.y * 2.0},
          {xy - dalpha.z * 2.0, z + dw.x * twice.x, yz},
          {zx, yz - dalpha.x * 2.0, y + dw.x * twice.x}};
}

// x + axial(B Sigma).
template <class D>
JOUNCE_INLINE Vec3<D> plus_moment(const Vec3<D>& x, const Mat3<D>& B, const Sym3<double>& I) {
  const double half = trace(I) * 0.5, xx = half - I.xx, yy = half - I.yy, zz = half - I.zz;
  return {x.x - B.x.z * I.xy + B.y.z * yy - B.z.z * I.yz + B.x.y * I.xz + B.y.y * I.yz - B.z.y * zz,
          x.y - B.x.x * I.xz - B.y.x * I.yz + B.z.x * zz - B.x.z * xx + B.y.z * I.xy + B.z.z * I.xz,
          x.z + B.x.y * xx - B.y.y * I.xy - B.z.y * I.xz + B.x.x * I.xy - B.y.x * yy + B.z.x * I.yz};
}

// The parent's part of (2) to (4), without what the joint's own motion does to it.
template <class D>
JOUNCE_INLINE void from_parent(const Pose<double>& at, const typename DirectionsWork<D>::Row& up,
                               typename DirectionsWork<D>::Row& me) {
  me.w = transposed(at.R, up.w);
  me.alpha = transposed(at.R, up.alpha);
  me.a = transposed(at.R, plus(up.a, up.B, at.p));
}

// What the joint's motion (e, l) does to it. The world, from which a root has its part, does not turn.
template <Kind K, class S, class D>
JOUNCE_INLINE void move_joint(const Node<double>& node, const typename StateWork<S>::FromParent& given,
                              int lane, const D* dq, typename DirectionsWork<D>::Row& me) {
  const D* x = dq + node.v;
  add_turn<K>(in_lane(given.a, lane), x, me.a);
  if (node.parent < 0) return;
  const Vec3<double> w = in_lane(given.w, lane), alpha = in_lane(given.alpha, lane);
  add_turn<K>(w, x, me.w);
  add_turn<K>(alpha, x, me.alpha);
  if constexpr (moves(K)) {
    const Vec3<D> l = joint_motion<K>(node, x).v;
    me.a += cross(alpha, l) + cross(w, cross(w, l));
  }
}

// What its rates add, (2) to (4).
template <Kind K, class D>
JOUNCE_INLINE void add_rates(const Node<double>& node, const Vec3<double>& w, const double* v,
                             const Direction<D>& d, const D* da, typename DirectionsWork<D>::Row& me) {
  if (v && node.parent >= 0) {
    add_turn<K>(me.w, v + node.v, me.alpha);
    if constexpr (moves(K)) me.a += cross(me.w * 2.0, joint_motion<K>(node, v + node.v).v);
  }
  if (d.v) {
    const D* x = d.v + node.v;
    add_turn<K>(w, x, me.alpha);
    const Motion<D> dj = joint_motion<K>(node, x);
    if constexpr (moves(K)) {
      const Motion<double> j = joint_motion<K>(node, v + node.v);
      me.a += cross(dj.w, j.v) + cross(w * 2.0 + j.w, dj.v);
    }
    add_turning<K>(x, me.w);
  }
  if (da) {
    const D* x = da + node.v;
    add_turning<K>(x, me.alpha);
    if constexpr (moves(K)) me.a += joint_motion<K>(node, x).v;
  }
}

// Equation (5), without the children's.
template <class D>
JOUNCE_INLINE Force<D> wrench_change(const Node<double>& node, const D* df_ext,
                                  const typename DirectionsWork<D>::Row& me) {
  const RigidInertia<double>& J = node.inertia;
  Force<D> f{plus_moment(cross(J.h, me.a), me.B, J.I), plus(me.a * J.m, me.B, J.h)};
  if (df_ext && node.body >= 0) f -= external_wrench(node, df_ext);
  return f;
}

// Motions and own wrenches, from the root to the leaves; `da` may be null.
template <class S, class D>
JOUNCE_SHARED void outward(const Tree<double>& tree, const StateWork<S>& state, const double* v,
                           const Direction<D>& d, const D* da, DirectionsWork<D>& work) {
  for (int i = 0; i < tree.n; ++i) {
    const Node<double>& node = tree.nodes[i];
    const PlaceOfNode at = place_of<S>(tree, i);
    const auto& own = state.passes.row[at.node];
    const auto& given = state.from_parent[at.node];
    typename DirectionsWork<D>::Row me;  // in registers, and stored once
    if (node.parent < 0) {
      me.w = me.alpha = me.a = Vec3<D>::zero();
    } else {
      from_parent<D>(in_lane(own.in_parent, at.lane), work.row[node.depth - 1], me);
    }
    with_kind(node.kind, [&](auto kind) JOUNCE_INLINED {
      constexpr Kind K = decltype(kind)::value;
      if (d.q) move_joint<K, S>(node, given, at.lane, d.q, me);
      add_rates<K>(node, in_lane(given.w, at.lane), v, d, da, me);
    });
    me.B = gradient_change(in_lane(own.w, at.lane), me.w, me.alpha);
    if (node.end > i + 1) work.row[node.depth] = me;  // it has children
    work.f[i] = wrench_change(node, d.f_ext, me);
  }
}

// What a node passes on to its parent.
template <Kind K, class D>
JOUNCE_INLINE void turn_wrench(const Node<double>& node, const Force<double>& F, const D* dq, Force<D>& f) {
  const D* x = dq + node.v;
  if constexpr (turns(K)) {
    f.n.x -= x[0] * F.n.y, f.n.y += x[0] * F.n.x;
    f.f.x -= x[0] * F.f.y, f.f.y += x[0] * F.f.x;
  } else if constexpr (rotates(K)) {
    f.n = plus_cross(f.n, vector_from(x), F.n);
    f.f = plus_cross(f.f, vector_from(x), F.f);
  }
  if constexpr (moves(K)) f.n += cross(joint_motion<K>(node, x).v, F.f);
}
template <class D>
JOUNCE_INLINE void add_to_parent(const Pose<double>& at, const Force<D>& x, Force<D>& to) {
  const Vec3<D> f = at.R * x.f;
  to.n = plus_cross(plus(to.n, at.R, x.n), at.p, f);
  to.f += f;
}

// Wrenches, from the leaves to the root. each(kind, node, place, f) sees what a node has from its body and
// its children, and may add to it.
template <class S, class D, class Each>
JOUNCE_INLINE void inward(const Tree<double>& tree, const StateWork<S>& state, const D* dq,
                          DirectionsWork<D>& work, Each&& each) {
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<double>& node = tree.nodes[i];
    const PlaceOfNode at = place_of<S>(tree, i);
    const auto& own = state.passes.row[at.node];
    Force<D> f = work.f[i];
    with_kind(node.kind, [&](auto kind) JOUNCE_INLINED {
      each(kind, node, at, f);
      if (node.parent >= 0 && dq) turn_wrench<decltype(kind)::value>(node, in_lane(own.f, at.lane), dq, f);
    });
    if (node.parent >= 0) add_to_parent(in_lane(own.in_parent, at.lane), f, work.f[node.parent]);
  }
}

}  // namespace directions

// dtau, after inverse dynamics of the state; v is null if it is zero.
template <class S, class D>
void inverse_dynamics_directions(const Tree<double>& tree, const StateWork<S>& state, const double* v,
                                 const Direction<D>& d, D* dtau, DirectionsWork<D>& work) {
  directions::outward(tree, state, v, d, d.input, work);
  directions::inward(tree, state, d.q, work,
                     [&](auto kind, const Node<double>& node, PlaceOfNode, const Force<D>& f) JOUNCE_INLINED {
                       constexpr Kind K = decltype(kind)::value;
                       for (int k = 0; k < rates(K); ++k) {
                         const int r = node.v + k;
                         dtau[r] = along<K>(node, k, f);
                         if (d.input) dtau[r] += d.input[r] * tree.armature[r];
                       }
                     });
}

}  // namespace jounce
