// From a kernel of one state, written for any scalar, to one that runs on states of a batch: a pack of
// them at once, or one. `kernel_of<K>` is what a list of kernels holds.
//
// A kernel K has a `signature`, a workspace `Work<S>`, and
//   template <class S, class X> static int run(const X& x, Work<S>& work)
// which reads x.in("q"), writes x.out("tau"), and returns a singular node or -1; or returns nothing.
// A workspace with a member `is_bounded` tells whether the results are finite for sure.
#pragma once

#include <type_traits>

#include "jounce/batch/transfer.hpp"

namespace jounce {

// What a kernel computes with. Names are looked up when it is compiled. P is the scalar of the model.
template <class K, class S, class P = double>
struct Arguments {
  struct InputName {
    int at;
    consteval InputName(const char* name) : at(K::signature.inputs.position(name)) {}
  };
  struct OutputName {
    int at;
    consteval OutputName(const char* name) : at(K::signature.outputs.position(name)) {}
  };
  // What to write of a symmetric output.
  static constexpr Fill fill = std::is_same_v<S, Wide> ? Fill::upper : Fill::whole;

  const Tree<P>& tree;
  const Options<P>& options;
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

// The singular node, or the demand that is not met; else -1.
template <class K, class S, class X>
JOUNCE_INLINE int run_on(const X& x, typename K::template Work<S>& work) {
  if constexpr (std::is_void_v<decltype(K::template run<S>(x, work))>) {
    K::template run<S>(x, work);
    return -1;
  } else {
    return K::template run<S>(x, work);
  }
}

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
  if constexpr (lanes<S> == 1) {
    for (int k = 0; k < n_outputs; ++k) layout.out[k] = call.out[k] + first * call.out_step[k];
  }
  const int bad = run_kernel<K, S>(call, first, count, layout);
  if constexpr (lanes<S> > 1) {
    for (int k = 0; k < n_outputs; ++k) {
      if (K::signature.outputs[k].shape.is_timed()) continue;
      double* to = call.out[k] + first * call.out_step[k];
      if (K::signature.outputs[k].symmetric) {
        store_symmetric(layout.out[k], count, call.tree->nv, to, call.out_step[k]);
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

template <class K>
inline std::size_t bytes(const Tree<double>& tree, Extent extent, bool wide) {
  Arena arena;
  if constexpr (K::signature.packs != Packs::never) {
    if (wide || K::signature.packs == Packs::only) {
      RunLayout<K, Wide> layout(tree, extent, arena);
      return arena.used();
    }
  }
  if constexpr (K::signature.packs != Packs::only) RunLayout<K, double> layout(tree, extent, arena);
  return arena.used();
}

// A pack costs as much as three states by themselves, if registers are wide; so few go one by one.
constexpr int kFew = 3 * lanes<Wide> / 8 > 1 ? 3 * lanes<Wide> / 8 : 1;

template <class K>
Failure run_states(const Call& call, std::ptrdiff_t first, int count, char* block) {
  if constexpr (K::signature.packs == Packs::only) {
    return run<K, Wide>(call, first, count, block);
  } else {
    if constexpr (K::signature.packs != Packs::never) {
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
inline constexpr Kernel kernel_of{&K::signature, batch::bytes<K>, batch::run_states<K>};

}  // namespace jounce
