// Motion on the configuration manifold.
#include "jounce/batch/second.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/kinematics/configuration.hpp"
#include "jounce/kinematics/differential.hpp"

namespace jounce {
namespace {

struct Integrate {
  static constexpr Signature signature{.name = "integrate",
                                       .inputs = {configuration("q"), {"dv", shapes::v}},
                                       .outputs = {configuration_output("q")},
                                       .packs = Packs::never};
  template <class S>
  using Work = NoWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>&) {
    integrate(x.tree, x.in("q"), x.in("dv"), x.out("q"));
  }
};

struct Difference {
  static constexpr Signature signature{.name = "difference",
                                       .inputs = {configuration("q0"), configuration("q1")},
                                       .outputs = {{"dv", shapes::v}},
                                       .packs = Packs::never};
  template <class S>
  using Work = NoWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>&) {
    difference(x.tree, x.in("q0"), x.in("q1"), x.out("dv"));
  }
};

struct Interpolate {
  static constexpr Signature signature{
      .name = "interpolate",
      .inputs = {configuration("q0"), configuration("q1"), {"s", shapes::scalar}},
      .outputs = {configuration_output("q")},
      .packs = Packs::never};
  template <class S>
  using Work = NoWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>&) {
    interpolate(x.tree, x.in("q0"), x.in("q1"), *x.in("s"), x.out("q"));
  }
};

// The quaternions are scaled on their way in.
struct Normalize {
  static constexpr Signature signature{
      .name = "normalize",
      .inputs = {{"q", shapes::q, !optional, Reads::all, Holds::directions}},
      .outputs = {configuration_output("q")},
      .packs = Packs::never};
  template <class S>
  using Work = NoWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>&) {
    std::copy_n(x.in("q"), x.tree.nq, x.out("q"));
  }
};

struct CoordinateRates {
  static constexpr Signature signature{.name = "coordinate_rates",
                                       .inputs = {configuration("q"), {"v", shapes::v}},
                                       .outputs = {{"rates", shapes::q}}};
  template <class S>
  using Work = NoWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>&) {
    coordinate_rates(x.tree, x.in("q"), x.in("v"), x.out("rates"));
  }
};

struct IntegrateDerivatives {
  static constexpr Signature signature{
      .name = "integrate_derivatives",
      .inputs = {configuration("q"), {"dv", shapes::v}},
      .outputs = {{"dq", shapes::v_by_v}, {"dv", shapes::v_by_v}},
      .packs = Packs::never};
  template <class S>
  using Work = NoWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>&) {
    integrate_derivatives(x.tree, Layout::diagonal, x.in("dv"), x.out("dq"), x.out("dv"));
  }
};

// Not public: the blocks of the joints, packed.
struct IntegrateBlocks {
  static constexpr Signature signature{
      .name = "integrate_blocks",
      .inputs = {{"dv", shapes::v}},
      .outputs = {{"by_q", shapes::six_by_v}, {"by_dv", shapes::six_by_v}},
      .packs = Packs::never,
      .internal = true};
  template <class S>
  using Work = NoWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>&) {
    integrate_derivatives(x.tree, Layout::packed, x.in("dv"), x.out("by_q"), x.out("by_dv"));
  }
};

struct DifferenceDerivatives {
  static constexpr Signature signature{
      .name = "difference_derivatives",
      .inputs = {configuration("q0"), configuration("q1")},
      .outputs = {{"dq0", shapes::v_by_v}, {"dq1", shapes::v_by_v}},
      .packs = Packs::never};
  template <class S>
  using Work = NoWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>&) {
    difference_derivatives(x.tree, x.in("q0"), x.in("q1"), x.out("dq0"), x.out("dq1"));
  }
};

}  // namespace

KernelList configuration_kernels(Pass) {
  return differentiable_by_state<Integrate, Difference, Interpolate, Normalize, CoordinateRates,
                                 IntegrateDerivatives, DifferenceDerivatives>(
      others<IntegrateBlocks>(
          second_derivatives<Interpolate, Normalize, CoordinateRates, IntegrateDerivatives,
                             DifferenceDerivatives>()));
}

}  // namespace jounce
