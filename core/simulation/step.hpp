// One step of an explicit method along the equations of motion.
//
// With slopes (s_j, s_j') at the states before it, stage i is at
//   (1) q_i = q exp(xi_i),  xi_i = dt sum_j w_ij s_j,   s_i = s + dt sum_j w_ij s_j'
// from the start of the step or from the state of another stage. In the methods of Munthe-Kaas the
// rates s_j of the sum are those of xi. The finish is one or several such moves.
#pragma once

#include "jounce/simulation/accelerations.hpp"
#include "jounce/simulation/tableau.hpp"

namespace jounce {

template <class S>
struct StepWork {
  ArticulatedWork<S> dynamics;
  S *q, *rates, *slopes;  // of every stage: (kMostSlopes, nq), (kMostSlopes, nv) twice
  S *u, *v;               // the last move, body-fixed rates

  template <class P>
  StepWork(const Tree<P>& tree, Arena& arena)
      : dynamics(tree, arena),
        q(arena.take<S>(std::size_t(kMostSlopes) * tree.nq)),
        rates(arena.take<S>(std::size_t(kMostSlopes) * tree.nv)),
        slopes(arena.take<S>(std::size_t(kMostSlopes) * tree.nv)),
        u(arena.take<S>(tree.nv)),
        v(arena.take<S>(tree.nv)) {}
};

// to = from + dt sum_j w_j x_j, where x has rows of n numbers; `from` may be null (zero).
template <class S>
JOUNCE_INLINE void add_weighted(const S* from, const S& dt, const double* w, int count, const S* x,
                                int n, S* to) {
  int used[kMostSlopes], terms = 0;
  S h[kMostSlopes];
  for (int j = 0; j < count; ++j) {
    if (w[j] == 0.0) continue;
    used[terms] = j * n;
    h[terms++] = dt * w[j];
  }
  for (int k = 0; k < n; ++k) {
    S sum = from ? from[k] : S(0.0);
    for (int j = 0; j < terms; ++j) sum += h[j] * x[used[j] + k];
    to[k] = sum;
  }
}

// Stages of which a step leaves nothing.
template <class S>
struct KeepNothing {
  StepWork<S>& work;
  template <class P>
  int accelerate(const Tree<P>& tree, int, const S* q, const S* v, const ForcesAt<S>& at, S* a) const {
    return accelerations(tree, q, v, at, a, work.dynamics);
  }
  void keep(int, const S*, const S*) const {}
};

// Whether a singular inertia is the robot's: a state that is not finite has none. Of a pack it is if one state is
// finite, which is asked again alone.
template <class S, class P>
bool is_of_robot(const Tree<P>& tree, const S* q, const S* s) {
  S sum(0.0);  // of zeros where all is finite, else NaN
  for (int k = 0; k < tree.nq; ++k) sum += q[k] - q[k];
  for (int k = 0; k < tree.nv; ++k) sum += s[k] - s[k];
  return any(value(sum) >= value(S(0.0)));
}

// States and slopes of all stages. `forces(tree, time, q, v)` gives what acts at a time within the
// step, from 0 to 1, and `stages.accelerate` what it does. `stages.keep` sees the move and the rates of
// each, before these are made those of xi. Returns a singular node or -1.
template <class S, class P, class Forces, class Stages>
int explicit_stages(const Tree<P>& tree, const Tableau& method, const S& dt, Forces&& forces,
                    const S* q, const S* s, StepWork<S>& work, Stages&& stages) {
  const int nq = tree.nq, nv = tree.nv;
  int singular = -1;
  for (int i = 0; i < method.slopes; ++i) {
    S *own_q = work.q + i * nq, *own_s = work.rates + i * nv, *own_a = work.slopes + i * nv;
    if (i == 0) {
      for (int k = 0; k < nq; ++k) own_q[k] = q[k];
      for (int k = 0; k < nv; ++k) own_s[k] = s[k];
    } else {  // (1)
      const int start = method.start(i);
      const double* w = method.weights(i);
      add_weighted((const S*)nullptr, dt, w, i, work.rates, nv, work.u);
      move_coordinates(tree, work.q + start * nq, work.u, own_q);
      add_weighted(start ? work.rates + start * nv : s, dt, w, i, work.slopes, nv, own_s);
    }
    to_body_axes(tree, own_q, own_s, work.v);
    const ForcesAt<S> at = forces(tree, method.time(i), own_q, work.v);
    const int bad = stages.accelerate(tree, i, own_q, work.v, at, own_a);
    if (singular < 0 && bad >= 0 && is_of_robot(tree, own_q, own_s)) singular = bad;
    stages.keep(i, work.u, own_s);
    acceleration_to_parent_axes(tree, own_q, work.v, own_a);
    if (method.munthe_kaas && i > 0) pull_back(tree, work.u, own_s);
  }
  return singular;
}

// The move of the finish; s is there already. `work.u` becomes it.
template <class S, class P>
JOUNCE_INLINE void finishing_move(const Tree<P>& tree, const Tableau& method, int move, const S& dt,
                                  const S* s, StepWork<S>& work) {
  const double* w = method.finish(move);
  if (!method.with_next_rates) {
    add_weighted((const S*)nullptr, dt, w, method.slopes, work.rates, tree.nv, work.u);
    return;
  }
  const S h = dt * method.share(move);
  for (int k = 0; k < tree.nv; ++k) work.u[k] = s[k] * h;
}

// The state (q, s) a step later, in place. Returns a singular node or -1.
template <class S, class P, class Forces, class Stages>
int explicit_step(const Tree<P>& tree, const Tableau& method, const S& dt, Forces&& forces, S* q,
                  S* s, StepWork<S>& work, const Stages& stages) {
  const int singular = explicit_stages(tree, method, dt, forces, q, s, work, stages);
  for (int move = 0; move < method.moves; ++move) {
    add_weighted(s, dt, method.finish(move), method.slopes, work.slopes, tree.nv, s);
    finishing_move(tree, method, move, dt, s, work);
    move_coordinates(tree, q, work.u, q);
  }
  return singular;
}
template <class S, class P, class Forces>
int explicit_step(const Tree<P>& tree, const Tableau& method, const S& dt, Forces&& forces, S* q,
                  S* s, StepWork<S>& work) {
  return explicit_step(tree, method, dt, forces, q, s, work, KeepNothing<S>{work});
}

}  // namespace jounce
