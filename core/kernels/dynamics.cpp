// Inverse, forward and hybrid dynamics, bias and gravity forces.
#include "jounce/batch/directions.hpp"
#include "jounce/batch/second.hpp"
#include "jounce/dynamics/articulated.hpp"
#include "jounce/dynamics/inverse_dynamics.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/kernels/once.hpp"
#include "jounce/partials/directions.hpp"

namespace jounce {

// Derivatives of one state in closed form are code for plain numbers, which belongs to that pass.
enum class Form { inverse, bias, gravity, forward };
Failure in_closed_form(Plain, Form form, const Call& call, std::ptrdiff_t first, int count, char* block);

namespace {

template <Form kForm>
struct InClosedForm {
  static Failure one_state(const Call& call, std::ptrdiff_t first, int count, char* block) {
    return in_closed_form(Plain{}, kForm, call, first, count, block);
  }
};

struct InverseDynamics {
  static constexpr Signature signature{
      .name = "inverse_dynamics",
      .inputs = {configuration("q"),
                 {"v", shapes::v},
                 {"a", shapes::v},
                 {"f_ext", shapes::six_vectors, optional}},
      .outputs = {{"tau", shapes::v}},
      .branches = true};
  template <class S>
  using Work = InverseDynamicsWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    inverse_dynamics(x.tree, x.in("q"), x.in("v"), x.in("a"), x.in("f_ext"), x.out("tau"), work);
  }
};

struct InverseDirections : InClosedForm<Form::inverse> {
  using Work = DirectionsWork<Wide>;
  static int run(const Tree<double>& tree, const double* const* in, const Wide* const* d, double* tau,
                 Wide* dtau, Work& work) {
    inverse_dynamics_directions(tree, in[0], in[1], in[2], in[3], {d[0], d[1], d[2], d[3]}, tau, dtau, work);
    return -1;
  }
};

struct BiasForces {
  static constexpr Signature signature{
      .name = "bias_forces",
      .inputs = {configuration("q"), {"v", shapes::v}, {"f_ext", shapes::six_vectors, optional}},
      .outputs = {{"tau", shapes::v}},
      .branches = true};
  template <class S>
  using Work = InverseDynamicsWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    const S* none = nullptr;
    inverse_dynamics(x.tree, x.in("q"), x.in("v"), none, x.in("f_ext"), x.out("tau"), work);
  }
};

struct BiasDirections : InClosedForm<Form::bias> {
  using Work = DirectionsWork<Wide>;
  static int run(const Tree<double>& tree, const double* const* in, const Wide* const* d, double* tau,
                 Wide* dtau, Work& work) {
    const double* none = nullptr;
    inverse_dynamics_directions(tree, in[0], in[1], none, in[2], {d[0], d[1], nullptr, d[2]}, tau, dtau, work);
    return -1;
  }
};

struct GravityForces {
  static constexpr Signature signature{
      .name = "gravity_forces", .inputs = {configuration("q")}, .outputs = {{"tau", shapes::v}},
      .branches = true};
  template <class S>
  using Work = InverseDynamicsWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    const S* none = nullptr;
    inverse_dynamics(x.tree, x.in("q"), none, none, none, x.out("tau"), work);
  }
};

struct GravityDirections : InClosedForm<Form::gravity> {
  using Work = DirectionsWork<Wide>;
  static int run(const Tree<double>& tree, const double* const* in, const Wide* const* d, double* tau,
                 Wide* dtau, Work& work) {
    const double* none = nullptr;
    inverse_dynamics_directions(tree, in[0], none, none, none, {d[0], nullptr, nullptr, nullptr}, tau, dtau, work);
    return -1;
  }
};

struct ForwardDynamics {
  static constexpr Signature signature{
      .name = "forward_dynamics",
      .inputs = {configuration("q"),
                 {"v", shapes::v},
                 {"tau", shapes::v},
                 {"f_ext", shapes::six_vectors, optional}},
      .outputs = {{"a", shapes::v}},
      .branches = true};
  template <class S>
  using Work = ArticulatedWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    return forward_dynamics(x.tree, x.in("q"), x.in("v"), x.in("tau"), x.in("f_ext"), x.out("a"),
                            work);
  }
};

struct ForwardDirections : InClosedForm<Form::forward> {
  using Work = ForwardDirectionsWork<Wide>;
  static int run(const Tree<double>& tree, const double* const* in, const Wide* const* d, double* a,
                 Wide* da, Work& work) {
    return forward_dynamics_directions(tree, in[0], in[1], in[2], in[3], {d[0], d[1], d[2], d[3]}, a, da,
                                       work);
  }
};

struct HybridDynamics {
  static constexpr Signature signature{
      .name = "hybrid_dynamics",
      .inputs = {configuration("q"),
                 {"v", shapes::v},
                 {"a", shapes::v, !optional, Reads::prescribed},
                 {"tau", shapes::v, !optional, Reads::unprescribed},
                 {"f_ext", shapes::six_vectors, optional}},
      .outputs = {{"a", shapes::v}, {"tau", shapes::v}},
      .options = {options::prescribed}};
  template <class S>
  using Work = ArticulatedWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    return hybrid_dynamics(x.tree, x.options.prescribed, x.in("q"), x.in("v"), x.in("a"),
                           x.in("tau"), x.in("f_ext"), x.out("a"), x.out("tau"), work);
  }
};

}  // namespace

Failure in_closed_form(Pass, Form form, const Call& call, std::ptrdiff_t first, int count, char* block) {
  if constexpr (kPlain) {
    switch (form) {
      case Form::inverse: return batch::run_closed<InverseDynamics, InverseDirections>(call, first, count, block);
      case Form::bias: return batch::run_closed<BiasForces, BiasDirections>(call, first, count, block);
      case Form::gravity: return batch::run_closed<GravityForces, GravityDirections>(call, first, count, block);
      case Form::forward: return batch::run_closed<ForwardDynamics, ForwardDirections>(call, first, count, block);
    }
  }
  return {};
}

KernelList dynamics_kernels(Pass) {
  KernelList all = others<InverseDynamics, BiasForces, GravityForces, ForwardDynamics>(
      second_derivatives<InverseDynamics, BiasForces, ForwardDynamics, HybridDynamics>());
  if constexpr (kDuals) {
    all.push_back(directions_kernel<InverseDynamics, InverseDirections>);
    all.push_back(directions_kernel<BiasForces, BiasDirections>);
    all.push_back(directions_kernel<GravityForces, GravityDirections>);
    all.push_back(directions_kernel<ForwardDynamics, ForwardDirections>);
  }
  return often_differentiable<HybridDynamics>(all);
}

}  // namespace jounce
