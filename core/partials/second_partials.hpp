// All second derivatives of tau of inverse dynamics with respect to q, v and a, as Singh, Russell and
// Wensing 2022 (IDSVA SO), for joints with any number of rates and with external wrenches: along the axes
// of the root, each node about its own origin, in the notation of inverse_partials.hpp.
//
// Take three rates of nodes on one path outward, a, b, c; on other triples everything is zero. The first
// derivatives by what is inward have the subtree sums I, B and F of the outer node, in which rate c changes
//   (1) I by D_c = s_c x* I_c - I_c s_c x,  F by t3_c,  2 B by E_c             when q_c changes,
//       F by t2_c,  2 B by the B of the velocity s_c, that is x -> D_c x + x x* t1_c,   when v_c does,
//       F by t1_c                                                              when a_c does.
// D_c is symmetric, with the rate Y_c of the rotational inertia and p_c, the force part of t1_c; E_c has the
// form of 2 B, with the changes of its Y and of its momentum,
//   (2) D_c x = (Y_c w + p_c x v, w x p_c),  x = (w, v),
//   (3) e_c = s_c x* momentum_c + I_c Psi'_c,  Y_e = the rates of Y_c's own kind of (Y, momentum) by s_c
//       and of I_c by Psi'_c.
// What stands in products with the vectors of a depends on b and c alone. With sum = Psi' + s' and
//   (4) delta = D_c s_b,  mu = s_b x* t1_c,  eps = E_c^T s_b,
//       kappa = s_b x* t4_c + Psi'_b x* t1_c - D_c Psi'_b,
//       eta = E_c Psi'_b + D_c Psi''_b + s_b x* t3_c,
//       theta = D_c Psi'_b + Psi'_b x* t1_c + s_b x* t2_c,  zeta = E_c s_b + D_c sum_b,
// of which eps, kappa and delta - mu have no force part, the derivatives of tau (first index, before the bar)
//   (5) by q q:  a|b,c = s_a.eta,   b|a,c = eps.Psi'_a + delta.Psi''_a,   c|a,b = kappa.Psi'_a + mu.Psi''_a,
//       by q v:  a|b,c = s_a.theta, a|c,b = s_a.zeta,
//                b|a,c = (delta - mu).Psi'_a = -(c|a,b),  b|c,a = eps.s_a + delta.sum_a,
//                c|b,a = kappa.s_a + mu.sum_a,
//       and with P = s_a.mu = dM_ac/dq_b, Q = s_a.delta = dM_ab/dq_c of mass_partials.hpp,
//       by v v:  a|b,c = Q + P,  b|a,c = Q - P,  c|a,b = P - Q,
//       by q a:  a|b,c = c|b,a = P,  a|c,b = b|c,a = Q.
// By q q and v v are symmetric in the last two.
//
// If a and b are of one node, c outward of it: b|... remain, of all pairs, and c|a,b with -Q by v v;
// a|... are those of b. If b and c are of one node, a inward of it: a|b,c, c|a,b and c|b,a remain, of all
// pairs, by v v with s_a.I_c (s_c x s_b) added to a|b,c. If all are of one node: c|a,b, with -Q by v v.
// There, where the rates x, y of one node do not commute, the second derivatives by q_x, then q_y, gain
//   (6) i|x,y += dtau_i/dq along [y, x],
// one of the two only: for x < y the values (5) that are stored are those of y, then x.
#pragma once

#include "jounce/partials/inverse_hessian.hpp"
#include "jounce/partials/mass_partials.hpp"

namespace jounce {

template <class S>
struct SecondPartialsWork {
  // A rate a about the origin of the node of b.
  struct Inner {
    int a;
    Motion<S> s, psi, psi2, sum;
  };
  PartialsWork<S> first;
  S *dq, *dv, *M;
  SixRows<S> Y, Ye, e;  // of equations (2) and (3), arrays over the rates; Y: xx, yy, zz, yz, xz, xy
  Inner* inner;
  S size;           // the sum of squares of what is multiplied with each other
  bool is_bounded;  // that the results are finite is certain

