// The adjoint of an explicit step: how a function of its end, of which the derivatives are known,
// changes with its start and with the forces.
//
// Small changes are (theta, x) of the coordinates, turns along the axes of the body and positions of
// free joints along those of the parent, and ds of the rates. Adjoints of them carry the same names.
// Backward through
//   (1) q' = q exp(u):       theta = exp(u) theta',   u = theta' + c_2 u x theta' + c_3 u x (u x theta')
//   (2) r = dexp_inv(-xi) w: w = r - xi x r / 2 + e xi x (xi x r),
//                            xi += w x r / 2 + e (xi x (w x r) - 2 w x (xi x r)) + 2 e' (xi x (xi x w) . r) xi
//   (3) u' = R (v' + w x v), y = v' + w x v:  theta += y x g, w += v x g, v += g x w,  g = R^T u'
//   (4) v = R^T u:           theta += dv x v,  u += R dv
//   (5) M v' + b = tau:      mu = M^-1 a,  q, v -= gradient of mu . inverse dynamics,  tau += mu
#pragma once

#include <array>
#include <utility>

#include "jounce/simulation/mass_solve.hpp"
#include "jounce/simulation/model_gradient.hpp"
#include "jounce/simulation/step.hpp"

namespace jounce {

// The stages of a step, kept to go back through them.
template <class S>
struct AdjointWork {
  StepWork<S> step;
  std::array<ArticulatedWork<S>, kMostSlopes> factors;
  WorkGradientWork<S> gradient;
  S *moves, *s;                                // of every stage: (kMostSlopes, nv)
  S *stage_q, *stage_s, *stage_r, *stage_a;  // adjoints, likewise
  S *u, *v, *a, *mu, *mass_mu, *dq, *dv, *finish_s;
  S* model = nullptr;  // if given, adjoints of all numbers of the model are added to it

  template <class P>
  AdjointWork(const Tree<P>& tree, Arena& arena)
      : step(tree, arena),
        factors(make(tree, arena, std::make_index_sequence<kMostSlopes>{})),
        gradient(tree, arena) {
    for (S** x : {&moves, &s, &stage_q, &stage_s, &stage_r, &stage_a}) {
      *x = arena.take<S>(std::size_t(kMostSlopes) * tree.nv);
    }
    for (S** x : {&u, &v, &a, &mu, &mass_mu, &dq, &dv, &finish_s}) *x = arena.take<S>(tree.nv);
  }

