// Rotations and poses.
#pragma once

#include "jounce/vec/vec3.hpp"

namespace jounce {

// A child frame seen from its parent: x_parent = R x_child + p.
template <class S>
struct Pose {
  Mat3<S> R;
  Vec3<S> p;
};

template <class A, class B>
JOUNCE_INLINE auto operator*(const Pose<A>& a, const Pose<B>& b) -> Pose<Product<A, B>> {
  return {a.R * b.R, a.R * b.p + a.p};
}
template <class A>
JOUNCE_INLINE Pose<A> inverse(const Pose<A>& a) {
  return {transpose(a.R), -transposed(a.R, a.p)};
}

// Row-major 4x4 matrices.
template <class S>
JOUNCE_INLINE void store(const Pose<S>& t, S* m) {
  const S rows[] = {t.R.x.x, t.R.y.x, t.R.z.x, t.p.x, t.R.x.y, t.R.y.y, t.R.z.y, t.p.y,
                    t.R.x.z, t.R.y.z, t.R.z.z, t.p.z, S(0.0),  S(0.0),  S(0.0),  S(1.0)};
  for (int k = 0; k < 16; ++k) m[k] = rows[k];
}
template <class S>
JOUNCE_INLINE Pose<S> pose_from(const S* m) {
  return {{{m[0], m[4], m[8]}, {m[1], m[5], m[9]}, {m[2], m[6], m[10]}}, {m[3], m[7], m[11]}};
}

template <class S>
JOUNCE_INLINE S quaternion_norm(const S* q) {
  return sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
}

// Rotation matrix of a unit quaternion (x, y, z, w).
template <class S>
JOUNCE_INLINE Mat3<S> rotation(const S* q) {
  const S x = q[0], y = q[1], z = q[2], w = q[3], two(2.0), one(1.0);
  return {{one - two * (y * y + z * z), two * (x * y + w * z), two * (x * z - w * y)},
          {two * (x * y - w * z), one - two * (x * x + z * z), two * (y * z + w * x)},
          {two * (x * z + w * y), two * (y * z - w * x), one - two * (x * x + y * y)}};
}

// R times a rotation by an angle about z, given its sine and cosine.
template <class A, class S>
JOUNCE_INLINE Mat3<S> turned(const Mat3<A>& r, const S& sine, const S& cosine) {
  return {r.x * cosine + r.y * sine, r.y * cosine - r.x * sine,
          {S(r.z.x), S(r.z.y), S(r.z.z)}};
}

}  // namespace jounce
