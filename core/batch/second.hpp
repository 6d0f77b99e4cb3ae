// From a kernel to its second derivative: `Second<K>` runs K on dual numbers of dual numbers, W pairs
// of directions at once.
//
// It takes what K takes, and for each input x the tangents d_x and e_x, which are optional and zero
// where not given. For each output y it gives e_y, the derivative along e, and dd_y, the derivative
// along e of the derivative along d, whose components stay as they are. For a function f of q that is
//
//   d/dt d/ds f(q exp(t e) exp(s d)) at 0,
//
// what differentiating `Jvp<K>` again gives.
#pragma once

#include "jounce/batch/jvp.hpp"

namespace jounce {
namespace second {

template <class K>
struct Names {
  static constexpr jvp::Name kernel{K::signature.name, "_second"};
  template <class Items>
  static constexpr auto with(const char* prefix, const Items& items) {
    std::array<jvp::Name, kMostInputs> names;
    for (int k = 0; k < items.count; ++k) names[k] = jvp::Name(prefix, items[k].name);
    return names;
  }
  static constexpr auto first = with("d_", K::signature.inputs), later = with("e_", K::signature.inputs);
  static constexpr auto value = with("e_", K::signature.outputs), both = with("dd_", K::signature.outputs);
};

template <class K>
constexpr Signature signature() {
  Signature s = K::signature;
  const auto inputs = s.inputs;
  const auto outputs = s.outputs;
  s.name = Names<K>::kernel.text;
  for (const auto* names : {&Names<K>::first, &Names<K>::later}) {
    for (int k = 0; k < inputs.count; ++k) {
      const Input& own = inputs[k];
      s.inputs.add({(*names)[k].text, jvp::tangent_shape(own.shape, own.holds), optional, own.reads});
    }
  }
  s.outputs = {};
  for (const auto* names : {&Names<K>::value, &Names<K>::both}) {
    for (int k = 0; k < outputs.count; ++k) {
      s.outputs.add({(*names)[k].text, jvp::tangent_shape(outputs[k].shape, outputs[k].holds)});
    }
  }
  s.packs = Packs::only;
  s.branches = false;
  s.internal = true;
  return s;
}

template <class K, class S>
struct Work {
  using D = Dual<S>;
  using DD = Dual<D>;
  D *moved, *direction, *rates, *value, *tangent;  // of one input or output
  S* plain_rates;
  DD *in[kMostInputs], *out[kMostOutputs];
  typename K::template Work<DD> own;

  Work(const Tree<double>& tree, Extent extent, Arena& arena)
      : rates(arena.take<D>(tree.nq)),
        plain_rates(arena.take<S>(tree.nq)),
        own(make_work<decltype(own)>(tree, extent, arena)) {
    const Sizes sizes(tree, extent);
    const auto& inputs = K::signature.inputs;
    const auto& outputs = K::signature.outputs;
    std::ptrdiff_t most = tree.nq;
    for (int k = 0; k < inputs.count; ++k) {
      const std::ptrdiff_t n = entries(inputs[k].shape, sizes);
      most = n > most ? n : most;
      in[k] = arena.take<DD>(n);
    }
    for (int k = 0; k < outputs.count; ++k) {
      const std::ptrdiff_t n = entries(outputs[k].shape, sizes);
      most = n > most ? n : most;
      out[k] = arena.take<DD>(n);
    }
    for (D** each : {&moved, &direction, &value, &tangent}) *each = arena.take<D>(most);
  }
};

}  // namespace second

template <class K>
struct Second {
  static constexpr Signature signature = second::signature<K>();
  template <class S>
  using Work = second::Work<K, S>;

  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    using DD = Dual<Dual<S>>;
    constexpr int n_in = K::signature.inputs.count, n_out = K::signature.outputs.count;
    const DD* in[kMostInputs] = {};
    for (int k = 0; k < n_in; ++k) in[k] = seed(x, k, work);
    const Arguments<K, DD> own{x.tree, x.options, in, work.out, x.call, x.first, x.count};
    const int singular = batch::run_on<K, DD>(own, work.own);
    for (int k = 0; k < n_out; ++k) {
      const Output& output = K::signature.outputs[k];
      const std::ptrdiff_t n = entries(output.shape, x.call.sizes());
      S *along = x.outputs[k], *both = x.outputs[n_out + k];
      if (output.holds == Holds::numbers) {
        jvp::split_numbers(n, work.out[k], work.value, work.tangent);
        for (std::ptrdiff_t i = 0; i < n; ++i) along[i] = work.value[i].d;
      } else {
        jvp::split_configuration(x.tree, work.out[k], work.value, work.tangent);
        jvp::split_configuration(x.tree, work.value, work.plain_rates, along);
      }
      const std::ptrdiff_t m = entries(signature.outputs[n_out + k].shape, x.call.sizes());
      for (std::ptrdiff_t i = 0; i < m; ++i) both[i] = work.tangent[i].d;
    }
    return singular;
  }

 private:
  // Input k, moved along e and then along d; null if there is none.
  template <class S, class X>
  static const Dual<Dual<S>>* seed(const X& x, int k, Work<S>& work) {
    const Input& input = K::signature.inputs[k];
    constexpr int n_in = K::signature.inputs.count;
    const S *value = x.inputs[k], *d = x.inputs[n_in + k], *e = x.inputs[2 * n_in + k];
    if (!value && !d && !e) return nullptr;
    const Sizes sizes = x.call.sizes();
    const std::ptrdiff_t n = entries(input.shape, sizes), m = entries(signature.inputs[n_in + k].shape, sizes);
    if (d) jvp::seed_numbers<S>(m, d, nullptr, work.direction);
    const Dual<S>* direction = d ? work.direction : nullptr;
    if (!is_configuration(input.holds)) {
      jvp::seed_numbers(n, value, e, work.moved);
      jvp::seed_numbers<Dual<S>>(n, work.moved, direction, work.in[k]);
    } else {
      jvp::seed_configuration(x.tree, value, e, work.plain_rates, work.moved);
      jvp::seed_configuration<Dual<S>>(x.tree, work.moved, direction, work.rates, work.in[k]);
    }
    return work.in[k];
  }
};

// Kernels of the second derivatives of these: of all functions that front ends offer whose first derivatives
// have no closed form.
template <class... K>
std::vector<Kernel> second_derivatives() {
  if constexpr (kSeconds) {
    return {kernel_of<Second<K>>...};
  } else {
    return {};
  }
}

}  // namespace jounce
