// What a kernel sees: its inputs and outputs by name, the model, its workspace.
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
  // Whether to write past the caches.
  bool is_beyond_caches() const { return call.out_is_far; }
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

}  // namespace batch
}  // namespace jounce
