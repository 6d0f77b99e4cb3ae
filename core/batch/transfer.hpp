// States on their way into a kernel and out of it: packs are transposed, numbers checked, quaternions
// scaled to unit length.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include "jounce/batch/call.hpp"
#include "jounce/lie/quaternion.hpp"
#include "jounce/scalar/pause.hpp"
#include "jounce/tree/workspace.hpp"
#include "jounce/vec/columns.hpp"

namespace jounce {

constexpr double kQuaternionSlack = 1e-3;

// Whether entry k of an input is read; the mask repeats for each order of a series.
inline bool is_read(Reads reads, const Call& call, std::ptrdiff_t k) {
  if (reads == Reads::all) return true;
  return (call.options.prescribed[k % call.tree->nv] != 0) == (reads == Reads::prescribed);
}

namespace batch {

JOUNCE_SHARED inline bool all_finite(const double* x, std::ptrdiff_t n) {
  constexpr std::uint64_t infinity = 0x7ff0000000000000;
  for (; n > kBetweenPauses; n -= kBetweenPauses, x += kBetweenPauses) {
    if (!all_finite(x, kBetweenPauses)) return false;
    pause();
  }
  std::uint64_t bad = 0;
  for (std::ptrdiff_t k = 0; k < n; ++k) {
    std::uint64_t bits;
    std::memcpy(&bits, x + k, 8);
    bad |= (bits & infinity) == infinity;
  }
  return bad == 0;
}

// Whether the results of one state are finite.
inline bool is_finite(const Output& output, std::ptrdiff_t size, int nv, const double* x) {
  if (output.finite == Finite::unchecked) return true;
  if (output.finite == Finite::entries) return all_finite(x, size);
  double sum = 0.0;
  for (int i = 0; i < nv; ++i) sum += x[std::size_t(i) * (nv + 1)] * 0.0;
  return sum == 0.0;
}

// Whether the results of a pack of states are.
template <int W>
inline bool is_finite(const Output& output, std::ptrdiff_t size, int nv, const Pack<W>* x) {
  if (output.finite == Finite::unchecked) return true;
  const auto* numbers = reinterpret_cast<const double*>(x);
  if (output.finite == Finite::entries) return all_finite(numbers, W * size);
  bool finite = true;
  for (int i = 0; i < nv; ++i) finite = finite && all_finite(numbers + W * std::size_t(i) * (nv + 1), W);
  return finite;
}

// W numbers of each of W states, as W packs; of `count` numbers, which may be fewer, nothing else is read.
template <int W, int... I>
JOUNCE_INLINE void load_tile(const double* const (&row)[W], std::ptrdiff_t at, std::ptrdiff_t count, Pack<W> (&x)[W],
                             std::integer_sequence<int, I...>) {
  if (count >= W) {
    ((x[I] = Pack<W>::load(row[I] + at)), ...);
  } else {
    ((x[I] = Pack<W>::load_part(row[I] + at, int(count))), ...);
  }
  transpose(x);
}

// Whether so few numbers that are left are better transposed than taken one by one.
template <int W>
constexpr bool fill_a_tile(std::ptrdiff_t count) { return 2 * count > W; }

// Loads n numbers of W states into n packs; states past `count` repeat the last one. Whether all are finite: zero times
// others is not zero.
template <int W>
JOUNCE_SHARED bool load(const double* from, std::ptrdiff_t step, int count, std::ptrdiff_t n, Pack<W>* to) {
  const double* row[W] = {from};
  for (int i = 1; i < W; ++i) row[i] = row[i - 1] + (i < count ? step : 0);
  Pack<W> zeros(0.0);
  std::ptrdiff_t k = 0;
  for (; fill_a_tile<W>(n - k); k += W) {
    Pack<W> x[W];
    load_tile(row, k, n - k, x, AllRows<W>{});
    Pack<W> own = x[0] * 0.0;
    for (int i = 1; i < W; ++i) own += x[i] * 0.0;
    for (int i = 0; i < W; ++i) {
      if (k + i < n) to[k + i] = x[i];
    }
    zeros += own;
  }
  for (; k < n; ++k) {
    Pack<W> x;
    for (int i = 0; i < W; ++i) x.v[i] = row[i][k];
    zeros += x * 0.0;
    to[k] = x;
  }
  return all(zeros >= Pack<W>(0.0));
}

template <int W>
JOUNCE_SHARED void store(const Pack<W>* from, int count, std::ptrdiff_t n, double* to, std::ptrdiff_t step) {
  constexpr std::ptrdiff_t kMost = kBetweenPauses / W;
  for (; n > kMost; n -= kMost, from += kMost, to += kMost) {
    store(from, count, kMost, to, step);
    pause();
  }
  std::ptrdiff_t k = 0;
  for (; k + W <= n; k += W) {
    Pack<W> x[W];
    for (int i = 0; i < W; ++i) x[i] = from[k + i];
    transpose(x);
    for (int i = 0; i < count; ++i) x[i].store(to + step * i + k);
  }
  if (Pack<W>::kStoresParts && fill_a_tile<W>(n - k)) {
    Pack<W> x[W];
    for (int i = 0; i < W; ++i) x[i] = from[k + i < n ? k + i : k];
    transpose(x);
    for (int i = 0; i < count; ++i) x[i].store_part(to + step * i + k, 0, int(n - k));
    return;
  }
  for (; k < n; ++k) {
    for (int i = 0; i < count; ++i) to[step * i + k] = from[k].v[i];
  }
}

// W numbers, given by at(i), of `count` states, which lie `step` apart.
template <int W, class At, int... I>
JOUNCE_INLINE void store_tile(At&& at, int count, double* to, std::ptrdiff_t step,
                              std::integer_sequence<int, I...>) {
  Pack<W> x[W] = {at(I)...};
  transpose(x);
  for (int i = 0; i < count; ++i) x[i].store(to + step * i);
}

// Where the entries of a symmetric matrix over the rates are, row by row, as they are stored. Those of the
// lower triangle are not given but mirrored, and those of unrelated rates, if not given, are zero.
template <class S>
struct MirroredEntries {
  const S* upper;
  const std::uint64_t* related;  // of the row; null: all are given
  int n, words, r = 0, c = 0;
  S zero{0.0};

