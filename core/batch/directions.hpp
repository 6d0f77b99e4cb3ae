// Directional derivatives of one state along many directions, in closed form where a kernel has one: what
// belongs to the state is computed once, as plain numbers, and the directions fill the lanes.
//
// `directions_kernel<K, Closed>` takes and gives what `Jvp<K>` does, and leaves to it the calls in which
// states differ or the model changes. K has one output. `Closed` has
//   State<S>, the workspace of what belongs to the state, on its tree or, if K has branches, in lanes, with
//     int run(tree, in, value), which returns a singular node or -1, and if K has options, a pointer `options` to them,
//   Work, that of the directions,
//   static void run(tree, state, in, tangents, derivative, work)
// with inputs as doubles and tangents as packs, both read by the names of K's inputs (`NamedInputs`), and
//   static Failure one_state(call, first, count, block)
// which calls `run_closed<K, Closed>` as it was compiled for plain numbers (see passes.hpp), all inlined.
#pragma once

#include <string_view>

#include "jounce/batch/jvp.hpp"

namespace jounce {

// What is given for the inputs of kernel K, or along them, by name; null where it is not given. Names are looked up
// when it is compiled: in("q") of one that K has, in.any("v") also of one that it may not have.
template <class K, class T>
struct NamedInputs {
  struct Name {
    int position;
    consteval Name(const char* name) : position(K::signature.inputs.position(name)) {}
  };
  struct AnyName {
    int position = -1;
    consteval AnyName(const char* name) {
      for (const Input& input : K::signature.inputs) {
        if (std::string_view(name) == input.name) position = K::signature.inputs.position(name);
      }
    }
  };
  const T* const* given;

  const T* operator()(Name name) const { return given[name.position]; }
  const T* any(AnyName name) const { return name.position < 0 ? nullptr : given[name.position]; }
};

namespace batch {

template <class K, class Closed>
struct DirectionsLayout {
  Fetched<double> inputs;
  Wide *tangents[kMostInputs], *derivative;
  double* value;
  typename Closed::Work work;
  typename Closed::template State<double> state;

