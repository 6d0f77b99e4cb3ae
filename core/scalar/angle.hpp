// The angle of a point in the first quadrant, within 1 ulp or so, for any scalar.
//
// With t the tangent of the angle to the nearest multiple of pi/4, |t| <= tan(pi/8): there
// atan(t) = t + t^3 P(t^2), P a near-minimax polynomial (Chebyshev interpolation) good to 3e-17.
#pragma once

#include "jounce/scalar/sincos.hpp"

namespace jounce {

namespace detail {
constexpr double kAtan[] = {-0.33333333333333330156, 0.19999999999995516545,  -0.14285714284665680761,
                            0.11111111015187018721,  -0.090909045753064890845, 0.076921831253768920895,
                            -0.066645105255089365988, 0.058581409048663282818, -0.050854078345894842573,
                            0.039230447784793095235, -0.019175404711104933678};
constexpr double kTanEighth = 0.41421356237309503;  // of pi/8
}  // namespace detail

// atan2(y, x) for x, y >= 0, not both zero: 0 ... pi/2.
template <class S>
JOUNCE_ALWAYS_INLINE S first_quadrant_angle(const S& y, const S& x) {
  using namespace detail;
  const auto low = value(y) <= value(x * kTanEighth), high = value(x) <= value(y * kTanEighth);
  const S top = select(low, y, select(high, -x, y - x));
  const S bottom = select(low, x, select(high, y, y + x));
  // multiples of pi/4 as the nearest double and the rest
  const S near = select(low, S(0.0), select(high, S(1.5707963267948966), S(0.78539816339744831)));
  const S rest = select(low, S(0.0), select(high, S(6.123233995736766e-17), S(3.061616997868383e-17)));
  const S t = top / bottom, tt = t * t;
  return near + (t + (rest + t * tt * polynomial(kAtan, tt)));
}

}  // namespace jounce
