// Forces of springs, damping and friction in the joints, and their derivatives.
#include "jounce/batch/second.hpp"
#include "jounce/dynamics/passive.hpp"
#include "jounce/kernels/list.hpp"

namespace jounce {
namespace {

struct PassiveForces {
  static constexpr Signature signature{.name = "passive_forces",
                                       .inputs = {configuration("q"), {"v", shapes::v}},
                                       .outputs = {{"tau", shapes::v}},
                                       .packs = Packs::never};
  template <class S>
  using Work = NoWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>&) {
    passive_forces(x.tree, x.in("q"), x.in("v"), x.out("tau"));
  }
};

struct PassiveForcesDerivatives {
  static constexpr Signature signature{
      .name = "passive_forces_derivatives",
      .inputs = {configuration("q"), {"v", shapes::v}},
      .outputs = {{"dq", shapes::v_by_v}, {"dv", shapes::v_by_v}},
      .packs = Packs::never};
  template <class S>
  using Work = NoWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>&) {
    passive_forces_partials(x.tree, x.in("q"), x.out("dq"), x.out("dv"));
  }
};

}  // namespace

KernelList passive_kernels(Pass) {
  return differentiable<PassiveForces, PassiveForcesDerivatives>(
      second_derivatives<PassiveForcesDerivatives>());
}

}  // namespace jounce
