// From a kernel of one state, written for any scalar, to one that runs on states of a batch: a pack of
// them at once, or one. `kernel_of<K>` is what a list of kernels holds.
//
// A kernel K has a `signature`, a workspace `Work<S>`, and
//   template <class S, class X> static int run(const X& x, Work<S>& work)
// which reads x.in("q"), writes x.out("tau"), and returns a singular node or -1; or returns nothing.
#pragma once

#include <type_traits>

#include "jounce/batch/transfer.hpp"

namespace jounce {

// What a kernel computes with. Names are looked up when it is compiled.
template <class K, class S>
struct Arguments {
  struct InputName {
    int at;
    consteval InputName(const char* name) : at(K::signature.inputs.position(name)) {}
  };
  struct OutputName {
    int at;
    consteval OutputName(const char* name) : at(K::signature.outputs.position(name)) {}
  };
  const Tree<double>& tree;
  const Options& options;
  const S* const* inputs;
  S* const* outputs;
  const Call& call;
  std::ptrdiff_t first;  // state of the batch
  int count;             // of the group

  JOUNCE_INLINE const S* in(InputName name) const { return inputs[name.at]; }  // null: not given
  JOUNCE_INLINE S* out(OutputName name) const { return outputs[name.at]; }

  // Of arrays with a time axis: whether one is given, its rows, and whether to stop.
  bool given(InputName name) const { return call.in[name.at] != nullptr; }
  void load_row(InputName name, std::ptrdiff_t row, S* to) const {
    const std::ptrdiff_t n = row_entries(K::signature.inputs[name.at].shape, call.sizes());
    const std::ptrdiff_t step = call.in_step[name.at];
    const double* from = call.in[name.at] + first * step + row * n;
    if constexpr (lanes<S> > 1) {
      batch::load(from, step, count, n, to);
    } else {
      std::memcpy(to, from, n * sizeof(double));
    }
  }
  void store_row(OutputName name, std::ptrdiff_t row, const S* from) const {
    const std::ptrdiff_t n = row_entries(K::signature.outputs[name.at].shape, call.sizes());
    const std::ptrdiff_t step = call.out_step[name.at];
    double* to = call.out[name.at] + first * step + row * n;
    if constexpr (lanes<S> > 1) {
      batch::store(from, count, n, to, step);
    } else {
      std::memcpy(to, from, n * sizeof(double));
    }
  }
  // The row of one state of the group.
  const double* in_row(InputName name, int lane, std::ptrdiff_t row) const {
    const std::ptrdiff_t n = row_entries(K::signature.inputs[name.at].shape, call.sizes());
    return call.in[name.at] + (first + lane) * call.in_step[name.at] + row * n;
  }
  double* out_row(OutputName name, int lane, std::ptrdiff_t row) const {
    const std::ptrdiff_t n = row_entries(K::signature.outputs[name.at].shape, call.sizes());
    return call.out[name.at] + (first + lane) * call.out_step[name.at] + row * n;
  }
  bool stopped() const { return call.stopped && call.stopped(call.stop_data); }
};

// The workspace of kernels that need none.
template <class S>
struct NoWork {
  NoWork(const Tree<double>&, Arena&) {}
};

namespace batch {

// Everything a run of kernel K needs, laid out in one block.
template <class K, class S>
struct Frame {
  using Work = typename K::template Work<S>;
  Fetched<S> inputs;
  S* out[kMostOutputs] = {};
  Work work;

  Frame(const Tree<double>& tree, int order, Arena& arena)
      : inputs(K::signature, tree, {tree.nq, tree.nv, tree.n_bodies, order}, arena),
        work(make_work(tree, order, arena)) {
    if constexpr (lanes<S> > 1) {
      const Sizes sizes(tree.nq, tree.nv, tree.n_bodies, order);
      for (int k = 0; k < K::signature.outputs.count; ++k) {
        if (!K::signature.outputs[k].shape.is_timed()) out[k] = arena.take<S>(entries(K::signature.outputs[k].shape, sizes));
      }
    }
  }
  static Work make_work(const Tree<double>& tree, int order, Arena& arena) {
    if constexpr (std::is_constructible_v<Work, const Tree<double>&, int, Arena&>) {
      return Work(tree, order, arena);
    } else {
      return Work(tree, arena);
    }
  }
};

// The singular node or -1.
template <class K, class S>
JOUNCE_INLINE int run_kernel(const Call& call, std::ptrdiff_t first, int count,
                             Frame<K, S>& frame) {
  const Arguments<K, S> x{*call.tree, call.options, frame.inputs.at, frame.out, call, first, count};
  if constexpr (std::is_void_v<decltype(K::template run<S>(x, frame.work))>) {
    K::template run<S>(x, frame.work);
    return -1;
  } else {
    return K::template run<S>(x, frame.work);
  }
}

template <class K, class S>
inline Failure run(const Call& call, std::ptrdiff_t first, int count, char* block) {
  constexpr int n_outputs = K::signature.outputs.count;
  Arena arena(block);
  Frame<K, S> frame(*call.tree, call.order, arena);
  if (const auto bad = fetch(K::signature, call, first, count, frame.inputs)) return {bad, first, -1};
  if constexpr (lanes<S> == 1) {
    for (int k = 0; k < n_outputs; ++k) frame.out[k] = call.out[k] + first * call.out_step[k];
  }
  const int singular = run_kernel<K, S>(call, first, count, frame);
  if constexpr (lanes<S> > 1) {
    for (int k = 0; k < n_outputs; ++k) {
      if (K::signature.outputs[k].shape.is_timed()) continue;
      double* to = call.out[k] + first * call.out_step[k];
      store(frame.out[k], count, call.out_size[k], to, call.out_step[k]);
    }
  }
  if (singular >= 0) return {Failure::singular, first, singular};
  if constexpr (lanes<S> > 1) {
    bool finite = true;
    for (int k = 0; k < n_outputs; ++k) {
      const Output& output = K::signature.outputs[k];
      finite = finite && is_finite(output, call.out_size[k], call.tree->nv, frame.out[k]);
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

template <class K>
inline std::size_t bytes(const Tree<double>& tree, int order, bool wide) {
  Arena arena;
  if constexpr (K::signature.packs != Packs::never) {
    if (wide) {
      Frame<K, Wide> layout(tree, order, arena);
      return arena.used();
    }
  }
  Frame<K, double> layout(tree, order, arena);
  return arena.used();
}

template <class K>
Failure run_states(const Call& call, std::ptrdiff_t first, int count, char* block) {
  if constexpr (K::signature.packs != Packs::never) {
    if (count > 1) return run<K, Wide>(call, first, count, block);
  }
  return run<K, double>(call, first, count, block);
}

}  // namespace batch

template <class K>
  requires(is_consistent(K::signature))
inline constexpr Kernel kernel_of{&K::signature, batch::bytes<K>, batch::run_states<K>};

}  // namespace jounce
