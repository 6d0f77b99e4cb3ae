// Energies and momenta.
#include "jounce/batch/directions.hpp"
#include "jounce/batch/second.hpp"
#include "jounce/dynamics/energy.hpp"
#include "jounce/dynamics/momentum.hpp"
#include "jounce/kernels/list.hpp"

namespace jounce {

// Derivatives of one state in closed form are code for plain numbers, which belongs to that pass.
enum class Conserved { kinetic, potential, momentum, centroidal };
Failure conserved_directions(Plain, Conserved which, const Call& call, std::ptrdiff_t first, int count, char* block);

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

// Along directions, these change by their gradients times them.
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

template <bool kCentroidal>
struct MomentumDirections {
  using K = Momentum<kCentroidal>;
  template <class S>
  struct State {
    CentroidalDerivativesWork<S> gradient;
    S *by_q, *by_v;

    State(const Tree<double>& tree, Arena& arena)
        : gradient(tree, arena),
          by_q(arena.take<S>(6 * std::size_t(tree.nv))),
          by_v(arena.take<S>(6 * std::size_t(tree.nv))) {}
    int run(const Tree<double>& tree, NamedInputs<K, S> in, S* out) {
      momentum_gradient(tree, kCentroidal, in("q"), in("v"), out, by_q, by_v, gradient);
      return -1;
    }
  };
};

template <Conserved kWhich, class Gradient>
struct ConservedDirections : Gradient {
  using Work = NoWork<Wide>;
  static constexpr int kRows = kWhich < Conserved::momentum ? 1 : 6;  // of the gradient

  static JOUNCE_INLINE void add(const Wide* d, const double* gradient, int n, Wide* to) {
    for (int k = 0; d && k < n; ++k) {
      for (int r = 0; r < kRows; ++r) to[r] += d[k] * gradient[r * std::ptrdiff_t(n) + k];
    }
  }
  template <class State, class K>
  static void run(const Tree<double>& tree, const State& state, NamedInputs<K, double>, NamedInputs<K, Wide> d,
                  Wide* to, Work&) {
    Wide sum[kRows];
    for (Wide& x : sum) x = Wide(0.0);
    add(d("q"), state.by_q, tree.nv, sum);
    add(d.any("v"), state.by_v, tree.nv, sum);
    for (int r = 0; r < kRows; ++r) to[r] = sum[r];
  }
  static Failure one_state(const Call& call, std::ptrdiff_t first, int count, char* block) {
    return conserved_directions(Plain{}, kWhich, call, first, count, block);
  }
};

using OfKinetic = ConservedDirections<Conserved::kinetic, KineticDirections>;
using OfPotential = ConservedDirections<Conserved::potential, PotentialDirections>;
using OfMomentum = ConservedDirections<Conserved::momentum, MomentumDirections<false>>;
using OfCentroidal = ConservedDirections<Conserved::centroidal, MomentumDirections<true>>;

}  // namespace

Failure conserved_directions(Pass, Conserved which, const Call& call, std::ptrdiff_t first, int count, char* block) {
  if constexpr (kPlain) {
    switch (which) {
      case Conserved::kinetic: return batch::run_closed<KineticEnergy, OfKinetic>(call, first, count, block);
      case Conserved::potential: return batch::run_closed<PotentialEnergy, OfPotential>(call, first, count, block);
      case Conserved::momentum: return batch::run_closed<Momentum<false>, OfMomentum>(call, first, count, block);
      case Conserved::centroidal: return batch::run_closed<Momentum<true>, OfCentroidal>(call, first, count, block);
    }
  }
  return {};
}

KernelList energy_kernels(Pass) {
  KernelList all = others<KineticEnergy, PotentialEnergy, Momentum<false>, Momentum<true>>(
      second_derivatives<KineticEnergy, KineticEnergyDerivatives, Momentum<false>>());
  if constexpr (kDuals) {
    all.push_back(directions_kernel<KineticEnergy, OfKinetic, Still::shared>);
    all.push_back(directions_kernel<PotentialEnergy, OfPotential, Still::shared>);
    all.push_back(directions_kernel<Momentum<false>, OfMomentum, Still::shared>);
    all.push_back(directions_kernel<Momentum<true>, OfCentroidal, Still::shared>);
  }
  return differentiable<KineticEnergyDerivatives>(all);
}

}  // namespace jounce
