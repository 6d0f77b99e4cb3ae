// Time derivatives of inverse, forward and hybrid dynamics.
#include "jounce/batch/second.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/series/series.hpp"
#include "jounce/series/series_solve.hpp"

namespace jounce {
namespace {

struct InverseDynamicsSeries {
  static constexpr Signature signature{
      .name = "inverse_dynamics_series",
      .inputs = {configuration("q"),
                 {"motion", shapes::motion},
                 {"f_ext", shapes::wrench_series, optional}},
      .outputs = {{"tau", shapes::series}},
      .branches = true};
  template <class S>
  using Work = SeriesWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    inverse_dynamics_series(x.tree, x.in("q"), x.in("motion"), x.in("f_ext"), x.out("tau"), work);
  }
};

struct ForwardDynamicsSeries {
  static constexpr Signature signature{
      .name = "forward_dynamics_series",
      .inputs = {configuration("q"),
                 {"v", shapes::v},
                 {"tau", shapes::series},
                 {"f_ext", shapes::wrench_series, optional}},
      .outputs = {{"a", shapes::series}},
      .branches = true};
  template <class S>
  using Work = SeriesSolveWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    const S* none = nullptr;
    return solve_series(x.tree, NoneMask{}, x.in("q"), x.in("v"), none, x.in("tau"), x.in("f_ext"),
                        x.out("a"), (S*)nullptr, work);
  }
};

struct HybridDynamicsSeries {
  static constexpr Signature signature{
      .name = "hybrid_dynamics_series",
      .inputs = {configuration("q"),
                 {"v", shapes::v},
                 {"a", shapes::series, !optional, Reads::prescribed},
                 {"tau", shapes::series, !optional, Reads::unprescribed},
                 {"f_ext", shapes::wrench_series, optional}},
      .outputs = {{"a", shapes::series}, {"tau", shapes::series}},
      .options = {options::prescribed}};
  template <class S>
  using Work = SeriesSolveWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    return solve_series(x.tree, SomeMask{x.options.prescribed}, x.in("q"), x.in("v"), x.in("a"),
                        x.in("tau"), x.in("f_ext"), x.out("a"), x.out("tau"), work);
  }
};

}  // namespace

KernelList series_kernels(Pass) {
  return differentiable<InverseDynamicsSeries, ForwardDynamicsSeries, HybridDynamicsSeries>(
      second_derivatives<InverseDynamicsSeries, ForwardDynamicsSeries, HybridDynamicsSeries>());
}

}  // namespace jounce
