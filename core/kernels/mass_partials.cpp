// Derivatives of the mass matrix and of its inverse; Christoffel symbols.
#include "jounce/partials/mass_partials.hpp"

#include "jounce/batch/second.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/kernels/once.hpp"

namespace jounce {
namespace {

struct MassMatrixDerivatives {
  static constexpr Signature signature{.name = "mass_matrix_derivatives",
                                       .inputs = {configuration("q")},
                                       .outputs = {{"dM", shapes::v_by_v_by_v}},
                                       .packs = Packs::while_small};
  template <class S>
  using Work = MassPartialsWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    mass_matrix_partials(x.tree, x.in("q"), x.out("dM"), work);
  }
};

struct ChristoffelSymbols {
  static constexpr Signature signature{.name = "christoffel_symbols",
                                       .inputs = {configuration("q")},
                                       .outputs = {{"symbols", shapes::v_by_v_by_v}},
                                       .packs = Packs::while_small};
  template <class S>
  using Work = MassPartialsWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    christoffel_symbols(x.tree, x.in("q"), x.out("symbols"), work);
  }
};

struct InverseMassMatrixDerivatives {
  static constexpr Signature signature{.name = "inverse_mass_matrix_derivatives",
                                       .inputs = {configuration("q")},
                                       .outputs = {{"derivatives", shapes::v_by_v_by_v}},
                                       .packs = Packs::while_small};
  template <class S>
  using Work = InverseMassPartialsWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    return inverse_mass_matrix_partials(x.tree, x.in("q"), x.out("derivatives"), work);
  }
};

}  // namespace

KernelList mass_partials_kernels(Pass) {
  return differentiable<MassMatrixDerivatives, ChristoffelSymbols, InverseMassMatrixDerivatives>(
      second_derivatives<MassMatrixDerivatives, ChristoffelSymbols, InverseMassMatrixDerivatives>());
}

}  // namespace jounce
