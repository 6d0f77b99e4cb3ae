// Twists and wrenches of a body from one representation to another (mueller, eq. 97 to 100 and 120).
//
// A representation says along which axes each half is taken and about which point. With the pose (R, p)
// and along the world's axes, moving the point from the body's origin to the world's adds
//   (1) v += p x w  to a twist,  n += p x f  to a wrench:
// the half that is added to is called bound, the other one free.
#pragma once

#include "jounce/kinematics/representation.hpp"
#include "jounce/scalar/dual.hpp"

namespace jounce {

struct Axes {
  bool angular_in_body, linear_in_body;
  bool at_world;  // about the world's origin, otherwise the body's
};

inline Axes axes_of(Representation r) {
  const bool body = r == Representation::body;
  return {body || r == Representation::mixed, body, r == Representation::spatial};
}

// Half of a twist or wrench, and whether it is taken along the axes of the body or of the world.
template <class S>
struct Half {
  Vec3<S> x;
  bool in_body;
};

// Along other axes; equal ones change nothing.
template <class S>
JOUNCE_INLINE Vec3<S> resolved(const Mat3<S>& R, const Half<S>& half, bool to_body) {
  if (half.in_body == to_body) return half.x;
  return to_body ? transposed(R, half.x) : R * half.x;
}

// Equation (1), from one point to another.
template <class S>
JOUNCE_INLINE Vec3<S> converted_bound(const Pose<S>& T, const Half<S>& bound, const Half<S>& free,
                                      bool from_world, bool to_world, bool to_body) {
  if (from_world == to_world) return resolved(T.R, bound, to_body);
  const Vec3<S> x = resolved(T.R, bound, false), lever = cross(T.p, resolved(T.R, free, false));
  return resolved(T.R, Half<S>{to_world ? x + lever : x - lever, false}, to_body);
}

template <class S>
JOUNCE_INLINE Motion<S> converted(const Pose<S>& T, const Axes& from, const Axes& to, const Motion<S>& x) {
  const Half<S> w{x.w, from.angular_in_body}, v{x.v, from.linear_in_body};
  return {resolved(T.R, w, to.angular_in_body),
          converted_bound(T, v, w, from.at_world, to.at_world, to.linear_in_body)};
}
template <class S>
JOUNCE_INLINE Force<S> converted(const Pose<S>& T, const Axes& from, const Axes& to, const Force<S>& x) {
  const Half<S> n{x.n, from.angular_in_body}, f{x.f, from.linear_in_body};
  return {converted_bound(T, n, f, from.at_world, to.at_world, to.angular_in_body),
          resolved(T.R, f, to.linear_in_body)};
}

// How a pose moves with a twist: dR = R hat(w) or hat(w) R, dp = R v, v, or v + w x p.
template <class S>
JOUNCE_INLINE Pose<S> pose_rate(const Pose<S>& T, const Axes& axes, const Motion<S>& x) {
  const Mat3<S> W = hat(x.w);
  const Vec3<S> v = resolved(T.R, Half<S>{x.v, axes.linear_in_body}, false);
  return {axes.angular_in_body ? T.R * W : W * T.R, axes.at_world ? v + cross(x.w, T.p) : v};
}

// The time derivative a of a twist's components x: the conversion differentiated by duals.
template <class S>
JOUNCE_INLINE Motion<S> converted_rate(const Pose<S>& T, const Axes& from, const Axes& to,
                                       const Motion<S>& x, const Motion<S>& a) {
  using D = Dual<S>;
  const auto vector = [](const Vec3<S>& y, const Vec3<S>& dy) {
    return Vec3<D>{{y.x, dy.x}, {y.y, dy.y}, {y.z, dy.z}};
  };
  const Pose<S> dT = pose_rate(T, from, x);
  const Pose<D> moving{{vector(T.R.x, dT.R.x), vector(T.R.y, dT.R.y), vector(T.R.z, dT.R.z)},
                       vector(T.p, dT.p)};
  const Motion<D> y = converted(moving, from, to, Motion<D>{vector(x.w, a.w), vector(x.v, a.v)});
  return {{y.w.x.d, y.w.y.d, y.w.z.d}, {y.v.x.d, y.v.y.d, y.v.z.d}};
}

}  // namespace jounce
