// Many steps of a method, forces per step, each k-th state stored.
//
// The lanes of a pack are states of a batch, and one that diverges must not stop the others. A lane
// fails when its next state is not finite or its inertia is singular. What is stored of it from then
// on is NaN, and it goes on as a copy of a lane that lives, so that it disturbs none.
//
// A stepper is a method: the rates s that it carries beside q, found from v by `enter` and v from them
// by `leave`, and one step of both, the t-th of all.
#pragma once

#include <limits>
#include <type_traits>

#include "jounce/simulation/step.hpp"

namespace jounce {

struct RolloutPlan {
  std::ptrdiff_t stored, every;  // states after the first, steps between them
  bool linear;                   // forces between two rows
  const unsigned char* prescribed;
  bool passive;
};

// Methods of a tableau.
struct ExplicitStepper {
  const Tableau& method;
  template <class S>
  using Work = StepWork<S>;

  template <class S, class P, class Any>
  void enter(const Tree<P>& tree, const S* q, const S* v, S* s, Any&) const {
    to_parent_axes(tree, q, v, s);
  }
  template <class S, class P>
  int step(const Tree<P>& tree, std::ptrdiff_t, const S& dt, const HeldForces<S>& forces, S* q, S* s,
           Work<S>& work) const {
    return explicit_step(tree, method, dt, forces, q, s, work);
  }
  template <class S, class P, class Any>
  void leave(const Tree<P>& tree, const S* q, const S* s, S* v, Any&) const {
    to_body_axes(tree, q, s, v);
  }
};

// One lane of a pack as doubles.
template <class Stepper>
struct LaneWork {
  typename Stepper::template Work<double> step;
  ControlWork<double> control;
  double *q, *s, *servo;

  template <class P>
  LaneWork(const Tree<P>& tree, Extent extent, Arena& arena)
      : step(make_work<decltype(step)>(tree, extent, arena)), control(tree, arena) {
    q = arena.take<double>(tree.nq);
    s = arena.take<double>(tree.nv);
    servo = arena.take<double>(kServoRows * tree.nv);
  }
};
struct NoLaneWork {
  template <class P>
  NoLaneWork(const Tree<P>&, Extent, Arena&) {}
};

template <class S, class Stepper>
struct RolloutWork {
  typename Stepper::template Work<S> step;
  ControlWork<S> control;
  std::conditional_t<(lanes<S> > 1), LaneWork<Stepper>, NoLaneWork> lane;
  S *q, *s, *q_before, *s_before, *q_out, *v_out;

  template <class P>
  RolloutWork(const Tree<P>& tree, Extent extent, Arena& arena)
      : step(make_work<decltype(step)>(tree, extent, arena)),
        control(tree, arena),
        lane(tree, extent, arena) {
    for (S** x : {&q, &q_before, &q_out}) *x = arena.take<S>(tree.nq);
    for (S** x : {&s, &s_before, &v_out}) *x = arena.take<S>(tree.nv);
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

template <class S, class P, class Tape, class Stepper>
class Rollout {
 public:
  Rollout(const Tree<P>& tree, const RolloutPlan& plan, const Stepper& stepper, const Tape& tape,
          const S& dt, RolloutWork<S, Stepper>& work)
      : tree_(tree), plan_(plan), stepper_(stepper), tape_(tape), dt_(dt), work_(work),
        forces_(held(work.control, control_row(tree, tape.has_wrenches(), tape.has_references()),
                     tape.servo())) {}

  // failed_at: the step that failed, or -1.
  void run(const S* q, const S* v, S* failed_at) {
    for (int k = 0; k < tree_.nq; ++k) work_.q[k] = q[k];
    stepper_.enter(tree_, q, v, work_.s, work_.step);
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
  template <class T>
  HeldForces<T> held(const ControlWork<T>& work, const ControlRow& row, const T* servo) const {
    return {work.now, work.next, work.between, work.total, row, plan_.linear, plan_.prescribed,
            servo,    plan_.passive};
  }

  void step(std::ptrdiff_t t, S& failed_at) {
    load(t);
    for (int k = 0; k < tree_.nq; ++k) work_.q_before[k] = work_.q[k];
    for (int k = 0; k < tree_.nv; ++k) work_.s_before[k] = work_.s[k];
    const int bad = stepper_.step(tree_, t, dt_, forces_, work_.q, work_.s, work_.step);
    S sum(0.0);  // of zeros where all is finite, else NaN
    for (int k = 0; k < tree_.nq; ++k) sum += work_.q[k] - work_.q[k];
    for (int k = 0; k < tree_.nv; ++k) sum += work_.s[k] - work_.s[k];
    if (bad < 0 && all(sum >= S(0.0))) return;
    for (int i = 0; i < Lanes<S>::count; ++i) {
      if (lanes_.failed[i]) continue;
      if (lane(sum, i) == 0.0 && !(bad >= 0 && is_singular(t, i))) continue;
      lanes_.fail(i);
      set_lane(failed_at, i, double(t));
    }
    if (lanes_.living < 0) return;
    lanes_.replace(work_.q, tree_.nq);
    lanes_.replace(work_.s, tree_.nv);
    lanes_.replace(&dt_, 1);
  }

  void load(std::ptrdiff_t t) {
    load_controls(tape_, t, forces_);
    lanes_.replace(work_.control.now, forces_.row.size());
    if (plan_.linear) lanes_.replace(work_.control.next, forces_.row.size());
  }

  // Whether the step of one lane, done alone, meets a singular inertia.
  bool is_singular(std::ptrdiff_t t, int i) {
    if constexpr (Lanes<S>::count == 1) {
      return true;
    } else {
      auto& one = work_.lane;
      const auto take = [i](const S* from, int n, double* to) {
        for (int k = 0; k < n; ++k) to[k] = lane(from[k], i);
      };
      take(work_.q_before, tree_.nq, one.q);
      take(work_.s_before, tree_.nv, one.s);
      take(work_.control.now, forces_.row.size(), one.control.now);
      if (plan_.linear) take(work_.control.next, forces_.row.size(), one.control.next);
      if (forces_.servo) take(forces_.servo, kServoRows * tree_.nv, one.servo);
      const auto forces = held(one.control, forces_.row, forces_.servo ? one.servo : nullptr);
      return stepper_.step(tree_, t, lane(dt_, i), forces, one.q, one.s, one.step) >= 0;
    }
  }

  void store(std::ptrdiff_t row) {
    if (lanes_.living >= 0) stepper_.leave(tree_, work_.q, work_.s, work_.v_out, work_.step);
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
  const Stepper& stepper_;
  const Tape& tape_;
  S dt_;
  RolloutWork<S, Stepper>& work_;
  HeldForces<S> forces_;
  Lanes<S> lanes_;
};

}  // namespace jounce
