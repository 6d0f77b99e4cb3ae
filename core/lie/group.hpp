// Unit quaternions (x, y, z, w), exponential and logarithm of SO(3) and SE(3), and how the exponential
// changes with its argument.
#pragma once

#include "jounce/lie/coefficients.hpp"
#include "jounce/lie/pose.hpp"

namespace jounce {

// Quaternion of the rotation vector w.
template <class S>
JOUNCE_INLINE void quaternion_exp(const Vec3<S>& w, S* q) {
  const Stumpff<S> c(dot(w, w) * 0.25);  // at half the angle
  store(w * (c.c1 * 0.5), q);
  q[3] = c.c0;
}

// Rotation vector of a unit quaternion, of length at most pi.
inline Vec3<double> quaternion_log(const double* q) {
  const double sign = q[3] < 0.0 ? -1.0 : 1.0;
  const Vec3<double> u = Vec3<double>{q[0], q[1], q[2]} * sign;
  const double s = std::sqrt(dot(u, u));
  const double half = std::atan2(s, q[3] * sign);
  return u * (s < 1e-160 ? 2.0 : 2.0 * half / s);
}

template <class S>
JOUNCE_INLINE void quaternion_product(const S* a, const S* b, S* c) {
  const Vec3<S> u{a[0], a[1], a[2]}, v{b[0], b[1], b[2]};
  const Vec3<S> w = u * b[3] + v * a[3] + cross(u, v);
  c[3] = a[3] * b[3] - dot(u, v);
  store(w, c);
}

template <class S>
JOUNCE_INLINE void normalize_quaternion(S* q) {
  const S s = S(1.0) / quaternion_norm(q);
  for (int k = 0; k < 4; ++k) q[k] *= s;
}

// The map V(w) with exp(w, v) = (exp w, V(w) v), and its inverse.
inline Vec3<double> translation(const Vec3<double>& w, const Vec3<double>& v) {
  const Stumpff<double> c(dot(w, w));
  const Vec3<double> x = cross(w, v);
  return v + x * c.c2 + cross(w, x) * c.c3;
}
inline Vec3<double> inverse_translation(const Vec3<double>& w, const Vec3<double>& v) {
  const Vec3<double> x = cross(w, v);
  return v - x * 0.5 + cross(w, x) * cotangent_remainder(dot(w, w));
}

// A linear map of se(3) that treats both halves alike: [[D, 0], [L, D]].
struct BlockMap {
  Mat3<double> D, L;
};

// The right-trivialized dexp(x) = sum_k ad(x)^k / (k+1)! at x = (w, v). There ad(w, v) is
// hat(w + eps v) with a dual unit eps, so that L is the derivative of D along v.
inline BlockMap right_dexp(const Vec3<double>& w, const Vec3<double>& v) {
  const Stumpff<double> c(dot(w, w));
  const Mat3<double> W = hat(w), V = hat(v), WW = W * W;
  const double dt = 2.0 * dot(w, v), dc2 = c.c4 - 0.5 * c.c3, dc3 = 0.5 * (3.0 * c.c5 - c.c4);
  return {Mat3<double>::identity() + W * c.c2 + WW * c.c3,
          V * c.c2 + (W * V + V * W) * c.c3 + W * (dt * dc2) + WW * (dt * dc3)};
}

// Ad(exp(x)) = 1 + ad(x) dexp(x).
inline BlockMap adjoint_of_exp(const Vec3<double>& w, const Vec3<double>& v, const BlockMap& dexp) {
  const Mat3<double> W = hat(w), V = hat(v);
  return {Mat3<double>::identity() + W * dexp.D, V * dexp.D + W * dexp.L};
}

}  // namespace jounce
