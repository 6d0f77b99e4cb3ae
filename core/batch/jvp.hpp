// From a kernel to its directional derivative: `Jvp<K>` runs K on dual numbers, W directions at once.
//
// It takes what K takes, for each input x a tangent d_x, and a direction d_model in which the model
// changes; all of these are optional, and zero where not given. It gives what K gives, and for each
// output y its tangent d_y. Tangents of configurations are left-trivialized: a quaternion x moves by
// x (d, 0) / 2, the origin of a free joint by R d.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "jounce/batch/model_tangent.hpp"
#include "jounce/batch/passes.hpp"
#include "jounce/batch/states.hpp"
#include "jounce/kinematics/configuration.hpp"

namespace jounce {
namespace jvp {

// Room for a name that is put together when it is compiled.
struct Name {
  char text[64] = {};

  constexpr Name() = default;
  constexpr Name(const char* first, const char* second) {
    int k = 0;
    while (*first) text[k++] = *first++;
    while (*second) text[k++] = *second++;
  }
};

template <class K>
struct Names {
  static constexpr Name kernel{K::signature.name, "_jvp"};
  template <class Items>
  static constexpr auto tangents(const Items& items) {
    std::array<Name, kMostInputs> names;
    for (int k = 0; k < items.count; ++k) names[k] = Name("d_", items[k].name);
    return names;
  }
  static constexpr auto inputs = tangents(K::signature.inputs);
  static constexpr auto outputs = tangents(K::signature.outputs);
};

constexpr Shape tangent_shape(const Shape& shape, Holds holds) {
  return is_configuration(holds) ? shapes::v : shape;
}

template <class K>
constexpr Signature signature() {
  Signature s = K::signature;
  s.name = Names<K>::kernel.text;
  for (int k = 0; k < K::signature.inputs.count; ++k) {
    const Input& own = K::signature.inputs[k];
    s.inputs.add({Names<K>::inputs[k].text, tangent_shape(own.shape, own.holds), optional, own.reads});
  }
  s.inputs.add({"d_model", shapes::model_tangent, optional});
  for (int k = 0; k < K::signature.outputs.count; ++k) {
    const Output& own = K::signature.outputs[k];
    s.outputs.add({Names<K>::outputs[k].text, tangent_shape(own.shape, own.holds)});
  }
  s.packs = Packs::only;
  s.branches = false;
  s.internal = true;
  return s;
}

template <class S>
void seed_numbers(std::ptrdiff_t n, const S* x, const S* d, Dual<S>* to) {
  for (std::ptrdiff_t k = 0; k < n; ++k) to[k] = {x ? x[k] : S(0.0), d ? d[k] : S(0.0)};
}

// `rates` has room for nq numbers.
template <class S>
void seed_configuration(const Tree<double>& tree, const S* q, const S* d, S* rates, Dual<S>* to) {
  if (d) coordinate_rates(tree, q, d, rates);
  seed_numbers(tree.nq, q, d ? rates : nullptr, to);
}

template <class S>
void split_numbers(std::ptrdiff_t n, const Dual<S>* from, S* x, S* d) {
  for (std::ptrdiff_t k = 0; k < n; ++k) {
    x[k] = from[k].x;
    d[k] = from[k].d;
  }
}

// The inverse of `coordinate_rates`.
template <class S>
void split_configuration(const Tree<double>& tree, const Dual<S>* from, S* q, S* d) {
  for (int k = 0; k < tree.nq; ++k) q[k] = from[k].x;
  for (const Node<double>& node : tree.nodes) {
    const Dual<S>* x = from + node.q;
    S* to = d + node.v;
    if (!is_group(node.kind)) {
      to[0] = x[0].d;
      continue;
    }
    const S back[] = {-x[0].x, -x[1].x, -x[2].x, x[3].x}, rate[] = {x[0].d, x[1].d, x[2].d, x[3].d};
    S turn[4];
    quaternion_product(back, rate, turn);
    for (int k = 0; k < 3; ++k) to[k] = turn[k] + turn[k];
    if (node.kind == Kind::free) {
      store(transposed(rotation(q + node.q), Vec3<S>{x[4].d, x[5].d, x[6].d}), to + 3);
    }
  }
}

template <class K, class S>
struct Work {
  using D = Dual<S>;
  D *in[kMostInputs], *out[kMostOutputs];
  S* rates;
  ModelTangent<S> model;
  typename K::template Work<D> own;

