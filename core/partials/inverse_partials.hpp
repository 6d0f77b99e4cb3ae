// Partial derivatives of inverse dynamics with respect to q, v and a (singh, Algorithm 1), and the
// Coriolis matrix, along the axes of the root, each node about its own origin (base_frame.hpp).
//
// With the velocity V and the spatial acceleration A of the nodes (at a fixed point, less gravity)
// and the screws s of a joint, p its parent:
//   (1) Psi' = V_p x s,  Psi'' = A_p x s + V_p x Psi',  s' = V x s
// Inertias, momenta (L, p), the matrices B and the wrenches f of subtrees are summed inward. At one
// point 2 B = [[K, 0], [-2 hat(p), 0]] with K = Y - hat(L) and Y symmetric,
//   (2) Y = hat(w) I - I hat(w) + 2 (v.h) 1 - h v^T - v h^T,
// and seen from a point at which that origin is at d,
//   (3) Y += 2 (p.d) 1 - p d^T - d p^T.
// Each rate i of a node keeps four wrenches of its subtree,
//   (4) t1 = I s,  t2 = 2 B s + I (Psi' + s'),  t3 = 2 B Psi' + I Psi'' + s x* f,  t4 = 2 B^T s,
// of which t4 has no force part. Then, for an ancestor j (or i itself),
//   (5) dtau_j/dq_i = s_j^T t3_i (j not i),  dtau_j/dv_i = s_j^T t2_i,  M_ji = s_j^T t1_i,
//       dtau_i/dq_j = t4_i^T Psi'_j + t1_i^T Psi''_j,
//       dtau_i/dv_j = t4_i^T s_j + t1_i^T (Psi'_j + s'_j).
// Nothing is computed for bodies on different branches.
#pragma once

#include <algorithm>

#include "jounce/dynamics/inverse_dynamics.hpp"
#include "jounce/dynamics/mass_matrix.hpp"
#include "jounce/kinematics/base_frame.hpp"
#include "jounce/spatial/columns.hpp"

namespace jounce {

template <class S>
struct PartialsWork {
  struct Row {
    Motion<S> V, A;       // velocity; spatial acceleration, less gravity
    RigidInertia<S> I;    // of the subtree, as all below
    Force<S> momentum, f;
    Sym3<S> Y;
  };
  struct Rate {
    Motion<S> s, psi, psi2, sum;  // s, Psi', Psi'', Psi' + s'
  };
  BaseFrameWork<S> base;
  Row* row;
  Rate* rate;
  SixRows<S> t1, t2, t3;  // of equation (4), arrays over the rates
  ThreeRows<S> t4, origin;  // moments; the points that the wrenches refer to

