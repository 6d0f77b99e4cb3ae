// An explicit method as the numbers that its caller hands over. The list of methods is in Python
// (src/jounce/simulation/methods.py, `Method.packed`).
//
// Numbers: slopes, finishing moves, with_next_rates, munthe_kaas; for every slope but the first the
// slope at whose state it starts, its time in units of the step, and `slopes` weights; for every
// finishing move `slopes` weights.
#pragma once

#include <cstddef>

namespace jounce {

constexpr int kMostSlopes = 16;

struct Tableau {
  int slopes = 0, moves = 0;
  bool with_next_rates = false, munthe_kaas = false;
  const double* rows = nullptr;

  // Of slope i > 0.
  int start(int i) const { return int(row(i)[0]); }
  double time(int i) const { return i > 0 ? row(i)[1] : 0.0; }
  const double* weights(int i) const { return row(i) + 2; }
  const double* finish(int move) const {
    return rows + (slopes - 1) * (slopes + 2) + move * slopes;
  }

  // Which part of the step a finishing move takes.
  double share(int move) const {
    double all = 0.0;
    for (int j = 0; j < slopes; ++j) all += finish(move)[j];
    return all;
  }

  // Whether the numbers are a method; if so, reads it.
  bool read(const double* numbers, std::ptrdiff_t count) {
    constexpr int head = 4;
    if (count < head) return false;
    slopes = in_range(numbers[0]) ? int(numbers[0]) : 0;
    moves = in_range(numbers[1]) ? int(numbers[1]) : 0;
    with_next_rates = numbers[2] != 0.0;
    munthe_kaas = numbers[3] != 0.0;
    rows = numbers + head;
    if (!slopes || !moves || count != head + (slopes - 1) * (slopes + 2) + moves * slopes) return false;
    for (int i = 1; i < slopes; ++i) {
      if (!(row(i)[0] >= 0.0 && row(i)[0] < i)) return false;
    }
    return true;
  }

 private:
  static bool in_range(double x) { return x >= 1.0 && x <= kMostSlopes; }
  const double* row(int i) const { return rows + (i - 1) * (slopes + 2); }
};

}  // namespace jounce
