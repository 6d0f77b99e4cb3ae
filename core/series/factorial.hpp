// Factorials, which take Taylor coefficients to derivatives and back.
#pragma once

#include <type_traits>

#include "jounce/scalar/extended.hpp"

namespace jounce {

constexpr int kMostOrder = 100;

// k! and 1 / k! for the orders of Jacobians, the highest: 102! is far from overflow.
struct Factorials {
  double of[kMostOrder + 3], inverse[kMostOrder + 3];

  constexpr Factorials() : of{1.0}, inverse{1.0} {
    for (int k = 1; k < kMostOrder + 3; ++k) {
      of[k] = of[k - 1] * k;
      inverse[k] = inverse[k - 1] / k;
    }
  }
};
inline constexpr Factorials kFactorial;

// 1 / k, with as many digits as a scalar has.
template <class S>
JOUNCE_ALWAYS_INLINE auto reciprocal(int k) {
  using Constant = std::conditional_t<std::is_same_v<S, Extended>, Extended, double>;
  return Constant(1.0) / Constant(double(k));
}

}  // namespace jounce
