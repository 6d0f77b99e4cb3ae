// Steps of a Runge-Kutta pair of Munthe-Kaas type, with the error that its own weights tell.
//
// In the coordinates xi of q = q_0 exp(xi), with slopes (xi', s') at the stages (step.hpp):
//   (1) error = dt sum_j e_j (xi_j', s_j'), in units of what is allowed, by its root mean square;
//       of two such sums e and d:  |e|^2 / sqrt(|e|^2 + 0.01 |d|^2)   (Hairer, Norsett, Wanner, II.10)
//   (2) along the step, x from 0 to 1, y(x) = x (c_0 + (1 - x) (c_1 + x (c_2 + (1 - x) (...)))),
//       c_0 = y(1), c_1 = dt y'(0) - c_0, c_2 = 2 c_0 - dt (y'(0) + y'(1)), further ones weighted sums.
//   (3) the step after one of length h has H = 0.85 h error^-power or, where steps become shorter, H^2 / H_0,
//       with that of the step before it (Gustafsson, ACM Transactions on Mathematical Software 20, 1994)
// The acceleration at the end serves the next step; xi' does not, which has other coordinates.
#pragma once

#include <algorithm>
#include <utility>

#include "jounce/simulation/adaptive.hpp"
#include "jounce/simulation/embedded.hpp"
#include "jounce/simulation/step.hpp"
#include "jounce/vec/numbers.hpp"

namespace jounce {

constexpr int kMostTerms = 3 + 8;  // of the polynomial

// How many numbers a row of n has, so that rows of doubles fill registers.
template <class S>
constexpr int row_width(int n) {
  return std::is_same_v<S, double> ? (n + 7) / 8 * 8 : n;
}

// to = h sum_j w_j x_j over rows of so many numbers.
template <class S>
JOUNCE_INLINE void add_rows(const S& h, const double* w, int count, const S* x, int width, S* to) {
  if constexpr (std::is_same_v<S, double>) {
    for (int k = 0; k < width; k += 8) {
      const Eight sum = sum_of<8>(count - 1, [&](int j, Eight& part) JOUNCE_INLINED {
        part.add(w[j], Eight::load(x + j * width + k));
      });
      (sum * Eight::all(h)).store(to + k);
    }
  } else {
    add_weighted((const S*)nullptr, h, w, count, x, width, to);
  }
}

template <class S>
struct EmbeddedWork {
  AccelerationWork<S> dynamics;
  int width;  // of rows (xi, s)
  S *q, *s, *q_end, *s_end, *q_stage, *s_stage, *q_out, *v_out;
  S *slopes;  // (kMostSlopes, width): xi' and s' of the stages
  S *v, *move, *allowed, *terms;
  ControlWork<S> control;
  ControlWork<double> lane_control;  // of one of them

  template <class P>
  EmbeddedWork(const Tree<P>& tree, Arena& arena)
      : dynamics(tree, arena), width(row_width<S>(2 * tree.nv)), control(tree, arena), lane_control(tree, arena) {
    for (S** x : {&q, &q_end, &q_stage, &q_out}) *x = arena.take<S>(tree.nq);
    for (S** x : {&s, &s_end, &s_stage, &v_out, &v}) *x = arena.take<S>(tree.nv);
    for (S** x : {&move, &allowed}) *x = arena.take<S>(width);
    slopes = arena.take<S>(std::size_t(kMostSlopes) * width);
    terms = arena.take<S>(std::size_t(kMostTerms) * width);
  }
};

template <class S, class P>
class EmbeddedStepper {
 public:
  static constexpr bool kRetries = true;  // a step with too large an error is tried again, shorter
  // What acts: the rows of controls are those of `work.control`.
  struct Acting {
    bool controlled = false, references = false, linear = false, passive = false;
    const unsigned char* prescribed = nullptr;
    const S* servo = nullptr;
  };

  // A state is `alone` if it is not one of a batch, all of which are to be computed alike.
  EmbeddedStepper(const Tree<P>& tree, const Embedded& pair, const Tolerance& by, const Acting& acting, bool alone,
                  EmbeddedWork<S>& work)
      : tree_(tree), pair_(pair), by_(by), controlled_(acting.controlled), alone_(alone),
        forces_{work.control.now, work.control.next, work.control.between, work.control.total,
                control_row(tree, false, acting.references), acting.linear, acting.prescribed, acting.servo,
                acting.passive},
        work_(work) {
    for (int k = 0; k < kMostSlopes * work.width; ++k) work.slopes[k] = S(0.0);
  }

  // The controls of lane i at the start of a step, and at its end: a part of the interval before row `due`.
  template <class Tape>
  void load_start(const Tape& tape, int i, std::ptrdiff_t due, double share) {
    load(tape, i, due, share, work_.control.now);
  }
  template <class Tape>
  void load_end(const Tape& tape, int i, std::ptrdiff_t due, double share) {
    if (forces_.linear) load(tape, i, due, share, work_.control.next);
  }