  template <class P>
  PartialsWork(const Tree<P>& tree, Arena& arena)
      : PartialsWork(tree, arena, BaseFrameWork<S>(tree, arena)) {}
  template <class P>
  PartialsWork(const Tree<P>& tree, Arena& arena, const BaseFrameWork<S>& shared) : base(shared) {
    const std::size_t nv = tree.nv;
    row = arena.take<Row>(tree.n);
    rate = arena.take<Rate>(nv);
    for (SixRows<S>* t : {&t1, &t2, &t3}) *t = SixRows<S>(arena.take<S>(6 * nv), nv);
    for (ThreeRows<S>* x : {&t4, &origin}) *x = ThreeRows<S>(arena.take<S>(3 * nv), nv);
  }
};

namespace partials {

// 2 B x: only the angular part of x enters.
template <class S>
JOUNCE_INLINE Force<S> twice_B(const Sym3<S>& Y, const Force<S>& momentum, const Vec3<S>& w) {
  return {Y * w - cross(momentum.n, w), cross(momentum.f, w) * -2.0};
}

// 2 B^T x, which has no force part.
template <class S>
JOUNCE_INLINE Vec3<S> twice_B_transposed(const Sym3<S>& Y, const Force<S>& momentum,
                                         const Motion<S>& x) {
  return Y * x.w + cross(momentum.n, x.w) + cross(momentum.f, x.v) * 2.0;
}

// Gravity along the axes of a root.
template <class S, class P>
JOUNCE_INLINE Vec3<S> root_gravity(const Tree<P>& tree, const Node<P>& node, const S* q,
                                   const PartialsWork<S>& work) {
  const Angles<S>& angles = work.base.angles;
  return transposed(joint_pose(node, q, angles.sine, angles.cosine).R, tree.gravity);
}

// Equation (1) for the rates of a node at axes R, with the parent's V and A at the node's origin; adds
// what the joint does to those of the node.
template <Kind K, class S, class P>
JOUNCE_INLINE void add_joint(const Node<P>& node, const Mat3<S>& R, const Motion<S>& V,
                             const Motion<S>& A, const S* v, const S* a, bool coriolis,
                             typename PartialsWork<S>::Row& me, typename PartialsWork<S>::Rate* rates_) {
  Motion<S> joint = Motion<S>::zero(), acceleration = joint;
  for (int k = 0; k < rates(K); ++k) {
    auto& rate = rates_[node.v + k];
    rate.s = base_frame_screw<K>(node, k, R);
    rate.psi = bracket(V, rate.s);
    rate.psi2 = bracket(A, rate.s);
    rate.psi2 += bracket(V, rate.psi);
    joint.w += rate.s.w * v[node.v + k];
    joint.v += rate.s.v * v[node.v + k];
    if (!a) continue;
    acceleration.w += rate.s.w * a[node.v + k];
    acceleration.v += rate.s.v * a[node.v + k];
  }
  me.V += joint;
  me.A += acceleration;
  me.A += bracket(V, joint);
  for (int k = 0; k < rates(K); ++k) {
    auto& rate = rates_[node.v + k];
    rate.sum = {rate.psi.w + rate.psi.w, rate.psi.v + rate.psi.v};
    if constexpr (is_group(K)) {
      const Motion<S> own = bracket(joint, rate.s);  // s' - Psi'
      rate.sum += own;
      if (coriolis) rate.sum += own;
    }
  }
}

// At the configuration of work.base: velocities, accelerations, equation (1), and the nodes' own
// inertia, momentum, Y and wrench.
template <class S, class P>
JOUNCE_INLINE void outward(const Tree<P>& tree, const S* q, const S* v, const S* a, const S* f_ext,
                           bool coriolis, PartialsWork<S>& work) {
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    const Pose<S>& at = work.base.in_root[i];
    auto& me = work.row[i];
    Motion<S> V = Motion<S>::zero(), A = V;  // of the parent, at the node's origin
    if (node.parent >= 0) {
      const auto& parent = work.row[node.parent];
      const Vec3<S> d = at.p - work.base.in_root[node.parent].p;
      V = moved(parent.V, d);
      A = moved(parent.A, d);
    } else {
      A.v = -root_gravity(tree, node, q, work);
    }
    me.V = V;
    me.A = A;
    with_kind(node.kind, [&](auto kind) JOUNCE_INLINED {
      constexpr Kind K = decltype(kind)::value;
      add_joint<K>(node, at.R, V, A, v, a, coriolis, me, work.rate);
    });
    me.I = work.base.inertia[i];
    me.momentum = me.I * me.V;
    me.Y = rotational_rate(me.I, me.V);  // (2)
    me.f = me.I * me.A;
    me.f += dual_bracket(me.V, me.momentum);
    if (f_ext && node.body >= 0) {
      const Force<S> own = external_wrench(node, f_ext);
      me.f -= Force<S>{at.R * own.n, at.R * own.f};
    }
  }
}

// Sums of a subtree seen from the parent.
template <class S>
JOUNCE_INLINE void pass_to_parent(const Vec3<S>& d, const typename PartialsWork<S>::Row& me,
                                  typename PartialsWork<S>::Row& parent) {
  parent.I += shifted(d, me.I);
  parent.Y += shifted(me.momentum.f, me.Y, d);  // (3)
  parent.momentum += shifted(d, me.momentum);
  parent.f += shifted(d, me.f);
}

// Equation (4) for one rate.
template <class S>
JOUNCE_INLINE void keep_wrenches(const typename PartialsWork<S>::Row& me, const Vec3<S>& p, int at,
                                 PartialsWork<S>& work) {
  const auto& rate = work.rate[at];
  const Columns<S, S> c{at};
  const Force<S> t1 = me.I * rate.s;
  Force<S> t2 = twice_B(me.Y, me.momentum, rate.s.w);
  t2 += me.I * rate.sum;
  Force<S> t3 = twice_B(me.Y, me.momentum, rate.psi.w);
  t3 += me.I * rate.psi2;
  t3 += dual_bracket(rate.s, me.f);
  store(t1, work.t1, c);
  store(t2, work.t2, c);
  store(t3, work.t3, c);
  work.t4.set(c, twice_B_transposed(me.Y, me.momentum, rate.s));
  work.origin.set(c, p);
}

// Room for the triangle above the diagonal of an n x n matrix, in the triangle below the diagonal of
// another one that nobody uses yet: row j, which has n-1-j entries, lies where row n-1-j begins, whose
// entries below the diagonal are as many.
template <class S>
struct SpareTriangle {
  S* matrix;
  std::ptrdiff_t n;

