// Series of dynamics with constraints and their derivatives, and second derivatives of the rows.
#include "jounce/constraints/hessian.hpp"
#include "jounce/constraints/series_solve.hpp"

#include "jounce/batch/jvp.hpp"
#include "jounce/kernels/constraint_table.hpp"
#include "jounce/kernels/list.hpp"

namespace jounce {
namespace {

// Not public, as all here.
struct ConstrainedSeries {
  static constexpr Signature signature{
      .name = "constrained_series",
      .inputs = {configuration("q"),
                 {"v", shapes::v},
                 {"a", shapes::series, !optional, Reads::prescribed},
                 {"tau", shapes::series, !optional, Reads::unprescribed},
                 {"rates", kRowRates},
                 {"table", kTable},
                 {"f_ext", shapes::wrench_series, optional}},
      .outputs = {{"a", shapes::series}, {"tau", shapes::series}, {"force", kRowSeries}, {"rank", shapes::scalar}},
      .options = {options::prescribed},
      .internal = true};
  template <class S>
  using Work = ConstrainedSeriesWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    return constrained_series(x.tree, table_of(x, typename X::InputName("table")),
                              SomeMask{x.options.prescribed}, x.in("q"), x.in("v"), x.in("a"), x.in("tau"),
                              x.in("rates"), x.in("f_ext"), x.out("a"), x.out("tau"),
                              x.out("force"), x.out("rank"), work);
  }
};

struct ConstraintHessian {
  static constexpr Signature signature{.name = "constraint_hessian",
                                       .inputs = {configuration("q"),
                                                  {"v", shapes::v},
                                                  {"a", shapes::v},
                                                  {"u", shapes::v},
                                                  {"weights", kByRow},
                                                  {"force", kByRow},
                                                  {"table", kTable}},
                                       .outputs = {{"dqdq", shapes::v_by_v},
                                                   {"dqdv", shapes::v_by_v},
                                                   {"dvdv", shapes::v_by_v}},
                                       .packs = Packs::never,
                                       .internal = true};
  template <class S>
  using Work = RowHessianWork;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    row_hessian_of(x.tree, table_of(x, typename X::InputName("table")), x.call.rows, x.in("q"), x.in("v"),
                   x.in("a"), x.in("u"), x.in("weights"), x.in("force"),
                   {x.out("dqdq"), x.out("dqdv"), x.out("dvdv")}, work);
  }
};

}  // namespace

KernelList constrained_series_kernels(Pass) {
  KernelList all = differentiable<ConstrainedSeries>();
  if constexpr (kDuals) all.push_back(kernel_of<ConstraintHessian>);  // it works on nested ones
  return all;
}

}  // namespace jounce
