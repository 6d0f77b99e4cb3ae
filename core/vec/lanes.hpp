// What the lanes of packs hold, written to a place of its own for each lane.
#pragma once

#include "jounce/vec/columns.hpp"

namespace jounce {

// The numbers T G ... T G + T - 1 of x to `to`.
template <int G, int W, int... I>
JOUNCE_ALWAYS_INLINE void store_piece(const Pack<W>& x, double* to, std::integer_sequence<int, I...>) {
  constexpr int T = sizeof...(I);
  Pack<T>(JOUNCE_SHUFFLE(x.v, x.v, (T * G + I)...)).store(to);
}
// T columns of W lanes, transposed: the numbers of lane i go to to(i), of the first `count` lanes.
template <int W, int T, class To, int... I>
JOUNCE_ALWAYS_INLINE void store_tile_lanes(Pack<W> (&x)[T], int count, To&& to, std::integer_sequence<int, I...>) {
  transpose(x);
  if (count == W) {
    (store_piece<I / T>(x[I % T], to(I), AllRows<T>{}), ...);
  } else {
    ((I < count ? store_piece<I / T>(x[I % T], to(I), AllRows<T>{}) : void()), ...);
  }
}

// Writes N numbers, an even number, of each of the first `count` lanes, T at a time, those of lane i to to(i).
template <int T, int W, int N, class To>
JOUNCE_ALWAYS_INLINE void store_tiles(const Pack<W> (&x)[N], int count, To&& to) {
  constexpr int whole = N / T * T;
  for (int k = 0; k < whole; k += T) {
    Pack<W> tile[T];
    for (int i = 0; i < T; ++i) tile[i] = x[k + i];
    store_tile_lanes(tile, count, [=](int i) JOUNCE_INLINED { return to(i) + k; }, AllRows<W>{});
  }
  for (int k = whole; k < N; k += 2) {
    Pack<W> pair[] = {x[k], x[k + 1]};
    store_tile_lanes(pair, count, [=](int i) JOUNCE_INLINED { return to(i) + k; }, AllRows<W>{});
  }
}

// Writes N numbers, an even number, of each of the first `count` lanes. Of all lanes, four at a time need fewer shuffles
// than eight, and fewer of them lie on two lines of the cache; but each store has to be decided on where lanes are left
// out.
template <int W, int N, class To>
JOUNCE_ALWAYS_INLINE void store_lanes(const Pack<W> (&x)[N], int count, To&& to) {
  if (count == W) {
    store_tiles<W < 4 ? W : 4>(x, W, to);
  } else {
    store_tiles<W>(x, count, to);
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

// `size` zeros in each of `count` rows, which lie `step` apart: as many registers as I counts, the last of which ends
// with the row.
template <int... I>
JOUNCE_ALWAYS_INLINE void clear_row_starts(double* at, std::ptrdiff_t size, int count, std::ptrdiff_t step,
                                           std::integer_sequence<int, I...>) {
  constexpr int W = lanes<Wide>;
  const Wide zeros(kHiddenZero);
  for (int i = 0; i < count; ++i, at += step) {
    (zeros.store(at + W * I), ...);
    zeros.store(at + size - W);
  }
}
// `size` zeros in each of `count` rows, which lie `step` apart, without loops where few registers make up a row: up to
// as many as I counts.
template <int... I>
JOUNCE_ALWAYS_INLINE void clear_rows(double* at, std::ptrdiff_t size, int count, std::ptrdiff_t step,
                                     std::integer_sequence<int, I...>) {
  constexpr int W = lanes<Wide>;
  if (size == 0) return;
  const std::ptrdiff_t before_last = (size - 1) / W;
  if (size < W || !((before_last == I && (clear_row_starts(at, size, count, step, AllRows<I>{}), true)) || ...)) {
    for (int i = 0; i < count; ++i, at += step) clear_numbers(at, at + size);
  }
}

}  // namespace jounce
