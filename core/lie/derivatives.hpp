// How the logarithm changes with its argument: the inverse of dexp.
#pragma once

#include "jounce/lie/group.hpp"

namespace jounce {

// Derivative by t of g = cotangent_remainder: below 1/4 by its series, above from
//   t g' = 1/8 - 3 g / 2 + t g^2 / 2,
// which follows from the derivative of the cotangent.
inline double cotangent_remainder_slope(double t, double g) {
  if (t >= 0.25) return (0.125 - 1.5 * g + 0.5 * t * g * g) / t;
  const double c[] = {1.0 / 720,          2.0 / 30240,
                      3.0 / 1209600,      4.0 / 47900160,
                      5.0 * 691.0 / 1307674368000.0, 6.0 / 74724249600.0,
                      7.0 * 3617.0 / 10670622842880000.0};
  double y = 0.0;
  for (int i = 6; i >= 0; --i) y = y * t + c[i];
  return y;
}

// The inverse of right_dexp at x = (w, v), below a full turn: 1 - ad(x) / 2 + g(ad(x)) ad(x)^2, whose L
// is the derivative of D along v as there.
inline BlockMap inverse_right_dexp(const Vec3<double>& w, const Vec3<double>& v) {
  const double t = dot(w, w), g = cotangent_remainder(t);
  const Mat3<double> W = hat(w), V = hat(v), WW = W * W;
  const double dg = 2.0 * dot(w, v) * cotangent_remainder_slope(t, g);
  return {Mat3<double>::identity() + W * -0.5 + WW * g, V * -0.5 + (W * V + V * W) * g + WW * dg};
}

}  // namespace jounce
