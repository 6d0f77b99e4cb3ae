// The adjoint of a rollout.
#include "jounce/batch/states.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/kernels/once.hpp"
#include "jounce/simulation/rollout_adjoint.hpp"

namespace jounce {
namespace {

template <class S, class X>
struct AdjointTape {
  const X& x;

  bool stopped() const { return x.stopped(); }
  void load_forces(std::ptrdiff_t row, S* to) const { x.load_row("tau", row, to); }
  void load_wrenches(std::ptrdiff_t row, S* to) const { x.load_row("f_ext", row, to); }
  void load_references(std::ptrdiff_t row, S* to) const { x.load_row("q_ref", row, to); }
  void load_state(std::ptrdiff_t row, S* q, S* v) const {
    x.load_row("q", row, q);
    x.load_row("v", row, v);
  }
  void load_weights(std::ptrdiff_t row, S* to) const { x.load_row("weights", row, to); }
  void store_forces(std::ptrdiff_t row, const S* from) const { x.store_row("tau", row, from); }
};

constexpr List<Input, kMostInputs> kAdjointInputs{{"tau", shapes::v_in_time},
                                                  {"q", shapes::q_stored},
                                                  {"v", shapes::v_stored},
                                                  {"weights", shapes::two_v_stored},
                                                  {"dt", shapes::scalar},
                                                  {"f_ext", shapes::six_vectors_in_time, optional},
                                                  {"q_ref", shapes::q_in_time, optional},
                                                  {"servo", shapes::servo_rows, optional}};
constexpr List<Option, kMostOptions> kAdjointOptions{options::tableau, options::hold, options::some_prescribed,
                                                     options::passive};

template <class S, class X>
void go_back(const X& x, RolloutAdjointWork<S>& work) {
  AdjointForces<S> forces;
  static_cast<HeldForces<S>&>(forces) = {
      work.control.now, work.control.next, work.control.between, work.control.total,
      control_row(x.tree, x.given("f_ext"), x.given("q_ref")), x.options.hold != 0,
      x.options.prescribed, x.in("servo"), x.options.passive};
  rollout_adjoint(x.tree, x.options.tableau, x.call.steps(), forces, AdjointTape<S, X>{x},
                  x.in("dt")[0], x.out("q0"), x.out("v0"), work);
}

// The derivatives of sum_t weights[t] . (q[t], v[t]) over the states of a rollout.
struct ExplicitRolloutAdjoint {
  static constexpr Signature signature{
      .name = "explicit_rollout_adjoint",
      .inputs = kAdjointInputs,
      .outputs = {{"q0", shapes::v}, {"v0", shapes::v}, {"tau", shapes::v_in_time, Finite::unchecked}},
      .options = kAdjointOptions,
      .internal = true};
  template <class S>
  using Work = RolloutAdjointWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    go_back<S>(x, work);
  }
};

// The same, and those by all numbers of the model.
struct ExplicitRolloutModelAdjoint {
  static constexpr Signature signature{
      .name = "explicit_rollout_model_adjoint",
      .inputs = kAdjointInputs,
      .outputs = {{"q0", shapes::v},
                  {"v0", shapes::v},
                  {"tau", shapes::v_in_time, Finite::unchecked},
                  {"model", shapes::model_tangent}},
      .options = kAdjointOptions,
      .internal = true};
  template <class S>
  using Work = RolloutAdjointWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    work.add_to(x.out("model"), tangent_size(x.tree.n, x.tree.nv));
    go_back<S>(x, work);
  }
};

}  // namespace

KernelList rollout_adjoint_kernels(Plain) { return {kernel_of<ExplicitRolloutAdjoint>, kernel_of<ExplicitRolloutModelAdjoint>}; }

}  // namespace jounce
