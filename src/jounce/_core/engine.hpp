// From a Python call to kernels: what a kernel takes and gives, how a batch is cut into packs of
// states. Nothing numeric is decided here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../../../core/kinematics/jacobian.hpp"
#include "../../../core/scalar/pack.hpp"
#include "../../../core/series/series.hpp"
#include "../../../core/tree/tree.hpp"
#include "../../../core/tree/workspace.hpp"
#include "../../../core/vec/columns.hpp"

namespace jounce {

// Trailing shapes of arrays, in terms of the model's sizes.
// Series hold derivatives: `motion` is v and its derivatives up to order r+1, `series` are forces or
// accelerations and theirs up to order r.
enum class Shape {
  q, v, wrenches, v_by_v, six_by_v, scalar, three, six, pose, poses, twists,
  motion, series, wrench_series, twist_series, pose_series, jacobian_series
};

int rank(Shape shape);
// Writes the trailing dimensions, returns their product; `order` is r of series.
std::ptrdiff_t dimensions(Shape shape, const Tree<double>& tree, int order, std::ptrdiff_t* dims);

// Entries of an input that a mask over the rates switches off are not read.
enum class Reads { all, prescribed, unprescribed };

struct Input {
  const char* name;
  Shape shape;
  bool optional = false;
  Reads reads = Reads::all;
};

// Arguments that are not arrays of a batch.
struct Options {
  const unsigned char* prescribed = nullptr;
  FrameAt frame;
  Representation representation = Representation::body;
  int method = 0;  // of several that give the same numbers; 0 chooses
};
enum class Option { prescribed, frame, representation, method };

constexpr int kMostInputs = 6, kMostOutputs = 8;

struct Failure {
  enum Kind { none, not_finite, quaternion, singular, overflow } kind = none;
  std::ptrdiff_t state = 0;
  int node = -1;
};

// One call, after its arguments are checked: pointers to the first state, and the distance from a
// state to the next (0: the same for all).
struct Call {
  const Tree<double>* tree;
  Options options;
  int order = -1;  // r of series, -1 until an input tells
  std::ptrdiff_t states = 1;
  const double* in[kMostInputs] = {};
  std::ptrdiff_t in_size[kMostInputs] = {}, in_step[kMostInputs] = {};
  double* out[kMostOutputs] = {};
  std::ptrdiff_t out_size[kMostOutputs] = {};
};

// What a kernel takes and gives; `packs` says whether it runs on packs of states.
struct Signature {
  const char* name;
  int n_inputs;
  Input inputs[kMostInputs];
  int n_options;
  Option options[2];
  int n_outputs;
  Shape outputs[kMostOutputs];
  bool packs = true;
};

// A kernel as the engine sees it. `run` computes `count` states from `first`, in a workspace of
// `bytes` bytes.
struct Entry {
  const Signature& signature;
  std::size_t (*bytes)(const Tree<double>&, int order, bool wide);
  Failure (*run)(const Call&, std::ptrdiff_t first, int count, char* block);
};

namespace engine {

constexpr double kQuaternionSlack = 1e-3;

inline bool all_finite(const double* x, std::ptrdiff_t n) {
  constexpr std::uint64_t infinity = 0x7ff0000000000000;
  std::uint64_t bad = 0;
  for (std::ptrdiff_t k = 0; k < n; ++k) {
    std::uint64_t bits;
    std::memcpy(&bits, x + k, 8);
    bad |= (bits & infinity) == infinity;
  }
  return bad == 0;
}

// Whether entry k of an input is read; the mask repeats for each order of a series.
inline bool is_read(Reads reads, const Call& call, std::ptrdiff_t k) {
  if (reads == Reads::all) return true;
  return (call.options.prescribed[k % call.tree->nv] != 0) == (reads == Reads::prescribed);
}

// Loads n numbers of W states into n packs; states past `count` repeat the last one.
template <int W>
inline void load(const double* from, std::ptrdiff_t step, int count, std::ptrdiff_t n, Pack<W>* to) {
  const double* row[W];
  for (int i = 0; i < W; ++i) row[i] = from + step * (i < count ? i : count - 1);
  std::ptrdiff_t k = 0;
  for (; k + W <= n; k += W) {
    Pack<W> x[W];
    for (int i = 0; i < W; ++i) std::memcpy(&x[i].v, row[i] + k, sizeof(x[i].v));
    transpose(x);
    for (int i = 0; i < W; ++i) to[k + i] = x[i];
  }
  for (; k < n; ++k) {
    for (int i = 0; i < W; ++i) to[k].v[i] = row[i][k];
  }
}

template <int W>
inline void store(const Pack<W>* from, int count, std::ptrdiff_t n, double* to) {
  std::ptrdiff_t k = 0;
  for (; k + W <= n; k += W) {
    Pack<W> x[W];
    for (int i = 0; i < W; ++i) x[i] = from[k + i];
    transpose(x);
    for (int i = 0; i < count; ++i) std::memcpy(to + n * i + k, &x[i].v, sizeof(x[i].v));
  }
  for (; k < n; ++k) {
    for (int i = 0; i < count; ++i) to[n * i + k] = from[k].v[i];
  }
}

// Scales quaternions that are near unit length; false if one is not.
template <class S>
JOUNCE_INLINE bool normalize_quaternions(const Tree<double>& tree, S* q) {
  bool good = true;
  for (int at : tree.quaternions) {
    S* x = q + at;
    const S norm = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]);
    if (any((norm < S(1.0 - kQuaternionSlack)) | (norm > S(1.0 + kQuaternionSlack)))) good = false;
    const S scale = S(1.0) / norm;
    for (int k = 0; k < 4; ++k) x[k] *= scale;
  }
  return good;
}

