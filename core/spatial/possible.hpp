// Which inertias rigid bodies can have.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "jounce/spatial/spatial.hpp"

namespace jounce {

// Whether the pivots of L D L^T are positive.
inline bool positive_definite(const Sym3<double>& s) {
  const double d1 = s.xx, l21 = s.xy / d1, l31 = s.xz / d1;
  const double d2 = s.yy - l21 * s.xy, e = s.yz - l21 * s.xz;
  const double d3 = s.zz - l31 * s.xz - e * e / d2;
  return d1 > 0 && d2 > 0 && d3 > 0;
}

// Whether a body can have this inertia, for certain; the opposite is for others to judge. The sum of
// two principal moments is not below the third exactly if the second moments of mass about the
// center of mass, trace(I)/2 - I, are positive semidefinite. The slack is below that of
// inertia.violation in Python: half a millionth of the moments, and rounding of I about the origin.
inline bool surely_possible(const RigidInertia<double>& j) {
  const Sym3<double>& I = j.I;
  const double largest = std::max({std::abs(I.xx), std::abs(I.xy), std::abs(I.yy), std::abs(I.xz),
                                   std::abs(I.yz), std::abs(I.zz)});
  if (j.m == 0) return largest == 0 && j.h.x == 0 && j.h.y == 0 && j.h.z == 0;
  if (!(j.m > 0) || !std::isfinite(largest)) return false;
  const Sym3<double> c = shifted(j.h * (-1.0 / j.m), j).I;
  const double moment = std::max({std::abs(c.xx), std::abs(c.yy), std::abs(c.zz)});
  const double rounding = 4 * std::numeric_limits<double>::epsilon() * largest;
  const double trace = c.xx + c.yy + c.zz, slack = 0.5e-6 * moment + rounding;
  if (trace == 0 && std::max({std::abs(c.xy), std::abs(c.xz), std::abs(c.yz)}) == 0) {
    return moment == 0;  // a point
  }
  const double half = 0.5 * (trace + slack);
  return positive_definite({half - c.xx, -c.xy, half - c.yy, -c.xz, -c.yz, half - c.zz});
}

}  // namespace jounce
