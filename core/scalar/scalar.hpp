// What a kernel asks of its scalar type S: + - * /, sqrt, select(mask, a, b), any(mask), all(mask).
// Branch on structure with `if`; on a scalar's value only through select.
#pragma once

#include <cmath>
#include <cstdint>

#include "jounce/scalar/platform.hpp"

namespace jounce {

constexpr double kEpsilon = 2.220446049250313e-16;

// Number of states that one scalar holds.
template <class S>
inline constexpr int lanes = 1;

JOUNCE_ALWAYS_INLINE double sqrt(double x) { return std::sqrt(x); }
JOUNCE_ALWAYS_INLINE double select(bool mask, double a, double b) { return mask ? a : b; }
JOUNCE_ALWAYS_INLINE bool any(bool mask) { return mask; }
JOUNCE_ALWAYS_INLINE bool all(bool mask) { return mask; }

// The value without its tangent, for decisions (comparisons, thresholds).
JOUNCE_ALWAYS_INLINE double value(double x) { return x; }

// Whether a constant is zero, with its tangent, so that what it multiplies may be left out.
JOUNCE_ALWAYS_INLINE bool is_zero(double x) { return x == 0.0; }

JOUNCE_ALWAYS_INLINE double lane(double x, int) { return x; }
JOUNCE_ALWAYS_INLINE void set_lane(double& x, int, double y) { x = y; }

// The larger of two numbers, NaN if one of them is; and a number without its sign.
template <class S>
JOUNCE_ALWAYS_INLINE S larger(const S& a, const S& b) {
  return select(a < b, b, select(b <= a, a, a + b));
}
template <class S>
JOUNCE_ALWAYS_INLINE S magnitude(const S& x) {
  return select(x < S(0.0), -x, x);
}

}  // namespace jounce
