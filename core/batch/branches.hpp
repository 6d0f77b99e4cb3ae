// One state of a robot with several branches: they fill the lanes of a register (tree/branched_tree.hpp).
#pragma once

#include "jounce/batch/arguments.hpp"
#include "jounce/tree/branched_tree.hpp"

namespace jounce::batch {

// Of one number per coordinate or rate, or rows of them: no others can be spread.
constexpr bool counts(const Shape& shape, Dimension::Of what) {
  return shape.rank > 0 && shape.dims[shape.rank - 1].of == what;
}

// The arrays of kernel K for a branched tree, and its workspace or that of another recursion on it.
template <class K, class Work = typename K::template Work<Branches>>
struct BranchLayout {
  Branches *in[kMostInputs], *out[kMostOutputs];
  Work work;

  BranchLayout(const BranchedTree& branched, Extent extent, Arena& arena)
      : work(make_work<Work>(branched.tree, extent, arena)) {
    const Sizes sizes(branched.tree, extent);
    for (int k = 0; k < K::signature.inputs.count; ++k) {
      in[k] = arena.take<Branches>(entries(K::signature.inputs[k].shape, sizes));
    }
    for (int k = 0; k < K::signature.outputs.count; ++k) {
      out[k] = arena.take<Branches>(entries(K::signature.outputs[k].shape, sizes));
    }
  }

  // `at` points to the inputs in lanes, or is null. False if something is given that cannot be spread.
  bool spread_inputs(const Call& call, const double* const* inputs, const Branches** at) {
    const BranchedTree& branched = *call.tree->branched;
    for (int k = 0; k < K::signature.inputs.count; ++k) {
      const Shape& shape = K::signature.inputs[k].shape;
      at[k] = inputs[k] ? in[k] : nullptr;
      if (!inputs[k]) continue;
      const bool is_q = counts(shape, Dimension::nq);
      if (!is_q && !counts(shape, Dimension::nv)) return false;
      const std::ptrdiff_t n = is_q ? call.tree->nq : call.tree->nv;
      spread(is_q ? branched.q : branched.v, inputs[k], n, call.in_size[k] / n, in[k]);
    }
    return true;
  }
};

// Runs kernel K on a state whose inputs are checked. False if something is given that cannot be spread, or
// if the kernel refuses the state or overflows: then it has to run on the tree as it is.
template <class K>
bool ran_in_branches(const Call& call, std::ptrdiff_t state, const double* const* inputs, Arena& arena) {
  const BranchedTree& branched = *call.tree->branched;
  BranchLayout<K> layout(branched, call.extent(), arena);
  const Branches* in[kMostInputs];
  if (!layout.spread_inputs(call, inputs, in)) return false;
  const Options<Branches> options;
  const Arguments<K, Branches, Branches> x{branched.tree, options, in, layout.out, call, state, 1};
  if (run_on<K, Branches>(x, layout.work) >= 0) return false;
  for (int k = 0; k < K::signature.outputs.count; ++k) {
    double* to = call.out[k] + state * call.out_step[k];
    collect(branched, layout.out[k], call.out_size[k] / call.tree->nv, to);
    if (!is_finite(K::signature.outputs[k], call.out_size[k], call.tree->nv, to)) return false;
  }
  return true;
}

}  // namespace jounce::batch