  template <class P>
  SecondPartialsWork(const Tree<P>& tree, Arena& arena) : first(tree, arena) {
    const std::size_t nv = tree.nv;
    for (S** x : {&dq, &dv, &M}) *x = arena.take<S>(nv * nv);
    for (SixRows<S>* x : {&Y, &Ye, &e}) *x = SixRows<S>(arena.take<S>(6 * nv), nv);
    inner = arena.take<Inner>(nv);
  }
};

// (nv, nv, nv) each, row-major: first index that of tau, second that of q in qv and qa.
template <class S>
struct SecondPartials {
  partials::Cube<S> qq, qv, vv, qa;
};

namespace partials {

template <class S>
JOUNCE_INLINE void store_symmetric(const Sym3<S>& Y, const SixRows<S>& rows, int at) {
  const Columns<S, S> c{at};
  rows.set_angular(c, {Y.xx, Y.yy, Y.zz});
  rows.set_linear(c, {Y.yz, Y.xz, Y.xy});
}

// The sum of squares of vectors.
template <class... V>
JOUNCE_INLINE auto squares(const V&... x) {
  return (dot(x, x) + ...);
}

// Of everything that belongs to a rate.
template <class S>
JOUNCE_INLINE S rate_size(const SecondPartialsWork<S>& work, int at) {
  const Columns<S, S> c{at};
  const auto& x = work.first.rate[at];
  S sum = squares(x.s.w, x.s.v, x.psi.w, x.psi.v, x.psi2.w, x.psi2.v, x.sum.w, x.sum.v, work.first.t4.get(c));
  for (const SixRows<S>& rows : {work.first.t1, work.first.t2, work.first.t3, work.Y, work.Ye, work.e}) {
    sum += squares(rows.angular(c), rows.linear(c));
  }
  return sum;
}

// Y_c, e_c and Y_e of all rates, from the sums of subtrees.
template <class S, class P>
JOUNCE_INLINE void second_rates(const Tree<P>& tree, SecondPartialsWork<S>& work) {
  work.size = S(0.0);
  for (int i = 0; i < tree.n; ++i) {
    const auto& me = work.first.row[i];
    work.size += squares(work.first.base.in_root[i].p);
    for (int c = tree.nodes[i].v; c < tree.nodes[i].v + tree.nodes[i].nv; ++c) {
      const auto& rate = work.first.rate[c];
      store_symmetric(rotational_rate(me.I, rate.s), work.Y, c);
      Force<S> e = dual_bracket(rate.s, me.momentum);
      e += me.I * rate.psi;
      store(e, work.e, Columns<S, S>{c});
      Sym3<S> Y = rotational_rate(RigidInertia<S>{S(0.0), me.momentum.f, me.Y}, rate.s);
      Y += rotational_rate(me.I, rate.psi);
      store_symmetric(Y, work.Ye, c);
      work.size += rate_size(work, c);
    }
  }
}

// Rates of nodes inward of that of b, then all of its own node.
template <class S, class P>
JOUNCE_INLINE Count find_inner(const Tree<P>& tree, int node_of_b, SecondPartialsWork<S>& work) {
  const Pose<S>* pose = work.first.base.in_root;
  int count = 0;
  for (int i = tree.nodes[node_of_b].parent; i >= 0; i = tree.nodes[i].parent) {
    const Vec3<S> d = pose[node_of_b].p - pose[i].p;
    for (int a = tree.nodes[i].v; a < tree.nodes[i].v + tree.nodes[i].nv; ++a) {
      const auto& x = work.first.rate[a];
      work.inner[count++] = {a, moved(x.s, d), moved(x.psi, d), moved(x.psi2, d), moved(x.sum, d)};
    }
  }
  const int inward = count;
  for (int a = tree.nodes[node_of_b].v; a < tree.nodes[node_of_b].v + tree.nodes[node_of_b].nv; ++a) {
    const auto& x = work.first.rate[a];
    work.inner[count++] = {a, x.s, x.psi, x.psi2, x.sum};
  }
  return {inward, count};
}

// The same motion in every lane.
template <class V, class S>
JOUNCE_INLINE Motion<V> spread(const Motion<S>& m) {
  if constexpr (std::is_same_v<V, S>) {
    return m;
  } else {
    return {{V(m.w.x), V(m.w.y), V(m.w.z)}, {V(m.v.x), V(m.v.y), V(m.v.z)}};
  }
}

template <class V>
JOUNCE_INLINE Force<V> operator+(Force<V> x, const Force<V>& y) {
  return x += y;
}

// Equation (4) of b and columns c.
template <class V>
struct Outer {
  Force<V> delta, mu, eta, theta, zeta;
  Vec3<V> eps, kappa, nu;  // moments; nu = delta - mu

