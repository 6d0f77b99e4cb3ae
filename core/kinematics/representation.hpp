// The four representations of a twist (mueller, Sec. 2), given the body's pose (R, p) in the
// world and the body-fixed twist (w, v):
//   body    (w, v)                  both in the body's frame
//   spatial (R w, R v + p x R w)    at the world's origin, along the world's axes
//   hybrid  (R w, R v)              at the body's origin, along the world's axes
//   mixed   (w, R v)                angular part along the body's axes, linear along the world's
#pragma once

#include "../spatial/spatial.hpp"

namespace jounce {

enum class Representation : int { body = 0, spatial = 1, hybrid = 2, mixed = 3 };

template <class S>
JOUNCE_INLINE Motion<S> represented(Representation r, const Pose<S>& t, const Motion<S>& m) {
  switch (r) {
    case Representation::spatial: return to_parent(t, m);
    case Representation::hybrid: return {t.R * m.w, t.R * m.v};
    case Representation::mixed: return {m.w, t.R * m.v};
    default: return m;
  }
}

// The derivative of the represented components: `twist` is the body-fixed twist of the frame,
// `m` the body-fixed vector to represent and `dm` the derivative of its components.
template <class S>
JOUNCE_INLINE Motion<S> represented_rate(Representation r, const Pose<S>& t, const Motion<S>& twist,
                                         const Motion<S>& m, const Motion<S>& dm) {
  Motion<S> x = dm;
  switch (r) {
    case Representation::spatial:  // d/dt (Ad m) = Ad (dm + ad_twist m)
      x.w += cross(twist.w, m.w);
      x.v += cross(twist.w, m.v) + cross(twist.v, m.w);
      break;
    case Representation::hybrid:
      x.w += cross(twist.w, m.w);
      x.v += cross(twist.w, m.v);
      break;
    case Representation::mixed:
      x.v += cross(twist.w, m.v);
      break;
    default: break;
  }
  return represented(r, t, x);
}

template <class S>
JOUNCE_INLINE void store(const Vec3<S>& x, S* out, int stride = 1) {
  out[0] = x.x; out[stride] = x.y; out[2 * stride] = x.z;
}
template <class S>
JOUNCE_INLINE void store(const Motion<S>& m, S* out, int stride = 1) {
  store(m.w, out, stride);
  store(m.v, out + 3 * stride, stride);
}

// Row-major 4x4.
template <class S>
JOUNCE_INLINE void store(const Pose<S>& t, S* m) {
  const S rows[] = {t.R.x.x, t.R.y.x, t.R.z.x, t.p.x, t.R.x.y, t.R.y.y, t.R.z.y, t.p.y,
                    t.R.x.z, t.R.y.z, t.R.z.z, t.p.z, S(0.0),  S(0.0),  S(0.0),  S(1.0)};
  for (int k = 0; k < 16; ++k) m[k] = rows[k];
}

}  // namespace jounce