  // Entry c > j of row j is row(j)[c].
  JOUNCE_INLINE S* row(std::ptrdiff_t j) const { return matrix + (n - 1 - j) * n - (j + 1); }
  JOUNCE_INLINE std::ptrdiff_t step() const { return -(n + 1); }  // from a row to the next
};

// The entries below the diagonal of a matrix, computed column by column, many rows c at once. They
// would lie nv apart; as doubles they are kept as rows of the transpose, in the spare triangle of
// another matrix, until all are there. Packs, and the few entries of a sparse matrix, go straight to
// their place.
template <class S>
struct BelowDiagonal {
  S* matrix;
  SpareTriangle<S> spare;
  bool transposed;

  JOUNCE_INLINE BelowDiagonal(S* own, S* other, std::ptrdiff_t nv, bool sparse)
      : matrix(own), spare{other, nv}, transposed(std::is_same_v<S, double> && !sparse) {}

  // Where entry c of a column is: first + c * step.
  struct Column {
    S* first;
    std::ptrdiff_t step;

    template <class C, class V>
    JOUNCE_INLINE void store(const C& c, const V& x) const {
      if (std::is_same_v<S, double> && step == 1) return c.store(first, x);
      S* at = first + c.at * step;
      if constexpr (std::is_same_v<S, V>) {
        *at = x;
      } else {
        for (int i = 0; i < lanes<V>; ++i) at[i * step] = lane(x, i);
      }
    }
  };
  JOUNCE_INLINE Column column(std::ptrdiff_t j) const {
    return transposed ? Column{spare.row(j), 1} : Column{matrix + j, spare.n};
  }
  // Nothing may be written to the other matrix before.
  JOUNCE_INLINE void finish() const {
    if (transposed) mirror_upper(int(spare.n), spare.row(0), spare.step(), matrix);
  }
};

// Equation (5) for one rate j of a node at p and the columns [begin, end) of its subtree.
template <Kind K, class S>
JOUNCE_INLINE void pair_columns(const PartialsWork<S>& work, int j, const Vec3<S>& p, int begin,
                                int end, S* dq, S* dv, S* M,
                                const typename BelowDiagonal<S>::Column& below_q,
                                const typename BelowDiagonal<S>::Column& below_v) {
  const auto& rate = work.rate[j];
  for_columns<S>(begin, end, [&](auto c) {
    using V = typename decltype(c)::Value;
    const auto d = work.origin.from(p, c);
    const auto F1 = shifted(d, wrench(work.t1, c));
    const auto F2 = shifted(d, wrench(work.t2, c));
    const auto F3 = shifted(d, wrench(work.t3, c));
    const auto t4 = work.t4.get(c);
    c.store(M, along<K>(F1, rate.s));
    c.store(dv, along<K>(F2, rate.s));
    c.store(dq, along<K>(F3, rate.s));
    below_q.store(c, V(dot(t4, rate.psi.w) + dot(F1.n, rate.psi2.w) + dot(F1.f, rate.psi2.v)));
    below_v.store(c, V(dot(t4, rate.s.w) + dot(F1.n, rate.sum.w) + dot(F1.f, rate.sum.v)));
  });
}

// Equation (5) for rates i and j of the same node.
template <class S>
JOUNCE_INLINE void own_pair(const PartialsWork<S>& work, int i, int j, int nv, S* dq, S* dv, S* M,
                            const BelowDiagonal<S>& below_q, const BelowDiagonal<S>& below_v) {
  const Columns<S, S> c{i};
  const auto& rate = work.rate[j];
  const Force<S> t1{work.t1.angular(c), work.t1.linear(c)};
  const Vec3<S> t4 = work.t4.get(c);
  const S q = dot(t4, rate.psi.w) + dot(t1, rate.psi2);
  const S v = dot(t4, rate.s.w) + dot(t1, rate.sum);
  if (i > j) {
    below_q.column(j).store(c, q);
    below_v.column(j).store(c, v);
    return;
  }
  const std::size_t at = std::size_t(i) * nv + j;
  M[at] = dot(t1, rate.s);
  dq[at] = q;
  dv[at] = v;
}

// Equations (4) and (5) at a node, with its subtree's sums.
template <Kind K, class S, class P>
JOUNCE_INLINE void node_columns(const Tree<P>& tree, const Node<P>& node,
                                const typename PartialsWork<S>::Row& me, const Vec3<S>& p, S* dq,
                                S* dv, S* M, const BelowDiagonal<S>& below_q,
                                const BelowDiagonal<S>& below_v, PartialsWork<S>& work) {
  const std::size_t nv = tree.nv;
  for (int k = 0; k < rates(K); ++k) {
    const int j = node.v + k;
    const std::size_t row = j * nv;
    const auto column_q = below_q.column(j), column_v = below_v.column(j);
    pair_columns<K>(work, j, p, node.v + rates(K), node.v_end, dq + row, dv + row, M + row, column_q,
                    column_v);
    for (int c = tree.sparse ? tree.nv : node.v_end; c < tree.nv; ++c) {
      dq[row + c] = dv[row + c] = M[row + c] = S(0.0);
      column_q.store(Columns<S, S>{c}, S(0.0));
      column_v.store(Columns<S, S>{c}, S(0.0));
    }
  }
  for (int k = 0; k < rates(K); ++k) keep_wrenches<S>(me, p, node.v + k, work);
  for (int k = 0; k < rates(K); ++k) {
    for (int j = 0; j < rates(K); ++j) {
      own_pair(work, node.v + k, node.v + j, tree.nv, dq, dv, M, below_q, below_v);
    }
    M[(node.v + k) * (nv + 1)] += tree.armature[node.v + k];
  }
}

}  // namespace partials

