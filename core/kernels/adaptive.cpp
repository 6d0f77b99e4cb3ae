// Motions with adaptive steps, and steps by Taylor series.
//
// A motion goes in portions (simulation/adaptive.hpp) by a `plan`; its `progress` goes in and comes out. Where
// `room` has a row for each step of the portion, the starts of all that are taken are written to rows of `step_t`
// (time and length), `step_q` and `step_v`.
#include <algorithm>

#include "jounce/batch/states.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/kernels/once.hpp"
#include "jounce/simulation/embedded_step.hpp"
#include "jounce/simulation/taylor.hpp"

namespace jounce {
namespace {

// Places in `plan`: tolerances, the last time of all, most steps of this portion, whether passive forces act,
// whether steps end at the rows of controls.
enum Plan { kRelative, kAbsolute, kLast, kMostSteps, kPassive, kCorners, kPlan };
// And in `progress`: time, next step, first row that is due, status, what the stepper keeps of the last step,
// steps taken in this portion. src/jounce/simulation/compiled.py has the same.
enum Progress { kTime, kStep, kDue, kStatus, kPast, kSteps, kProgress };

// What a motion reads and writes as it goes.
template <class S, class X>
struct MotionTape {
  const X& x;
  double horizon;
  bool linear, corners;
  std::ptrdiff_t rows = x.call.times, room = x.call.records;
  int count = x.count;

  bool has_controls() const { return x.given("tau"); }
  double time(std::ptrdiff_t row) const { return *x.in_row("t", 0, row); }
  const double* forces(int lane, std::ptrdiff_t row) const { return x.in_row("tau", lane, row); }
  void load_controls(int lane, std::ptrdiff_t row, const ControlRow& parts, double* to) const {
    std::copy_n(forces(lane, row), parts.nv, to);
    if (parts.references) std::copy_n(x.in_row("q_ref", lane, row), parts.references, to + parts.nv);
  }
  bool keeps() const { return room > 1; }
  void keep(int i, std::ptrdiff_t row, double t, double h, const S* q, const S* v) const {
    double *to_t = x.out_row("step_t", i, row), *to_q = x.out_row("step_q", i, row);
    double* to_v = x.out_row("step_v", i, row);
    to_t[0] = t, to_t[1] = h;
    for (int k = 0; k < x.tree.nq; ++k) to_q[k] = lane(q[k], i);
    for (int k = 0; k < x.tree.nv; ++k) to_v[k] = lane(v[k], i);
  }
  void store(int i, std::ptrdiff_t row, const S* q, const S* v) const {
    double *to_q = x.out_row("q", i, row), *to_v = x.out_row("v", i, row);
    for (int k = 0; k < x.tree.nq; ++k) to_q[k] = lane(q[k], i);
    for (int k = 0; k < x.tree.nv; ++k) to_v[k] = lane(v[k], i);
  }
};

template <class S, class X, class Stepper>
int follow(const X& x, Stepper& stepper) {
  const S *plan = x.in("plan"), *progress = x.in("progress");
  const MotionTape<S, X> tape{x, lane(plan[kLast], 0), x.options.hold != 0, lane(plan[kCorners], 0) != 0.0};
  Journey journeys[lanes<S>];
  for (int i = 0; i < lanes<S>; ++i) {
    journeys[i].t = lane(progress[kTime], i);
    journeys[i].h = lane(progress[kStep], i);
    journeys[i].due = std::ptrdiff_t(lane(progress[kDue], i));
    journeys[i].status = Journey::Status(int(lane(progress[kStatus], i)));
    journeys[i].past = lane(progress[kPast], i);
    if (i < x.count && journeys[i].t == tape.time(0)) tape.store(i, 0, x.in("q0"), x.in("v0"));
  }
  stepper.start(x.in("q0"), x.in("v0"));
  AdaptiveMotion<S, double, Stepper, MotionTape<S, X>> motion(x.tree, tape, stepper, journeys);
  const int singular = motion.run(std::ptrdiff_t(lane(plan[kMostSteps], 0)));
  const auto [q, v] = stepper.state();
  for (int k = 0; k < x.tree.nq; ++k) x.out("q_end")[k] = q[k];
  for (int k = 0; k < x.tree.nv; ++k) x.out("v_end")[k] = v[k];
  for (int i = 0; i < lanes<S>; ++i) {
    const Journey& at = journeys[i];
    const double numbers[kProgress] = {at.t, at.h, double(at.due), double(at.status), at.past, double(at.steps)};
    for (int k = 0; k < kProgress; ++k) set_lane(x.out("progress")[k], i, numbers[k]);
  }
  return singular;
}

constexpr Shape plan_numbers{1, {{Dimension::number, kPlan}}}, progress_numbers{1, {{Dimension::number, kProgress}}};
static_assert(shapes::servo.plus == kServoRows);
constexpr List<Input, kMostInputs> motion_inputs{configuration("q0"),
                                                 {"v0", shapes::v},
                                                 {"progress", progress_numbers},
                                                 {"plan", plan_numbers},
                                                 {"t", shapes::in_time},
                                                 {"room", {1, {shapes::records}}},
                                                 {"tau", shapes::v_in_time, optional},
                                                 {"q_ref", shapes::q_in_time, optional},
                                                 {"servo", shapes::servo_rows, optional}};
constexpr Shape step_times{2, {shapes::records, {Dimension::number, 2}}};
constexpr List<Output, kMostOutputs> motion_outputs{{"q", shapes::q_in_time, Finite::unchecked},
                                                    {"v", shapes::v_in_time, Finite::unchecked},
                                                    {"q_end", shapes::q, Finite::unchecked},
                                                    {"v_end", shapes::v, Finite::unchecked},
                                                    {"progress", progress_numbers, Finite::unchecked},
                                                    {"step_t", step_times, Finite::unchecked},
                                                    {"step_q", {2, {shapes::records, shapes::nq}}, Finite::unchecked},
                                                    {"step_v", {2, {shapes::records, shapes::nv}}, Finite::unchecked}};

template <class S>
Tolerance tolerance_of(const S* plan) {
  return {lane(plan[kRelative], 0), lane(plan[kAbsolute], 0)};
}

struct EmbeddedMotion {
  static constexpr Signature signature{.name = "embedded_motion",
                                       .inputs = motion_inputs,
                                       .outputs = motion_outputs,
                                       .options = {options::pair, options::hold, options::some_prescribed},
                                       .internal = true};
  template <class S>
  using Work = EmbeddedWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    const S* plan = x.in("plan");
    const typename EmbeddedStepper<S, double>::Acting acting{
        x.given("tau"),       x.given("q_ref"), x.options.hold != 0, lane(plan[kPassive], 0) != 0.0,
        x.options.prescribed, x.in("servo")};
    EmbeddedStepper<S, double> stepper(x.tree, x.options.pair, tolerance_of(plan), acting, !x.call.is_batch, work);
    return follow<S>(x, stepper);
  }
};

// The polynomial of one step of given length, under controls that are linear from its start to its end.
struct EmbeddedStep {
  static constexpr Shape polynomial{2, {{Dimension::number, kMostTerms}, {Dimension::nv, 0, 2}}};
  static constexpr Signature signature{
      .name = "embedded_step",
      .inputs = {configuration("q"),
                 {"v", shapes::v},
                 {"tau", shapes::v_in_time},
                 {"dt", shapes::scalar},
                 {"q_ref", shapes::q_in_time, optional},
                 {"servo", shapes::servo_rows, optional}},
      .outputs = {{"polynomial", polynomial, Finite::unchecked}},
      .options = {options::pair, options::some_prescribed, options::passive},
      .internal = true};
  template <class S>
  using Work = EmbeddedWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    const typename EmbeddedStepper<S, double>::Acting acting{
        true, x.given("q_ref"), true, x.options.passive, x.options.prescribed, x.in("servo")};
    EmbeddedStepper<S, double> stepper(x.tree, x.options.pair, {1.0, 1.0}, acting, !x.call.is_batch, work);
    stepper.start(x.in("q"), x.in("v"));
    S* const rows[] = {work.control.now, work.control.next};
    for (int row = 0; row < 2; ++row) {
      x.load_row("tau", row, rows[row]);
      if (x.given("q_ref")) x.load_row("q_ref", row, rows[row] + x.tree.nv);
    }
    S h = x.in("dt")[0];
    int singular = stepper.begin(h);
    stepper.attempt(x.in("dt")[0], singular);
    const S* terms = stepper.polynomial();
    const int n = 2 * x.tree.nv;
    for (int i = 0; i < kMostTerms; ++i) {
      for (int k = 0; k < n; ++k) {
        x.out("polynomial")[i * n + k] = i < 3 + x.options.pair.dense ? terms[i * work.width + k] : S(0.0);
      }
    }
    return singular;
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
    TaylorStepper<S, double> stepper(x.tree, tolerance_of(plan), lane(plan[kPassive], 0) != 0.0,
                                     !x.call.is_batch, work, x.in("servo"));
    return follow<S>(x, stepper);
  }
};

