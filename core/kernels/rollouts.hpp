// What kernels of rollouts share: their inputs and outputs, read and written row by row.
#pragma once

#include "jounce/batch/signature.hpp"
#include "jounce/simulation/rollout.hpp"

namespace jounce {

// What a rollout reads and writes as it goes.
template <class S, class X>
struct Tape {
  const X& x;

  bool has_wrenches() const { return x.given("f_ext"); }
  bool has_references() const { return x.given("q_ref"); }
  const S* servo() const { return x.in("servo"); }
  bool stopped() const { return x.stopped(); }
  void load_forces(std::ptrdiff_t row, S* to) const { x.load_row("tau", row, to); }
  void load_wrenches(std::ptrdiff_t row, S* to) const { x.load_row("f_ext", row, to); }
  void load_references(std::ptrdiff_t row, S* to) const { x.load_row("q_ref", row, to); }
  void store(std::ptrdiff_t row, const S* q, const S* v) const {
    x.store_row("q", row, q);
    x.store_row("v", row, v);
  }
};

constexpr List<Input, kMostInputs> kRolloutInputs{
    configuration("q0"),
    {"v0", shapes::v},
    {"tau", shapes::v_in_time},
    {"dt", shapes::scalar},
    {"f_ext", shapes::six_vectors_in_time, optional},
    {"q_ref", shapes::q_in_time, optional},
    {"servo", shapes::servo_rows, optional}};
constexpr List<Output, kMostOutputs> kRolloutOutputs{
    {"q", shapes::q_stored, Finite::unchecked},
    {"v", shapes::v_stored, Finite::unchecked},
    {"failed_at", shapes::scalar}};

template <class S, class X, class Stepper>
void roll_out(const X& x, const Stepper& stepper, RolloutWork<S, Stepper>& work) {
  const std::ptrdiff_t every = x.options.every;
  const RolloutPlan plan{x.call.steps() / every, every, x.options.hold != 0, x.options.prescribed,
                         x.options.passive};
  const Tape<S, X> tape{x};
  Rollout<S, double, Tape<S, X>, Stepper> rollout(x.tree, plan, stepper, tape, x.in("dt")[0], work);
  rollout.run(x.in("q0"), x.in("v0"), x.out("failed_at"));
}

}  // namespace jounce
