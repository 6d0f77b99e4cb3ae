// Partial derivatives of the time derivatives of inverse, forward and hybrid dynamics.
#include "jounce/partials/series_partials.hpp"

#include "jounce/batch/second.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/kernels/once.hpp"
#include "jounce/partials/forward_series_partials.hpp"

namespace jounce {
namespace {

constexpr Shape matrix_series{3, {shapes::r_plus(1), shapes::nv, shapes::nv}};
constexpr Shape by_series{4, {shapes::r_plus(1), shapes::nv, shapes::r_plus(1), shapes::nv}};
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

struct ForwardDynamicsSeriesDerivatives {
  static constexpr Signature signature{
      .name = "forward_dynamics_series_derivatives",
      .inputs = {configuration("q"),
                 {"v", shapes::v},
                 {"tau", shapes::series},
                 {"f_ext", shapes::wrench_series, optional}},
      .outputs = {{"dq", matrix_series}, {"dv", matrix_series}, {"dtau", by_series}},
      .packs = Packs::while_small};
  template <class S>
  using Work = ForwardSeriesPartialsWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    return forward_dynamics_series_partials(x.tree, x.in("q"), x.in("v"), x.in("tau"), x.in("f_ext"),
                                            x.out("dq"), x.out("dv"), x.out("dtau"), work);
  }
};

struct HybridDynamicsSeriesDerivatives {
  static constexpr Signature signature{
      .name = "hybrid_dynamics_series_derivatives",
      .inputs = {configuration("q"),
                 {"v", shapes::v},
                 {"a", shapes::series, !optional, Reads::prescribed},
                 {"tau", shapes::series, !optional, Reads::unprescribed},
                 {"f_ext", shapes::wrench_series, optional}},
      .outputs = {{"a_dq", matrix_series},
                  {"a_dv", matrix_series},
                  {"a_da", by_series},
                  {"a_dtau", by_series},
                  {"tau_dq", matrix_series},
                  {"tau_dv", matrix_series},
                  {"tau_da", by_series},
                  {"tau_dtau", by_series}},
      .options = {options::prescribed},
      .packs = Packs::while_small};
  template <class S>
  using Work = ForwardSeriesPartialsWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    const HybridSeriesPartials<S> d{x.out("a_dq"),   x.out("a_dv"),   x.out("a_da"),   x.out("a_dtau"),
                                    x.out("tau_dq"), x.out("tau_dv"), x.out("tau_da"), x.out("tau_dtau")};
    return hybrid_dynamics_series_partials(x.tree, x.options.prescribed, x.in("q"), x.in("v"), x.in("a"),
                                           x.in("tau"), x.in("f_ext"), d, work);
  }
};

}  // namespace

KernelList series_partials_kernels(Pass) {
  return differentiable<InverseDynamicsSeriesDerivatives, ForwardDynamicsSeriesDerivatives,
                        HybridDynamicsSeriesDerivatives>(
      second_derivatives<ForwardDynamicsSeriesDerivatives, HybridDynamicsSeriesDerivatives>());
}

}  // namespace jounce
