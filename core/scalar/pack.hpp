// Pack<W>: W doubles in SIMD registers, one per state of a batch.
#pragma once

#include "jounce/scalar/scalar.hpp"

namespace jounce {

// Registers of W doubles, the same at any address of memory, and of W masks (all bits set, or none).
template <int W>
struct Register;
template <>
struct Register<2> {
  JOUNCE_VECTOR(Values, double, 16);
  JOUNCE_LOOSE_VECTOR(Loose, double, 16);
  JOUNCE_VECTOR(Mask, std::int64_t, 16);
};
template <>
struct Register<4> {
  JOUNCE_VECTOR(Values, double, 32);
  JOUNCE_LOOSE_VECTOR(Loose, double, 32);
  JOUNCE_VECTOR(Mask, std::int64_t, 32);
};
template <>
struct Register<8> {
  JOUNCE_VECTOR(Values, double, 64);
  JOUNCE_LOOSE_VECTOR(Loose, double, 64);
  JOUNCE_VECTOR(Mask, std::int64_t, 64);
};

// The signs of a mask as bits. Lanes taken out one by one would cost more than what is asked about them.
#if defined(__SSE2__)
JOUNCE_ALWAYS_INLINE int signs(Register<2>::Mask m) { return JOUNCE_SIGNS_2(Register<2>::Values(m)); }
#else
JOUNCE_ALWAYS_INLINE int signs(Register<2>::Mask m) { return int((m[0] & 1) | (m[1] & 2)); }
#endif
#if defined(__AVX__)
JOUNCE_ALWAYS_INLINE int signs(Register<4>::Mask m) { return JOUNCE_SIGNS_4(Register<4>::Values(m)); }
#else
JOUNCE_ALWAYS_INLINE int signs(Register<4>::Mask m) {
  return signs(JOUNCE_SHUFFLE(m, m, 0, 1)) | signs(JOUNCE_SHUFFLE(m, m, 2, 3)) << 2;
}
#endif

JOUNCE_ALWAYS_INLINE bool any(Register<2>::Mask m) { return signs(m) != 0; }
JOUNCE_ALWAYS_INLINE bool any(Register<4>::Mask m) { return signs(m) != 0; }
JOUNCE_ALWAYS_INLINE bool any(Register<8>::Mask m) {
  return any(JOUNCE_SHUFFLE(m, m, 0, 1, 2, 3) | JOUNCE_SHUFFLE(m, m, 4, 5, 6, 7));
}

JOUNCE_ALWAYS_INLINE bool all(Register<2>::Mask m) { return signs(m) == 3; }
JOUNCE_ALWAYS_INLINE bool all(Register<4>::Mask m) { return signs(m) == 15; }
JOUNCE_ALWAYS_INLINE bool all(Register<8>::Mask m) {
  return all(JOUNCE_SHUFFLE(m, m, 0, 1, 2, 3) & JOUNCE_SHUFFLE(m, m, 4, 5, 6, 7));
}

template <int W>
struct Pack {
  using Values = typename Register<W>::Values;
  using Mask = typename Register<W>::Mask;

  Values v;

  Pack() = default;
  // Written out, so that structures of packs are copied pack by pack: reading a register that was written
  // in pieces, or a piece of one, waits.
  JOUNCE_ALWAYS_INLINE Pack(const Pack& x) : v(x.v) {}
  JOUNCE_ALWAYS_INLINE Pack& operator=(const Pack& x) { v = x.v; return *this; }
  JOUNCE_ALWAYS_INLINE Pack(double x) : v(x - Values{}) {}
  JOUNCE_ALWAYS_INLINE explicit Pack(Values x) : v(x) {}

  // W numbers in a row; one instruction, which memcpy is not on all targets.
  static JOUNCE_ALWAYS_INLINE Pack load(const double* x) {
    return Pack(Values(*reinterpret_cast<const typename Register<W>::Loose*>(x)));
  }
  JOUNCE_ALWAYS_INLINE void store(double* to) const { *reinterpret_cast<typename Register<W>::Loose*>(to) = v; }

  // The same at an address that is a multiple of its size, for memory that the caches do not hold.
  JOUNCE_ALWAYS_INLINE void store_past_caches(double* to) const {
    JOUNCE_STORE_PAST_CACHES(reinterpret_cast<Values*>(to), v);
  }

