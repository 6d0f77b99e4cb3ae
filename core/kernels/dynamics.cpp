// Inverse, forward and hybrid dynamics, bias and gravity forces.
#include "jounce/batch/directions.hpp"
#include "jounce/batch/second.hpp"
#include "jounce/dynamics/articulated.hpp"
#include "jounce/dynamics/inverse_dynamics.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/kernels/once.hpp"
#include "jounce/partials/forward_directions.hpp"

namespace jounce {

// Derivatives of one state in closed form are code for plain numbers, which belongs to that pass.
enum class Form { inverse, bias, gravity, forward };
Failure in_closed_form(Plain, Form form, const Call& call, std::ptrdiff_t first, int count, char* block);

namespace {

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

template <Form kForm>
struct InClosedForm {
  static Failure one_state(const Call& call, std::ptrdiff_t first, int count, char* block) {
    return in_closed_form(Plain{}, kForm, call, first, count, block);
  }
};

// Of inverse dynamics and its kin K, which leave out some of its inputs.
template <Form kForm, class K>
struct InverseDirections : InClosedForm<kForm> {
  template <class S>
  struct State : StateWork<S> {
    using StateWork<S>::StateWork;
    template <class P>
    int run(const Tree<P>& tree, NamedInputs<K, S> in, S* tau) {
      this->passes.angles.compute(tree, in("q"));
      this->inverse_dynamics(tree, in("q"), in.any("v"), in.any("a"), in.any("f_ext"), tau);
      return -1;
    }
  };
  using Work = DirectionsWork<Wide>;
  template <class S>
  static void run(const Tree<double>& tree, const State<S>& state, NamedInputs<K, double> in,
                  NamedInputs<K, Wide> d, Wide* dtau, Work& work) {
    const Direction<Wide> along{d("q"), d.any("v"), d.any("a"), d.any("f_ext")};
    inverse_dynamics_directions<S>(tree, state, in.any("v"), along, dtau, work);
  }
};

struct ForwardDirections : InClosedForm<Form::forward> {
  using K = ForwardDynamics;
  template <class S>
  struct State : ForwardStateWork<S> {
    using ForwardStateWork<S>::ForwardStateWork;
    template <class P>
    int run(const Tree<P>& tree, NamedInputs<K, S> in, S* a) {
      return this->forward_dynamics(tree, in("q"), in("v"), in("tau"), in("f_ext"), a);
    }
  };
  using Work = ForwardDirectionsWork<Wide>;
  template <class S>
  static void run(const Tree<double>& tree, const State<S>& state, NamedInputs<K, double> in,
                  NamedInputs<K, Wide> d, Wide* da, Work& work) {
    forward_dynamics_directions<S>(tree, state, in("v"), {d("q"), d("v"), d("tau"), d("f_ext")}, da, work);
  }
};

using OfInverseDynamics = InverseDirections<Form::inverse, InverseDynamics>;
using OfBiasForces = InverseDirections<Form::bias, BiasForces>;
using OfGravityForces = InverseDirections<Form::gravity, GravityForces>;

}  // namespace

Failure in_closed_form(Pass, Form form, const Call& call, std::ptrdiff_t first, int count, char* block) {
  if constexpr (kPlain) {
    switch (form) {
      case Form::inverse: return batch::run_closed<InverseDynamics, OfInverseDynamics>(call, first, count, block);
      case Form::bias: return batch::run_closed<BiasForces, OfBiasForces>(call, first, count, block);
      case Form::gravity: return batch::run_closed<GravityForces, OfGravityForces>(call, first, count, block);
      case Form::forward: return batch::run_closed<ForwardDynamics, ForwardDirections>(call, first, count, block);
    }
  }
  return {};
}

KernelList dynamics_kernels(Pass) {
  KernelList all = others<InverseDynamics, BiasForces, GravityForces, ForwardDynamics>(
      second_derivatives<InverseDynamics, BiasForces, ForwardDynamics, HybridDynamics>());
  if constexpr (kDuals) {
    all.push_back(directions_kernel<InverseDynamics, OfInverseDynamics>);
    all.push_back(directions_kernel<BiasForces, OfBiasForces>);
    all.push_back(directions_kernel<GravityForces, OfGravityForces>);
    all.push_back(directions_kernel<ForwardDynamics, ForwardDirections>);
  }
  return often_differentiable<HybridDynamics>(all);
}

}  // namespace jounce
