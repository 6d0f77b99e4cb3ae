// Second derivatives of inverse and forward dynamics.
#include "jounce/batch/states.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/partials/forward_hessian.hpp"
#include "jounce/partials/inverse_hessian.hpp"
#include "jounce/partials/second_partials.hpp"

namespace jounce {
namespace {

struct InverseDynamicsHessian {
  static constexpr Signature signature{.name = "inverse_dynamics_hessian",
                                       .inputs = {configuration("q"),
                                                  {"v", shapes::v},
                                                  {"a", shapes::v},
                                                  {"weights", shapes::v},
                                                  {"f_ext", shapes::six_vectors, optional}},
                                       .outputs = {{"dqdq", shapes::v_by_v},
                                                   {"dqdv", shapes::v_by_v},
                                                   {"dvdv", shapes::v_by_v},
                                                   {"dqda", shapes::v_by_v}},
                                       .packs = Packs::while_small};
  template <class S>
  using Work = HessianWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    const Hessian<S> out{x.out("dqdq"), x.out("dqdv"), x.out("dvdv"), x.out("dqda")};
    inverse_dynamics_hessian(x.tree, x.in("q"), x.in("v"), x.in("a"), x.in("weights"), x.in("f_ext"),
                             out, work);
  }
};

struct ForwardDynamicsHessian {
  static constexpr Signature signature{.name = "forward_dynamics_hessian",
                                       .inputs = {configuration("q"),
                                                  {"v", shapes::v},
                                                  {"tau", shapes::v},
                                                  {"weights", shapes::v},
                                                  {"f_ext", shapes::six_vectors, optional}},
                                       .outputs = {{"dqdq", shapes::v_by_v},
                                                   {"dqdv", shapes::v_by_v},
                                                   {"dvdv", shapes::v_by_v},
                                                   {"dqdtau", shapes::v_by_v}},
                                       .packs = Packs::while_small};
  template <class S>
  using Work = ForwardHessianWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    const Hessian<S> out{x.out("dqdq"), x.out("dqdv"), x.out("dvdv"), x.out("dqdtau")};
    return forward_dynamics_hessian(x.tree, x.in("q"), x.in("v"), x.in("tau"), x.in("weights"),
                                    x.in("f_ext"), out, work);
  }
};

struct InverseDynamicsSecondDerivatives {
  static constexpr Signature signature{.name = "inverse_dynamics_second_derivatives",
                                       .inputs = {configuration("q"),
                                                  {"v", shapes::v},
                                                  {"a", shapes::v},
                                                  {"f_ext", shapes::six_vectors, optional}},
                                       .outputs = {{"dqdq", shapes::v_by_v_by_v},
                                                   {"dqdv", shapes::v_by_v_by_v},
                                                   {"dvdv", shapes::v_by_v_by_v},
                                                   {"dqda", shapes::v_by_v_by_v}},
                                       .packs = Packs::while_small};
  template <class S>
  using Work = SecondPartialsWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    const std::size_t nv = x.tree.nv;
    const SecondPartials<S> out{
        {x.out("dqdq"), nv}, {x.out("dqdv"), nv}, {x.out("dvdv"), nv}, {x.out("dqda"), nv}};
    inverse_dynamics_second_partials(x.tree, x.in("q"), x.in("v"), x.in("a"), x.in("f_ext"), out, work);
  }
};

}  // namespace

KernelList hessian_kernels() {
  return {kernel_of<InverseDynamicsHessian>, kernel_of<ForwardDynamicsHessian>,
          kernel_of<InverseDynamicsSecondDerivatives>};
}

}  // namespace jounce
