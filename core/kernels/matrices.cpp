// The mass matrix, its inverse, the centroidal momentum matrix.
#include "jounce/batch/second.hpp"
#include "jounce/dynamics/inverse_mass_matrix.hpp"
#include "jounce/dynamics/mass_matrix.hpp"
#include "jounce/dynamics/momentum.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/kernels/once.hpp"

namespace jounce {
namespace {

struct MassMatrix {
  static constexpr Signature signature{.name = "mass_matrix",
                                       .inputs = {configuration("q")},
                                       .outputs = {symmetric("M", Given::related)},
                                       .packs = Packs::while_small};
  template <class S>
  using Work = MassMatrixWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    mass_matrix<X::fill>(x.tree, x.in("q"), x.out("M"), work);
  }
};

struct InverseMassMatrix {
  static constexpr Signature signature{.name = "inverse_mass_matrix",
                                       .inputs = {configuration("q")},
                                       .outputs = {symmetric("inverse")},
                                       .packs = Packs::while_small};
  template <class S>
  using Work = InverseMassMatrixWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    return inverse_mass_matrix<X::fill>(x.tree, x.in("q"), x.out("inverse"), work);
  }
};

struct CentroidalMomentumMatrix {
  static constexpr Signature signature{.name = "centroidal_momentum_matrix",
                                       .inputs = {configuration("q")},
                                       .outputs = {{"A", shapes::six_by_v}}};
  template <class S>
  using Work = CentroidalWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    centroidal_momentum_matrix<Beside::nothing>(x.tree, x.in("q"), (const S*)nullptr, x.out("A"),
                                                (S*)nullptr, work);
  }
};

struct CentroidalMomentumMatrixRate {
  static constexpr Signature signature{.name = "centroidal_momentum_matrix_rate",
                                       .inputs = {configuration("q"), {"v", shapes::v}},
                                       .outputs = {{"rate", shapes::six_by_v}}};
  template <class S>
  using Work = CentroidalRateWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    centroidal_momentum_matrix<Beside::rate>(x.tree, x.in("q"), x.in("v"), work.A, x.out("rate"), work);
  }
};

}  // namespace

KernelList matrix_kernels(Pass) {
  return differentiable<MassMatrix, InverseMassMatrix, CentroidalMomentumMatrix,
                        CentroidalMomentumMatrixRate>(
      second_derivatives<CentroidalMomentumMatrix, CentroidalMomentumMatrixRate>());
}

}  // namespace jounce