  MirroredEntries(const S* from, const Tree<double>& tree, Given given)
      : upper(from),
        related(given == Given::related && !tree.related.empty() ? tree.related.data() : nullptr),
        n(tree.nv),
        words(related_words(n)) {}

  JOUNCE_INLINE bool is_given(int at) const { return !related || related[at / 64] >> at % 64 & 1; }
  JOUNCE_INLINE const S* next() {
    const std::ptrdiff_t first = c < r ? c : r, second = c < r ? r : c;
    const S* at = is_given(c) ? upper + first * n + second : &zero;
    skip(1);
    return at;
  }
  JOUNCE_INLINE void skip(int count) {
    c += count;
    if (c < n) return;
    c -= n, ++r;
    if (related) related += words;
  }
  // Whether the next W are in one row and in one triangle, and none or all of them are given.
  template <int W>
  JOUNCE_INLINE bool none_given() const { return related && c + W <= n && window<W>() == 0; }
  template <int W>
  JOUNCE_INLINE bool all_given() const {
    return c + W <= n && (c >= r || c + W <= r) && (!related || window<W>() == (1u << W) - 1);
  }
  template <int W>
  JOUNCE_INLINE unsigned window() const {
    std::uint64_t bits = related[c / 64] >> c % 64;
    if (c % 64 > 64 - W) bits |= related[c / 64 + 1] << (64 - c % 64);
    return unsigned(bits) & ((1u << W) - 1);
  }
};

// The same for such matrices.
template <int W>
JOUNCE_SHARED void store_symmetric(const Pack<W>* from, int count, const Tree<double>& tree, Given given,
                                   double* to, std::ptrdiff_t step) {
  constexpr AllRows<W> all{};
  const std::ptrdiff_t size = std::ptrdiff_t(tree.nv) * tree.nv;
  MirroredEntries<Pack<W>> entries(from, tree, given);
  std::ptrdiff_t k = 0;
  for (; k + W <= size; k += W) {
    if (entries.template none_given<W>()) {
      for (int i = 0; i < count; ++i) Pack<W>(0.0).store(to + step * i + k);
      entries.skip(W);
    } else if (entries.template all_given<W>()) {
      const std::ptrdiff_t stride = entries.c < entries.r ? entries.n : 1;
      const Pack<W>* first = entries.next();
      entries.skip(W - 1);
      store_tile<W>([&](int i) { return first[i * stride]; }, count, to + k, step, all);
    } else {
      const Pack<W>* at[W];
      for (int i = 0; i < W; ++i) at[i] = entries.next();
      store_tile<W>([&](int i) { return *at[i]; }, count, to + k, step, all);
    }
  }
  for (; k < size; ++k) {
    const Pack<W>* x = entries.next();
    for (int i = 0; i < count; ++i) to[step * i + k] = x->v[i];
  }
}

// Whether a quaternion's length is near one; a mask, if S is a pack.
template <class S>
JOUNCE_INLINE auto is_unit(const S& norm) {
  return (norm >= S(1.0 - kQuaternionSlack)) & (norm <= S(1.0 + kQuaternionSlack));
}

// Scales quaternions to unit length; false if one is zero or, of a configuration, not near that length.
template <class S>
JOUNCE_INLINE bool normalize_quaternions(const Tree<double>& tree, Holds holds, S* q) {
  bool good = true;
  for (int at : tree.quaternions) {
    S* x = q + at;
    const bool any_length = holds == Holds::directions;
    const bool scaled = any_length && scale_quaternion(x);
    const S norm = quaternion_norm(x);
    if (any_length ? !scaled : !all(is_unit(norm))) good = false;
    const S scale = S(1.0) / norm;
    for (int k = 0; k < 4; ++k) x[k] *= scale;
  }
  return good;
}

// Whether n numbers are positive.
template <class S>
JOUNCE_INLINE bool are_positive(const S* x, std::ptrdiff_t n) {
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    if (!all(x[i] > S(0.0))) return false;
  }
  return true;
}

// Inputs of a kernel as scalars of type S: `at` points to them, or is null if not given. Doubles stay
// where they are, unless some are masked or quaternions have to be scaled: then in `buffer`. Those with
// a time axis are not here.
template <class S>
struct Fetched {
  // Set for the inputs that there are: clearing all takes longer than some kernels.
  S* buffer[kMostInputs];
  const S* at[kMostInputs];

