// Linear maps from the inertial parameters.
#include "jounce/batch/direct.hpp"
#include "jounce/batch/second.hpp"
#include "jounce/dynamics/articulated.hpp"
#include "jounce/dynamics/inverse_mass_matrix.hpp"
#include "jounce/dynamics/torque_regressor.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/kernels/once.hpp"

namespace jounce {
namespace {

// Tells `run`, as a compile-time constant, whether a pack has as many states as lanes.
template <class Run>
JOUNCE_INLINE void with_whole(int states, Run&& run) {
  if (states == lanes<Wide>) return run(std::true_type{});
  run(std::false_type{});
}

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
    const auto into = [&](auto&& out) {
      torque_regressor(x.tree, x.in("q"), x.in("v"), x.in("a"), out, work);
    };
    if constexpr (std::is_same_v<S, Wide>) {
      constexpr int W = lanes<S>;
      double* const first = x.out_row("Y", 0, 0);
      const std::ptrdiff_t apart = x.out_row("Y", 1, 0) - first;
      if (x.count == W && x.is_beyond_caches()) {
        RegressorsBeyond<W> out{{first, apart, step, work.window}, step};
        into(out);
        return out.window.finish(x.tree.nv * step);
      }
      with_whole(x.count, [&](auto whole) {
        into(RegressorsOut<W, whole.value>{first, step, apart, x.count});
      });
    } else {
      into(RegressorOut<S>{x.out("Y"), step});
    }
  }
};

// The same without its zeros.
struct TorqueRegressorBlocks {
  static constexpr Signature signature{
      .name = "torque_blocks",
      .inputs = {configuration("q"), {"v", shapes::v}, {"a", shapes::v}},
      .outputs = {{"blocks", shapes::parameter_blocks}},
      .internal = true};
  template <class S>
  using Work = TorqueRegressorWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    const auto into = [&](auto&& out) {
      torque_regressor(x.tree, x.in("q"), x.in("v"), x.in("a"), out, work);
    };
    if constexpr (std::is_same_v<S, Wide>) {
      double* const first = x.out_row("blocks", 0, 0);
      const std::ptrdiff_t apart = x.out_row("blocks", 1, 0) - first;
      with_whole(x.count, [&](auto whole) { into(BlocksOut<S, whole.value>{first, apart, x.count}); });
    } else {
      into(BlocksOut<S, false>{x.out("blocks"), 0, x.count});
    }
  }
};

// The regressor for one who knows where its zeros are.
struct RelatedBlocks : RegressorOut<double> {
  JOUNCE_INLINE void clear(std::size_t, std::size_t) const {}
};

template <class S>
struct ByInertiasWork {
  ArticulatedWork<S> factors;
  InverseMassMatrixWork<S> inverse;
  TorqueRegressorWork<S> regressor;
  S *N, *Y;
  int* rates;  // before a body

  ByInertiasWork(const Tree<double>& tree, Arena& arena)
      : factors(tree, arena),
        inverse(tree, arena),
        regressor(tree, arena),
        N(arena.take<S>(std::size_t(tree.nv) * tree.nv + lanes<Wide>)),  // whole registers are read
        Y(arena.take<S>(std::size_t(kParameters) * tree.nv * tree.n_bodies)),
        rates(arena.take<int>(tree.nv)) {}
};

// d a / d pi = -M^-1 Y at the accelerations of forward dynamics: of M^-1, the columns before a body enter.
struct ForwardDynamicsByInertias {
  static constexpr Signature signature{.name = "forward_dynamics_by_inertias",
                                       .inputs = {configuration("q"),
                                                  {"v", shapes::v},
                                                  {"tau", shapes::v},
                                                  {"f_ext", shapes::six_vectors, optional}},
                                       .outputs = {{"a", shapes::v}, {"by_inertias", shapes::v_by_parameters}},
                                       .packs = Packs::never,
                                       .internal = true};
  template <class S>
  using Work = ByInertiasWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    const std::size_t nv = x.tree.nv, step = std::size_t(kParameters) * x.tree.n_bodies;
    const S *q = x.in("q"), *v = x.in("v");
    S *a = x.out("a"), *out = x.out("by_inertias");
    int singular = forward_dynamics(x.tree, q, v, x.in("tau"), x.in("f_ext"), a, work.factors);
    if (singular < 0) singular = inverse_mass_matrix(x.tree, q, work.N, work.inverse);
    if (singular >= 0) return singular;
    torque_regressor(x.tree, q, v, a, RelatedBlocks{{work.Y, step}}, work.regressor);
    for (int b = 0; b < x.tree.n_bodies; ++b) {
      const int count = rates_before(x.tree, x.tree.body_node[b], work.rates);
      const std::size_t at = std::size_t(kParameters) * b;
      times_block(work.N, int(nv), work.rates, count, work.Y + at, out + at, step);
    }
    return -1;
  }

 private:
  static int rates_before(const Tree<double>& tree, int node, int* rates) {
    int count = 0;
    for (int i = node; i >= 0; i = tree.nodes[i].parent) {
      for (int k = 0; k < tree.nodes[i].nv; ++k) rates[count++] = tree.nodes[i].v + k;
    }
    return count;
  }

  // -M^-1 times the ten columns of a body, some rows at once; of M^-1, which is symmetric, rows are read.
  static void times_block(const double* N, int nv, const int* rate, int count, const double* Y, double* to,
                          std::size_t step) {
    constexpr int W = lanes<Wide>;
    for (int r = 0; r < nv; r += W) {
      Wide sum[kParameters];
      for (Wide& x : sum) x = Wide(0.0);
      for (int k = 0; k < count; ++k) {
        const Wide row = Wide::load(N + std::size_t(rate[k]) * nv + r);
        const double* block = Y + rate[k] * step;
        for (int j = 0; j < kParameters; ++j) sum[j] -= row * block[j];
      }
      store_lanes(sum, nv - r < W ? nv - r : W, [&](int i) JOUNCE_INLINED { return to + (r + i) * step; });
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
  KernelList all = differentiable<KineticEnergyRegressor, PotentialEnergyRegressor, MomentumRegressor>(
      others<ForwardDynamicsByInertias>(
          second_derivatives<TorqueRegressor, KineticEnergyRegressor, PotentialEnergyRegressor,
                             MomentumRegressor>()));
  if constexpr (kDuals) all.push_back(kernel_of<Jvp<TorqueRegressor>>);
  if constexpr (kPlain) {
    all.push_back(direct_kernel<TorqueRegressor>);
    all.push_back(direct_kernel<TorqueRegressorBlocks>);
  }
  return all;
}

}  // namespace jounce
