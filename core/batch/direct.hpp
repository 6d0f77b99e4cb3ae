// Kernels whose one output is large and mostly zero: a pack of states is not worth to be held and
// transposed, so that the kernel itself writes to the states. `direct_kernel<K>` is what a list holds.
//
// K is a kernel as in states.hpp, whose workspace has a member `is_bounded`. With packs it writes to what
// `x.out_row` gives of each state.
#pragma once

#include "jounce/batch/states.hpp"

namespace jounce {
namespace batch {

template <class K>
struct DirectLayout {
  Fetched<Wide> inputs;
  using Work = typename K::template Work<Wide>;
  Work work;

  DirectLayout(const Tree<double>& tree, Extent extent, Arena& arena)
      : inputs(K::signature, tree, {tree, extent}, arena), work(make_work<Work>(tree, extent, arena)) {}
};

template <class K>
Failure run_direct(const Call& call, std::ptrdiff_t first, int count, char* block) {
  if (count <= kFew) {
    for (int i = 0; i < count; ++i) {
      const Failure bad = run<K, double>(call, first + i, 1, block);
      if (bad.kind != Failure::none) return bad;
    }
    return {};
  }
  Arena arena(block);
  DirectLayout<K> layout(*call.tree, call.extent(), arena);
  if (const auto bad = fetch(K::signature, call, first, count, layout.inputs)) return {bad, first, -1};
  Wide* const none[kMostOutputs] = {};
  const Arguments<K, Wide> x{*call.tree, call.options, layout.inputs.at, none, call, first, count};
  if (const int bad = run_on<K, Wide>(x, layout.work); bad >= 0) return {Failure::singular, first, bad};
  if (layout.work.is_bounded) return {};
  for (std::ptrdiff_t i = first; i < first + count; ++i) {
    if (!all_finite(call.out[0] + i * call.out_step[0], call.out_size[0])) return {Failure::overflow, i, -1};
  }
  return {};
}

template <class K>
std::size_t direct_bytes(const Tree<double>& tree, Extent extent, bool wide) {
  Arena arena;
  if (wide) {
    DirectLayout<K> layout(tree, extent, arena);
    return arena.used();
  }
  RunLayout<K, double> layout(tree, extent, arena);
  return arena.used();
}

}  // namespace batch

template <class K>
  requires(is_consistent(K::signature) && K::signature.outputs.count == 1)
inline constexpr Kernel direct_kernel{&K::signature, batch::direct_bytes<K>, batch::run_direct<K>, lanes<Wide>};

}  // namespace jounce
