// Factorials, which take Taylor coefficients to derivatives and back.
#pragma once

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

}  // namespace jounce
