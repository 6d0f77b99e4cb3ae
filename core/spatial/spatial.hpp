// Six-vectors and inertias, angular part first, in the frame of a body about its origin.
#pragma once

#include "jounce/lie/pose.hpp"

namespace jounce {

// A twist or an acceleration: angular part w, linear part v.
template <class S>
struct Motion {
  Vec3<S> w, v;

  static JOUNCE_INLINE Motion zero() { return {Vec3<S>::zero(), Vec3<S>::zero()}; }
  template <class T>
  JOUNCE_INLINE Motion& operator+=(const Motion<T>& b) { w += b.w; v += b.v; return *this; }
};

// A wrench or a momentum: moment n, force f.
template <class S>
struct Force {
  Vec3<S> n, f;

  static JOUNCE_INLINE Force zero() { return {Vec3<S>::zero(), Vec3<S>::zero()}; }
  template <class T>
  JOUNCE_INLINE Force& operator+=(const Force<T>& b) { n += b.n; f += b.f; return *this; }
  template <class T>
  JOUNCE_INLINE Force& operator-=(const Force<T>& b) { n -= b.n; f -= b.f; return *this; }
};

template <class A, class B>
JOUNCE_INLINE auto operator*(const Force<A>& a, const B& s) -> Force<Product<A, B>> {
  return {a.n * s, a.f * s};
}
template <class A, class B>
JOUNCE_INLINE auto dot(const Force<A>& a, const Motion<B>& b) -> Product<A, B> {
  return dot(a.n, b.w) + dot(a.f, b.v);
}

// From six numbers, and to an array, entries `stride` apart.
template <class S>
JOUNCE_INLINE Motion<S> motion_from(const S* x) {
  return {vector_from(x), vector_from(x + 3)};
}
template <class S>
JOUNCE_INLINE Force<S> force_from(const S* x) {
  return {vector_from(x), vector_from(x + 3)};
}
template <class S>
JOUNCE_INLINE void store(const Motion<S>& m, S* out, int stride = 1) {
  store(m.w, out, stride);
  store(m.v, out + 3 * stride, stride);
}

// The Lie bracket ad_a b, and its dual (w, u) x* (n, f) = (w x n + u x f, w x f).
template <class S>
JOUNCE_INLINE Motion<S> bracket(const Motion<S>& a, const Motion<S>& b) {
  return {cross(a.w, b.w), cross(a.w, b.v) + cross(a.v, b.w)};
}
template <class S>
JOUNCE_INLINE Force<S> dual_bracket(const Motion<S>& m, const Force<S>& x) {
  return {cross(m.w, x.n) + cross(m.v, x.f), cross(m.w, x.f)};
}

// A motion of the parent seen from the child (Ad of the inverse pose), and a wrench on the child
// seen from the parent (its dual).
template <class A, class B>
JOUNCE_INLINE auto to_child(const Pose<A>& t, const Motion<B>& m) -> Motion<Product<A, B>> {
  return {transposed(t.R, m.w), transposed(t.R, m.v + cross(m.w, t.p))};
}
template <class A, class B>
JOUNCE_INLINE auto to_parent(const Pose<A>& t, const Motion<B>& m) -> Motion<Product<A, B>> {
  const auto w = t.R * m.w;
  return {w, t.R * m.v + cross(t.p, w)};
}
template <class A, class B>
JOUNCE_INLINE auto to_parent(const Pose<A>& t, const Force<B>& x) -> Force<Product<A, B>> {
  const auto f = t.R * x.f;
  return {t.R * x.n + cross(t.p, f), f};
}
template <class A, class B>
JOUNCE_INLINE auto to_child(const Pose<A>& t, const Force<B>& x) -> Force<Product<A, B>> {
  return {transposed(t.R, x.n - cross(t.p, x.f)), transposed(t.R, x.f)};
}

// The same motion about a point that lies at d from the old one.
template <class A, class B>
JOUNCE_INLINE auto moved(const Motion<A>& m, const Vec3<B>& d) -> Motion<Product<A, B>> {
  return {m.w, m.v + cross(m.w, d)};
}

// A wrench seen from a point that sees its origin at d.
template <class A, class B>
JOUNCE_INLINE auto shifted(const Vec3<A>& d, const Force<B>& x) -> Force<Product<A, B>> {
  return {x.n + cross(d, x.f), x.f};
}

// I - hat(d) hat(k) - (hat(d) hat(k))^T for a symmetric I.
template <class A, class B>
JOUNCE_INLINE auto shifted(const Vec3<A>& d, const Sym3<B>& I, const Vec3<Product<A, B>>& k)
    -> Sym3<Product<A, B>> {
  const auto s = dot(d, k);
  return {I.xx + 2.0 * (s - d.x * k.x), I.xy - d.x * k.y - d.y * k.x,
          I.yy + 2.0 * (s - d.y * k.y), I.xz - d.x * k.z - d.z * k.x,
          I.yz - d.y * k.z - d.z * k.y, I.zz + 2.0 * (s - d.z * k.z)};
}

// Mass m, first moment h = m c, rotational inertia I about the origin.
template <class S>
struct RigidInertia {
  S m;
  Vec3<S> h;
  Sym3<S> I;

