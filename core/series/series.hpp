// Inverse, forward and hybrid dynamics as truncated Taylor series in time (ali, Algorithms 1-4 in
// body frames).
//
// In its own frame a node's inertia is constant, so what is left are products of series. The
// recursion is that of inverse_dynamics.hpp, coefficient by coefficient (joint_series.hpp):
//   (1) w     = Rj^T R0^T w_p + w_j                                     k = 0 ... r+1
//   (2) alpha = w',  that is alpha_k = (k+1) w_(k+1)                     k = 0 ... r
//   (3) B     = hat(alpha) + w w^T - |w|^2 1
//   (4) a     = Rj^T R0^T (a_p + B_p p) + (2 w - w_j) x v_j + v_j'
//   (5) f     = m a + B h,   n = I alpha + w x I w + h x a - external
//   (6) tau   = screws^T (n, f) + armature v_j'
// where p = p0 + R0 pj. A joint about z mixes two components only; w x I w is linear in the
// products w w^T that (3) needs anyway.
//
// The functions here compute coefficient k of one node from lower ones: inverse dynamics calls
// them node by node, forward dynamics (series_solve.hpp) order by order.
#pragma once

#include "jounce/dynamics/inverse_dynamics.hpp"
#include "jounce/series/joint_series.hpp"

namespace jounce {

template <class S>
struct SeriesWork {
  // Coefficient k of a node: what sums over lower orders read, ...
  struct Row {
    Vec3<S> y;   // R0^T w_p
    Vec3<S> A;   // R0^T (a_p + B_p p)
    Vec3<S> w;
    Force<S> F;  // on the node and all that it carries
  };
  // ... and what mostly only the children of the same order do, kept apart to spare the caches.
  struct Outer {
    Vec3<S> a;
    Mat3<S> B;
  };
  int r, rows;         // order; coefficients kept per node, r + 2
  Angles<S> angles;
  Row* row;            // [node][k]
  bool keeps_outer;    // of all nodes, else of the one visited last at each depth
  Outer* outer;        // [node or depth][k]
  S *sine, *cosine;    // [angle][k]
  Mat3<S>* rotation;   // [group][k]: Rj
  Vec3<S>* place;      // [moving][k]: pj
  Vec3<S>* push;       // [moving][k]: Rj f
  S* rate;             // [k][nv]: coefficients of v

  template <class P>
  SeriesWork(const Tree<P>& tree, int order, Arena& arena, bool all_outer = false)
      : r(order), rows(order + 2), angles(tree, arena), keeps_outer(all_outer) {
    const std::size_t n = rows;
    row = arena.take<Row>(n * tree.n);
    outer = arena.take<Outer>(n * (keeps_outer ? tree.n : tree.depth));
    sine = arena.take<S>(n * tree.angle_q.size());
    cosine = arena.take<S>(n * tree.angle_q.size());
    rotation = arena.take<Mat3<S>>(n * tree.quaternions.size());
    place = arena.take<Vec3<S>>(n * tree.n_moving);
    push = arena.take<Vec3<S>>(n * tree.n_moving);
    rate = arena.take<S>(n * tree.nv);
  }
};

// One node, with its coefficients.
template <class S, class P>
struct SeriesNode : JointSeries<S, P> {
  using Work = SeriesWork<S>;
  using Row = typename Work::Row;
  const Tree<P>& tree;
  const Work& work;
  Row* me;         // [k]
  Row* up;         // [k] of the parent, or null
  typename Work::Outer *outer, *up_outer;
  Vec3<S>* push;

