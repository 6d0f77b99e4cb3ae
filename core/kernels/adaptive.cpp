// Motions with adaptive steps, and steps by Taylor series.
//
// A motion goes in portions (simulation/adaptive.hpp). `plan` is (relative and absolute tolerance, last time
// of all, most steps of this portion, whether passive forces act); `progress` (time, next step, first row that
// is due, status, what the stepper keeps of the last step) goes in and comes out.
#include "jounce/batch/states.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/kernels/once.hpp"
#include "jounce/simulation/embedded_step.hpp"
#include "jounce/simulation/taylor.hpp"

namespace jounce {
namespace {

// What a motion reads and writes as it goes.
template <class S, class X>
struct MotionTape {
  const X& x;
  double horizon;
  bool linear;
  std::ptrdiff_t rows = x.call.times;
  int count = x.count;

  bool has_forces() const { return x.given("tau"); }
  double time(std::ptrdiff_t row) const { return *x.in_row("t", 0, row); }
  const double* forces(int lane, std::ptrdiff_t row) const { return x.in_row("tau", lane, row); }
  void store(int i, std::ptrdiff_t row, const S* q, const S* v) const {
    double *to_q = x.out_row("q", i, row), *to_v = x.out_row("v", i, row);
    for (int k = 0; k < x.tree.nq; ++k) to_q[k] = lane(q[k], i);
    for (int k = 0; k < x.tree.nv; ++k) to_v[k] = lane(v[k], i);
  }
};

template <class S, class X, class Stepper>
int follow(const X& x, Stepper& stepper) {
  const S *plan = x.in("plan"), *progress = x.in("progress");
  const MotionTape<S, X> tape{x, lane(plan[2], 0), x.options.hold != 0};
  Journey journeys[lanes<S>];
  for (int i = 0; i < lanes<S>; ++i) {
    journeys[i].t = lane(progress[0], i);
    journeys[i].h = lane(progress[1], i);
    journeys[i].due = std::ptrdiff_t(lane(progress[2], i));
    journeys[i].status = Journey::Status(int(lane(progress[3], i)));
    journeys[i].past = lane(progress[4], i);
    if (i < x.count && journeys[i].t == tape.time(0)) tape.store(i, 0, x.in("q0"), x.in("v0"));
  }
  stepper.start(x.in("q0"), x.in("v0"));
  AdaptiveMotion<S, double, Stepper, MotionTape<S, X>> motion(x.tree, tape, stepper, journeys);
  const int singular = motion.run(std::ptrdiff_t(lane(plan[3], 0)));
  const auto [q, v] = stepper.state();
  for (int k = 0; k < x.tree.nq; ++k) x.out("q_end")[k] = q[k];
  for (int k = 0; k < x.tree.nv; ++k) x.out("v_end")[k] = v[k];
  for (int i = 0; i < lanes<S>; ++i) {
    const Journey& at = journeys[i];
    const double numbers[] = {at.t, at.h, double(at.due), double(at.status), at.past};
    for (int k = 0; k < 5; ++k) set_lane(x.out("progress")[k], i, numbers[k]);
  }
  return singular;
}

constexpr Shape five_numbers{1, {{Dimension::number, 5}}};  // of `progress` and `plan`
constexpr List<Input, kMostInputs> motion_inputs{configuration("q0"),
                                                 {"v0", shapes::v},
                                                 {"progress", five_numbers},
                                                 {"plan", five_numbers},
                                                 {"t", shapes::in_time},
                                                 {"tau", shapes::v_in_time, optional}};
constexpr List<Output, kMostOutputs> motion_outputs{{"q", shapes::q_in_time, Finite::unchecked},
                                                    {"v", shapes::v_in_time, Finite::unchecked},
                                                    {"q_end", shapes::q, Finite::unchecked},
                                                    {"v_end", shapes::v, Finite::unchecked},
                                                    {"progress", five_numbers, Finite::unchecked}};

template <class S>
Tolerance tolerance_of(const S* plan) {
  return {lane(plan[0], 0), lane(plan[1], 0)};
}

struct EmbeddedMotion {
  static constexpr Signature signature{.name = "embedded_motion",
                                       .inputs = motion_inputs,
                                       .outputs = motion_outputs,
                                       .options = {options::pair, options::hold},
                                       .internal = true};
  template <class S>
  using Work = EmbeddedWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    const S* plan = x.in("plan");
    EmbeddedStepper<S, double> stepper(x.tree, x.options.pair, tolerance_of(plan), x.given("tau"),
                                       lane(plan[4], 0) != 0.0, work);
    return follow<S>(x, stepper);
  }
};

struct TaylorMotion {
  static constexpr Signature signature{.name = "taylor_motion",
                                       .inputs = motion_inputs,
                                       .outputs = motion_outputs,
                                       .options = {options::order, options::hold},
                                       .internal = true};
  template <class S>
  using Work = TaylorWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    const S* plan = x.in("plan");
    TaylorStepper<S, double> stepper(x.tree, tolerance_of(plan), lane(plan[4], 0) != 0.0,
                                     !x.call.is_batch, work);
    return follow<S>(x, stepper);
  }
};

// One step along given forces, at most dt, with the coefficients of the motion in it: those of turns
// are relative to the start, the linear velocity of free joints is along the axes of the parent.
struct TaylorStep {
  static constexpr Shape coordinate_series{2, {shapes::r_plus(3), shapes::nq}};
  static constexpr Signature signature{
      .name = "taylor_step",
      .inputs = {configuration("q"),
                 {"v", shapes::v},
                 {"tau", shapes::series},
                 {"dt", shapes::scalar},
                 {"rtol", shapes::scalar},
                 {"atol", shapes::scalar},
                 {"f_ext", shapes::wrench_series, optional}},
      .outputs = {{"q", shapes::q},
                  {"v", shapes::v},
                  {"dt", shapes::scalar},
                  {"coordinates", coordinate_series, Finite::unchecked},
                  {"rates", shapes::motion, Finite::unchecked}},
      .internal = true};
  template <class S>
  struct Work : TaylorWork<S> {
    Work(const Tree<double>& tree, int order, Arena& arena) : TaylorWork<S>(tree, order + 1, arena) {}
  };
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    const int p = work.order, nq = x.tree.nq, nv = x.tree.nv;
    const Tolerance by{lane(x.in("rtol")[0], 0), lane(x.in("atol")[0], 0)};
    TaylorStepper<S, double> stepper(x.tree, by, false, !x.call.is_batch, work);
    stepper.start(x.in("q"), x.in("v"));
    series::to_coefficients(x.in("tau"), p, nv, work.solve.force);
    int singular = stepper.series(x.in("f_ext"), [](int) {});
    const S most = x.in("dt")[0], longest = stepper.longest_step();
    const S h = x.out("dt")[0] = select(longest < most, longest, most);
    stepper.attempt(h, singular);
    const auto [q, v] = stepper.end();
    for (int k = 0; k < nq; ++k) x.out("q")[k] = q[k];
    for (int k = 0; k < nv; ++k) x.out("v")[k] = v[k];
    for (int k = 0; k < (p + 2) * nq; ++k) x.out("coordinates")[k] = work.coordinates[k];
    for (int k = 0; k < (p + 1) * nv; ++k) x.out("rates")[k] = work.rates()[k];
    return singular;
  }
};

}  // namespace

KernelList adaptive_kernels(Plain) {
  return {kernel_of<EmbeddedMotion>, kernel_of<TaylorMotion>, kernel_of<TaylorStep>};
}

}  // namespace jounce