  JOUNCE_INLINE RigidInertia& operator+=(const RigidInertia& b) {
    m += b.m; h += b.h; I += b.I;
    return *this;
  }
};

// From ten numbers, in the order m, h, Ixx, Ixy, Iyy, Ixz, Iyz, Izz.
template <class S>
JOUNCE_INLINE RigidInertia<S> inertia_from(const S* a) {
  return {a[0], vector_from(a + 1), {a[4], a[5], a[6], a[7], a[8], a[9]}};
}

// One over the mass; one for a massless body, whose center of mass is taken where it is seen from.
template <class S>
JOUNCE_INLINE S inverse_mass(const S& m) {
  return S(1.0) / select(value(m) > value(S(0.0)), m, S(1.0));
}

template <class A, class B>
JOUNCE_INLINE auto operator*(const RigidInertia<A>& j, const Motion<B>& x)
    -> Force<Product<A, B>> {
  return {j.I * x.w + cross(j.h, x.v), x.v * j.m - cross(j.h, x.w)};
}

// Moves the reference point from the body's origin to one that sees that origin at d.
template <class A, class B>
JOUNCE_INLINE auto shifted(const Vec3<A>& d, const RigidInertia<B>& j)
    -> RigidInertia<Product<A, B>> {
  // I' = I - hat(d) hat(h) - hat(h) hat(d) - m hat(d)^2 = I - (hat(d) hat(k) + its transpose),
  // with k = h + m d / 2
  const auto k = j.h + d * (j.m * 0.5);
  return {j.m, j.h + d * j.m, shifted(d, j.I, k)};
}

// Rate of the rotational inertia of a body with twist V, about a fixed point:
//   hat(w) I - I hat(w) + 2 (v.h) 1 - h v^T - v h^T
template <class S>
JOUNCE_INLINE Sym3<S> rotational_rate(const RigidInertia<S>& j, const Motion<S>& V) {
  const Sym3<S>& I = j.I;
  const Vec3<S>&w = V.w, &v = V.v, &h = j.h;
  // columns of hat(w) I
  const Vec3<S> x = cross(w, Vec3<S>{I.xx, I.xy, I.xz});
  const Vec3<S> y = cross(w, Vec3<S>{I.xy, I.yy, I.yz});
  const Vec3<S> z = cross(w, Vec3<S>{I.xz, I.yz, I.zz});
  const S s = dot(v, h);
  return {(x.x + s - h.x * v.x) * 2.0, x.y + y.x - h.x * v.y - h.y * v.x,
          (y.y + s - h.y * v.y) * 2.0, x.z + z.x - h.x * v.z - h.z * v.x,
          y.z + z.y - h.y * v.z - h.z * v.y, (z.z + s - h.z * v.z) * 2.0};
}

// A symmetric 6x6 inertia: moment = A angular + B linear, force = B^T angular + C linear.
template <class S>
struct ArticulatedInertia {
  Sym3<S> A;
  Mat3<S> B;
  Sym3<S> C;