  JOUNCE_INLINE SeriesNode(const Tree<P>& t, const Work& w, int i)
      : JointSeries<S, P>{t.nodes[i], w.rate + t.nodes[i].v, std::size_t(t.nv),
                          w.sine + first(w, t.nodes[i].angle),
                          w.cosine + first(w, t.nodes[i].angle),
                          w.rotation + first(w, t.nodes[i].group),
                          w.place + first(w, t.nodes[i].moving)},
        tree(t), work(w) {
    const int parent = this->node.parent;
    me = w.row + first(w, i);
    up = parent >= 0 ? w.row + first(w, parent) : nullptr;
    const int slot = w.keeps_outer ? i : this->node.depth, up_slot = w.keeps_outer ? parent : slot - 1;
    outer = w.outer + first(w, slot);
    up_outer = parent >= 0 ? w.outer + first(w, up_slot) : nullptr;
    push = w.push + first(w, this->node.moving);
  }
  // Where the coefficients begin that are at `position` among those of their kind.
  static JOUNCE_INLINE std::size_t first(const Work& w, int position) {
    return position >= 0 ? std::size_t(w.rows) * position : 0;
  }
};

namespace series {

// Coefficient k of w, equation (1); k up to r+1.
template <Kind K, class S, class P>
JOUNCE_INLINE void angular_velocity(const SeriesNode<S, P>& s, int k) {
  auto* me = s.me;
  if (k > 0) extend_joint<K>(s, k);
  Vec3<S> w = Vec3<S>::zero();
  if (s.up) {
    me[k].y = transposed(s.node.placement.R, s.up[k].w);
    w = turn_in<K>(s, k, [&](int j) -> const Vec3<S>& { return me[j].y; });
  }
  if constexpr (rotates(K)) w += s.template joint<K>(k).w;
  me[k].w = w;
}

// Coefficient k of w w^T; each pair j, k-j is visited once.
template <class Row>
JOUNCE_INLINE auto square(const Row* me, int k) {
  using S = decltype(me->w.x);
  Sym3<S> sum{S(0.0), S(0.0), S(0.0), S(0.0), S(0.0), S(0.0)};
  for (int j = 0; 2 * j < k; ++j) {
    const Vec3<S>&a = me[j].w, &b = me[k - j].w;
    sum.xx += a.x * b.x; sum.yy += a.y * b.y; sum.zz += a.z * b.z;
    sum.xy += a.x * b.y + a.y * b.x;
    sum.xz += a.x * b.z + a.z * b.x;
    sum.yz += a.y * b.z + a.z * b.y;
  }
  sum.xx = sum.xx + sum.xx; sum.yy = sum.yy + sum.yy; sum.zz = sum.zz + sum.zz;
  if (k % 2 == 0) {
    const Vec3<S>& a = me[k / 2].w;
    sum.xx += a.x * a.x; sum.yy += a.y * a.y; sum.zz += a.z * a.z;
    sum.xy += a.x * a.y; sum.xz += a.x * a.z; sum.yz += a.y * a.z;
  }
  return sum;
}

// w x I w as a linear function of W = w w^T.
template <class S, class P>
JOUNCE_INLINE Vec3<S> gyroscopic(const Sym3<P>& I, const Sym3<S>& W) {
  return {W.xy * I.xz + W.yy * I.yz + W.yz * I.zz - W.xz * I.xy - W.yz * I.yy - W.zz * I.yz,
          W.xz * I.xx + W.yz * I.xy + W.zz * I.xz - W.xx * I.xz - W.xy * I.yz - W.xz * I.zz,
          W.xx * I.xy + W.xy * I.yy + W.xz * I.yz - W.xy * I.xx - W.yy * I.xy - W.yz * I.xz};
}

// Coefficient k of a_p + B_p p.
template <Kind K, class S, class P>
JOUNCE_INLINE Vec3<S> carried_acceleration(const SeriesNode<S, P>& s, int k) {
  Vec3<S> sum = s.up_outer[k].a + s.up_outer[k].B * s.node.placement.p;
  if constexpr (moves(K)) {
    for (int j = 0; j <= k; ++j) sum += s.up_outer[k - j].B * (s.node.placement.R * s.place[j]);
  }
  return sum;
}

// At a root A is constant, so that u = Rj^T A follows from u' = -w_j x u without Rj.
template <Kind K, class S, class P>
JOUNCE_INLINE Vec3<S> root_acceleration(const SeriesNode<S, P>& s, int k) {
  auto* me = s.me;
  if (k == 0) {
    me[0].A = Vec3<S>::zero() - transposed(s.node.placement.R, s.tree.gravity);
    if constexpr (is_group(K)) me[0].y = transposed(s.rotation[0], me[0].A);
  } else {
    me[k].A = Vec3<S>::zero();
  }
  if constexpr (is_group(K)) {  // y, which is zero at a root, holds u
    if (k > 0) {
      Vec3<S> u = Vec3<S>::zero();
      for (int j = 0; j < k; ++j) u += cross(me[k - 1 - j].y, s.template joint<K>(j).w);
      me[k].y = u * reciprocal<S>(k);
    }
    return me[k].y;
  }
  return turn_in<K>(s, k, [&](int j) -> const Vec3<S>& { return me[j].A; });
}

// Coefficient k of B, a and the node's own wrench, equations (2) to (5); f_ext holds the k-th
// derivatives of the external wrenches.
template <Kind K, class S, class P>
JOUNCE_INLINE void acceleration(const SeriesNode<S, P>& s, int k, const S* f_ext) {
  auto* me = s.me;
  const Vec3<S> alpha = me[k + 1].w * double(k + 1);
  const Sym3<S> W = square(me, k);
  Mat3<S>& B = s.outer[k].B;
  B = acceleration_gradient(W, alpha);
  Vec3<S> a;
  if (s.up) {
    me[k].A = transposed(s.node.placement.R, carried_acceleration<K>(s, k));
    a = turn_in<K>(s, k, [&](int j) -> const Vec3<S>& { return me[j].A; });
  } else {
    a = root_acceleration<K>(s, k);
  }
  if constexpr (moves(K)) {
    for (int j = 0; j <= k; ++j) {
      a += cross(me[j].w * 2.0 - s.template joint<K>(j).w, s.template joint<K>(k - j).v);
    }
    a += s.template joint<K>(k + 1).v * double(k + 1);
  }
  s.outer[k].a = a;
  const RigidInertia<P>& J = s.node.inertia;
  me[k].F = {J.I * alpha + gyroscopic(J.I, W) + cross(J.h, a), a * J.m + B * J.h};
  if (f_ext && s.node.body >= 0) me[k].F -= external_wrench(s.node, f_ext) * kFactorial.inverse[k];
}

// Coefficient k of the wrench that goes to the parent.
template <Kind K, class S, class P>
JOUNCE_INLINE void pass_wrench(const SeriesNode<S, P>& s, int k, Force<S>& parent) {
  auto* me = s.me;
  const Pose<P>& at = s.node.placement;
  Force<S> F = turn_out<K>(s, k, [&](int j) -> const Force<S>& { return me[j].F; });
  if constexpr (moves(K)) {
    s.push[k] = F.f;
    for (int j = 0; j <= k; ++j) F.n += cross(s.place[k - j], s.push[j]);
  }
  parent += own(s.node.sharing, to_parent(at, F));
}

// tau_k = screws^T F_k + armature v_j', equation (6).
template <Kind K, class S, class P>
JOUNCE_INLINE S rate_force(const SeriesNode<S, P>& s, int k, int i) {
  const int at = s.node.v + i;
  const S y = s.rate[std::size_t(k + 1) * s.tree.nv + i] * double(k + 1);
  return along<K>(s.node, i, s.me[k].F) + y * s.tree.armature[at];
}

// Taylor coefficients from derivatives 0 ... rows-1 of nv numbers.
template <class S>
JOUNCE_INLINE void to_coefficients(const S* derivatives, int rows, int nv, S* out) {
  for (int k = 0; k < rows; ++k) {
    for (int i = 0; i < nv; ++i) out[k * nv + i] = derivatives[k * nv + i] * kFactorial.inverse[k];
  }
}

}  // namespace series

// motion: (r+2, nv) v and its derivatives; f_ext: (r+1, n_bodies, 6) derivatives, or null;
// tau: (r+1, nv) derivatives.
template <class S, class P>
void inverse_dynamics_series(const Tree<P>& tree, const S* q, const S* motion, const S* f_ext,
                             S* tau, SeriesWork<S>& work) {
  using namespace series;
  const int r = work.r, nv = tree.nv;
  work.angles.compute(tree, q);
  to_coefficients(motion, r + 2, nv, work.rate);
  for (int i = 0; i < tree.n; ++i) {
    const SeriesNode<S, P> s(tree, work, i);
    with_kind(s.node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      start_joint<K>(s, q, work.angles);
      for (int k = 0; k <= r + 1; ++k) angular_velocity<K>(s, k);
      for (int k = 0; k <= r; ++k) {
        acceleration<K>(s, k, f_ext ? f_ext + std::size_t(k) * 6 * tree.n_bodies : nullptr);
      }
    });
  }
  for (int i = tree.n - 1; i >= 0; --i) {
    const SeriesNode<S, P> s(tree, work, i);
    with_kind(s.node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = 0; k <= r; ++k) {
        join(s.node.sharing, s.me[k].F);
        for (int j = 0; j < rates(K); ++j) {
          tau[std::size_t(k) * nv + s.node.v + j] = rate_force<K>(s, k, j) * kFactorial.of[k];
        }
        if (s.up) pass_wrench<K>(s, k, s.up[k].F);
      }
    });
  }
}

}  // namespace jounce
