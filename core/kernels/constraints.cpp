// Dynamics with constraints. Python prepares the table of constraints, the same for all states.
#include "jounce/constraints/derivatives.hpp"
#include "jounce/constraints/dynamics.hpp"
#include "jounce/constraints/local.hpp"
#include "jounce/constraints/partials.hpp"

#include "jounce/batch/states.hpp"
#include "jounce/kernels/constraint_branches.hpp"
#include "jounce/kernels/constraint_table.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/kernels/once.hpp"

namespace jounce {
namespace {

constexpr Shape kRowsByV{2, {shapes::rows, shapes::nv}}, kRowsByRows{2, {shapes::rows, shapes::rows}};

// Not public, as all here.
struct ConstraintRows {
  static constexpr Signature signature{.name = "constraint_rows",
                                       .inputs = {configuration("q"),
                                                  {"v", shapes::v},
                                                  {"a", shapes::v},
                                                  {"rows", kByRow},
                                                  {"table", kTable}},
                                       .outputs = {{"residual", kByRow},
                                                   {"velocity", kByRow},
                                                   {"acceleration", kByRow},
                                                   {"jacobian", kRowsByV}},
                                       .packs = Packs::while_small,
                                       .internal = true};
  template <class S>
  using Work = RowsWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    const int m = x.call.rows;
    const ConstraintTable table = table_of(x, typename X::InputName("table"));
    const RowsOut<S> out{x.out("residual"), x.out("velocity"), x.out("acceleration"), x.out("jacobian")};
    for (S* by_row : {out.residual, out.velocity, out.acceleration}) std::fill_n(by_row, m, S(0.0));
    std::fill_n(out.jacobian, std::size_t(m) * x.tree.nv, S(0.0));
    work.angles.compute(x.tree, x.in("q"));
    for (std::ptrdiff_t k = 0; k < table.count; ++k) {
      const Constraint c = constraint_at(x.tree, m, table.numbers + k * kConstraintNumbers);
      constraint_rows(x.tree, c, x.in("q"), x.in("v"), x.in("a"), out, work);
    }
  }
};

struct ConstraintRowDerivatives {
  static constexpr Signature signature{.name = "constraint_row_derivatives",
                                       .inputs = {configuration("q"),
                                                  {"v", shapes::v},
                                                  {"a", shapes::v},
                                                  {"force", kByRow},
                                                  {"table", kTable}},
                                       .outputs = {{"velocity_dq", kRowsByV},
                                                   {"acceleration_dq", kRowsByV},
                                                   {"acceleration_dv", kRowsByV},
                                                   {"transposed_dq", shapes::v_by_v}},
                                       .packs = Packs::never,
                                       .internal = true};
  template <class S>
  using Work = RowDerivativesWork;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    const RowDerivatives out{x.out("velocity_dq"), x.out("acceleration_dq"), x.out("acceleration_dv"),
                             x.out("transposed_dq")};
    std::fill_n(out.transposed_dq, std::size_t(x.tree.nv) * x.tree.nv, 0.0);
    row_derivatives(x.tree, table_of(x, typename X::InputName("table")), x.call.rows, x.in("q"),
                    x.in("v"), x.in("a"), x.in("force"), out, work);
  }
};

struct ConstrainedForward {
  static constexpr Signature signature{
      .name = "constrained_forward",
      .inputs = {configuration("q"),
                 {"v", shapes::v},
                 {"tau", shapes::v},
                 {"accelerations", kByRow},
                 {"table", kTable},
                 {"f_ext", shapes::six_vectors, optional}},
      .outputs = {{"a", shapes::v}, {"force", kByRow}, {"rank", shapes::scalar}},
      .internal = true};
  template <class S>
  using Work = ConstrainedForwardWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    const ConstraintTable table = table_of(x, typename X::InputName("table"));
    if constexpr (std::is_same_v<S, double>) {
      // Of a batch, all states are computed alike.
      const bool alone = x.call.states == 1 && !x.call.is_batch && !x.in("f_ext");
      if (alone && held_in_branches(x.tree, table, x.in("q"), x.in("v"), x.in("tau"), x.in("accelerations"),
                                    x.out("a"), x.out("force"), x.out("rank"), work)) {
        return -1;
      }
    }
    return constrained_dynamics(x.tree, table, x.in("q"), x.in("v"), x.in("tau"), x.in("accelerations"),
                                x.in("f_ext"), x.out("a"), x.out("force"), x.out("rank"), work);
  }
};

