// Rollouts under constraints, and steps by Taylor series.
#include "jounce/batch/states.hpp"
#include "jounce/kernels/constraint_table.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/kernels/rollouts.hpp"
#include "jounce/simulation/constrained_step.hpp"
#include "jounce/simulation/constrained_taylor.hpp"

namespace jounce {
namespace {

// `motion`, `held`, `moves` and `tolerance` are the same for all states, as the tables are; of them `table`
// lacks the targets that move.
struct ConstrainedRollout {
  static constexpr List<Input, kMostInputs> inputs = [] {
    List<Input, kMostInputs> all = kRolloutInputs;
    all.add({"motion", kRowSeries});
    all.add({"held", kByRow});
    all.add({"moves", kByRow});
    all.add({"tolerance", shapes::scalar});
    all.add({"table", kTable});
    all.add({"targets", kTable});
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
    const double* gains = table.numbers + kConstraintNumbers - 2;  // those of all records
    const RowMotion motion{x.call.rows,
                           x.call.order + 1,
                           x.call.in[Name("motion").at],
                           x.call.in[Name("held").at],
                           x.call.in[Name("moves").at],
                           table_of(x, Name("targets")),
                           table.count ? gains[0] : 0.0,
                           table.count ? gains[1] : 0.0};
    roll_out<S>(x, ConstrainedStepper{{x.options.tableau}, table, motion, lane(x.in("tolerance")[0], 0)},
                work);
  }
};

// One step, at most dt, as `taylor_step` does it. The state goes in and comes out with what its doubles
// lack; `s` are rates with the linear velocity of free joints along the axes of the parent.
struct ConstrainedTaylorStep {
  static constexpr Shape coordinate_series{2, {shapes::r_plus(3), shapes::nq}};
  static constexpr Signature signature{
      .name = "constrained_taylor_step",
      .inputs = {{"q", shapes::q},
                 {"s", shapes::v},
                 {"q_low", shapes::q},
                 {"s_low", shapes::v},
                 {"tau", shapes::series},
                 {"rates", kRowRates},
                 {"dt", shapes::scalar},
                 {"rtol", shapes::scalar},
                 {"atol", shapes::scalar},
                 {"table", kTable},
                 {"f_ext", shapes::wrench_series, optional}},
      .outputs = {{"q", shapes::q},
                  {"s", shapes::v},
                  {"q_low", shapes::q},
                  {"s_low", shapes::v},
                  {"dt", shapes::scalar},
                  {"coordinates", coordinate_series, Finite::unchecked},
                  {"rates", shapes::motion, Finite::unchecked},
                  {"a", shapes::series},
                  {"rank", shapes::scalar}},
      .packs = Packs::never,
      .internal = true};
  template <class S>
  using Work = ConstrainedTaylorWork;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    TaylorWork<Extended>& taylor = work.taylor;
    const int nq = x.tree.nq, nv = x.tree.nv, p = taylor.order;
    TaylorStepper<Extended, double> stepper(x.tree, {x.in("rtol")[0], x.in("atol")[0]}, false, false, taylor);
    const auto start = [](const double* high, const double* low, int n, Extended* to, Extended* to_low) {
      for (int k = 0; k < n; ++k) to[k] = Extended::of(high[k], low[k]), to_low[k] = 0.0;
    };
    start(x.in("q"), x.in("q_low"), nq, taylor.q, taylor.q_low);
    start(x.in("s"), x.in("s_low"), nv, taylor.s, taylor.s_low);
    const ConstraintTable table = table_of(x, typename X::InputName("table"));
    int singular = constrained_taylor_series(
        x.tree, table, {x.in("tau"), x.in("rates"), x.in("f_ext")}, work);
    const double longest = stepper.longest_step().high(), most = x.in("dt")[0];
    const double h = x.out("dt")[0] = longest < most ? longest : most;
    stepper.attempt(Extended(h), singular);
    const auto end = [](const Extended* from, int n, double* high, double* low) {
      for (int k = 0; k < n; ++k) high[k] = from[k].high(), low[k] = from[k].low();
    };
    end(taylor.q_end, nq, x.out("q"), x.out("q_low"));
    end(taylor.s_end, nv, x.out("s"), x.out("s_low"));
    const auto rounded = [](const Extended* from, int n, double* to) {
      for (int k = 0; k < n; ++k) to[k] = from[k].high();
    };
    rounded(taylor.coordinates, (p + 2) * nq, x.out("coordinates"));
    rounded(taylor.rates(), (p + 1) * nv, x.out("rates"));
    rounded(work.a, p * nv, x.out("a"));
    x.out("rank")[0] = work.rank.high();
    return singular;
  }
};

}  // namespace

KernelList constrained_rollout_kernels(Plain) {
  return {kernel_of<ConstrainedRollout>, kernel_of<ConstrainedTaylorStep>};
}

}  // namespace jounce
