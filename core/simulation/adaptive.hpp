// Motions at given times by steps whose length follows from the motion, each lane of a pack with its
// own. How a step is made is the stepper's: `EmbeddedStepper` (embedded_step.hpp) tries one and says
// its error, `TaylorStepper` (taylor.hpp) knows beforehand how long it may be.
//
// A motion is followed in portions: so many steps, and as far as the times at hand reach. A step that
// leads beyond the last of these, where more follow, is left to be done again.
#pragma once

#include <cmath>
#include <limits>

#include "jounce/simulation/rates.hpp"

namespace jounce {

struct Tolerance {
  double relative, absolute;
};

// What a coordinate and a rate may be wrong by in a step: relative to them, absolute for turns.
// `of(k)` are nq + nv of them, turns being three rates of a rotation.
template <class S, class P>
void allowed_errors(const Tree<P>& tree, const Tolerance& by, const S* q, const S* s, S* xi, S* rates) {
  for (const Node<P>& node : tree.nodes) {
    if (node.nv == 1) {
      xi[node.v] = by.absolute + magnitude(q[node.q]) * by.relative;
      continue;
    }
    for (int k = 0; k < 3; ++k) xi[node.v + k] = S(by.absolute + by.relative);
    for (int k = 3; k < node.nv; ++k) {
      xi[node.v + k] = by.absolute + magnitude(q[node.q + k + 1]) * by.relative;
    }
  }
  for (int k = 0; k < tree.nv; ++k) rates[k] = by.absolute + magnitude(s[k]) * by.relative;
}

// Where a lane is.
struct Journey {
  enum Status { under_way, arrived, stuck };
  static constexpr double kStretch = 1.05;  // of a step that then ends where it must, within its safety
  double t = 0.0, t_low = 0.0;  // the time, and what it lacks
  double h = 0.0, past = 0.0;   // the step to try next, and what the stepper keeps of the last one
  std::ptrdiff_t due = 0;       // the first row that is not written
  Status status = under_way;
  bool moving = true;  // in this portion
  std::ptrdiff_t steps = 0;  // taken in this portion
  double stop = 0.0, left = 0.0, tried = 0.0, end = 0.0;

  // How long is left to a time that a step must not pass.
  void aim(double at) {
    stop = at;
    left = (stop - t) - t_low;
  }
  // The step that is tried, as long as wanted; false if it would not move the time.
  bool begin() {
    const bool lands = h * kStretch >= left;  // not where h is NaN
    tried = lands ? left : h;
    const double next = std::nextafter(std::abs(t), std::numeric_limits<double>::infinity());
    if (!lands && !(h > 16.0 * (next - std::abs(t)))) return false;
    end = lands ? stop : t + (tried + t_low);
    return true;
  }
  void finish() {
    t_low = end == stop ? 0.0 : (tried + t_low) - (end - t);
    t = end;
  }
};

// A tape has `rows` times, `time(row)`, the last time of all `horizon`, the number of states `count`,
// rows of controls if `has_controls()`, at which steps end where they have `corners`, and
// `store(lane, row, q, v)`. If it `keeps()` steps, `keep(lane, row, t, h, q, v)` is told where each began.
template <class S, class P, class Stepper, class Tape>
class AdaptiveMotion {
 public:
  static constexpr int kLanes = lanes<S>;

  AdaptiveMotion(const Tree<P>& tree, const Tape& tape, Stepper& stepper, Journey* journeys)
      : tree_(tree), tape_(tape), stepper_(stepper), at_(journeys) {}

  // At most so many steps. Returns a singular node or -1.
  int run(std::ptrdiff_t budget) {
    for (int i = 0; i < kLanes; ++i) {
      at_[i].moving = i < tape_.count && at_[i].status != Journey::stuck;
      if (at_[i].due >= tape_.rows) rest(i);
    }
    int singular = -1;
    for (; budget > 0 && is_moving() && singular < 0; --budget) singular = step();
    return singular;
  }

