// Rows of a pack of states on their way to memory that the caches do not hold.
//
// There a store reads its line first, unless whole lines are written past the caches. So the numbers of each state wait
// in a window that the inner caches hold, and leave in lines. Number k of a state is written anywhere between the numbers
// that have left and those that fit. Other threads see them after JOUNCE_STORES_ARE_SEEN, once for many states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "jounce/vec/columns.hpp"

namespace jounce {

template <int W>
class Window {
 public:
  static constexpr std::size_t kLine = 8;
  // So many numbers of each state wait at least, until they leave.
  static constexpr std::size_t kWaiting = 256;

  // Numbers of all states, if those of a state are written in rows.
  static constexpr std::size_t size(std::size_t row) { return W * lane_size(row) + kLine; }

  // `to`: the first state, and how far it is to the next; `memory`: begins at a line.
  Window(double* to, std::ptrdiff_t apart, std::size_t row, double* memory)
      : to_(to),
        apart_(apart),
        memory_(memory + in_line(to)),
        lane_(std::ptrdiff_t(lane_size(row) - kLine) + (apart & std::ptrdiff_t(kLine - 1))) {}

  // Number k of the first state, which is `apart()` from that of the next.
  JOUNCE_INLINE double* at(std::size_t k) const { return memory_ + (k - first_); }
  JOUNCE_INLINE std::ptrdiff_t apart() const { return lane_; }

  // The numbers before `done` are complete.
  JOUNCE_INLINE void complete(std::size_t done) {
    if (done >= left_ + kWaiting) leave(done);
  }
  // All are.
  JOUNCE_SHARED void finish(std::size_t size) const {
    for (int i = 0; i < W; ++i) write(i, begin_of_line(i, left_), size);
  }

 private:
  // Two lines before those that wait, then up to two rows, in whole lines; and one more, see `lane_`.
  static constexpr std::size_t lane_size(std::size_t row) {
    return (2 * row + kWaiting + 3 * kLine) / kLine * kLine + kLine;
  }
  static std::size_t in_line(const double* x) { return reinterpret_cast<std::uintptr_t>(x) / sizeof(double) % kLine; }

  double* target(int i) const { return to_ + i * apart_; }
  std::size_t begin_of_line(int i, std::size_t k) const {
    const std::size_t before = in_line(target(i) + k);
    return k > before ? k - before : 0;
  }

  // Whole lines leave; the last one, of which a part is complete, moves to the front.
  JOUNCE_SHARED void leave(std::size_t done) {
    const std::size_t kept = done / kLine * kLine - kLine;
    for (int i = 0; i < W; ++i) {
      write(i, begin_of_line(i, left_), begin_of_line(i, done));
      double* const own = memory_ + i * lane_;
      std::memcpy(own, own + (kept - first_), 2 * kLine * sizeof(double));
    }
    left_ = done, first_ = kept;
  }
  void write(int i, std::size_t k, std::size_t end) const {
    const double* from = memory_ + i * lane_ + (k - first_);
    double *to = target(i) + k, *const last = to + (end - k);
    while (to < last && in_line(to)) *to++ = *from++;
    for (; last - to >= std::ptrdiff_t(kLine); to += kLine, from += kLine) {
      for (std::size_t part = 0; part < kLine; part += W) Pack<W>::load(from + part).store_past_caches(to + part);
    }
    while (to < last) *to++ = *from++;
  }

  double* to_;
  std::ptrdiff_t apart_;
  double* memory_;       // as far from the begin of a line as `to`
  std::ptrdiff_t lane_;  // the same of the next state
  std::size_t left_ = 0, first_ = 0;  // how many have left, and the first in the window
};

}  // namespace jounce
