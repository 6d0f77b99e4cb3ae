// The four representations of a twist (mueller, Sec. 2), given the body's pose (R, p) in the
// world and the body-fixed twist (w, v):
//   body    (w, v)                  both in the body's frame
//   spatial (R w, R v + p x R w)    at the world's origin, along the world's axes
//   hybrid  (R w, R v)              at the body's origin, along the world's axes
//   mixed   (w, R v)                angular part along the body's axes, linear along the world's
#pragma once

#include "jounce/spatial/spatial.hpp"

namespace jounce {

enum class Representation : int { body = 0, spatial = 1, hybrid = 2, mixed = 3 };
constexpr const char* kRepresentations[] = {"body", "spatial", "hybrid", "mixed"};

template <class S>
JOUNCE_INLINE Motion<S> represented(Representation r, const Pose<S>& t, const Motion<S>& m) {
  switch (r) {
    case Representation::spatial: return to_parent(t, m);
    case Representation::hybrid: return {t.R * m.w, t.R * m.v};
    case Representation::mixed: return {m.w, t.R * m.v};
    default: return m;
  }
}

// What a constant body-fixed vector m gains, in body axes, because the axes and the origin of its
// representation move against it with the frame's twist: d/dt (X m) = X turning(twist, m).
template <class S>
JOUNCE_INLINE Motion<S> turning(Representation r, const Motion<S>& twist, const Motion<S>& m) {
  switch (r) {
    case Representation::spatial: return bracket(twist, m);
    case Representation::hybrid: return {cross(twist.w, m.w), cross(twist.w, m.v)};
    case Representation::mixed: return {Vec3<S>::zero(), cross(twist.w, m.v)};
    default: return Motion<S>::zero();
  }
}

// The derivative of the represented components: `twist` is the body-fixed twist of the frame,
// `m` the body-fixed vector to represent and `dm` the derivative of its components.
template <class S>
JOUNCE_INLINE Motion<S> represented_rate(Representation r, const Pose<S>& t, const Motion<S>& twist,
                                         const Motion<S>& m, const Motion<S>& dm) {
  Motion<S> x = dm;
  x += turning(r, twist, m);
  return represented(r, t, x);
}

// The body-fixed wrench of one that is given in a representation: it has the same power, so it moves
// by the transpose of what moves the twist.
template <class S>
JOUNCE_INLINE Force<S> body_wrench(Representation r, const Pose<S>& t, const Force<S>& x) {
  switch (r) {
    case Representation::spatial: return to_child(t, x);
    case Representation::hybrid: return {transposed(t.R, x.n), transposed(t.R, x.f)};
    case Representation::mixed: return {x.n, transposed(t.R, x.f)};
    default: return x;
  }
}

}  // namespace jounce