// Inputs of a kernel as scalars of type S, in a workspace.
template <class S>
struct Inputs {
  S* buffer[kMostInputs] = {};
  const S* at[kMostInputs] = {};

  Inputs(const Signature& signature, const Tree<double>& tree, int order, Arena& arena) {
    std::ptrdiff_t dims[3];
    for (int k = 0; k < signature.n_inputs; ++k) {
      buffer[k] = arena.take<S>(dimensions(signature.inputs[k].shape, tree, order, dims));
    }
  }
};

template <int W>
inline Failure::Kind fetch(const Signature& signature, const Call& call, std::ptrdiff_t first, int count,
                           Inputs<Pack<W>>& inputs) {
  for (int k = 0; k < signature.n_inputs; ++k) {
    if (!call.in[k]) continue;
    const Input& input = signature.inputs[k];
    Pack<W>* to = inputs.buffer[k];
    load(call.in[k] + first * call.in_step[k], call.in_step[k], count, call.in_size[k], to);
    if (input.reads != Reads::all) {
      for (std::ptrdiff_t i = 0; i < call.in_size[k]; ++i) {
        if (!is_read(input.reads, call, i)) to[i] = Pack<W>(0.0);
      }
    }
    if (!all_finite(reinterpret_cast<const double*>(to), W * call.in_size[k])) {
      return Failure::not_finite;
    }
    if (input.shape == Shape::q && !normalize_quaternions(*call.tree, to)) {
      return Failure::quaternion;
    }
    inputs.at[k] = to;
  }
  return Failure::none;
}

