// Second derivatives of w.tau, tau of inverse dynamics, with respect to q, v and a, in O(n depth): along
// the axes of the root, each node about its own origin, in the notation of inverse_partials.hpp.
//
// The work of tau on virtual rates w is that of the wrenches f of the bodies on the virtual twists W
// that these rates make, so that with sums over the bodies i
//   (1) w.tau = sum W_i.f_i,  f = I A + V x* I V - external.
// Seen from body i, rate j inward of it changes (an index p: of the parent of the node of j)
//   (2) W by chi_j = W_p x s_j,  V by Psi'_j,  A by Psi''_j - V x Psi'_j     when q_j changes,
//       V by s_j,  A by Psi'_j + s'_j - V x s_j                              when v_j does,
// and I A + V x* I V changes by I alpha + 2 B x where V does by x and A by alpha - V x x. So, with the
// sums over the subtree of j of the wrenches F, the virtual momenta P = I W and g = 2 B^T W (which has no
// force part), the gradient is that of Nganga and Wensing:
//   (3) d/dq_j = chi_j.F + Psi''_j.P + Psi'_j.g,  d/dv_j = (Psi'_j + s'_j).P + s_j.g,  d/da_j = s_j.P
// A rate k outward of j changes nothing in it but the sums, by what happens outward of k:
//   (4) F by t3_k when q_k changes, by t2_k when v_k does, by t1_k when a_k does,
//       P by u_k = s_k x* P_k + I_k chi_k,
//       g by h_k = s_k x* g_k + 2 B_k^T chi_k + N_k Psi'_k when q_k changes, by n_k = N_k s_k when v_k does.
// N x is 2 B^T W with the velocity x instead of V. W.(2 B[x] y) = -y.(D x) + y.(x x* P), where D is the
// rate at which inertias change that move with W, which has the form of equations (2) and (3) of
// inverse_partials.hpp, with Y of W. Neither N nor h has a force part:
//   (5) N x = -Y w + w x P_n - 2 P_f x v,  x = (w, v).
// Hence, for an ancestor j of k,
//   (6) dq_j dq_k = chi_j.t3_k + Psi''_j.u_k + Psi'_j.h_k,   dv_j dv_k = s_j.n_k,
//       dq_j dv_k = chi_j.t2_k + Psi'_j.n_k,                 dq_j da_k = chi_j.t1_k,
//       dq_k dv_j = (Psi'_j + s'_j).u_k + s_j.h_k,           dq_k da_j = s_j.u_k.
// Rates j, k of one node: when q_k moves, s_j does as well, by s_k x s_j, which is antisymmetric and drops
// out of the Hessian; so does what v_k does to s'_j. The first four of (6) remain, those of dq dq and
// dv dv symmetrized.
#pragma once

#include "jounce/partials/inverse_partials.hpp"

namespace jounce {

template <class S>
struct HessianWork {
  struct Row {
    Motion<S> W;   // virtual twist
    Force<S> P;    // of the subtree, as all below
    Sym3<S> Y;     // of W
    Vec3<S> g;
  };
  PartialsWork<S> first;
  Row* row;
  Motion<S>* chi;     // of each rate
  SixRows<S> u;       // of equation (4), arrays over the rates
  ThreeRows<S> h, n;  // moments