  template <class P>
  static JOUNCE_INLINE ArticulatedInertia of(const RigidInertia<P>& j) {
    const S o(0.0);
    return {{S(j.I.xx), S(j.I.xy), S(j.I.yy), S(j.I.xz), S(j.I.yz), S(j.I.zz)},
            {{o, S(j.h.z), S(-j.h.y)}, {S(-j.h.z), o, S(j.h.x)}, {S(j.h.y), S(-j.h.x), o}},
            {S(j.m), o, S(j.m), o, o, S(j.m)}};
  }
  JOUNCE_INLINE ArticulatedInertia& operator+=(const ArticulatedInertia& b) {
    A += b.A; C += b.C;
    B.x += b.B.x; B.y += b.B.y; B.z += b.B.z;
    return *this;
  }
  // Image of the unit motion k: 0..2 angular, 3..5 linear.
  JOUNCE_INLINE Force<S> column(int k) const {
    switch (k) {
      case 0: return {{A.xx, A.xy, A.xz}, {B.x.x, B.y.x, B.z.x}};
      case 1: return {{A.xy, A.yy, A.yz}, {B.x.y, B.y.y, B.z.y}};
      case 2: return {{A.xz, A.yz, A.zz}, {B.x.z, B.y.z, B.z.z}};
      case 3: return {B.x, {C.xx, C.xy, C.xz}};
      case 4: return {B.y, {C.xy, C.yy, C.yz}};
      default: return {B.z, {C.xz, C.yz, C.zz}};
    }
  }
  // Subtracts U u^T where u = U / D: the joint no longer resists along its axis.
  JOUNCE_INLINE void eliminate(const Force<S>& U, const Force<S>& u) {
    A.xx -= U.n.x * u.n.x; A.xy -= U.n.x * u.n.y; A.yy -= U.n.y * u.n.y;
    A.xz -= U.n.x * u.n.z; A.yz -= U.n.y * u.n.z; A.zz -= U.n.z * u.n.z;
    B.x -= U.n * u.f.x; B.y -= U.n * u.f.y; B.z -= U.n * u.f.z;
    C.xx -= U.f.x * u.f.x; C.xy -= U.f.x * u.f.y; C.yy -= U.f.y * u.f.y;
    C.xz -= U.f.x * u.f.z; C.yz -= U.f.y * u.f.z; C.zz -= U.f.z * u.f.z;
  }
};

template <class A, class B>
JOUNCE_INLINE auto operator*(const ArticulatedInertia<A>& j, const Motion<B>& x)
    -> Force<Product<A, B>> {
  return {j.A * x.w + j.B * x.v, transposed(j.B, x.w) + j.C * x.v};
}

// R j R^T, block by block.
template <class S>
JOUNCE_INLINE ArticulatedInertia<S> rotated(const Mat3<S>& r, const ArticulatedInertia<S>& j) {
  const Mat3<S> rb = r * j.B;
  const Vec3<S> a{r.x.x, r.y.x, r.z.x}, b{r.x.y, r.y.y, r.z.y}, c{r.x.z, r.y.z, r.z.z};
  return {rotated(r, j.A), {rb * a, rb * b, rb * c}, rotated(r, j.C)};
}

// Moves the reference point: the old origin is seen at d from the new one.
//   B' = B + hat(d) C,   A' = A + hat(d) B'^T + (hat(d) B^T)^T
template <class S>
JOUNCE_INLINE ArticulatedInertia<S> shifted(const Vec3<S>& d, const ArticulatedInertia<S>& j) {
  ArticulatedInertia<S> out;
  out.C = j.C;
  out.B = {j.B.x + cross(d, Vec3<S>{j.C.xx, j.C.xy, j.C.xz}),
           j.B.y + cross(d, Vec3<S>{j.C.xy, j.C.yy, j.C.yz}),
           j.B.z + cross(d, Vec3<S>{j.C.xz, j.C.yz, j.C.zz})};
  // hat(d) M^T has as columns d x (rows of M)
  const Mat3<S>&b = j.B, &c = out.B;
  out.A.xx = j.A.xx + d.y * (c.z.x + b.z.x) - d.z * (c.y.x + b.y.x);
  out.A.yy = j.A.yy + d.z * (c.x.y + b.x.y) - d.x * (c.z.y + b.z.y);
  out.A.zz = j.A.zz + d.x * (c.y.z + b.y.z) - d.y * (c.x.z + b.x.z);
  out.A.xy = j.A.xy + (d.y * c.z.y - d.z * c.y.y) + (d.z * b.x.x - d.x * b.z.x);
  out.A.xz = j.A.xz + (d.y * c.z.z - d.z * c.y.z) + (d.x * b.y.x - d.y * b.x.x);
  out.A.yz = j.A.yz + (d.z * c.x.z - d.x * c.z.z) + (d.x * b.y.y - d.y * b.x.y);
  return out;
}

}  // namespace jounce