  // The first `count` of W numbers, zeros for the others, which are not read.
  static JOUNCE_ALWAYS_INLINE Pack load_part(const double* x, int count) {
#if defined(__AVX512F__)
    if constexpr (W == 8) {
      return Pack(JOUNCE_LOAD_CHOSEN_8(x, Values{}, static_cast<unsigned char>(0xffu >> (W - count))));
    }
#endif
#if defined(__AVX__)
    if constexpr (W == 4) {
      JOUNCE_VECTOR(Chosen, long long, 32);
      constexpr Mask number = {0, 1, 2, 3};
      return Pack(JOUNCE_LOAD_CHOSEN_4(reinterpret_cast<const Values*>(x), Chosen(number < count)));
    }
#endif
    Pack part(0.0);
    for (int i = 0; i < count; ++i) part.v[i] = x[i];
    return part;
  }

  // The numbers first ... last-1 only: nothing else is touched. Whether that is one fast instruction:
#if defined(__AVX512F__)
  static constexpr bool kStoresParts = W == 8;
#else
  static constexpr bool kStoresParts = false;
#endif
  JOUNCE_ALWAYS_INLINE void store_part(double* to, int first, int last) const {
#if defined(__AVX512F__)
    if constexpr (W == 8) {
      const unsigned chosen = (0xffu << first) & (0xffu >> (W - last));
      return JOUNCE_STORE_CHOSEN_8(to, v, static_cast<unsigned char>(chosen));
    }
#endif
#if defined(__AVX__)
    if constexpr (W == 4) {
      JOUNCE_VECTOR(Chosen, long long, 32);
      constexpr Mask number = {0, 1, 2, 3};
      const Mask chosen = (number >= first) & (number < last);
      return JOUNCE_STORE_CHOSEN_4(reinterpret_cast<Values*>(to), v, Chosen(chosen));
    }
#endif
    for (int i = first; i < last; ++i) to[i] = v[i];
  }

  friend JOUNCE_ALWAYS_INLINE Pack operator+(Pack a, Pack b) { return Pack(a.v + b.v); }
  friend JOUNCE_ALWAYS_INLINE Pack operator-(Pack a, Pack b) { return Pack(a.v - b.v); }
  friend JOUNCE_ALWAYS_INLINE Pack operator*(Pack a, Pack b) { return Pack(a.v * b.v); }
  friend JOUNCE_ALWAYS_INLINE Pack operator/(Pack a, Pack b) { return Pack(a.v / b.v); }
  friend JOUNCE_ALWAYS_INLINE Pack operator-(Pack a) { return Pack(-a.v); }
  friend JOUNCE_ALWAYS_INLINE Mask operator<(Pack a, Pack b) { return a.v < b.v; }
  friend JOUNCE_ALWAYS_INLINE Mask operator<=(Pack a, Pack b) { return a.v <= b.v; }
  friend JOUNCE_ALWAYS_INLINE Mask operator>(Pack a, Pack b) { return a.v > b.v; }
  friend JOUNCE_ALWAYS_INLINE Mask operator>=(Pack a, Pack b) { return a.v >= b.v; }
  JOUNCE_ALWAYS_INLINE Pack& operator+=(Pack b) { v += b.v; return *this; }
  JOUNCE_ALWAYS_INLINE Pack& operator-=(Pack b) { v -= b.v; return *this; }
  JOUNCE_ALWAYS_INLINE Pack& operator*=(Pack b) { v *= b.v; return *this; }

  friend JOUNCE_ALWAYS_INLINE Pack select(Mask mask, Pack a, Pack b) {
    return Pack(mask ? a.v : b.v);
  }
  friend JOUNCE_ALWAYS_INLINE Pack sqrt(Pack a) {
    Pack r;
    for (int i = 0; i < W; ++i) r.v[i] = std::sqrt(a.v[i]);
    return r;
  }
  friend JOUNCE_ALWAYS_INLINE bool is_zero(Pack a) { return !any((a < Pack(0.0)) | (a > Pack(0.0))); }
  friend JOUNCE_ALWAYS_INLINE Pack value(Pack a) { return a; }
  friend JOUNCE_ALWAYS_INLINE double lane(const Pack& a, int i) { return a.v[i]; }
  friend JOUNCE_ALWAYS_INLINE void set_lane(Pack& a, int i, double y) { a.v[i] = y; }
};

template <int W>
inline constexpr int lanes<Pack<W>> = W;

// The widest pack that one register of the target holds.
#if defined(__AVX512F__)
using Wide = Pack<8>;
#elif defined(__AVX__)
using Wide = Pack<4>;
#else
using Wide = Pack<2>;
#endif

}  // namespace jounce
