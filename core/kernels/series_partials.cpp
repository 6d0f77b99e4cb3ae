// Partial derivatives of the time derivatives of inverse dynamics.
#include "jounce/partials/series_partials.hpp"

#include "jounce/batch/states.hpp"
#include "jounce/kernels/list.hpp"

namespace jounce {
namespace {

constexpr Shape matrix_series{3, {shapes::r_plus(1), shapes::nv, shapes::nv}};
constexpr Shape by_motion{4, {shapes::r_plus(1), shapes::nv, shapes::r_plus(2), shapes::nv}};

struct InverseDynamicsSeriesDerivatives {
  static constexpr Signature signature{.name = "inverse_dynamics_series_derivatives",
                                       .inputs = {configuration("q"),
                                                  {"motion", shapes::motion},
                                                  {"f_ext", shapes::wrench_series, optional}},
                                       .outputs = {{"dq", matrix_series}, {"dmotion", by_motion}},
                                       .packs = Packs::while_small};
  template <class S>
  using Work = SeriesPartialsWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    inverse_dynamics_series_partials(x.tree, x.in("q"), x.in("motion"), x.in("f_ext"), x.out("dq"),
                                     x.out("dmotion"), work);
  }
};

}  // namespace

KernelList series_partials_kernels() { return {kernel_of<InverseDynamicsSeriesDerivatives>}; }

}  // namespace jounce
