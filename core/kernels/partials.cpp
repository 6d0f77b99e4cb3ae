// Partial derivatives of inverse, forward and hybrid dynamics; the Coriolis matrix.
#include "jounce/batch/second.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/kernels/once.hpp"
#include "jounce/partials/forward_partials.hpp"
#include "jounce/partials/hybrid_partials.hpp"
#include "jounce/partials/inverse_partials.hpp"

namespace jounce {
namespace {

struct InverseDynamicsDerivatives {
  static constexpr Signature signature{
      .name = "inverse_dynamics_derivatives",
      .inputs = {configuration("q"),
                 {"v", shapes::v},
                 {"a", shapes::v},
                 {"f_ext", shapes::six_vectors, optional}},
      .outputs = {{"dq", shapes::v_by_v}, {"dv", shapes::v_by_v}, {"da", shapes::v_by_v}},
      .packs = Packs::while_small};
  template <class S>
  using Work = PartialsWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    inverse_dynamics_partials(x.tree, x.in("q"), x.in("v"), x.in("a"), x.in("f_ext"), x.out("dq"),
                              x.out("dv"), x.out("da"), work);
  }
};

// With a method (products or solves) for measuring where one overtakes the other.
template <bool kChoose>
struct ForwardDynamicsDerivatives {
  static constexpr Signature signature{
      .name = kChoose ? "forward_dynamics_derivatives_by" : "forward_dynamics_derivatives",
      .inputs = {configuration("q"),
                 {"v", shapes::v},
                 {"tau", shapes::v},
                 {"f_ext", shapes::six_vectors, optional}},
      .outputs = {{"dq", shapes::v_by_v}, {"dv", shapes::v_by_v}, {"dtau", shapes::v_by_v}},
      .options = kChoose ? decltype(Signature::options){options::method} : decltype(Signature::options){},
      .packs = Packs::while_small,
      .internal = kChoose};
  template <class S>
  using Work = ForwardPartialsWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    return forward_dynamics_partials(x.tree, PartialsMethod(x.options.method), x.in("q"), x.in("v"),
                                     x.in("tau"), x.in("f_ext"), x.out("dq"), x.out("dv"),
                                     x.out("dtau"), work);
  }
};

struct HybridDynamicsDerivatives {
  static constexpr Signature signature{
      .name = "hybrid_dynamics_derivatives",
      .inputs = {configuration("q"),
                 {"v", shapes::v},
                 {"a", shapes::v, !optional, Reads::prescribed},
                 {"tau", shapes::v, !optional, Reads::unprescribed},
                 {"f_ext", shapes::six_vectors, optional}},
      .outputs = {{"a_dq", shapes::v_by_v},
                  {"a_dv", shapes::v_by_v},
                  {"a_da", shapes::v_by_v},
                  {"a_dtau", shapes::v_by_v},
                  {"tau_dq", shapes::v_by_v},
                  {"tau_dv", shapes::v_by_v},
                  {"tau_da", shapes::v_by_v},
                  {"tau_dtau", shapes::v_by_v}},
      .options = {options::prescribed},
      .packs = Packs::while_small};
  template <class S>
  using Work = HybridPartialsWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    const HybridPartials<S> d{x.out("a_dq"),   x.out("a_dv"),   x.out("a_da"),   x.out("a_dtau"),
                              x.out("tau_dq"), x.out("tau_dv"), x.out("tau_da"), x.out("tau_dtau")};
    return hybrid_dynamics_partials(x.tree, x.options.prescribed, x.in("q"), x.in("v"), x.in("a"),
                                    x.in("tau"), x.in("f_ext"), d, work);
  }
};

struct CoriolisMatrix {
  static constexpr Signature signature{.name = "coriolis_matrix",
                                       .inputs = {configuration("q"), {"v", shapes::v}},
                                       .outputs = {{"C", shapes::v_by_v}},
                                       .packs = Packs::while_small};
  template <class S>
  using Work = CoriolisWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    coriolis_matrix(x.tree, x.in("q"), x.in("v"), x.out("C"), work);
  }
};

}  // namespace

KernelList partials_kernels(Pass) {
  return differentiable<InverseDynamicsDerivatives, ForwardDynamicsDerivatives<false>,
                        HybridDynamicsDerivatives, CoriolisMatrix>(
      others<ForwardDynamicsDerivatives<true>>(
          second_derivatives<InverseDynamicsDerivatives, ForwardDynamicsDerivatives<false>,
                             HybridDynamicsDerivatives, CoriolisMatrix>()));
}

}  // namespace jounce