 private:
  template <class P, std::size_t... I>
  static std::array<ArticulatedWork<S>, kMostSlopes> make(const Tree<P>& tree, Arena& arena,
                                                          std::index_sequence<I...>) {
    return {((void)I, ArticulatedWork<S>(tree, arena))...};
  }
};

template <class S>
struct KeepStages {
  AdjointWork<S>& work;
  int nv;
  template <class P>
  int accelerate(const Tree<P>& tree, int i, const S* q, const S* v, const ForcesAt<S>& at, S* a) const {
    return accelerations(tree, q, v, at, a, work.factors[i]);
  }
  void keep(int i, const S* u, const S* s) const {
    for (int k = 0; k < nv; ++k) {
      work.moves[i * nv + k] = u[k];
      work.s[i * nv + k] = s[k];
    }
  }
};

template <class S>
JOUNCE_INLINE void add3(const Vec3<S>& x, S* to) {
  to[0] += x.x, to[1] += x.y, to[2] += x.z;
}

// Equation (1): q becomes the adjoint before the move, u that of the move. q_end may be q.
template <class S, class P>
void adjoint_move(const Tree<P>& tree, const S* move, const S* q_end, S* q, S* u) {
  for (const Node<P>& node : tree.nodes) {
    const S* end = q_end + node.v;
    S *own_q = q + node.v, *own_u = u + node.v;
    const int first = is_group(node.kind) ? 3 : 0;
    for (int k = first; k < node.nv; ++k) own_u[k] = own_q[k] = end[k];
    if (!first) continue;
    const Vec3<S> x = vector_from(move + node.v), theta = vector_from(end);
    const Stumpff<S> c(dot(x, x));
    const Vec3<S> y = cross(x, theta), z = cross(x, y);
    store(theta + y * c.c2 + z * c.c3, own_u);
    store(theta + y * c.c1 + z * c.c2, own_q);
  }
}

// Equation (2): adds to the adjoints of xi and of the rates.
template <class S, class P>
void adjoint_pull_back(const Tree<P>& tree, const S* xi, const S* rates, const S* r, S* u, S* s) {
  for (const Node<P>& node : tree.nodes) {
    const int at = node.v, first = is_group(node.kind) ? 3 : 0;
    for (int k = first; k < node.nv; ++k) s[at + k] += r[at + k];
    if (!first) continue;
    const Vec3<S> x = vector_from(xi + at), w = vector_from(rates + at), l = vector_from(r + at);
    const Cotangent<S> c(dot(x, x));
    const Vec3<S> xl = cross(x, l), wl = cross(w, l);
    add3(l - xl * 0.5 + cross(x, xl) * c.e, s + at);
    const S slope = dot(cross(x, cross(x, w)), l) * c.de * 2.0;
    add3(wl * 0.5 + (cross(x, wl) - cross(w, xl) * 2.0) * c.e + x * slope, u + at);
  }
}

// Equation (3): `a` becomes the adjoint of v'; adds to those of q and v.
template <class S, class P>
void adjoint_acceleration_axes(const Tree<P>& tree, const S* q, const S* v, const S* slope, S* a, S* dq,
                               S* dv) {
  for (const Node<P>& node : tree.nodes) {
    if (node.kind != Kind::free) continue;
    const Mat3<S> R = rotation(q + node.q);
    const Vec3<S> w = vector_from(v + node.v), u = vector_from(v + node.v + 3);
    const Vec3<S> y = transposed(R, vector_from(slope + node.v + 3));
    const Vec3<S> g = transposed(R, vector_from(a + node.v + 3));
    store(g, a + node.v + 3);
    add3(cross(y, g), dq + node.v);
    add3(cross(u, g), dv + node.v);
    add3(cross(g, w), dv + node.v + 3);
  }
}

// Equation (4): adjoints of body-fixed v, and of q with positions along body axes, become those of the
// mixed coordinates; added to q and s.
template <class S, class P>
void adjoint_body_axes(const Tree<P>& tree, const S* at, const S* v, const S* dq, const S* dv, S* q,
                       S* s) {
  for (const Node<P>& node : tree.nodes) {
    const int first = node.v, straight = node.kind == Kind::free ? 3 : node.nv;
    for (int k = first; k < first + straight; ++k) {
      q[k] += dq[k];
      s[k] += dv[k];
    }
    if (node.kind != Kind::free) continue;
    const Mat3<S> R = rotation(at + node.q);
    const Vec3<S> own = vector_from(dv + first + 3);
    add3(cross(own, vector_from(v + first + 3)), q + first);
    add3(R * vector_from(dq + first + 3), q + first + 3);
    add3(R * own, s + first + 3);
  }
}

// Adjoints of (q, s) at the start of all become those of (q, v) there.
template <class S, class P>
void adjoint_start(const Tree<P>& tree, const S* at, const S* v, S* q, S* s) {
  for (const Node<P>& node : tree.nodes) {
    if (node.kind != Kind::free) continue;
    const Mat3<S> R = rotation(at + node.q);
    const Vec3<S> own = transposed(R, vector_from(s + node.v + 3));
    add3(cross(vector_from(v + node.v + 3), own), q + node.v);
    store(own, s + node.v + 3);
    store(transposed(R, vector_from(q + node.v + 3)), q + node.v + 3);
  }
}

// Backward through the acceleration of stage i: from that of its slope to its state and the forces.
template <class S, class P, class Forces>
void adjoint_slope(const Tree<P>& tree, const Tableau& method, int i, const Forces& forces,
                   AdjointWork<S>& work) {
  const int nv = tree.nv;
  const S* q = work.step.q + i * tree.nq;
  const S* slope = work.step.slopes + i * nv;
  S* by_a = work.stage_a + i * nv;
  to_body_axes(tree, q, work.s + i * nv, work.v);
  for (int k = 0; k < nv; ++k) work.dq[k] = work.dv[k] = S(0.0);
  for (int k = 0; k < nv; ++k) work.a[k] = slope[k];
  acceleration_to_body_axes(tree, q, work.v, work.a);
  adjoint_acceleration_axes(tree, q, work.v, slope, by_a, work.dq, work.dv);
  const ForcesAt<S> at = forces(tree, method.time(i), q, work.v);
  if (at.prescribed) {
    solve_mass(tree, SomeMask{at.prescribed}, by_a, work.mu, work.mass_mu, work.factors[i]);
  } else {
    solve_mass(tree, NoneMask{}, by_a, work.mu, (S*)nullptr, work.factors[i]);
  }
  S *by_q = work.u, *by_v = work.finish_s;
  if (work.model) {
    subtract_model_gradient(tree, q, work.v, work.a, work.mu, at.f_ext, by_q, by_v, work.model, work.gradient);
    forces.adjoint_of_model(tree, q, work.v, work.mu, work.model);
  } else {
    work_gradient(tree, q, work.v, work.a, work.mu, at.f_ext, by_q, by_v, work.gradient);
  }
  for (int k = 0; k < nv; ++k) {
    work.dq[k] -= by_q[k];
    work.dv[k] -= by_v[k];
    if (at.prescribed && at.prescribed[k]) work.mu[k] = by_a[k] - work.mass_mu[k];
  }
  forces.adjoint(tree, method.time(i), q, work.v, work.mu, work.dq, work.dv);
  adjoint_body_axes(tree, q, work.v, work.dq, work.dv, work.stage_q + i * nv, work.stage_s + i * nv);
}

// x_j += h w_j y for all rows j < count.
template <class S>
JOUNCE_INLINE void spread_weighted(const S& h, const double* w, int count, const S* y, int n, S* x) {
  for (int j = 0; j < count; ++j) {
    if (w[j] == 0.0) continue;
    const S hw = h * w[j];
    for (int k = 0; k < n; ++k) x[j * n + k] += hw * y[k];
  }
}

// The adjoints dq, ds of the end of a step become those of its start (q, s), in place; what the forces
// get is added by `forces.adjoint`.
template <class S, class P, class Forces>
void adjoint_step(const Tree<P>& tree, const Tableau& method, const S& dt, const Forces& forces,
                  const S* q, const S* s, S* dq, S* ds, AdjointWork<S>& work) {
  const int nv = tree.nv, n = method.slopes;
  explicit_stages(tree, method, dt, forces, q, s, work.step, KeepStages<S>{work, nv});
  for (int k = 0; k < n * nv; ++k) {
    work.stage_q[k] = work.stage_s[k] = work.stage_r[k] = work.stage_a[k] = S(0.0);
  }
  for (int move = method.moves - 1; move >= 0; --move) {
    const double* w = method.finish(move);
    for (int k = 0; k < nv; ++k) work.finish_s[k] = s[k];
    for (int m = 0; m <= move; ++m) {
      add_weighted(work.finish_s, dt, method.finish(m), n, work.step.slopes, nv, work.finish_s);
    }
    finishing_move(tree, method, move, dt, work.finish_s, work.step);
    adjoint_move(tree, work.step.u, dq, dq, work.u);
    if (method.with_next_rates) {
      const S h = dt * method.share(move);
      for (int k = 0; k < nv; ++k) ds[k] += work.u[k] * h;
    } else {
      spread_weighted(dt, w, n, work.u, nv, work.stage_r);
    }
    spread_weighted(dt, w, n, ds, nv, work.stage_a);
  }
  for (int i = n - 1; i >= 0; --i) {
    S *own_q = work.stage_q + i * nv, *own_s = work.stage_s + i * nv, *r = work.stage_r + i * nv;
    adjoint_slope(tree, method, i, forces, work);
    if (i == 0) {
      for (int k = 0; k < nv; ++k) {
        dq[k] += own_q[k];
        ds[k] += own_s[k] + r[k];
      }
      break;
    }
    const S* u = work.moves + i * nv;
    const int start = method.start(i);
    const double* w = method.weights(i);
    adjoint_move(tree, u, own_q, own_q, work.u);
    if (method.munthe_kaas) {
      adjoint_pull_back(tree, u, work.s + i * nv, r, work.u, own_s);
    } else {
      for (int k = 0; k < nv; ++k) own_s[k] += r[k];
    }
    for (int k = 0; k < nv; ++k) {
      work.stage_q[start * nv + k] += own_q[k];
      work.stage_s[start * nv + k] += own_s[k];
    }
    spread_weighted(dt, w, i, work.u, nv, work.stage_r);
    spread_weighted(dt, w, i, own_s, nv, work.stage_a);
  }
}

}  // namespace jounce
