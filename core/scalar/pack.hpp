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

JOUNCE_ALWAYS_INLINE bool any(Register<2>::Mask m) { return (m[0] | m[1]) != 0; }
JOUNCE_ALWAYS_INLINE bool any(Register<4>::Mask m) { return (m[0] | m[1] | m[2] | m[3]) != 0; }
JOUNCE_ALWAYS_INLINE bool any(Register<8>::Mask m) {
  return (m[0] | m[1] | m[2] | m[3] | m[4] | m[5] | m[6] | m[7]) != 0;
}

JOUNCE_ALWAYS_INLINE bool all(Register<2>::Mask m) { return (m[0] & m[1]) != 0; }
JOUNCE_ALWAYS_INLINE bool all(Register<4>::Mask m) { return (m[0] & m[1] & m[2] & m[3]) != 0; }
JOUNCE_ALWAYS_INLINE bool all(Register<8>::Mask m) {
  return (m[0] & m[1] & m[2] & m[3] & m[4] & m[5] & m[6] & m[7]) != 0;
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