  Fetched(const Signature& signature, const Tree<double>& tree, const Sizes& sizes, Arena& arena) {
    for (int k = 0; k < signature.inputs.count; ++k) {
      const Input& input = signature.inputs[k];
      buffer[k] = nullptr;
      at[k] = nullptr;
      if (input.shape.is_timed()) continue;
      const bool scaled = is_configuration(input.holds) && !tree.quaternions.empty();
      if (lanes<S> > 1 || input.reads != Reads::all || scaled) {
        buffer[k] = arena.take<S>(entries(input.shape, sizes));
      }
    }
  }
};

// Whether an input with a time axis is finite in all states of a group.
inline bool is_finite_in_time(const Call& call, int k, std::ptrdiff_t first, int count) {
  for (std::ptrdiff_t i = first; i < first + (call.in_step[k] ? count : 1); ++i) {
    if (!all_finite(call.in[k] + i * call.in_step[k], call.in_size[k])) return false;
  }
  return true;
}

template <int W>
inline Failure::Kind fetch(const Signature& signature, const Call& call, std::ptrdiff_t first, int count,
                           Fetched<Pack<W>>& inputs) {
  for (int k = 0; k < signature.inputs.count; ++k) {
    if (!call.in[k]) continue;
    const Input& input = signature.inputs[k];
    if (input.shape.is_timed()) {
      if (!is_finite_in_time(call, k, first, count)) return Failure::not_finite;
      continue;
    }
    Pack<W>* to = inputs.buffer[k];
    bool finite = load(call.in[k] + first * call.in_step[k], call.in_step[k], count, call.in_size[k], to);
    if (input.reads != Reads::all) {
      for (std::ptrdiff_t i = 0; i < call.in_size[k]; ++i) {
        if (!is_read(input.reads, call, i)) to[i] = Pack<W>(0.0);
      }
      finite = all_finite(reinterpret_cast<const double*>(to), W * call.in_size[k]);
    }
    if (!finite) return Failure::not_finite;
    inputs.at[k] = to;
    if (input.holds == Holds::numbers) continue;
    if (input.holds == Holds::positive) {
      if (!are_positive(to, call.in_size[k])) return Failure::not_positive;
    } else if (!normalize_quaternions(*call.tree, input.holds, to)) {
      return Failure::quaternion;
    }
  }
  return Failure::none;
}

inline Failure::Kind fetch(const Signature& signature, const Call& call, std::ptrdiff_t first, int,
                           Fetched<double>& inputs) {
  for (int k = 0; k < signature.inputs.count; ++k) {
    if (!call.in[k]) continue;
    const Input& input = signature.inputs[k];
    if (input.shape.is_timed()) {
      if (!is_finite_in_time(call, k, first, 1)) return Failure::not_finite;
      continue;
    }
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
    if (input.holds == Holds::numbers) continue;
    if (input.holds == Holds::positive) {
      if (!are_positive(inputs.at[k], n)) return Failure::not_positive;
    } else if (!call.tree->quaternions.empty()) {
      std::memcpy(inputs.buffer[k], from, n * sizeof(double));
      inputs.at[k] = inputs.buffer[k];
      if (!normalize_quaternions(*call.tree, input.holds, inputs.buffer[k])) return Failure::quaternion;
    }
  }
  return Failure::none;
}

// Compiled once, in transfer.cpp.
extern template bool load(const double*, std::ptrdiff_t, int, std::ptrdiff_t, Wide*);
extern template void store(const Wide*, int, std::ptrdiff_t, double*, std::ptrdiff_t);
extern template void store_symmetric(const Wide*, int, const Tree<double>&, Given, double*, std::ptrdiff_t);

}  // namespace batch
}  // namespace jounce
