// The adjoint of a rollout: from derivatives of a function by its states to those by its start and by
// every row of forces. The states are given; stages are computed again, step by step, from the last.
//
// The forces of a step answer to the state, see forces.hpp. With mu, the adjoint of the sum,
//   (1) row += m, v -= kd m, q -= (du/dq)^T kp m,   m = mu where the servo is within its limits, else 0
// and likewise for springs, damping and stops, where these push.
#pragma once

#include "jounce/simulation/adjoint.hpp"

namespace jounce {

template <class S>
struct AdjointForces : HeldForces<S> {
  S *by_now, *by_next;  // (nv) adjoints of both rows

  // Adds what the force adjoint mu gives to those of q (left-trivialized), v and the rows; after the
  // forces at this time were asked for.
  template <class P>
  void adjoint(const Tree<P>& tree, double time, const S* q, const S* v, const S* mu, S* dq,
               S* dv) const {
    const S* x = this->linear && time != 0.0 ? this->between : this->now;
    const double later = this->linear ? time : 0.0;
    for (const Node<P>& node : tree.nodes) {
      S by_u[6], by_rest[6];
      for (int i = 0; i < node.nv; ++i) {
        const int k = node.v + i;
        const bool given = this->prescribed && this->prescribed[k];
        S m = mu[k];
        by_u[i] = by_rest[i] = S(0.0);
        if (this->passive && !given) {
          by_rest[i] = mu[k] * -tree.stiffness[k];
          dv[k] -= mu[k] * tree.damping[k];
        }
        if (this->servo && !given) m = servo_adjoint(tree, node, i, x, q, v, mu[k], by_u[i], dq, dv);
        by_now[k] += m * (1.0 - later);
        if (later != 0.0) by_next[k] += m * later;
      }
      if (this->passive) add_turned(node, tree.springref.data() + node.q, q + node.q, by_rest, dq);
      if (this->servo && this->row.references) {
        add_turned(node, x + this->row.nv + this->row.wrenches + node.q, q + node.q, by_u, dq);
      }
    }
  }

  // Adds what mu gives to the adjoints of stiffness and damping.
  template <class P>
  void adjoint_of_model(const Tree<P>& tree, const S* q, const S* v, const S* mu, S* model) const {
    if (!this->passive) return;
    S* stiffness = model + std::size_t(kNodeNumbers) * tree.n + tree.nv;
    S* damping = stiffness + tree.nv;
    for (const Node<P>& node : tree.nodes) {
      S reference[7], u[6];
      for (int k = 0; k < node.nv + is_group(node.kind); ++k) reference[k] = S(tree.springref[node.q + k]);
      deflect(node, reference, q + node.q, u);
      for (int i = 0; i < node.nv; ++i) {
        const int k = node.v + i;
        if (this->prescribed && this->prescribed[k]) continue;
        stiffness[k] -= mu[k] * u[i];
        damping[k] -= mu[k] * v[k];
      }
    }
  }

 private:
  // Equation (1) for one rate. Returns m; by_u gets the adjoint of u.
  template <class P>
  S servo_adjoint(const Tree<P>& tree, const Node<P>& node, int i, const S* x, const S* q, const S* v,
                  const S& mu, S& by_u, S* dq, S* dv) const {
    const int nv = tree.nv, k = node.v + i;
    const S *of = this->servo + k, zero(0.0);
    const S wanted = this->wanted(node, i, x, q, v);
    const S m = select((wanted >= of[kServoLeast * nv]) & (wanted <= of[kServoMost * nv]), mu, zero);
    by_u = -(of[kServoP * nv] * m);
    dv[k] -= of[kServoD * nv] * m;
    if (node.nv > 1) return m;
    const S k_stop = of[kStopK * nv], d = of[kStopD * nv];
    const S over = q[node.q] - of[kStopUpper * nv], under = of[kStopLower * nv] - q[node.q];
    const auto pushed = ((over > zero) & (k_stop * over + d * v[k] > zero)) |
                        ((under > zero) & (k_stop * under - d * v[k] > zero));
    dq[k] -= select(pushed, k_stop * mu, zero);
    dv[k] -= select(pushed, d * mu, zero);
    return m;
  }

  // dq += (du/dq)^T by_u.
  template <class P, class R>
  static void add_turned(const Node<P>& node, const R* reference, const S* q, const S* by_u, S* dq) {
    if (node.nv == 1) {
      dq[node.v] += by_u[0];
      return;
    }
    const Deflection<S> d = group_deflection(node, reference, q);
    for (int j = 0; j < node.nv; ++j) {
      S column[6];
      deflection_column(d, j, column);
      for (int i = 0; i < node.nv; ++i) dq[node.v + j] += column[i] * by_u[i];
    }
  }
};

template <class S>
struct RolloutAdjointWork {
  AdjointWork<S> step;
  ControlWork<S> control;
  S *q, *v, *s, *dq, *ds, *weights, *by_now, *by_next, *pending;

  template <class P>
  RolloutAdjointWork(const Tree<P>& tree, Arena& arena) : step(tree, arena), control(tree, arena) {
    q = arena.take<S>(tree.nq);
    weights = arena.take<S>(2 * tree.nv);
    for (S** x : {&v, &s, &dq, &ds, &by_now, &by_next, &pending}) *x = arena.take<S>(tree.nv);
  }
  // Where the adjoints of the model go.
  void add_to(S* model, std::ptrdiff_t size) {
    step.model = model;
    for (std::ptrdiff_t k = 0; k < size; ++k) model[k] = S(0.0);
  }
};

// The tape loads states, weights and controls by row, and stores the adjoint rows of the forces.
template <class S, class P, class Tape>
void rollout_adjoint(const Tree<P>& tree, const Tableau& method, std::ptrdiff_t steps,
                     AdjointForces<S> forces, const Tape& tape, const S& dt, S* dq0, S* dv0,
                     RolloutAdjointWork<S>& work) {
  const int nv = tree.nv;
  const auto clear = [nv](S* x) {
    for (int k = 0; k < nv; ++k) x[k] = S(0.0);
  };
  const auto weigh = [&](std::ptrdiff_t t) {
    tape.load_state(t, work.q, work.v);
    tape.load_weights(t, work.weights);
    adjoint_body_axes(tree, work.q, work.v, work.weights, work.weights + nv, work.dq, work.ds);
  };
  for (S* x : {work.dq, work.ds, work.pending}) clear(x);
  forces.by_now = work.by_now;
  forces.by_next = work.by_next;
  for (std::ptrdiff_t t = steps - 1; t >= 0; --t) {
    if (tape.stopped()) return;
    weigh(t + 1);
    tape.load_state(t, work.q, work.v);
    to_parent_axes(tree, work.q, work.v, work.s);
    load_controls(tape, t, forces);
    clear(work.by_now);
    clear(work.by_next);
    adjoint_step(tree, method, dt, forces, work.q, work.s, work.dq, work.ds, work.step);
    if (!forces.linear) {
      tape.store_forces(t, work.by_now);
      continue;
    }
    for (int k = 0; k < nv; ++k) work.pending[k] += work.by_next[k];
    tape.store_forces(t + 1, work.pending);
    std::swap(work.pending, work.by_now);
    forces.by_now = work.by_now;
  }
  if (forces.linear) tape.store_forces(0, work.pending);
  weigh(0);
  adjoint_start(tree, work.q, work.v, work.dq, work.ds);
  for (int k = 0; k < nv; ++k) {
    dq0[k] = work.dq[k];
    dv0[k] = work.ds[k];
  }
}

}  // namespace jounce
