// Steps and rollouts.
#include "jounce/batch/second.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/kernels/once.hpp"
#include "jounce/kernels/rollouts.hpp"
#include "jounce/simulation/momentum_form.hpp"
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
                 positive("dt", shapes::scalar),
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

KernelList simulation_kernels(Pass) {
  return differentiable<ExplicitStep>(
      others<ExplicitRollout, MomentumRollout, VariationalRollout>(second_derivatives<ExplicitStep>()));
}

}  // namespace jounce