  // Lanes without a state of their own have no forces, and where they are is their reference.
  void start(const S* q, const S* v) {
    for (int k = 0; k < tree_.nq; ++k) work_.q[k] = q[k];
    to_parent_axes(tree_, q, v, work_.s);
    for (S* row : {work_.control.now, work_.control.next}) {
      for (int k = 0; k < tree_.nv; ++k) row[k] = S(0.0);
      for (int k = 0; k < forces_.row.references; ++k) row[tree_.nv + k] = q[k];
    }
  }

  // The slope at the start; steps h that are zero become first ones. Returns a singular node or -1.
  int begin(S& h) {
    int singular = -1;
    if (!has_slope_ || controlled_) {
      for (int k = 0; k < tree_.nv; ++k) work_.slopes[k] = work_.s[k];
      singular = acceleration(0, 0.0, work_.q, work_.s);
      has_slope_ = true;
    }
    has_terms_ = false;
    if (any(h <= S(0.0))) h = select(h > S(0.0), h, first_step());
    return singular;
  }

  // The error of a step of length h in units of what is allowed.
  S attempt(const S& h, int& singular) {
    const int nv = tree_.nv, n = pair_.tableau.slopes;
    h_ = h;
    for (int i = 1; i <= n; ++i) {
      const double* w = i < n ? pair_.tableau.weights(i) : pair_.tableau.finish(0);
      const int bad = slope(i, w, i < n ? pair_.tableau.time(i) : 1.0);
      if (singular < 0) singular = bad;
    }
    for (int k = 0; k < tree_.nq; ++k) work_.q_end[k] = work_.q_stage[k];
    for (int k = 0; k < nv; ++k) work_.s_end[k] = work_.s_stage[k];
    S* more = work_.terms;
    allowed_errors(tree_, by_, work_.q, work_.s, work_.allowed, work_.allowed + nv);
    allowed_errors(tree_, by_, work_.q_end, work_.s_end, more, more + nv);
    for (int k = 0; k < 2 * nv; ++k) work_.allowed[k] = larger(work_.allowed[k], more[k]);
    const S first = error_square(0);
    if (pair_.errors == 1) return sqrt(first);
    const S both = first + error_square(1) * 0.01;  // (1)
    return select(both > S(0.0), first / sqrt(select(both > S(0.0), both, S(1.0))), both);
  }

  // The step after one of length h with this error, equation (3); `past` is H of the last good step.
  double next(double error, double h, double& past) const {
    if (!(error <= std::numeric_limits<double>::max())) return kShrink * h;
    const double factor = error > 0.0 ? kSafety * std::pow(error, -pair_.power) : kGrow;
    const double wanted = h * std::min(kGrow, std::max(kShrink, factor)), before = past;
    if (error > 1.0) return wanted;
    past = wanted;
    return before > wanted ? wanted * std::max(kShrink, wanted / before) : wanted;
  }

  // Lanes of good steps go on from their ends.
  void accept(const bool* good) {
    const int nv = tree_.nv;
    const S* after = work_.slopes + std::size_t(pair_.tableau.slopes) * work_.width;
    for (int i = 0; i < lanes<S>; ++i) {
      if (!good[i]) continue;
      for (int k = 0; k < tree_.nq; ++k) set_lane(work_.q[k], i, lane(work_.q_end[k], i));
      for (int k = 0; k < nv; ++k) {
        set_lane(work_.s[k], i, lane(work_.s_end[k], i));
        set_lane(work_.slopes[nv + k], i, lane(after[nv + k], i));
      }
    }
    for (int k = 0; k < nv; ++k) work_.slopes[k] = work_.s[k];
  }

  std::pair<const S*, const S*> state() { return body_state(work_.q, work_.s); }
  std::pair<const S*, const S*> end() { return body_state(work_.q_end, work_.s_end); }

  // The coefficients of equation (2) for (xi, s): `width` numbers each.
  const S* polynomial() {
    if (!has_terms_) make_terms();
    return work_.terms;
  }

  // The state at a time within the step, equation (2).
  std::pair<const S*, const S*> between(const S& time) {
    const int nv = tree_.nv, n = 3 + pair_.dense;
    polynomial();
    const S x = time / select(h_ > S(0.0), h_, S(1.0));
    for (int k = 0; k < 2 * nv; ++k) {
      S sum(0.0);
      for (int i = n - 1; i >= 0; --i) {
        sum = (sum + work_.terms[i * work_.width + k]) * (i % 2 == 0 ? x : S(1.0) - x);
      }
      work_.move[k] = sum;
    }
    move_stage();
    return body_state(work_.q_stage, work_.s_stage);
  }

 private:
  static constexpr double kSafety = 0.85, kShrink = 0.2, kGrow = 8.0;

