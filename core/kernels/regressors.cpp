// Linear maps from the inertial parameters.
#include "jounce/batch/direct.hpp"
#include "jounce/batch/jvp.hpp"
#include "jounce/dynamics/torque_regressor.hpp"
#include "jounce/kernels/list.hpp"

namespace jounce {
namespace {

struct TorqueRegressor {
  static constexpr Signature signature{
      .name = "torque_regressor",
      .inputs = {configuration("q"), {"v", shapes::v}, {"a", shapes::v}},
      .outputs = {{"Y", shapes::v_by_parameters}}};
  template <class S>
  using Work = TorqueRegressorWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    const std::size_t step = std::size_t(kParameters) * x.tree.n_bodies;
    if constexpr (std::is_same_v<S, Wide>) {
      const RegressorsOut<lanes<S>> out{x.out_row("Y", 0, 0), step, x.out_row("Y", 1, 0) - x.out_row("Y", 0, 0), x.count};
      torque_regressor(x.tree, x.in("q"), x.in("v"), x.in("a"), out, work);
    } else {
      const RegressorOut<S> out{x.out("Y"), step};
      torque_regressor(x.tree, x.in("q"), x.in("v"), x.in("a"), out, work);
    }
  }
};

struct KineticEnergyRegressor {
  static constexpr Signature signature{.name = "kinetic_energy_regressor",
                                       .inputs = {configuration("q"), {"v", shapes::v}},
                                       .outputs = {{"Y", shapes::by_parameters}}};
  template <class S>
  using Work = BodiesWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    kinetic_energy_regressor(x.tree, x.in("q"), x.in("v"), x.out("Y"), work);
  }
};

struct PotentialEnergyRegressor {
  static constexpr Signature signature{.name = "potential_energy_regressor",
                                       .inputs = {configuration("q")},
                                       .outputs = {{"Y", shapes::by_parameters}}};
  template <class S>
  using Work = BodiesWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    potential_energy_regressor(x.tree, x.in("q"), x.out("Y"), work);
  }
};

struct MomentumRegressor {
  static constexpr Signature signature{.name = "momentum_regressor",
                                       .inputs = {configuration("q"), {"v", shapes::v}},
                                       .outputs = {{"Y", shapes::six_by_parameters}}};
  template <class S>
  using Work = BodiesWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    momentum_regressor(x.tree, x.in("q"), x.in("v"), x.out("Y"), work);
  }
};

}  // namespace

KernelList regressor_kernels(Pass) {
  KernelList all = differentiable<KineticEnergyRegressor, PotentialEnergyRegressor, MomentumRegressor>();
  if constexpr (kDuals) {
    all.push_back(kernel_of<Jvp<TorqueRegressor>>);
  } else {
    all.push_back(direct_kernel<TorqueRegressor>);
  }
  return all;
}

}  // namespace jounce
