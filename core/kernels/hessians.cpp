// Gradients of weighted results of inverse and forward dynamics, in O(n), and their second derivatives.
#include "jounce/batch/second.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/kernels/once.hpp"
#include "jounce/partials/forward_hessian.hpp"
#include "jounce/partials/inverse_hessian.hpp"
#include "jounce/partials/second_partials.hpp"
#include "jounce/simulation/mass_solve.hpp"
#include "jounce/simulation/work_gradient.hpp"

namespace jounce {
namespace {

// Of mu . tau by a and by the external wrenches, from what work_gradient() leaves: the momenta of subtrees
// and the twists of the bodies at the rates mu.
template <class S>
void by_inputs(const Tree<double>& tree, const S* mu, S* by_a, S* by_f_ext, const WorkGradientWork<S>& work) {
  for (int i = 0; i < tree.n; ++i) {
    const Node<double>& node = tree.nodes[i];
    const auto& me = work.row[i];
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = 0; k < rates(K); ++k) {
        const int r = node.v + k;
        if (by_a) by_a[r] = along<K>(node, k, me.P) + mu[r] * tree.armature[r];
      }
    });
    if (node.body < 0) continue;
    const Motion<S> twist = node.aligned() ? me.X : to_parent(node.alignment, me.X);
    store(Motion<S>{-twist.w, -twist.v}, by_f_ext + 6 * node.body);
  }
}

struct InverseDynamicsVjp {
  static constexpr Signature signature{.name = "inverse_dynamics_vjp",
                                       .inputs = {configuration("q"),
                                                  {"v", shapes::v},
                                                  {"a", shapes::v},
                                                  {"weights", shapes::v},
                                                  {"f_ext", shapes::six_vectors, optional}},
                                       .outputs = {{"by_q", shapes::v},
                                                   {"by_v", shapes::v},
                                                   {"by_a", shapes::v},
                                                   {"by_f_ext", shapes::six_vectors}},
                                       .internal = true};
  template <class S>
  using Work = WorkGradientWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    const S* mu = x.in("weights");
    work_gradient(x.tree, x.in("q"), x.in("v"), x.in("a"), mu, x.in("f_ext"), x.out("by_q"),
                  x.out("by_v"), work);
    by_inputs(x.tree, mu, x.out("by_a"), x.out("by_f_ext"), work);
  }
};

template <class S>
struct ForwardVjpWork {
  ArticulatedWork<S> factors;
  WorkGradientWork<S> gradient;
  S *a, *mu;

  ForwardVjpWork(const Tree<double>& tree, Arena& arena)
      : factors(tree, arena),
        gradient(tree, arena),
        a(arena.take<S>(tree.nv)),
        mu(arena.take<S>(tree.nv)) {}
};

// That of -mu . tau at the accelerations of forward dynamics, with M mu = weights.
struct ForwardDynamicsVjp {
  static constexpr Signature signature{.name = "forward_dynamics_vjp",
                                       .inputs = {configuration("q"),
                                                  {"v", shapes::v},
                                                  {"tau", shapes::v},
                                                  {"weights", shapes::v},
                                                  {"f_ext", shapes::six_vectors, optional}},
                                       .outputs = {{"by_q", shapes::v},
                                                   {"by_v", shapes::v},
                                                   {"by_tau", shapes::v},
                                                   {"by_f_ext", shapes::six_vectors}},
                                       .internal = true};
  template <class S>
  using Work = ForwardVjpWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    const int nv = x.tree.nv;
    S *mu = work.mu, *by_tau = x.out("by_tau");
    const int singular = forward_dynamics(x.tree, x.in("q"), x.in("v"), x.in("tau"), x.in("f_ext"), work.a,
                                          work.factors);
    if (singular >= 0) return singular;
    solve_mass(x.tree, NoneMask{}, x.in("weights"), by_tau, (S*)nullptr, work.factors);
    for (int r = 0; r < nv; ++r) mu[r] = -by_tau[r];
    work_gradient(x.tree, x.in("q"), x.in("v"), work.a, mu, x.in("f_ext"), x.out("by_q"), x.out("by_v"),
                  work.gradient);
    by_inputs(x.tree, mu, (S*)nullptr, x.out("by_f_ext"), work.gradient);
    return -1;
  }
};

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

KernelList hessian_kernels(Pass) {
  return differentiable<InverseDynamicsHessian, ForwardDynamicsHessian,
                        InverseDynamicsSecondDerivatives>(
      others<InverseDynamicsVjp, ForwardDynamicsVjp>(
          second_derivatives<InverseDynamicsHessian, ForwardDynamicsHessian>()));
}

}  // namespace jounce