  std::pair<const S*, const S*> body_state(const S* q, const S* s) {
    for (int k = 0; k < tree_.nq; ++k) work_.q_out[k] = q[k];
    to_body_axes(tree_, q, s, work_.v_out);
    return {work_.q_out, work_.v_out};
  }

  // The stage at which a move (xi, change of s) ends.
  void move_stage() {
    const int nv = tree_.nv;
    const S *__restrict from = work_.s, *__restrict change = work_.move + nv;
    S* __restrict to = work_.s_stage;
    for (int k = 0; k < nv; ++k) to[k] = from[k] + change[k];
    move_coordinates(tree_, work_.q, work_.move, work_.q_stage);
  }

  // Slope i at the state that these weights of the slopes before it lead to, kept as the stage.
  int slope(int i, const double* w, double time) {
    add_rows(h_, w, i, work_.slopes, work_.width, work_.move);
    move_stage();
    const int nv = tree_.nv;
    const S* __restrict rates = work_.s_stage;
    S* __restrict own = work_.slopes + std::size_t(i) * work_.width;
    for (int k = 0; k < nv; ++k) own[k] = rates[k];
    pull_back(tree_, work_.move, own);
    return acceleration(i, time, work_.q_stage, work_.s_stage);
  }

  template <class Tape>
  void load(const Tape& tape, int i, std::ptrdiff_t due, double share, S* to) {
    const ControlWork<double>& own = work_.lane_control;
    const ControlRow& row = forces_.row;
    tape.load_controls(i, due - 1, row, own.now);
    const double* x = own.now;
    if (forces_.linear) {
      tape.load_controls(i, due, row, own.next);
      controls_between(tree_, row, own.now, own.next, share, own.between);
      x = own.between;
    }
    for (int k = 0; k < row.size(); ++k) set_lane(to[k], i, x[k]);
  }

  int acceleration(int i, double time, const S* q, const S* s) {
    S* own = work_.slopes + std::size_t(i) * work_.width + tree_.nv;
    to_body_axes(tree_, q, s, work_.v);
    const ForcesAt<S> at = forces_(tree_, time, q, work_.v);
    const int singular = accelerations(tree_, q, work_.v, at, own, alone_, work_.dynamics);
    acceleration_to_parent_axes(tree_, q, work_.v, own);
    return singular;
  }

  S error_square(int row) const {
    const int n = 2 * tree_.nv;
    add_rows(h_, pair_.error_row(row), pair_.tableau.slopes + 1, work_.slopes, work_.width, work_.move);
    S sum(0.0);
    for (int k = 0; k < n; ++k) {
      const S e = work_.move[k] / work_.allowed[k];
      sum += e * e;
    }
    return sum * (1.0 / n);
  }

  // The time scale of the motion, times the part of it whose power is the error that is allowed.
  S first_step() {
    const int nv = tree_.nv;
    allowed_errors(tree_, by_, work_.q, work_.s, work_.allowed, work_.allowed + nv);
    S large(0.0), fast(0.0), h;
    for (int k = 0; k < 2 * nv; ++k) {
      const S x = (k < nv ? S(1.0) : work_.s[k - nv]) / work_.allowed[k], y = work_.slopes[k] / work_.allowed[k];
      large += x * x;
      fast += y * y;
    }
    const S scale = sqrt(large / larger(fast, S(1e-300)));
    for (int i = 0; i < lanes<S>; ++i) {
      const double part = 3.0 * std::pow(lane(large, i) / (2 * nv), -0.5 * pair_.power);
      set_lane(h, i, lane(scale, i) * std::min(0.1, part));
    }
    return h;
  }

  // The coefficients of (2), for which more slopes may be needed.
  void make_terms() {
    const int width = work_.width, n = pair_.tableau.slopes;
    S *change = work_.terms, *slopes = work_.slopes;
    add_rows(h_, pair_.tableau.finish(0), n, slopes, width, change);
    for (int i = 0; i < pair_.more; ++i) {
      const double* w = pair_.more_row(i);
      double time = 0.0;
      for (int j = 0; j <= n + i; ++j) time += w[j];
      slope(n + 1 + i, w, time);
    }
    for (int i = 0; i < pair_.dense; ++i) {
      add_rows(h_, pair_.dense_row(i), pair_.slopes(), slopes, width, work_.terms + (3 + i) * width);
    }
    for (int k = 0; k < width; ++k) {
      const S begins = h_ * slopes[k], ends = h_ * slopes[n * width + k];
      change[width + k] = begins - change[k];
      change[2 * width + k] = change[k] * 2.0 - begins - ends;
    }
    has_terms_ = true;
  }

  const Tree<P>& tree_;
  const Embedded& pair_;
  Tolerance by_;
  bool controlled_, alone_, has_slope_ = false, has_terms_ = false;
  HeldForces<S> forces_;
  EmbeddedWork<S>& work_;
  S h_;
};

}  // namespace jounce