  template <class P>
  HessianWork(const Tree<P>& tree, Arena& arena)
      : HessianWork(tree, arena, PartialsWork<S>(tree, arena)) {}
  template <class P>
  HessianWork(const Tree<P>& tree, Arena& arena, const PartialsWork<S>& shared)
      : first(shared),
        row(arena.take<Row>(tree.n)),
        chi(arena.take<Motion<S>>(tree.nv)),
        u(arena.take<S>(6 * std::size_t(tree.nv)), tree.nv),
        h(arena.take<S>(3 * std::size_t(tree.nv)), tree.nv),
        n(arena.take<S>(3 * std::size_t(tree.nv)), tree.nv) {}
};

// Second derivatives, nv x nv each, row-major. In qv and qa the first index is that of q.
template <class S>
struct Hessian {
  S *qq, *qv, *vv, *qa;
};

namespace partials {

// Equation (5).
template <class S>
JOUNCE_INLINE Vec3<S> virtual_coupling(const Sym3<S>& Y, const Force<S>& P, const Motion<S>& x) {
  return cross(x.w, P.n) - Y * x.w - cross(P.f, x.v) * 2.0;
}

// Virtual twists, chi, and the nodes' own P, Y and g.
template <class S, class P>
JOUNCE_INLINE void virtual_motion(const Tree<P>& tree, const S* weights, HessianWork<S>& work) {
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    const auto& real = work.first.row[i];
    auto& me = work.row[i];
    Motion<S> W = Motion<S>::zero();  // of the parent, at the node's origin
    if (node.parent >= 0) {
      const Pose<S>* at = work.first.base.in_root;
      W = moved(work.row[node.parent].W, at[i].p - at[node.parent].p);
    }
    me.W = W;
    for (int k = node.v; k < node.v + node.nv; ++k) {
      const Motion<S>& s = work.first.rate[k].s;
      work.chi[k] = bracket(W, s);
      me.W += Motion<S>{s.w * weights[k], s.v * weights[k]};
    }
    me.P = real.I * me.W;
    me.Y = rotational_rate(real.I, me.W);
    me.g = twice_B_transposed(real.Y, real.momentum, me.W);
  }
}

// Equation (4) for one rate.
template <class S>
JOUNCE_INLINE void keep_second(const typename PartialsWork<S>::Row& real,
                               const typename HessianWork<S>::Row& me, int at, HessianWork<S>& work) {
  const auto& rate = work.first.rate[at];
  const Motion<S>& chi = work.chi[at];
  const Columns<S, S> c{at};
  Force<S> u = dual_bracket(rate.s, me.P);
  u += real.I * chi;
  store(u, work.u, c);
  work.h.set(c, cross(rate.s.w, me.g) + twice_B_transposed(real.Y, real.momentum, chi) +
                    virtual_coupling(me.Y, me.P, rate.psi));
  work.n.set(c, virtual_coupling(me.Y, me.P, rate.s));
}

// What is stored below the diagonal of qv and qa.
template <class S>
struct BelowHessian {
  BelowDiagonal<S> qv, qa;
};

// Equation (6) for one rate j of a node at p and the columns [begin, end) of its subtree.
template <Kind K, class S>
JOUNCE_INLINE void second_columns(const HessianWork<S>& work, int j, const Vec3<S>& p, int begin,
                                  int end, const Hessian<S>& row, const BelowHessian<S>& below) {
  const auto& rate = work.first.rate[j];
  const Motion<S>& chi = work.chi[j];
  const auto below_v = below.qv.column(j), below_a = below.qa.column(j);
  for_columns<S>(begin, end, [&](auto c) {
    using V = typename decltype(c)::Value;
    const auto d = work.first.origin.from(p, c);
    const auto F1 = shifted(d, wrench(work.first.t1, c));
    const auto F2 = shifted(d, wrench(work.first.t2, c));
    const auto F3 = shifted(d, wrench(work.first.t3, c));
    const auto u = shifted(d, wrench(work.u, c));
    const auto h = work.h.get(c), n = work.n.get(c);
    c.store(row.qq, V(dot(F3, chi) + dot(u, rate.psi2) + dot(h, rate.psi.w)));
    c.store(row.qv, V(dot(F2, chi) + dot(n, rate.psi.w)));
    c.store(row.vv, V(dot(n, rate.s.w)));
    c.store(row.qa, V(dot(F1, chi)));
    below_v.store(c, V(dot(u, rate.sum) + dot(h, rate.s.w)));
    below_a.store(c, V(along<K>(u, rate.s)));
  });
}

// The first four of equation (6) for rates j and k of one node, of which two are halves of the sum with
// j and k exchanged.
template <class S>
struct OwnSecond {
  S half_qq, qv, half_vv, qa;

