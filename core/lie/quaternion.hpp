// Quaternions (x, y, z, w) as rotations.
#pragma once

#include "jounce/lie/coefficients.hpp"
#include "jounce/lie/pose.hpp"
#include "jounce/scalar/angle.hpp"

namespace jounce {

// Quaternion of the rotation vector w.
template <class S>
JOUNCE_INLINE void quaternion_exp(const Vec3<S>& w, S* q) {
  const Stumpff<S> c(dot(w, w) * 0.25);  // at half the angle
  store(w * (c.c1 * 0.5), q);
  q[3] = c.c0;
}

// Rotation vector, of length at most pi, of a quaternion whose largest entry is not far from one.
template <class S>
JOUNCE_INLINE Vec3<S> quaternion_log(const S* q) {
  const S zero(0.0), sign = select(value(q[3]) < value(zero), S(-1.0), S(1.0)), w = q[3] * sign;
  const Vec3<S> u = Vec3<S>{q[0], q[1], q[2]} * sign;
  const S s = sqrt(dot(u, u)), half = first_quadrant_angle(s, w);
  // s is zero only where u is too small to be squared: there half / s = 1 / w
  const auto turns = value(s) > value(zero);
  return u * (select(turns, half, S(1.0)) / select(turns, s, w) * 2.0);
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

// `from`, turned by a rotation vector along its own axes; `to` may be the same.
template <class S>
JOUNCE_INLINE void turn_quaternion(const S* from, const Vec3<S>& w, S* to) {
  S turn[4], turned[4];
  quaternion_exp(w, turn);
  quaternion_product(from, turn, turned);
  normalize_quaternion(turned);
  for (int k = 0; k < 4; ++k) to[k] = turned[k];
}

// The rotation vector that turns `from` to `to`, of length at most pi.
template <class S, class F>
JOUNCE_INLINE Vec3<S> turn_between(const F* from, const S* to) {
  const S back[] = {S(-from[0]), S(-from[1]), S(-from[2]), S(from[3])};
  S turn[4];
  quaternion_product(back, to, turn);
  return quaternion_log(turn);
}

// Divides by the largest entry, so that squares neither underflow nor overflow; false if it is zero.
template <class S>
JOUNCE_INLINE bool scale_quaternion(S* q) {
  S most(0.0);
  for (int k = 0; k < 4; ++k) {
    const S size = select(value(q[k]) < value(S(0.0)), -q[k], q[k]);
    most = select(value(size) > value(most), size, most);
  }
  for (int k = 0; k < 4; ++k) q[k] = q[k] / most;
  return all(value(most) > value(S(0.0)));
}

// A positive multiple, by 2 to 4, of a rotation's unit quaternion with w >= 0: the row of 4 q q^T with
// the largest entry on the diagonal (Shepperd's choice), which is well conditioned. Where w is 0, the
// largest of x, y, z is positive.
template <class S>
JOUNCE_INLINE void quaternion_multiple(const Mat3<S>& R, S* q) {
  const S one(1.0), a = R.x.x, b = R.y.y, c = R.z.z;
  const S xx = one + a - b - c, yy = one - a + b - c, zz = one - a - b + c, ww = one + a + b + c;
  const S wx = R.y.z - R.z.y, wy = R.z.x - R.x.z, wz = R.x.y - R.y.x;
  const S xy = R.y.x + R.x.y, xz = R.z.x + R.x.z, yz = R.z.y + R.y.z;
  const S rows[4][4] = {{xx, xy, xz, wx}, {xy, yy, yz, wy}, {xz, yz, zz, wz}, {wx, wy, wz, ww}};
  for (int k = 0; k < 4; ++k) q[k] = rows[0][k];
  S most = xx;
  for (int i = 1; i < 4; ++i) {
    const auto better = value(rows[i][i]) > value(most);
    most = select(better, rows[i][i], most);
    for (int k = 0; k < 4; ++k) q[k] = select(better, rows[i][k], q[k]);
  }
  const S sign = select(value(q[3]) < value(S(0.0)), S(-1.0), S(1.0));
  for (int k = 0; k < 4; ++k) q[k] *= sign;
}

}  // namespace jounce
