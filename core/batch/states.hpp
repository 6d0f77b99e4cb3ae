// From a kernel of one state, written for any scalar, to one that runs on states of a batch: a pack of
// them at once, or one. `kernel_of<K>` is what a list of kernels holds.
//
// A kernel K has a `signature`, a workspace `Work<S>`, and
//   template <class S, class X> static int run(const X& x, Work<S>& work)
// which reads x.in("q"), writes x.out("tau"), and returns a singular node or -1; or returns nothing.
// A workspace with a member `is_bounded` tells whether the results are finite for sure.
#pragma once

#include "jounce/batch/branches.hpp"

namespace jounce {
namespace batch {

// Everything a run of kernel K needs, laid out in one block.
template <class K, class S>
struct RunLayout {
  using Work = typename K::template Work<S>;
  Fetched<S> inputs;
  S* out[kMostOutputs];  // set for those that there are
  Work work;

  RunLayout(const Tree<double>& tree, Extent extent, Arena& arena)
      : inputs(K::signature, tree, {tree, extent}, arena), work(make_work<Work>(tree, extent, arena)) {
    for (int k = 0; k < K::signature.outputs.count; ++k) out[k] = nullptr;
    if constexpr (lanes<S> > 1) {
      const Sizes sizes(tree, extent);
      for (int k = 0; k < K::signature.outputs.count; ++k) {
        if (!K::signature.outputs[k].shape.is_timed()) out[k] = arena.take<S>(entries(K::signature.outputs[k].shape, sizes));
      }
    }
  }
};

template <class K, class S>
JOUNCE_INLINE int run_kernel(const Call& call, std::ptrdiff_t first, int count,
                             RunLayout<K, S>& layout) {
  const Arguments<K, S> x{*call.tree, call.options, layout.inputs.at, layout.out, call, first, count};
  return run_on<K, S>(x, layout.work);
}

template <class K, class S>
inline Failure run(const Call& call, std::ptrdiff_t first, int count, char* block) {
  constexpr int n_outputs = K::signature.outputs.count;
  Arena arena(block);
  RunLayout<K, S> layout(*call.tree, call.extent(), arena);
  if (const auto bad = fetch(K::signature, call, first, count, layout.inputs)) return {bad, first, -1};
  if constexpr (K::signature.branches && lanes<S> == 1) {
    // Of a batch, all states are computed alike: those that fill no pack too, and the last one of a
    // sweep that is all of its block.
    const bool alone = call.states == 1 && !call.is_batch && call.tree->branched;
    if (alone && ran_in_branches<K>(call, first, layout.inputs.at, arena)) return {};
  }
  if constexpr (lanes<S> == 1) {
    for (int k = 0; k < n_outputs; ++k) layout.out[k] = call.out[k] + first * call.out_step[k];
  }
  const int bad = run_kernel<K, S>(call, first, count, layout);
  if constexpr (lanes<S> > 1) {
    for (int k = 0; k < n_outputs; ++k) {
      if (K::signature.outputs[k].shape.is_timed()) continue;
      double* to = call.out[k] + first * call.out_step[k];
      if (const Given given = K::signature.outputs[k].given; given != Given::all) {
        store_symmetric(layout.out[k], count, *call.tree, given, to, call.out_step[k]);
      } else {
        store(layout.out[k], count, call.out_size[k], to, call.out_step[k]);
      }
    }
  }
  if (bad >= 0) return {K::signature.demands.count ? Failure::demand : Failure::singular, first, bad};
  if constexpr (requires { layout.work.is_bounded; }) {
    if (layout.work.is_bounded) return {};
  }
  if constexpr (lanes<S> > 1) {
    bool finite = true;
    for (int k = 0; k < n_outputs; ++k) {
      const Output& output = K::signature.outputs[k];
      finite = finite && is_finite(output, call.out_size[k], call.tree->nv, layout.out[k]);
    }
    if (finite) return {};
  }
  for (std::ptrdiff_t i = first; i < first + (lanes<S> > 1 ? count : 1); ++i) {
    for (int k = 0; k < n_outputs; ++k) {
      const double* out = call.out[k] + i * call.out_step[k];
      if (!is_finite(K::signature.outputs[k], call.out_size[k], call.tree->nv, out)) {
        return {Failure::overflow, i, -1};
      }
    }
  }
  return {};
}

// Where room counts more than speed (JOUNCE_SMALL), one state is a pack too: that saves half of the code.
template <class K>
constexpr Packs packs_of() {
#ifdef JOUNCE_SMALL
  if (K::signature.packs != Packs::never) return Packs::only;
#endif
  return K::signature.packs;
}

template <class K>
inline std::size_t bytes(const Tree<double>& tree, Extent extent, bool wide) {
  constexpr Packs packs = packs_of<K>();
  Arena arena;
  if constexpr (packs != Packs::never) {
    if (wide || packs == Packs::only) {
      RunLayout<K, Wide> layout(tree, extent, arena);
      return arena.used();
    }
  }
  if constexpr (packs != Packs::only) RunLayout<K, double> layout(tree, extent, arena);
  if constexpr (K::signature.branches && packs != Packs::only) {
    if (tree.branched) BranchLayout<K> layout(*tree.branched, extent, arena);
  }
  return arena.used();
}

// A pack costs as much as three states by themselves, if registers are wide; so few go one by one.
constexpr int kFew = 3 * lanes<Wide> / 8 > 1 ? 3 * lanes<Wide> / 8 : 1;

template <class K>
Failure run_states(const Call& call, std::ptrdiff_t first, int count, char* block) {
  constexpr Packs packs = packs_of<K>();
  if constexpr (packs == Packs::only) {
    return run<K, Wide>(call, first, count, block);
  } else {
    if constexpr (packs != Packs::never) {
      if (count > kFew) return run<K, Wide>(call, first, count, block);
    }
    for (int i = 0; i < count; ++i) {
      const Failure bad = run<K, double>(call, first + i, 1, block);
      if (bad.kind != Failure::none) return bad;
    }
    return {};
  }
}

}  // namespace batch

template <class K>
  requires(is_consistent(K::signature))
inline constexpr Kernel kernel_of{&K::signature, batch::bytes<K>, batch::run_states<K>, lanes<Wide>};

}  // namespace jounce