  template <class S, class C>
  JOUNCE_INLINE Outer(const SecondPartialsWork<S>& work, int b, const Vec3<S>& p, const C& c) {
    const auto d = work.first.origin.from(p, c);
    const Force<V> F1 = shifted(d, wrench(work.first.t1, c)), F2 = shifted(d, wrench(work.first.t2, c));
    const Force<V> F3 = shifted(d, wrench(work.first.t3, c));
    const Force<V> own_e = wrench(work.e, c), e = shifted(d, own_e);
    const Sym3<V> Y = shifted(F1.f, symmetric(work.Y, c), d);
    const Sym3<V> Ye = shifted(own_e.f, symmetric(work.Ye, c), d);
    const Vec3<V> t4 = work.first.t4.get(c);
    const auto& rate = work.first.rate[b];
    const Motion<V> s = spread<V>(rate.s), psi = spread<V>(rate.psi), psi2 = spread<V>(rate.psi2);
    const auto D = [&](const Motion<V>& x) JOUNCE_INLINED {  // (2)
      return Force<V>{Y * x.w + cross(F1.f, x.v), cross(x.w, F1.f)};
    };
    delta = D(s);
    mu = dual_bracket(s, F1);
    nu = delta.n - mu.n;
    eps = twice_B_transposed(Ye, e, s);
    const Force<V> D_psi = D(psi), psi_t1 = dual_bracket(psi, F1);
    kappa = cross(s.w, t4) + psi_t1.n - D_psi.n;
    eta = twice_B(Ye, e, psi.w) + D(psi2) + dual_bracket(s, F3);
    theta = D_psi + psi_t1 + dual_bracket(s, F2);
    zeta = twice_B(Ye, e, s.w) + D(spread<V>(rate.sum));
  }
};

// Equation (5) of a, b, c, all of different nodes.
template <class S, class C, class V>
JOUNCE_INLINE void store_triple(const SecondPartials<S>& out, const typename SecondPartialsWork<S>::Inner& x,
                                int b, const C& c, const Outer<V>& y) {
  const int a = x.a;
  const std::size_t nv = out.qq.nv, plane = nv * nv;
  const auto to_c = [&](const Cube<S>& cube, int i, int j, const V& value) JOUNCE_INLINED {
    cube.scatter(c, value, cube.row(0, i) + j, plane);  // [c, i, j]
  };
  const auto by_c = [&](const Cube<S>& cube, int i, int j, const V& value) JOUNCE_INLINED {
    cube.scatter(c, value, cube.row(i, 0) + j, nv);  // [i, c, j]
  };
  const V P = dot(y.mu, x.s), Q = dot(y.delta, x.s), q_a_v_c = dot(y.nu, x.psi.w);
  c.store(out.qq.row(a, b), V(dot(y.eta, x.s)));
  c.store(out.qq.row(b, a), V(dot(y.eps, x.psi.w) + dot(y.delta, x.psi2)));
  to_c(out.qq, a, b, V(dot(y.kappa, x.psi.w) + dot(y.mu, x.psi2)));
  c.store(out.qv.row(a, b), V(dot(y.theta, x.s)));
  by_c(out.qv, a, b, V(dot(y.zeta, x.s)));
  c.store(out.qv.row(b, a), q_a_v_c);
  to_c(out.qv, a, b, V(-q_a_v_c));
  by_c(out.qv, b, a, V(dot(y.eps, x.s.w) + dot(y.delta, x.sum)));
  to_c(out.qv, b, a, V(dot(y.kappa, x.s.w) + dot(y.mu, x.sum)));
  c.store(out.vv.row(a, b), V(Q + P));
  c.store(out.vv.row(b, a), V(Q - P));
  to_c(out.vv, a, b, V(P - Q));
  c.store(out.qa.row(a, b), P);
  to_c(out.qa, b, a, P);
  by_c(out.qa, a, b, Q);
  by_c(out.qa, b, a, Q);
}

// a and b of one node, c outward of it.
template <class S, class C, class V>
JOUNCE_INLINE void store_inner_pair(const SecondPartials<S>& out,
                                    const typename SecondPartialsWork<S>::Inner& x, int b, const C& c,
                                    const Outer<V>& y) {
  const int a = x.a;
  const std::size_t nv = out.qq.nv, plane = nv * nv;
  const V P = dot(y.mu, x.s), Q = dot(y.delta, x.s), q_a_v_c = dot(y.nu, x.psi.w);
  c.store(out.qq.row(b, a), V(dot(y.eps, x.psi.w) + dot(y.delta, x.psi2)));
  c.store(out.qv.row(b, a), q_a_v_c);
  out.qv.scatter(c, V(-q_a_v_c), out.qv.row(0, a) + b, plane);
  out.qv.scatter(c, V(dot(y.eps, x.s.w) + dot(y.delta, x.sum)), out.qv.row(b, 0) + a, nv);
  c.store(out.vv.row(b, a), V(Q - P));
  out.qa.scatter(c, Q, out.qa.row(a, 0) + b, nv);
  if (a > b) return;
  out.qq.scatter(c, V(dot(y.kappa, x.psi.w) + dot(y.mu, x.psi2)), out.qq.row(0, a) + b, plane);
  out.vv.scatter(c, V(-Q), out.vv.row(0, a) + b, plane);
}

// b and c of one node, a inward of it; turned is I_c (s_c x s_b).
template <class S>
JOUNCE_INLINE void store_outer_pair(const SecondPartials<S>& out,
                                    const typename SecondPartialsWork<S>::Inner& x, int b, int c,
                                    const Force<S>& turned, const Outer<S>& y) {
  const int a = x.a;
  const S P = dot(y.mu, x.s), Q = dot(y.delta, x.s);
  if (b <= c) {
    out.qq.row(a, b)[c] = dot(y.eta, x.s);
    out.vv.row(a, b)[c] = Q + P + dot(turned, x.s);
  }
  out.qq.row(c, a)[b] = dot(y.kappa, x.psi.w) + dot(y.mu, x.psi2);
  out.qv.row(a, b)[c] = dot(y.theta, x.s);
  out.qv.row(c, a)[b] = -dot(y.nu, x.psi.w);
  out.qv.row(c, b)[a] = dot(y.kappa, x.s.w) + dot(y.mu, x.sum);
  out.vv.row(c, a)[b] = P - Q;
  out.qa.row(a, b)[c] = P;
  out.qa.row(c, b)[a] = P;
}

// All of one node.
template <class S, class C, class V>
JOUNCE_INLINE void store_own(const SecondPartials<S>& out, const typename SecondPartialsWork<S>::Inner& x,
                             int b, const C& c, const Outer<V>& y) {
  const int a = x.a;
  const std::size_t plane = out.qq.nv * out.qq.nv;
  out.qv.scatter(c, V(-dot(y.nu, x.psi.w)), out.qv.row(0, a) + b, plane);
  if (a > b) return;
  out.qq.scatter(c, V(dot(y.kappa, x.psi.w) + dot(y.mu, x.psi2)), out.qq.row(0, a) + b, plane);
  out.vv.scatter(c, V(-dot(y.delta, x.s)), out.vv.row(0, a) + b, plane);
}

// All triples with the rates b of a node in the middle.
template <class S, class P>
JOUNCE_INLINE void middle_triples(const Tree<P>& tree, int i, const SecondPartials<S>& out,
                                  SecondPartialsWork<S>& work) {
  const Node<P>& node = tree.nodes[i];
  const Vec3<S>& p = work.first.base.in_root[i].p;
  const int own_end = node.v + node.nv;
  const Count count = find_inner(tree, i, work);
  for (int b = node.v; b < own_end; ++b) {
    if (node.parent < 0) {  // several at once
      for_columns<S>(node.v, own_end, [&](auto c) {
        const Outer<typename decltype(c)::Value> y(work, b, p, c);
        for (int k = 0; k < count.all; ++k) store_own(out, work.inner[k], b, c, y);
      });
    } else {
      for (int c = node.v; c < own_end; ++c) {
        const Outer<S> y(work, b, p, Columns<S, S>{c});
        const Force<S> turned = work.first.row[i].I * bracket(work.first.rate[c].s, work.first.rate[b].s);
        for (int k = 0; k < count.inward; ++k) store_outer_pair(out, work.inner[k], b, c, turned, y);
        for (int k = count.inward; k < count.all; ++k) store_own(out, work.inner[k], b, Columns<S, S>{c}, y);
      }
    }
    for_columns<S>(own_end, node.v_end, [&](auto c) {
      const Outer<typename decltype(c)::Value> y(work, b, p, c);
      for (int k = 0; k < count.inward; ++k) store_triple(out, work.inner[k], b, c, y);
      for (int k = count.inward; k < count.all; ++k) store_inner_pair(out, work.inner[k], b, c, y);
    });
  }
}

// Equation (6) for two rates x, y of one node with [x, y] = sign * rate l.
template <class S, class P>
JOUNCE_INLINE void add_second_bracket(const Tree<P>& tree, int x, int y, int l, double sign, const S* dq,
                                      const Cube<S>& qq) {
  const int low = x < y ? x : y, high = x < y ? y : x;
  const S factor(x < y ? -sign : sign);  // of [high, low]
  for (int i = 0; i < tree.nv; ++i) qq.row(i, low)[high] += factor * dq[i * qq.nv + l];
}

}  // namespace partials

// f_ext may be null.
template <class S, class P>
void inverse_dynamics_second_partials(const Tree<P>& tree, const S* q, const S* v, const S* a,
                                      const S* f_ext, const SecondPartials<S>& out,
                                      SecondPartialsWork<S>& work) {
  using namespace partials;
  inverse_dynamics_partials(tree, q, v, a, f_ext, work.dq, work.dv, work.M, work.first);
  second_rates(tree, work);
  for (const Cube<S>& cube : {out.qq, out.qv, out.vv, out.qa}) clear(cube);
  for (int i = 0; i < tree.n; ++i) {
    middle_triples(tree, i, out, work);
    pause();
  }
  for (int i = 0; i < tree.nv; ++i) {
    pause();
    for (const Cube<S>& cube : {out.qq, out.vv}) mirror_related(tree, cube.row(i, 0));
  }
  for (const Node<P>& node : tree.nodes) {
    for_brackets(node, [&](int x, int y, int l, double sign) JOUNCE_INLINED {
      add_second_bracket(tree, x, y, l, sign, work.dq, out.qq);
    });
  }
  // so that products of five of them are finite: places move what is multiplied
  work.is_bounded = all(value(work.size) < value(S(0x1p400)));
}

}  // namespace jounce