// The polynomials of one step under forces that are linear in it and what answers to the state.
struct TaylorPolynomial {
  static constexpr Signature signature{
      .name = "taylor_polynomial",
      .inputs = {configuration("q"),
                 {"v", shapes::v},
                 {"tau", shapes::v_in_time},
                 {"dt", shapes::scalar},
                 {"servo", shapes::servo_rows, optional}},
      .outputs = {{"coordinates", {2, {shapes::r_plus(2), shapes::nq}}, Finite::unchecked},
                  {"rates", {2, {shapes::r_plus(1), shapes::nv}}, Finite::unchecked}},
      .options = {options::order, options::passive},
      .internal = true};
  template <class S>
  using Work = TaylorWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    const int p = work.order, nq = x.tree.nq, nv = x.tree.nv;
    TaylorStepper<S, double> stepper(x.tree, {1.0, 1.0}, x.options.passive, !x.call.is_batch, work,
                                     x.in("servo"));
    stepper.start(x.in("q"), x.in("v"));
    x.load_row("tau", 0, stepper.force);
    x.load_row("tau", 1, stepper.force_slope);
    for (int k = 0; k < nv; ++k) {
      stepper.force_slope[k] = (stepper.force_slope[k] - stepper.force[k]) / x.in("dt")[0];
    }
    S h;
    const int singular = stepper.begin(h);
    for (int k = 0; k < (p + 2) * nq; ++k) x.out("coordinates")[k] = work.coordinates[k];
    for (int k = 0; k < (p + 1) * nv; ++k) x.out("rates")[k] = work.rates()[k];
    return singular;
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
  return {kernel_of<EmbeddedMotion>, kernel_of<EmbeddedStep>, kernel_of<TaylorMotion>, kernel_of<TaylorPolynomial>,
          kernel_of<TaylorStep>};
}

}  // namespace jounce
