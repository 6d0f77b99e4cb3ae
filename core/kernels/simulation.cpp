// Steps and rollouts.
#include "jounce/batch/second.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/simulation/momentum_form.hpp"
#include "jounce/simulation/rollout.hpp"
#include "jounce/simulation/variational.hpp"

namespace jounce {
namespace {

template <class S>
struct OneStepWork {
  StepWork<S> step;
  S* s;

  OneStepWork(const Tree<double>& tree, Arena& arena)
      : step(tree, arena), s(arena.take<S>(tree.nv)) {}
};

struct ExplicitStep {
  static constexpr Signature signature{
      .name = "explicit_step",
      .inputs = {configuration("q"),
                 {"v", shapes::v},
                 {"tau", shapes::v},
                 {"dt", shapes::scalar},
                 {"f_ext", shapes::six_vectors, optional}},
      .outputs = {configuration_output("q"), {"v", shapes::v}},
      .options = {options::tableau},
      .internal = true};
  template <class S>
  using Work = OneStepWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    const S *q = x.in("q"), *v = x.in("v");
    S* end = x.out("q");
    for (int k = 0; k < x.tree.nq; ++k) end[k] = q[k];
    to_parent_axes(x.tree, q, v, work.s);
    const auto forces = [&](const auto&, double, const S*, const S*) {
      return ForcesAt<S>{x.in("tau"), x.in("f_ext"), nullptr, nullptr};
    };
    const int singular = explicit_step(x.tree, x.options.tableau, x.in("dt")[0], forces, end, work.s,
                                       work.step);
    to_body_axes(x.tree, end, work.s, x.out("v"));
    return singular;
  }
};

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

struct ExplicitRollout {
  static constexpr Signature signature{
      .name = "explicit_rollout",
      .inputs = kRolloutInputs,
      .outputs = kRolloutOutputs,
      .options = {options::tableau, options::every, options::hold, options::some_prescribed,
                  options::passive},
      .internal = true};
  template <class S>
  using Work = RolloutWork<S, ExplicitStepper>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    roll_out<S>(x, ExplicitStepper{x.options.tableau}, work);
  }
};

struct MomentumRollout {
  static constexpr Signature signature{
      .name = "momentum_rollout",
      .inputs = kRolloutInputs,
      .outputs = kRolloutOutputs,
      .options = {options::tableau, options::every, options::hold, options::passive},
      .internal = true};
  template <class S>
  using Work = RolloutWork<S, MomentumStepper>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    roll_out<S>(x, MomentumStepper{x.options.tableau}, work);
  }
};

struct VariationalRollout {
  static constexpr Signature signature{
      .name = "variational_rollout",
      .inputs = kRolloutInputs,
      .outputs = kRolloutOutputs,
      .options = {options::every, options::hold},
      .internal = true};
  template <class S>
  using Work = RolloutWork<S, VariationalStepper>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    roll_out<S>(x, VariationalStepper{}, work);
  }
};

}  // namespace

KernelList simulation_kernels() {
  return differentiable<ExplicitStep>(
      {kernel_of<ExplicitRollout>, kernel_of<MomentumRollout>, kernel_of<VariationalRollout>,
       kernel_of<Second<ExplicitStep>>});
}

}  // namespace jounce