// At the configuration of work.base; dq, dv and M are nv x nv, row-major, of M the upper triangle; a and f_ext
// may be null. With `coriolis`, dv holds twice the Coriolis matrix instead: s' takes the place of Psi' in it.
template <class S, class P>
JOUNCE_INLINE void partials_at_base(const Tree<P>& tree, const S* q, const S* v, const S* a,
                                    const S* f_ext, S* dq, S* dv, S* M, PartialsWork<S>& work,
                                    bool coriolis = false) {
  using namespace partials;
  const std::size_t nv = tree.nv;
  const BelowDiagonal<S> below_q(dq, M, nv, tree.sparse), below_v(dv, dq, nv, tree.sparse);
  outward(tree, q, v, a, f_ext, coriolis, work);
  if (tree.sparse) {
    for (S* x : {dq, dv, M}) std::fill_n(x, nv * nv, S(0.0));
  }
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<P>& node = tree.nodes[i];
    const auto& me = work.row[i];
    const Vec3<S>& p = work.base.in_root[i].p;
    with_kind(node.kind, [&](auto kind) {
      node_columns<decltype(kind)::value, S>(tree, node, me, p, dq, dv, M, below_q, below_v, work);
    });
    if (node.parent < 0) continue;
    pass_to_parent<S>(p - work.base.in_root[node.parent].p, me, work.row[node.parent]);
  }
  below_v.finish();  // from dq, whose own triangle is then filled
  below_q.finish();  // from M, likewise
}

template <class S, class P>
void inverse_dynamics_partials(const Tree<P>& tree, const S* q, const S* v, const S* a,
                               const S* f_ext, S* dq, S* dv, S* M, PartialsWork<S>& work) {
  base_frame(tree, q, work.base);
  partials_at_base(tree, q, v, a, f_ext, dq, dv, M, work);
  mirror_related(tree, M);
}

template <class S>
struct CoriolisWork {
  PartialsWork<S> partials;
  S *dq, *M;

  template <class P>
  CoriolisWork(const Tree<P>& tree, Arena& arena)
      : partials(tree, arena),
        dq(arena.take<S>(std::size_t(tree.nv) * tree.nv)),
        M(arena.take<S>(std::size_t(tree.nv) * tree.nv)) {}
};

// The Coriolis matrix C_ij = s_i^T (I s_j' + B s_j) with the inertias of the lower of both bodies:
// C v is the bias without gravity and dM/dt - 2 C is skew (ali, Lemma 1).
template <class S, class P>
void coriolis_matrix(const Tree<P>& tree, const S* q, const S* v, S* C, CoriolisWork<S>& work) {
  const S* none = nullptr;
  base_frame(tree, q, work.partials.base);
  partials_at_base(tree, q, v, none, none, work.dq, C, work.M, work.partials, true);
  for (std::size_t k = 0; k < std::size_t(tree.nv) * tree.nv; ++k) C[k] *= S(0.5);
}

}  // namespace jounce
