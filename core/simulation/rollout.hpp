// Many steps of an explicit method, forces per step, each k-th state stored.
//
// The lanes of a pack are states of a batch, and one that diverges must not stop the others. A lane
// fails when its next state is not finite or its inertia is singular. What is stored of it from then
// on is NaN, and it goes on as a copy of a lane that lives, so that it disturbs none.
#pragma once

#include <limits>
#include <type_traits>

#include "jounce/simulation/forces.hpp"
#include "jounce/simulation/step.hpp"

namespace jounce {

struct RolloutPlan {
  const Tableau& method;
  std::ptrdiff_t stored, every;  // states after the first, steps between them
  bool linear;                   // forces between two rows
};

// One lane of a pack as doubles.
struct LaneWork {
  StepWork<double> step;
  double *q, *s, *now, *next, *between;

  template <class P>
  LaneWork(const Tree<P>& tree, Arena& arena) : step(tree, arena) {
    const std::size_t row = tree.nv + 6 * tree.n_bodies;
    q = arena.take<double>(tree.nq);
    s = arena.take<double>(tree.nv);
    for (double** x : {&now, &next, &between}) *x = arena.take<double>(row);
  }
};
struct NoLaneWork {
  template <class P>
  NoLaneWork(const Tree<P>&, Arena&) {}
};

template <class S>
struct RolloutWork {
  StepWork<S> step;
  std::conditional_t<(lanes<S> > 1), LaneWork, NoLaneWork> lane;
  S *q, *s, *q_before, *s_before, *q_out, *v_out;
  S *now, *next, *between;

  template <class P>
  RolloutWork(const Tree<P>& tree, Arena& arena) : step(tree, arena), lane(tree, arena) {
    const std::size_t row = tree.nv + 6 * tree.n_bodies;
    for (S** x : {&q, &q_before, &q_out}) *x = arena.take<S>(tree.nq);
    for (S** x : {&s, &s_before, &v_out}) *x = arena.take<S>(tree.nv);
    for (S** x : {&now, &next, &between}) *x = arena.take<S>(row);
  }
};

// Which lanes have failed, and one that has not.
template <class S>
struct Lanes {
  static constexpr int count = lanes<S>;
  bool failed[count] = {};
  int living = 0;  // -1: none
  bool any = false;

  void fail(int i) {
    failed[i] = any = true;
    living = -1;
    for (int k = 0; k < count && living < 0; ++k) {
      if (!failed[k]) living = k;
    }
  }
  // Failed lanes become copies of the living one.
  void replace(S* x, int n) const {
    for (int i = 0; any && i < count; ++i) {
      if (!failed[i]) continue;
      for (int k = 0; k < n; ++k) set_lane(x[k], i, lane(x[k], living));
    }
  }
  void spoil(S* x, int n) const {
    for (int i = 0; any && i < count; ++i) {
      if (!failed[i]) continue;
      for (int k = 0; k < n; ++k) set_lane(x[k], i, std::numeric_limits<double>::quiet_NaN());
    }
  }
};

template <class S, class P, class Tape>
class Rollout {
 public:
  Rollout(const Tree<P>& tree, const RolloutPlan& plan, const Tape& tape, const S& dt,
          RolloutWork<S>& work)
      : tree_(tree), plan_(plan), tape_(tape), dt_(dt), work_(work),
        forces_{work.now, work.next, work.between, control_row(tree, tape.has_wrenches()),
                plan.linear} {}

  // failed_at: the step that failed, or -1.
  void run(const S* q, const S* v, S* failed_at) {
    for (int k = 0; k < tree_.nq; ++k) work_.q[k] = q[k];
    to_parent_axes(tree_, q, v, work_.s);
    failed_at[0] = S(-1.0);
    tape_.store(0, q, v);
    const std::ptrdiff_t steps = plan_.stored * plan_.every;
    for (std::ptrdiff_t t = 0; t < steps; ++t) {
      if (tape_.stopped()) return;
      if (lanes_.living >= 0) step(t, failed_at[0]);
      if ((t + 1) % plan_.every == 0) store((t + 1) / plan_.every);
    }
  }

 private:
  void step(std::ptrdiff_t t, S& failed_at) {
    load(t);
    for (int k = 0; k < tree_.nq; ++k) work_.q_before[k] = work_.q[k];
    for (int k = 0; k < tree_.nv; ++k) work_.s_before[k] = work_.s[k];
    const int bad = explicit_step(tree_, plan_.method, dt_, forces_, work_.q, work_.s, work_.step);
    S sum(0.0);  // of zeros where all is finite, else NaN
    for (int k = 0; k < tree_.nq; ++k) sum += work_.q[k] - work_.q[k];
    for (int k = 0; k < tree_.nv; ++k) sum += work_.s[k] - work_.s[k];
    if (bad < 0 && all(sum >= S(0.0))) return;
    for (int i = 0; i < Lanes<S>::count; ++i) {
      if (lanes_.failed[i]) continue;
      if (lane(sum, i) == 0.0 && !(bad >= 0 && is_singular(i))) continue;
      lanes_.fail(i);
      set_lane(failed_at, i, double(t));
    }
    if (lanes_.living < 0) return;
    lanes_.replace(work_.q, tree_.nq);
    lanes_.replace(work_.s, tree_.nv);
    lanes_.replace(&dt_, 1);
  }

  void load(std::ptrdiff_t t) {
    const ControlRow& row = forces_.row;
    for (const bool second : {false, true}) {
      if (second && !plan_.linear) break;
      S* to = second ? work_.next : work_.now;
      tape_.load_forces(t + second, to);
      if (row.wrenches) tape_.load_wrenches(t + second, to + row.nv);
      lanes_.replace(to, row.size());
    }
  }

  // Whether the step of one lane, done alone, meets a singular inertia.
  bool is_singular(int i) {
    if constexpr (Lanes<S>::count == 1) {
      return true;
    } else {
      LaneWork& one = work_.lane;
      for (int k = 0; k < tree_.nq; ++k) one.q[k] = lane(work_.q_before[k], i);
      for (int k = 0; k < tree_.nv; ++k) one.s[k] = lane(work_.s_before[k], i);
      for (int k = 0; k < forces_.row.size(); ++k) {
        one.now[k] = lane(work_.now[k], i);
        if (plan_.linear) one.next[k] = lane(work_.next[k], i);
      }
      const HeldForces<double> forces{one.now, one.next, one.between, forces_.row, plan_.linear};
      return explicit_step(tree_, plan_.method, lane(dt_, i), forces, one.q, one.s, one.step) >= 0;
    }
  }

  void store(std::ptrdiff_t row) {
    to_body_axes(tree_, work_.q, work_.s, work_.v_out);
    lanes_.spoil(work_.v_out, tree_.nv);
    const S* q = work_.q;
    if (lanes_.any) {
      for (int k = 0; k < tree_.nq; ++k) work_.q_out[k] = work_.q[k];
      lanes_.spoil(work_.q_out, tree_.nq);
      q = work_.q_out;
    }
    tape_.store(row, q, work_.v_out);
  }

  const Tree<P>& tree_;
  const RolloutPlan& plan_;
  const Tape& tape_;
  S dt_;
  RolloutWork<S>& work_;
  HeldForces<S> forces_;
  Lanes<S> lanes_;
};

}  // namespace jounce