struct ConstrainedLocal {
  static constexpr Signature signature = [] {
    Signature s = ConstrainedForward::signature;
    s.name = "constrained_forward_local";
    s.packs = Packs::never;
    return s;
  }();
  template <class S>
  using Work = LocalWork;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    return local_dynamics(x.tree, table_of(x, typename X::InputName("table")), x.in("q"), x.in("v"),
                          x.in("tau"), x.in("accelerations"), x.in("f_ext"), x.out("a"), x.out("force"),
                          x.out("rank"), work);
  }
};

struct ConstrainedJump {
  static constexpr Signature signature{
      .name = "constrained_jump",
      .inputs = {configuration("q"), {"jump", kByRow}, {"table", kTable}},
      .outputs = {{"v", shapes::v}, {"impulse", kByRow}, {"rank", shapes::scalar}},
      .internal = true};
  template <class S>
  using Work = ConstrainedWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    const S* still = nullptr;
    return constrained_jump(x.tree, table_of(x, typename X::InputName("table")), x.in("q"), still,
                            x.in("jump"), x.out("v"), x.out("impulse"), x.out("rank"), work);
  }
};

struct ConstrainedForwardDerivatives {
  static constexpr Signature signature{
      .name = "constrained_forward_derivatives",
      .inputs = {configuration("q"),
                 {"v", shapes::v},
                 {"tau", shapes::v},
                 {"accelerations", kByRow},
                 {"most", shapes::scalar},
                 {"table", kTable},
                 {"f_ext", shapes::six_vectors, optional}},
      .outputs = {{"a_dq", shapes::v_by_v},
                  {"a_dv", shapes::v_by_v},
                  {"a_dtau", shapes::v_by_v},
                  {"force_dq", kRowsByV},
                  {"force_dv", kRowsByV},
                  {"force_dtau", kRowsByV},
                  {"rank", shapes::scalar}},
      .packs = Packs::never,
      .internal = true};
  template <class S>
  using Work = ConstrainedPartialsWork;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    const ConstrainedPartials out{x.out("a_dq"),     x.out("a_dv"),       x.out("a_dtau"), x.out("force_dq"),
                                  x.out("force_dv"), x.out("force_dtau"), x.out("rank")};
    return constrained_partials(x.tree, table_of(x, typename X::InputName("table")), x.in("q"), x.in("v"),
                                x.in("tau"), x.in("accelerations"), x.in("f_ext"), *x.in("most"), out, work);
  }
};

struct ConstrainedJumpDerivatives {
  static constexpr Signature signature{
      .name = "constrained_jump_derivatives",
      .inputs = {configuration("q"),
                 {"v", shapes::v},
                 {"jump", kByRow},
                 {"restitution", shapes::scalar},
                 {"most", shapes::scalar},
                 {"table", kTable}},
      .outputs = {{"v_dq", shapes::v_by_v},
                  {"v_dv", shapes::v_by_v},
                  {"impulse_dq", kRowsByV},
                  {"impulse_dv", kRowsByV},
                  {"rank", shapes::scalar}},
      .packs = Packs::never,
      .internal = true};
  template <class S>
  using Work = ConstrainedPartialsWork;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    const JumpPartials out{x.out("v_dq"),       x.out("v_dv"), x.out("impulse_dq"),
                           x.out("impulse_dv"), x.out("rank")};
    return jump_partials(x.tree, table_of(x, typename X::InputName("table")), x.in("q"), x.in("v"),
                         x.in("jump"), *x.in("restitution"), *x.in("most"), out, work);
  }
};

struct OperationalInertia {
  static constexpr Signature signature{
      .name = "constraint_inertia",
      .inputs = {configuration("q"), {"rows", kByRow}, {"table", kTable}},
      .outputs = {{"inertia", kRowsByRows}},
      .internal = true};
  template <class S>
  using Work = ConstrainedWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    const int singular = factor_at_rest(x.tree, x.in("q"), work);
    if (singular >= 0) return singular;
    const S* still = nullptr;
    reduce_constraints(x.tree, table_of(x, typename X::InputName("table")), x.in("q"), still, still, work);
    const int m = work.operational.m;
    for (int i = 0; i < m; ++i) {
      const S* row = work.operational.K + i * work.operational.stride;
      for (int k = i; k < m; ++k) x.out("inertia")[i * m + k] = x.out("inertia")[k * m + i] = row[k];
    }
    return -1;
  }
};

}  // namespace

KernelList constraint_kernels(Plain) {
  return {kernel_of<ConstraintRows>, kernel_of<ConstraintRowDerivatives>, kernel_of<ConstrainedForward>,
          kernel_of<ConstrainedLocal>, kernel_of<ConstrainedJump>, kernel_of<ConstrainedForwardDerivatives>,
          kernel_of<ConstrainedJumpDerivatives>, kernel_of<OperationalInertia>};
}

}  // namespace jounce
