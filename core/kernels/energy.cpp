// Energies and momenta.
#include "jounce/batch/directions.hpp"
#include "jounce/batch/second.hpp"
#include "jounce/dynamics/energy.hpp"
#include "jounce/dynamics/momentum.hpp"
#include "jounce/kernels/list.hpp"

namespace jounce {

// Derivatives of one state in closed form are code for plain numbers, which belongs to that pass.
enum class Energy { kinetic, potential };
Failure energy_directions(Plain, Energy which, const Call& call, std::ptrdiff_t first, int count, char* block);

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

// Along directions, an energy changes by its gradient times them.
struct KineticDirections {
  using K = KineticEnergy;
  template <class S>
  struct State {
    BodiesWork<S> bodies;
    EnergyGradientWork<S> gradient;
    S *by_q, *by_v;

    State(const Tree<double>& tree, Arena& arena)
        : bodies(tree, arena), gradient(tree, arena), by_q(arena.take<S>(tree.nv)), by_v(arena.take<S>(tree.nv)) {}
    int run(const Tree<double>& tree, NamedInputs<K, S> in, S* energy) {
      kinetic_energy(tree, in("q"), in("v"), energy, bodies);
      kinetic_energy_gradient(tree, in("q"), in("v"), by_q, by_v, gradient);
      return -1;
    }
  };
};

struct PotentialDirections {
  using K = PotentialEnergy;
  template <class S>
  struct State {
    PotentialGradientWork<S> gradient;
    S *by_q, *by_v = nullptr;

    State(const Tree<double>& tree, Arena& arena) : gradient(tree, arena), by_q(arena.take<S>(tree.nv)) {}
    int run(const Tree<double>& tree, NamedInputs<K, S> in, S* energy) {
      potential_energy_gradient(tree, in("q"), energy, by_q, gradient);
      return -1;
    }
  };
};

template <Energy kEnergy>
struct EnergyDirections
    : std::conditional_t<kEnergy == Energy::kinetic, KineticDirections, PotentialDirections> {
  using Work = NoWork<Wide>;
  template <class State, class K>
  static void run(const Tree<double>& tree, const State& state, NamedInputs<K, double>, NamedInputs<K, Wide> d,
                  Wide* to, Work&) {
    Wide sum(0.0);
    const Wide *dq = d("q"), *dv = d.any("v");
    for (int k = 0; dq && k < tree.nv; ++k) sum += dq[k] * state.by_q[k];
    for (int k = 0; dv && k < tree.nv; ++k) sum += dv[k] * state.by_v[k];
    *to = sum;
  }
  static Failure one_state(const Call& call, std::ptrdiff_t first, int count, char* block) {
    return energy_directions(Plain{}, kEnergy, call, first, count, block);
  }
};

}  // namespace

Failure energy_directions(Pass, Energy which, const Call& call, std::ptrdiff_t first, int count, char* block) {
  if constexpr (kPlain) {
    switch (which) {
      case Energy::kinetic:
        return batch::run_closed<KineticEnergy, EnergyDirections<Energy::kinetic>>(call, first, count, block);
      case Energy::potential:
        return batch::run_closed<PotentialEnergy, EnergyDirections<Energy::potential>>(call, first, count, block);
    }
  }
  return {};
}

KernelList energy_kernels(Pass) {
  KernelList all = others<KineticEnergy, PotentialEnergy>(
      second_derivatives<KineticEnergy, KineticEnergyDerivatives, Momentum<false>>());
  if constexpr (kDuals) {
    all.push_back(directions_kernel<KineticEnergy, EnergyDirections<Energy::kinetic>, Still::shared>);
    all.push_back(directions_kernel<PotentialEnergy, EnergyDirections<Energy::potential>, Still::shared>);
  }
  return differentiable<KineticEnergyDerivatives, Momentum<false>, Momentum<true>>(all);
}

}  // namespace jounce
