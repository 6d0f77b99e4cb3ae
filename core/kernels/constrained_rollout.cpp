// Rollouts under constraints.
#include "jounce/batch/states.hpp"
#include "jounce/kernels/constraint_table.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/kernels/rollouts.hpp"
#include "jounce/simulation/constrained_step.hpp"

namespace jounce {
namespace {

// `motion`, `held` and `tolerance` are the same for all states, as the table is.
struct ConstrainedRollout {
  static constexpr List<Input, kMostInputs> inputs = [] {
    List<Input, kMostInputs> all = kRolloutInputs;
    all.add({"motion", kRowSeries});
    all.add({"held", kByRow});
    all.add({"tolerance", shapes::scalar});
    all.add({"table", kTable});
    return all;
  }();
  static constexpr Signature signature{
      .name = "constrained_rollout",
      .inputs = inputs,
      .outputs = kRolloutOutputs,
      .options = {options::tableau, options::every, options::hold, options::passive},
      .internal = true};
  template <class S>
  using Work = RolloutWork<S, ConstrainedStepper>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    using Name = typename X::InputName;
    const ConstraintTable table = table_of(x, Name("table"));
    const double alpha = table.count ? table.numbers[kConstraintNumbers - 2] : 0.0;
    const RowMotion motion{x.call.rows, x.call.order + 1, x.call.in[Name("motion").at],
                           x.call.in[Name("held").at], alpha};
    roll_out<S>(x, ConstrainedStepper{{x.options.tableau}, table, motion, lane(x.in("tolerance")[0], 0)},
                work);
  }
};

}  // namespace

KernelList constrained_rollout_kernels(Plain) { return {kernel_of<ConstrainedRollout>}; }

}  // namespace jounce
