// An explicit method with an estimate of its error and a polynomial along its step, as numbers that
// its caller hands over (src/jounce/simulation/adaptive.py, `packed`).
//
// Numbers: how many those of the tableau are, and these (tableau.hpp); the power of the error by which
// steps are scaled; how many rows of errors, of further slopes and of the polynomial follow; these rows,
// each of kMostSlopes weights, the slope at the end of the step coming after those of the stages.
#pragma once

#include "jounce/simulation/tableau.hpp"

namespace jounce {

struct Embedded {
  Tableau tableau;
  double power = 0.0;
  int errors = 0, more = 0, dense = 0;

  const double* error_row(int i) const { return rows_ + i * kMostSlopes; }
  const double* more_row(int i) const { return rows_ + (errors + i) * kMostSlopes; }
  const double* dense_row(int i) const { return rows_ + (errors + more + i) * kMostSlopes; }
  int slopes() const { return tableau.slopes + 1 + more; }  // with that at the end

  // Whether the numbers are such a method; if so, reads it.
  bool read(const double* numbers, std::ptrdiff_t count) {
    constexpr int head = 4;
    if (count < 1 || !(numbers[0] >= 0.0 && numbers[0] <= double(count - 1 - head))) return false;
    const auto first = std::ptrdiff_t(numbers[0]);
    const double* rest = numbers + 1 + first;
    power = rest[0];
    for (int i = 1; i < head; ++i) {
      if (!(rest[i] >= 0.0 && rest[i] <= kMostSlopes)) return false;
    }
    errors = int(rest[1]), more = int(rest[2]), dense = int(rest[3]);
    rows_ = rest + head;
    const std::ptrdiff_t left = count - 1 - first - head;
    if (left != std::ptrdiff_t(errors + more + dense) * kMostSlopes) return false;
    if (!tableau.read(numbers + 1, first) || !tableau.munthe_kaas || tableau.moves != 1) return false;
    return power > 0.0 && (errors == 1 || errors == 2) && slopes() <= kMostSlopes;
  }

 private:
  const double* rows_ = nullptr;
};

}  // namespace jounce