 private:
  bool is_moving() const {
    for (int i = 0; i < kLanes; ++i) {
      if (at_[i].moving) return true;
    }
    return false;
  }
  // Nothing is left to do in this portion.
  void rest(int i) {
    at_[i].moving = false;
    if (at_[i].status == Journey::under_way && is_last()) at_[i].status = Journey::arrived;
  }
  bool is_last() const { return tape_.time(tape_.rows - 1) >= tape_.horizon; }

  int step() {
    for (int i = 0; i < kLanes; ++i) {
      if (!at_[i].moving) continue;
      at_[i].aim(tape_.corners ? tape_.time(at_[i].due) : tape_.horizon);
      if (tape_.has_controls()) stepper_.load_start(tape_, i, at_[i].due, share(i, at_[i].t));
    }
    S h;
    for (int i = 0; i < kLanes; ++i) set_lane(h, i, at_[i].h);
    int singular = stepper_.begin(h);
    for (int i = 0; i < kLanes; ++i) {
      Journey& at = at_[i];
      at.h = lane(h, i);
      if (at.moving && !at.begin()) {
        at.status = Journey::stuck;
        at.moving = false;
      }
      set_lane(h, i, at.moving ? at.tried : 0.0);
      if (at.moving && tape_.has_controls()) stepper_.load_end(tape_, i, at.due, share(i, at.end));
    }
    if (singular >= 0 || !is_moving()) return singular;
    const S error = stepper_.attempt(h, singular);
    bool good[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      const bool is_fine = lane(error, i) <= 1.0;
      good[i] = at_[i].moving && is_fine;
      if (!is_fine) singular = -1;  // the step was too long, or the lane rests where numbers are too large
    }
    store(good);
    for (int i = 0; i < kLanes; ++i) {
      Journey& at = at_[i];
      if (!at.moving) continue;
      if (good[i] && !is_last() && at.end > tape_.time(tape_.rows - 1)) {
        rest(i);  // to be done again with the times that follow
        good[i] = false;
        continue;
      }
      if (!good[i] && !Stepper::kRetries) {  // numbers are too large
        at.status = Journey::stuck;
        at.moving = false;
        continue;
      }
      double past = at.past;
      const double wanted = stepper_.next(lane(error, i), at.tried, past);
      if (good[i] && tape_.keeps()) keep(i);
      const bool cut = good[i] && at.end == at.stop;  // says little about the step after it
      at.h = cut && at.h > wanted ? at.h : wanted;
      if (!cut) at.past = past;
      if (good[i]) at.finish();
      if (at.due >= tape_.rows) rest(i);
    }
    stepper_.accept(good);
    return singular;
  }

  // Which part of the interval before its next row a lane has passed at a time.
  double share(int i, double time) const {
    if (!tape_.linear) return 0.0;
    const double begin = tape_.time(at_[i].due - 1);
    return (time - begin) / (tape_.time(at_[i].due) - begin);
  }

  void keep(int i) {
    Journey& at = at_[i];
    const auto [q, v] = stepper_.state();
    tape_.keep(i, at.steps++, at.t + at.t_low, at.tried, q, v);
  }

  // Writes the states at all times that a good step passed.
  void store(const bool* good) {
    for (;;) {
      S x(0.0);
      bool passed[kLanes], any = false, inner = false;
      for (int i = 0; i < kLanes; ++i) {
        const Journey& at = at_[i];
        passed[i] = good[i] && at.due < tape_.rows && tape_.time(at.due) <= at.end;
        if (!passed[i]) continue;
        any = true;
        const double time = tape_.time(at.due);
        inner = inner || time != at.end;
        set_lane(x, i, time == at.end ? at.tried : (time - at.t) - at.t_low);
      }
      if (!any) return;
      const auto [q, v] = inner ? stepper_.between(x) : stepper_.end();
      for (int i = 0; i < kLanes; ++i) {
        if (passed[i]) tape_.store(i, at_[i].due++, q, v);
      }
    }
  }

  const Tree<P>& tree_;
  const Tape& tape_;
  Stepper& stepper_;
  Journey* at_;
};

}  // namespace jounce
