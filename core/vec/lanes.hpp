// What the lanes of packs hold, written to a place of its own for each lane.
#pragma once

#include "jounce/vec/columns.hpp"

namespace jounce {

// Columns of W lanes each, transposed: those of lane i go to to(i), of the first `count` lanes.
template <int W, class To, int... I>
JOUNCE_ALWAYS_INLINE void store_tile_lanes(Pack<W> (&x)[W], int count, To&& to, std::integer_sequence<int, I...>) {
  transpose(x);
  if (count == W) {
    (std::memcpy(to(I), &x[I].v, sizeof(x[I].v)), ...);
  } else {
    ((I < count ? (void)std::memcpy(to(I), &x[I].v, sizeof(x[I].v)) : void()), ...);
  }
}
template <int W, class To, int... I>
JOUNCE_ALWAYS_INLINE void store_pair_lanes(const Pack<W>& a, const Pack<W>& b, int count, To&& to,
                                    std::integer_sequence<int, I...>) {
  const Pack<W> x[] = {Pack<W>(JOUNCE_SHUFFLE(a.v, b.v, ((I & 1) ? I - 1 + W : I)...)),   // even lanes
                       Pack<W>(JOUNCE_SHUFFLE(a.v, b.v, ((I & 1) ? I + W : I + 1)...))};  // odd ones
  double pairs[2 * W];
  std::memcpy(pairs, x, sizeof pairs);
  const auto pair = [&](int i) JOUNCE_INLINED { return pairs + (i & 1) * W + (i & ~1); };
  if (count == W) {
    (std::memcpy(to(I), pair(I), 16), ...);
  } else {
    for (int i = 0; i < count; ++i) std::memcpy(to(i), pair(i), 16);
  }
}

// Writes N numbers, an even number, of each of the first `count` lanes, those of lane i to to(i).
template <int W, int N, class To>
JOUNCE_ALWAYS_INLINE void store_lanes(const Pack<W> (&x)[N], int count, To&& to) {
  constexpr int whole = N / W * W;
  for (int k = 0; k < whole; k += W) {
    Pack<W> tile[W];
    for (int i = 0; i < W; ++i) tile[i] = x[k + i];
    store_tile_lanes(tile, count, [&](int i) JOUNCE_INLINED { return to(i) + k; }, AllRows<W>{});
  }
  for (int k = whole; k < N; k += 2) {
    store_pair_lanes(x[k], x[k + 1], count, [&](int i) JOUNCE_INLINED { return to(i) + k; }, AllRows<W>{});
  }
}

// Zeros in [at, end), which are many short pieces: if the compiler knew the number, it would call a function
// for each.
inline const volatile double kHiddenZero = 0.0;
template <class S>
JOUNCE_ALWAYS_INLINE void clear_numbers(S* at, S* end) {
  if constexpr (std::is_same_v<S, double>) {
    constexpr int W = lanes<Wide>;
    const Wide zeros(kHiddenZero);
    if (end - at >= W) {
      for (; end - at > W; at += W) zeros.store(at);
      return zeros.store(end - W);
    }
  }
  for (; at < end; ++at) *at = S(0.0);
}

}  // namespace jounce
