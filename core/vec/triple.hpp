// Vectors of three in one register, for one state by itself; a fourth number goes along that nobody reads.
//
// `Triple<S>` is such a vector where numbers are doubles and registers hold four of them, else a Vec3. `Triad<S>` are
// three of them, the columns of a matrix: times a vector, three fused multiply-adds instead of nine.
#pragma once

#include <type_traits>

#include "jounce/scalar/pack.hpp"
#include "jounce/vec/vec3.hpp"

namespace jounce {

#if defined(__AVX__)
inline constexpr bool kTriples = true;
#else
inline constexpr bool kTriples = false;
#endif

template <class S>
inline constexpr bool has_triples = kTriples && std::is_same_v<S, double>;

template <class S>
using Triple = std::conditional_t<has_triples<S>, Pack<4>, Vec3<S>>;

// One that is in memory, where a number follows it.
template <class S>
JOUNCE_ALWAYS_INLINE Triple<S> triple(const Vec3<S>& x) {
  if constexpr (has_triples<S>) {
    return Pack<4>::load(&x.x);
  } else {
    return x;
  }
}
// Overwrites the number that follows, too.
template <class S>
JOUNCE_ALWAYS_INLINE void set(Vec3<S>& to, const Triple<S>& x) {
  if constexpr (has_triples<S>) {
    x.store(&to.x);
  } else {
    to = x;
  }
}
template <class S>
JOUNCE_ALWAYS_INLINE Vec3<S> vector(const Triple<S>& x) {
  if constexpr (has_triples<S>) {
    return {x.v[0], x.v[1], x.v[2]};
  } else {
    return x;
  }
}

template <class S>
struct Triad {
  Triple<S> x, y, z;

  static JOUNCE_ALWAYS_INLINE Triad identity() {
    if constexpr (has_triples<S>) {
      using V = Pack<4>::Values;
      return {Pack<4>(V{1.0, 0.0, 0.0, 0.0}), Pack<4>(V{0.0, 1.0, 0.0, 0.0}), Pack<4>(V{0.0, 0.0, 1.0, 0.0})};
    } else {
      const auto one = Mat3<S>::identity();
      return {one.x, one.y, one.z};
    }
  }
};

template <class S, class P>
JOUNCE_ALWAYS_INLINE Triple<S> operator*(const Triad<S>& m, const Vec3<P>& v) {
  return m.x * v.x + m.y * v.y + m.z * v.z;
}
template <class S, class P>
JOUNCE_ALWAYS_INLINE Triad<S> operator*(const Triad<S>& m, const Mat3<P>& n) {
  return {m * n.x, m * n.y, m * n.z};
}

// Turned about its z axis by an angle, given its sine and cosine.
template <class S>
JOUNCE_ALWAYS_INLINE Triad<S> turned(const Triad<S>& m, const S& sine, const S& cosine) {
  return {m.x * cosine + m.y * sine, m.y * cosine - m.x * sine, m.z};
}

// Writes R m R^T, where `known` is R as well.
template <class S, class P>
JOUNCE_ALWAYS_INLINE void set_rotated(Sym3<S>& to, const Triad<S>& R, const Mat3<S>& known, const Sym3<P>& m) {
  if constexpr (has_triples<S>) {
    const Triad<S> turned = R * Mat3<P>{{m.xx, m.xy, m.xz}, {m.xy, m.yy, m.yz}, {m.xz, m.yz, m.zz}};
    const auto row = [&](double x, double y, double z) { return (turned.x * x + turned.y * y + turned.z * z).v; };
    const auto a = row(known.x.x, known.y.x, known.z.x), b = row(known.x.y, known.y.y, known.z.y);
    const auto c = row(known.x.z, known.y.z, known.z.z);
    Pack<4>(JOUNCE_SHUFFLE(a, b, 0, 1, 5, 2)).store(&to.xx);
    Pack<2>(JOUNCE_SHUFFLE(c, c, 1, 2)).store(&to.yz);
  } else {
    to = rotated(known, m);
  }
}

}  // namespace jounce