  JOUNCE_INLINE OwnSecond(const HessianWork<S>& work, int j, int k) {
    const Columns<S, S> c{k};
    const auto& rate = work.first.rate[j];
    const Motion<S>& chi = work.chi[j];
    const Vec3<S> h = work.h.get(c), n = work.n.get(c);
    half_qq = (dot(wrench(work.first.t3, c), chi) + dot(wrench(work.u, c), rate.psi2) +
               dot(h, rate.psi.w)) * 0.5;
    qv = dot(wrench(work.first.t2, c), chi) + dot(n, rate.psi.w);
    half_vv = dot(n, rate.s.w) * 0.5;
    qa = dot(wrench(work.first.t1, c), chi);
  }
};

template <class S>
JOUNCE_INLINE void own_second(const HessianWork<S>& work, int j, int k, std::size_t nv,
                              const Hessian<S>& out, const BelowHessian<S>& below) {
  const OwnSecond<S> x(work, j, k);
  const std::size_t at = j * nv + k;
  if (j > k) {
    below.qv.column(k).store(Columns<S, S>{j}, x.qv);
    below.qa.column(k).store(Columns<S, S>{j}, x.qa);
    return;
  }
  const OwnSecond<S> y(work, k, j);
  out.qq[at] = x.half_qq + y.half_qq;
  out.qv[at] = x.qv;
  out.vv[at] = x.half_vv + y.half_vv;
  out.qa[at] = x.qa;
}

// All of a node, with its subtree's sums.
template <Kind K, class S, class P>
JOUNCE_INLINE void node_second(const Tree<P>& tree, int i, const Hessian<S>& out,
                               const BelowHessian<S>& below, HessianWork<S>& work) {
  const Node<P>& node = tree.nodes[i];
  const std::size_t nv = tree.nv;
  const Vec3<S>& p = work.first.base.in_root[i].p;
  const int own_end = node.v + rates(K);
  for (int j = node.v; j < own_end; ++j) {
    const std::size_t at = j * nv;
    const Hessian<S> row{out.qq + at, out.qv + at, out.vv + at, out.qa + at};
    second_columns<K>(work, j, p, own_end, node.v_end, row, below);
    for (int c = tree.sparse ? tree.nv : node.v_end; c < tree.nv; ++c) {
      row.qq[c] = row.qv[c] = row.vv[c] = row.qa[c] = S(0.0);
      below.qv.column(j).store(Columns<S, S>{c}, S(0.0));
      below.qa.column(j).store(Columns<S, S>{c}, S(0.0));
    }
  }
  for (int k = node.v; k < own_end; ++k) {
    keep_wrenches<S>(work.first.row[i], p, k, work.first);
    keep_second<S>(work.first.row[i], work.row[i], k, work);
  }
  for (int j = node.v; j < own_end; ++j) {
    for (int k = node.v; k < own_end; ++k) own_second(work, j, k, nv, out, below);
  }
}

// Sums of a subtree seen from the parent.
template <class S>
JOUNCE_INLINE void pass_virtual(const Vec3<S>& d, const typename HessianWork<S>::Row& me,
                                typename HessianWork<S>::Row& parent) {
  parent.Y += shifted(me.P.f, me.Y, d);
  parent.P += shifted(d, me.P);
  parent.g += me.g;
}

}  // namespace partials

// At the configuration of work.first.base; a and f_ext may be null.
template <class S, class P>
JOUNCE_INLINE void hessian_at_base(const Tree<P>& tree, const S* q, const S* v, const S* a,
                                   const S* weights, const S* f_ext, const Hessian<S>& out,
                                   HessianWork<S>& work) {
  using namespace partials;
  const std::size_t nv = tree.nv;
  const BelowHessian<S> below{{out.qv, out.qq, std::ptrdiff_t(nv), tree.sparse},
                              {out.qa, out.vv, std::ptrdiff_t(nv), tree.sparse}};
  outward(tree, q, v, a, f_ext, false, work.first);
  virtual_motion(tree, weights, work);
  if (tree.sparse) {
    for (S* x : {out.qq, out.qv, out.vv, out.qa}) std::fill_n(x, nv * nv, S(0.0));
  }
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<P>& node = tree.nodes[i];
    with_kind(node.kind, [&](auto kind) {
      node_second<decltype(kind)::value, S>(tree, i, out, below, work);
    });
    if (node.parent < 0) continue;
    const Vec3<S> d = work.first.base.in_root[i].p - work.first.base.in_root[node.parent].p;
    pass_to_parent<S>(d, work.first.row[i], work.first.row[node.parent]);
    pass_virtual<S>(d, work.row[i], work.row[node.parent]);
  }
  below.qv.finish();  // from qq, whose own triangle is then filled
  below.qa.finish();  // from vv, likewise
  mirror_related(tree, out.qq);
  mirror_related(tree, out.vv);
}

template <class S, class P>
void inverse_dynamics_hessian(const Tree<P>& tree, const S* q, const S* v, const S* a, const S* weights,
                              const S* f_ext, const Hessian<S>& out, HessianWork<S>& work) {
  base_frame(tree, q, work.first.base);
  hessian_at_base(tree, q, v, a, weights, f_ext, out, work);
}

}  // namespace jounce
