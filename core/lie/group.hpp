// Exponential and logarithm of SO(3) and SE(3), and how the exponential changes with its argument.
#pragma once

#include "jounce/lie/coefficients.hpp"
#include "jounce/lie/quaternion.hpp"

namespace jounce {

// exp(w) = 1 + c_1 hat(w) + c_2 hat(w)^2.
template <class S>
JOUNCE_INLINE Mat3<S> rotation_exp(const Vec3<S>& w, const Stumpff<S>& c) {
  const Vec3<S> u = w * c.c1, a = w * c.c2;
  const S xx = a.x * w.x, yy = a.y * w.y, zz = a.z * w.z, one(1.0);
  const S xy = a.x * w.y, xz = a.x * w.z, yz = a.y * w.z;
  return {{one - (yy + zz), xy + u.z, xz - u.y},
          {xy - u.z, one - (xx + zz), yz + u.x},
          {xz + u.y, yz - u.x, one - (xx + yy)}};
}

// The map V(w) with exp(w, v) = (exp w, V(w) v), and its inverse.
template <class S>
JOUNCE_INLINE Vec3<S> translation(const Vec3<S>& w, const Vec3<S>& v, const Stumpff<S>& c) {
  const Vec3<S> x = cross(w, v);
  return v + x * c.c2 + cross(w, x) * c.c3;
}
template <class S>
JOUNCE_INLINE Vec3<S> translation(const Vec3<S>& w, const Vec3<S>& v) {
  return translation(w, v, Stumpff<S>(dot(w, w)));
}
template <class S>
JOUNCE_INLINE Vec3<S> inverse_translation(const Vec3<S>& w, const Vec3<S>& v) {
  const Vec3<S> x = cross(w, v);
  return v - x * 0.5 + cross(w, x) * Cotangent<S>(dot(w, w)).e;
}

template <class S>
JOUNCE_INLINE Pose<S> pose_exp(const Vec3<S>& w, const Vec3<S>& v) {
  const Stumpff<S> c(dot(w, w));
  return {rotation_exp(w, c), translation(w, v, c)};
}

// Rotation vector of a rotation, of length at most pi; exact to a few ulp at every angle.
template <class S>
JOUNCE_INLINE Vec3<S> rotation_log(const Mat3<S>& R) {
  S q[4];
  quaternion_multiple(R, q);
  return quaternion_log(q);
}

// What keeps matrices from being rotations: 0, they are not orthonormal; 1, they are reflections; -1,
// nothing.
template <class S>
JOUNCE_INLINE int rotation_defect(const Mat3<S>& R) {
  const S one(1.0);
  const auto off = [&](const S& x) { return value(x * x) > value(S(1e-12)); };
  const auto bad = off(dot(R.x, R.x) - one) | off(dot(R.y, R.y) - one) | off(dot(R.z, R.z) - one) |
                   off(dot(R.x, R.y)) | off(dot(R.y, R.z)) | off(dot(R.z, R.x));
  if (any(bad)) return 0;
  return any(value(dot(cross(R.x, R.y), R.z)) < value(S(0.0))) ? 1 : -1;
}

// A linear map of se(3) that treats both halves alike: [[D, 0], [L, D]].
template <class S>
struct Blocks {
  Mat3<S> D, L;
};

// 1 + f(t) ad(x) + g(t) ad(x)^2 at x = (w, v), t = w.w, with df and dg the derivatives of f and g by t.
// There ad(w, v) is hat(w + eps v) with a dual unit eps, so that L is the derivative of D along v.
template <class S>
JOUNCE_INLINE Blocks<S> ad_polynomial(const Vec3<S>& w, const Vec3<S>& v, const S& f, const S& g,
                                      const S& df, const S& dg) {
  const Mat3<S> W = hat(w), V = hat(v), WW = W * W;
  const S dt = dot(w, v) * 2.0;
  return {Mat3<S>::identity() + W * f + WW * g,
          V * f + (W * V + V * W) * g + W * (dt * df) + WW * (dt * dg)};
}

// The right-trivialized dexp(x) = sum_k ad(x)^k / (k+1)!, and its inverse.
template <class S>
JOUNCE_INLINE Blocks<S> right_dexp(const Vec3<S>& w, const Vec3<S>& v) {
  const Stumpff<S> c(dot(w, w));
  return ad_polynomial(w, v, c.c2, c.c3, S(c.c4 - c.c3 * 0.5), S((c.c5 * 3.0 - c.c4) * 0.5));
}
template <class S>
JOUNCE_INLINE Blocks<S> inverse_right_dexp(const Vec3<S>& w, const Vec3<S>& v) {
  const Cotangent<S> c(dot(w, w));
  return ad_polynomial(w, v, S(-0.5), c.e, S(0.0), c.de);
}

// Ad(exp(x)) = 1 + ad(x) dexp(x).
template <class S>
JOUNCE_INLINE Blocks<S> adjoint_of_exp(const Vec3<S>& w, const Vec3<S>& v, const Blocks<S>& dexp) {
  const Mat3<S> W = hat(w), V = hat(v);
  return {Mat3<S>::identity() + W * dexp.D, V * dexp.D + W * dexp.L};
}

}  // namespace jounce