inline Failure::Kind fetch(const Signature& signature, const Call& call, std::ptrdiff_t first, int,
                           Inputs<double>& inputs) {
  for (int k = 0; k < signature.n_inputs; ++k) {
    if (!call.in[k]) continue;
    const Input& input = signature.inputs[k];
    const double* from = call.in[k] + first * call.in_step[k];
    const std::ptrdiff_t n = call.in_size[k];
    inputs.at[k] = from;
    if (input.reads != Reads::all) {
      for (std::ptrdiff_t i = 0; i < n; ++i) {
        inputs.buffer[k][i] = is_read(input.reads, call, i) ? from[i] : 0.0;
      }
      inputs.at[k] = inputs.buffer[k];
    }
    if (!all_finite(inputs.at[k], n)) return Failure::not_finite;
    if (input.shape == Shape::q && !call.tree->quaternions.empty()) {
      std::memcpy(inputs.buffer[k], from, n * sizeof(double));
      inputs.at[k] = inputs.buffer[k];
      if (!normalize_quaternions(*call.tree, inputs.buffer[k])) return Failure::quaternion;
    }
  }
  return Failure::none;
}

// Everything a run of kernel K needs, laid out in one block.
template <class K, class S>
struct Frame {
  using Work = typename K::template Work<S>;
  Inputs<S> inputs;
  S* out[kMostOutputs] = {};
  Work work;

  Frame(const Tree<double>& tree, int order, Arena& arena)
      : inputs(K::signature, tree, order, arena), work(make_work(tree, order, arena)) {
    if constexpr (lanes<S> > 1) {
      std::ptrdiff_t dims[3];
      for (int k = 0; k < K::signature.n_outputs; ++k) {
        out[k] = arena.take<S>(dimensions(K::signature.outputs[k], tree, order, dims));
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

// Whether the entries of an output are finite. Of the mass matrix and its inverse, the only matrices
// of the configuration alone, the diagonal bounds the rest.
inline bool output_is_finite(const Signature& s, const Call& call, int k, const double* out) {
  const int nv = call.tree->nv;
  if (s.outputs[k] != Shape::v_by_v || s.n_inputs > 1) return all_finite(out, call.out_size[k]);
  double sum = 0.0;
  for (int i = 0; i < nv; ++i) sum += out[std::size_t(i) * (nv + 1)] * 0.0;
  return sum == 0.0;
}

template <class K, class S>
inline Failure run(const Call& call, std::ptrdiff_t first, int count, char* block) {
  Arena arena(block);
  Frame<K, S> frame(*call.tree, call.order, arena);
  if (const auto bad = fetch(K::signature, call, first, count, frame.inputs)) return {bad, first, -1};
  if constexpr (lanes<S> == 1) {
    for (int k = 0; k < K::signature.n_outputs; ++k) frame.out[k] = call.out[k] + first * call.out_size[k];
  }
  const int singular = K::template run<S>(*call.tree, call.options, frame.inputs.at, frame.out, frame.work);
  if constexpr (lanes<S> > 1) {
    for (int k = 0; k < K::signature.n_outputs; ++k) {
      double* to = call.out[k] + first * call.out_size[k];
      store(frame.out[k], count, call.out_size[k], to);
    }
  }
  if (singular >= 0) return {Failure::singular, first, singular};
  for (int i = 0; i < (lanes<S> > 1 ? count : 1); ++i) {
    for (int k = 0; k < K::signature.n_outputs; ++k) {
      const double* out = call.out[k] + (first + i) * call.out_size[k];
      if (!output_is_finite(K::signature, call, k, out)) return {Failure::overflow, first + i, -1};
    }
  }
  return {};
}

template <class K>
inline std::size_t bytes(const Tree<double>& tree, int order, bool wide) {
  Arena arena;
  if constexpr (K::signature.packs) {
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
  if constexpr (K::signature.packs) {
    if (count > 1) return run<K, Wide>(call, first, count, block);
  }
  return run<K, double>(call, first, count, block);
}

}  // namespace engine

template <class K>
inline constexpr Entry entry_of{K::signature, engine::bytes<K>, engine::run_states<K>};

// The kernels, one list per file.
struct Entries {
  const Entry* const* first;
  int count;
};
Entries dynamics_entries();
Entries matrix_entries();
Entries kinematics_entries();
Entries series_entries();
Entries partials_entries();

}  // namespace jounce
