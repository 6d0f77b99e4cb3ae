// Vectors, matrices and symmetric matrices of three dimensions. The scalar types of two operands
// may differ (a model's double with a state's Pack).
#pragma once

#include "jounce/scalar/scalar.hpp"

namespace jounce {

template <class S>
struct Vec3 {
  S x, y, z;

  static JOUNCE_ALWAYS_INLINE Vec3 zero() { return {S(0.0), S(0.0), S(0.0)}; }
  template <class T>
  JOUNCE_ALWAYS_INLINE Vec3& operator+=(const Vec3<T>& b) { x += b.x; y += b.y; z += b.z; return *this; }
  template <class T>
  JOUNCE_ALWAYS_INLINE Vec3& operator-=(const Vec3<T>& b) { x -= b.x; y -= b.y; z -= b.z; return *this; }
};

template <class A, class B>
using Product = decltype(A() * B());

template <class A, class B>
JOUNCE_ALWAYS_INLINE auto operator+(const Vec3<A>& a, const Vec3<B>& b) -> Vec3<Product<A, B>> {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class A, class B>
JOUNCE_ALWAYS_INLINE auto operator-(const Vec3<A>& a, const Vec3<B>& b) -> Vec3<Product<A, B>> {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class A>
JOUNCE_ALWAYS_INLINE Vec3<A> operator-(const Vec3<A>& a) { return {-a.x, -a.y, -a.z}; }
template <class A, class B>
JOUNCE_ALWAYS_INLINE auto operator*(const Vec3<A>& a, const B& s) -> Vec3<Product<A, B>> {
  return {a.x * s, a.y * s, a.z * s};
}
template <class A, class B>
JOUNCE_ALWAYS_INLINE auto dot(const Vec3<A>& a, const Vec3<B>& b) -> Product<A, B> {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class A, class B>
JOUNCE_ALWAYS_INLINE auto cross(const Vec3<A>& a, const Vec3<B>& b) -> Vec3<Product<A, B>> {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// Writes to an array, entries `stride` apart.
template <class S>
JOUNCE_ALWAYS_INLINE Vec3<S> vector_from(const S* x) {
  return {x[0], x[1], x[2]};
}
template <class S>
JOUNCE_ALWAYS_INLINE void store(const Vec3<S>& x, S* out, int stride = 1) {
  out[0] = x.x; out[stride] = x.y; out[2 * stride] = x.z;
}

// Columns x, y, z: the images of the axes.
template <class S>
struct Mat3 {
  Vec3<S> x, y, z;

  static JOUNCE_ALWAYS_INLINE Mat3 identity() {
    return {{S(1.0), S(0.0), S(0.0)}, {S(0.0), S(1.0), S(0.0)}, {S(0.0), S(0.0), S(1.0)}};
  }
};

template <class A, class B>
JOUNCE_ALWAYS_INLINE auto operator*(const Mat3<A>& m, const Vec3<B>& v) -> Vec3<Product<A, B>> {
  return m.x * v.x + m.y * v.y + m.z * v.z;
}
// Transposed matrix times vector.
template <class A, class B>
JOUNCE_ALWAYS_INLINE auto transposed(const Mat3<A>& m, const Vec3<B>& v) -> Vec3<Product<A, B>> {
  return {dot(m.x, v), dot(m.y, v), dot(m.z, v)};
}
template <class A, class B>
JOUNCE_ALWAYS_INLINE auto operator*(const Mat3<A>& m, const Mat3<B>& n) -> Mat3<Product<A, B>> {
  return {m * n.x, m * n.y, m * n.z};
}
template <class A>
JOUNCE_ALWAYS_INLINE Mat3<A> transpose(const Mat3<A>& m) {
  return {{m.x.x, m.y.x, m.z.x}, {m.x.y, m.y.y, m.z.y}, {m.x.z, m.y.z, m.z.z}};
}
template <class A, class B>
JOUNCE_ALWAYS_INLINE auto operator+(const Mat3<A>& m, const Mat3<B>& n) -> Mat3<Product<A, B>> {
  return {m.x + n.x, m.y + n.y, m.z + n.z};
}
template <class A>
JOUNCE_ALWAYS_INLINE Mat3<A> operator*(const Mat3<A>& m, const A& s) { return {m.x * s, m.y * s, m.z * s}; }
template <class A>
JOUNCE_ALWAYS_INLINE Mat3<A> hat(const Vec3<A>& a) {
  const A o = A(0.0);
  return {{o, a.z, -a.y}, {-a.z, o, a.x}, {a.y, -a.x, o}};
}

template <class S>
struct Sym3 {
  S xx, xy, yy, xz, yz, zz;

  template <class T>
  JOUNCE_ALWAYS_INLINE Sym3& operator+=(const Sym3<T>& b) {
    xx += b.xx; xy += b.xy; yy += b.yy; xz += b.xz; yz += b.yz; zz += b.zz;
    return *this;
  }
};

template <class A, class B>
JOUNCE_ALWAYS_INLINE auto operator*(const Sym3<A>& m, const Vec3<B>& v) -> Vec3<Product<A, B>> {
  return {m.xx * v.x + m.xy * v.y + m.xz * v.z, m.xy * v.x + m.yy * v.y + m.yz * v.z,
          m.xz * v.x + m.yz * v.y + m.zz * v.z};
}
// v v^T.
template <class A>
JOUNCE_ALWAYS_INLINE Sym3<A> outer_square(const Vec3<A>& v) {
  return {v.x * v.x, v.x * v.y, v.y * v.y, v.x * v.z, v.y * v.z, v.z * v.z};
}
template <class A>
JOUNCE_ALWAYS_INLINE A trace(const Sym3<A>& m) { return m.xx + m.yy + m.zz; }

// R m R^T.
template <class A, class B>
JOUNCE_ALWAYS_INLINE auto rotated(const Mat3<A>& r, const Sym3<B>& m) -> Sym3<Product<A, B>> {
  const auto a = m * Vec3<A>{r.x.x, r.y.x, r.z.x};  // m times the rows of R
  const auto b = m * Vec3<A>{r.x.y, r.y.y, r.z.y};
  const auto c = m * Vec3<A>{r.x.z, r.y.z, r.z.z};
  return {r.x.x * a.x + r.y.x * a.y + r.z.x * a.z, r.x.x * b.x + r.y.x * b.y + r.z.x * b.z,
          r.x.y * b.x + r.y.y * b.y + r.z.y * b.z, r.x.x * c.x + r.y.x * c.y + r.z.x * c.z,
          r.x.y * c.x + r.y.y * c.y + r.z.y * c.z, r.x.z * c.x + r.y.z * c.y + r.z.z * c.z};
}

}  // namespace jounce
