// Energies and momenta.
#include "jounce/batch/second.hpp"
#include "jounce/dynamics/energy.hpp"
#include "jounce/dynamics/momentum.hpp"
#include "jounce/kernels/list.hpp"

namespace jounce {
namespace {

struct KineticEnergy {
  static constexpr Signature signature{.name = "kinetic_energy",
                                       .inputs = {configuration("q"), {"v", shapes::v}},
                                       .outputs = {{"energy", shapes::scalar}}};
  template <class S>
  using Work = BodiesWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    kinetic_energy(x.tree, x.in("q"), x.in("v"), x.out("energy"), work);
  }
};

struct KineticEnergyDerivatives {
  static constexpr Signature signature{.name = "kinetic_energy_derivatives",
                                       .inputs = {configuration("q"), {"v", shapes::v}},
                                       .outputs = {{"dq", shapes::v}, {"dv", shapes::v}}};
  template <class S>
  using Work = EnergyGradientWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    kinetic_energy_gradient(x.tree, x.in("q"), x.in("v"), x.out("dq"), x.out("dv"), work);
  }
};

struct PotentialEnergy {
  static constexpr Signature signature{.name = "potential_energy",
                                       .inputs = {configuration("q")},
                                       .outputs = {{"energy", shapes::scalar}}};
  template <class S>
  using Work = BodiesWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    potential_energy(x.tree, x.in("q"), x.out("energy"), work);
  }
};

template <bool kCentroidal>
struct Momentum {
  static constexpr Signature signature{.name = kCentroidal ? "centroidal_momentum" : "momentum",
                                       .inputs = {configuration("q"), {"v", shapes::v}},
                                       .outputs = {{"momentum", shapes::six_vector}}};
  template <class S>
  using Work = MomentumWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    momentum(x.tree, kCentroidal, x.in("q"), x.in("v"), x.out("momentum"), work);
  }
};

}  // namespace

KernelList energy_kernels(Pass) {
  return differentiable<KineticEnergy, KineticEnergyDerivatives, PotentialEnergy, Momentum<false>,
                        Momentum<true>>(
      second_derivatives<KineticEnergy, KineticEnergyDerivatives, Momentum<false>>());
}

}  // namespace jounce