  Work(const Tree<double>& tree, Extent extent, Arena& arena)
      : rates(arena.take<S>(tree.nq)), model(tree, arena), own(make_work<decltype(own)>(tree, extent, arena)) {
    const Sizes sizes(tree, extent);
    const auto& inputs = K::signature.inputs;
    const auto& outputs = K::signature.outputs;
    for (int k = 0; k < inputs.count; ++k) in[k] = arena.take<D>(entries(inputs[k].shape, sizes));
    for (int k = 0; k < outputs.count; ++k) out[k] = arena.take<D>(entries(outputs[k].shape, sizes));
  }
};

}  // namespace jvp

// Whether calls in which the model stays as it is have code of their own, which multiplies with its constants
// as they are: that is faster, and one more copy of the kernel. `always`: no number of the model enters.
enum class Still { shared, separate, always };

template <class K, Still kStill = Still::shared>
struct Jvp {
  static constexpr Signature signature = jvp::signature<K>();
  template <class S>
  using Work = jvp::Work<K, S>;

  template <class S, class X>
  static int run(const X& x, Work<S>& work) {
    using D = Dual<S>;
    const Tree<double>& tree = x.tree;
    const Sizes sizes = x.call.sizes();
    const int n_in = K::signature.inputs.count, n_out = K::signature.outputs.count;
    const D* in[kMostInputs] = {};
    for (int k = 0; k < n_in; ++k) {
      const Input& input = K::signature.inputs[k];
      const S *value = x.inputs[k], *tangent = x.inputs[n_in + k];
      if (!value && !tangent) continue;
      if (!is_configuration(input.holds)) {
        jvp::seed_numbers(entries(input.shape, sizes), value, tangent, work.in[k]);
      } else {
        jvp::seed_configuration(tree, value, tangent, work.rates, work.in[k]);
      }
      in[k] = work.in[k];
    }
    const int singular = run_dual<S>(x, in, work);
    for (int k = 0; k < n_out; ++k) {
      const Output& output = K::signature.outputs[k];
      S *value = x.outputs[k], *tangent = x.outputs[n_out + k];
      if (output.holds == Holds::numbers) {
        jvp::split_numbers(entries(output.shape, sizes), work.out[k], value, tangent);
      } else {
        jvp::split_configuration(tree, work.out[k], value, tangent);
      }
    }
    return singular;
  }

 private:
  template <class S, class X>
  static int run_dual(const X& x, const Dual<S>* const* in, Work<S>& work) {
    using D = Dual<S>;
    const S* direction = x.inputs[2 * K::signature.inputs.count];
    if constexpr (kStill != Still::shared) {
      if (kStill == Still::always || !direction) {
        const Arguments<K, D> own{x.tree, x.options, in, work.out, x.call, x.first, x.count};
        return batch::run_on<K, D>(own, work.own);
      }
    }
    if constexpr (kStill != Still::always) {
      Tree<D> changed;
      const Tree<D>* model = !direction && x.tree.still ? x.tree.still->of(x.tree) : nullptr;
      if (!model) {
        changed = work.model.seed(x.tree, direction);
        model = &changed;
      }
      const Options<D> options = seeded(x.options, x.tree, direction);
      const Arguments<K, D, D> own{*model, options, in, work.out, x.call, x.first, x.count};
      return batch::run_on<K, D>(own, work.own);
    }
  }
};

// Kernels with their directional derivatives, and others; of these, the ones that belong to this pass.
template <Still kStill, class... K>
std::vector<Kernel> differentiable_as(std::vector<Kernel> all) {
  if constexpr (kDuals) {
    (all.push_back(kernel_of<Jvp<K, kStill>>), ...);
  } else if constexpr (kPlain) {
    (all.push_back(kernel_of<K>), ...);
  }
  return all;
}
template <class... K>
std::vector<Kernel> differentiable(std::vector<Kernel> all = {}) {
  return differentiable_as<Still::shared, K...>(std::move(all));
}

// The same for those whose derivatives are asked for often, and for those that no number of the model enters.
template <class... K>
std::vector<Kernel> often_differentiable(std::vector<Kernel> all = {}) {
  return differentiable_as<Still::separate, K...>(std::move(all));
}
template <class... K>
std::vector<Kernel> differentiable_by_state(std::vector<Kernel> all = {}) {
  return differentiable_as<Still::always, K...>(std::move(all));
}

// Kernels without derivatives.
template <class... K>
std::vector<Kernel> others(std::vector<Kernel> all = {}) {
  if constexpr (kPlain) (all.push_back(kernel_of<K>), ...);
  return all;
}

}  // namespace jounce