  DirectionsLayout(const Tree<double>& tree, Arena& arena)
      : inputs(K::signature, tree, {tree, Extent{}}, arena),
        derivative(arena.take<Wide>(entries(K::signature.outputs[0].shape, {tree, Extent{}}))),
        value(arena.take<double>(entries(K::signature.outputs[0].shape, {tree, Extent{}}))),
        work(tree, arena),
        state(tree, arena) {
    constexpr const Signature& s = Jvp<K>::signature;
    const Sizes sizes(tree, Extent{});
    for (int k = 0; k < K::signature.inputs.count; ++k) {
      tangents[k] = arena.take<Wide>(entries(s.inputs[K::signature.inputs.count + k].shape, sizes));
    }
  }
};

// Whether all directions are those of one state, and the model stays as it is.
template <class K>
inline bool have_one_state(const Call& call) {
  constexpr int n = K::signature.inputs.count;
  for (int k = 0; k < n; ++k) {
    if (call.in[k] && call.in_step[k] && call.states > 1) return false;
  }
  return !call.in[2 * n];
}

// The tangents of `count` directions; false if they are not finite.
template <class K>
inline bool load_tangents(const Call& call, std::ptrdiff_t first, int count, Wide* const* to,
                          const Wide** given) {
  constexpr int n = K::signature.inputs.count;
  for (int k = 0; k < n; ++k) {
    const int from = n + k;
    given[k] = call.in[from] ? to[k] : nullptr;
    if (!given[k]) continue;
    const double* x = call.in[from] + first * call.in_step[from];
    if (!load(x, call.in_step[from], count, call.in_size[from], to[k])) return false;
  }
  return true;
}

template <class K, class Closed>
using BranchedState = BranchLayout<K, typename Closed::template State<Branches>>;

// Value and derivatives with the state's branches in lanes; false if it has to be done without.
template <class K, class Closed>
bool directions_in_branches(const Call& call, const Wide* const* tangents, DirectionsLayout<K, Closed>& layout,
                            Arena& arena) {
  if constexpr (K::signature.branches) {
    if (!call.tree->branched) return false;
    const BranchedTree& branched = *call.tree->branched;
    BranchedState<K, Closed> own(branched, Extent{}, arena);
    const Branches* in[kMostInputs];
    if (!own.spread_inputs(call, layout.inputs.at, in)) return false;
    if (own.work.run(branched.tree, NamedInputs<K, Branches>{in}, own.out[0]) >= 0) return false;
    collect(branched, own.out[0], 1, layout.value);
    if (!all_finite(layout.value, call.tree->nv)) return false;
    Closed::run(*call.tree, own.work, NamedInputs<K, double>{layout.inputs.at}, NamedInputs<K, Wide>{tangents},
                layout.derivative, layout.work);
    return true;
  }
  return false;
}

template <class K, class Closed>
Failure run_closed(const Call& call, std::ptrdiff_t first, int count, char* block) {
  const std::ptrdiff_t n = call.out_size[0];
  Arena arena(block);
  DirectionsLayout<K, Closed> layout(*call.tree, arena);
  if (const auto bad = fetch(K::signature, call, first, 1, layout.inputs)) return {bad, first, -1};
  if constexpr (requires { layout.state.options; }) layout.state.options = &call.options;
  const Wide* tangents[kMostInputs];
  if (!load_tangents<K>(call, first, count, layout.tangents, tangents)) return {Failure::not_finite, first, -1};
  if (!directions_in_branches(call, tangents, layout, arena)) {
    const NamedInputs<K, double> in{layout.inputs.at};
    const int singular = layout.state.run(*call.tree, in, layout.value);
    if (singular >= 0) return {Failure::singular, first, singular};
    Closed::run(*call.tree, layout.state, in, NamedInputs<K, Wide>{tangents}, layout.derivative, layout.work);
  }
  store(layout.derivative, count, n, call.out[1] + first * call.out_step[1], call.out_step[1]);
  for (std::ptrdiff_t i = first; i < first + count; ++i) {
    std::memcpy(call.out[0] + i * call.out_step[0], layout.value, n * sizeof(double));
  }
  if (!all_finite(layout.value, n)) return {Failure::overflow, first, -1};
  if (all_finite(reinterpret_cast<const double*>(layout.derivative), lanes<Wide> * n)) return {};
  for (std::ptrdiff_t i = first; i < first + count; ++i) {
    if (!all_finite(call.out[1] + i * call.out_step[1], n)) return {Failure::overflow, i, -1};
  }
  return {};
}

template <class K, class Closed, Still kStill>
Failure run_directions(const Call& call, std::ptrdiff_t first, int count, char* block) {
  if (have_one_state<K>(call)) return Closed::one_state(call, first, count, block);
  return run_states<Jvp<K, kStill>>(call, first, count, block);
}

template <class K, class Closed, Still kStill>
std::size_t directions_bytes(const Tree<double>& tree, Extent extent, bool wide) {
  Arena arena;
  DirectionsLayout<K, Closed> layout(tree, arena);
  if constexpr (K::signature.branches) {
    if (tree.branched) BranchedState<K, Closed> branched(*tree.branched, Extent{}, arena);
  }
  const std::size_t other = bytes<Jvp<K, kStill>>(tree, extent, wide);
  return arena.used() > other ? arena.used() : other;
}

}  // namespace batch

// `kStill` is for what is left to Jvp.
template <class K, class Closed, Still kStill = Still::separate>
inline constexpr Kernel directions_kernel{&Jvp<K, kStill>::signature, batch::directions_bytes<K, Closed, kStill>,
                                          batch::run_directions<K, Closed, kStill>, lanes<Wide>};

}  // namespace jounce
