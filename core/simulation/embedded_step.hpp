// Steps of a Runge-Kutta pair of Munthe-Kaas type, with the error that its own weights tell.
//
// In the coordinates xi of q = q_0 exp(xi), with slopes (xi', s') at the stages (step.hpp):
//   (1) error = dt sum_j e_j (xi_j', s_j'), in units of what is allowed, by its root mean square;
//       of two such sums e and d:  |e|^2 / sqrt(|e|^2 + 0.01 |d|^2)   (Hairer, Norsett, Wanner, II.10)
//   (2) along the step, x from 0 to 1, y(x) = x (c_0 + (1 - x) (c_1 + x (c_2 + (1 - x) (...)))),
//       c_0 = y(1), c_1 = dt y'(0) - c_0, c_2 = 2 c_0 - dt (y'(0) + y'(1)), further ones weighted sums.
// The acceleration at the end serves the next step; xi' does not, which has other coordinates.
#pragma once

#include <algorithm>
#include <utility>

#include "jounce/dynamics/articulated.hpp"
#include "jounce/dynamics/passive.hpp"
#include "jounce/simulation/adaptive.hpp"
#include "jounce/simulation/embedded.hpp"
#include "jounce/simulation/step.hpp"

namespace jounce {

constexpr int kMostTerms = 3 + 8;  // of the polynomial

template <class S>
struct EmbeddedWork {
  ArticulatedWork<S> dynamics;
  S *q, *s, *q_end, *s_end, *q_stage, *s_stage, *q_out, *v_out;
  S *rates, *slopes;  // (kMostSlopes, nv): xi' and s' of the stages
  S *u, *v, *tau, *passive, *force, *force_slope, *allowed, *terms;

  template <class P>
  EmbeddedWork(const Tree<P>& tree, Arena& arena) : dynamics(tree, arena) {
    for (S** x : {&q, &q_end, &q_stage, &q_out}) *x = arena.take<S>(tree.nq);
    for (S** x : {&s, &s_end, &s_stage, &v_out, &u, &v, &tau, &passive, &force, &force_slope}) {
      *x = arena.take<S>(tree.nv);
    }
    for (S** x : {&rates, &slopes}) *x = arena.take<S>(std::size_t(kMostSlopes) * tree.nv);
    allowed = arena.take<S>(4 * std::size_t(tree.nv));
    terms = arena.take<S>(std::size_t(kMostTerms) * 2 * tree.nv);
  }
};

template <class S, class P>
class EmbeddedStepper {
 public:
  static constexpr bool kRetries = true;  // a step with too large an error is tried again, shorter
  S *force, *force_slope;  // of the controls, at the start of a step

  EmbeddedStepper(const Tree<P>& tree, const Embedded& pair, const Tolerance& by, bool controlled,
                  bool passive, EmbeddedWork<S>& work)
      : force(work.force), force_slope(work.force_slope), tree_(tree), pair_(pair), by_(by),
        controlled_(controlled), passive_(passive), work_(work) {
    for (int k = 0; k < tree.nv; ++k) force[k] = force_slope[k] = S(0.0);
  }

  void start(const S* q, const S* v) {
    for (int k = 0; k < tree_.nq; ++k) work_.q[k] = q[k];
    to_parent_axes(tree_, q, v, work_.s);
  }

  // The slope at the start; steps h that are zero become first ones. Returns a singular node or -1.
  int begin(S& h) {
    int singular = -1;
    if (!has_slope_ || controlled_) {
      for (int k = 0; k < tree_.nv; ++k) work_.rates[k] = work_.s[k];
      singular = acceleration(0, S(0.0), work_.q, work_.s);
      has_slope_ = true;
    }
    has_terms_ = false;
    h = select(h > S(0.0), h, first_step());
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
    S* more = work_.allowed + 2 * nv;
    allowed_errors(tree_, by_, work_.q, work_.s, work_.allowed, work_.allowed + nv);
    allowed_errors(tree_, by_, work_.q_end, work_.s_end, more, more + nv);
    for (int k = 0; k < 2 * nv; ++k) work_.allowed[k] = larger(work_.allowed[k], more[k]);
    const S first = error_square(0);
    if (pair_.errors == 1) return sqrt(first);
    const S both = first + error_square(1) * 0.01;  // (1)
    return select(both > S(0.0), first / sqrt(select(both > S(0.0), both, S(1.0))), both);
  }

  // The step after one of length h with this error (Hairer, Norsett, Wanner, II.4).
  double next(double error, double h) const {
    if (!(error <= std::numeric_limits<double>::max())) return kShrink * h;
    const double factor = error > 0.0 ? kSafety * std::pow(error, -pair_.power) : kGrow;
    return h * std::min(kGrow, std::max(kShrink, factor));
  }

  // Lanes of good steps go on from their ends.
  void accept(const bool* good) {
    const int nv = tree_.nv;
    const S* after = work_.slopes + std::size_t(pair_.tableau.slopes) * nv;
    for (int i = 0; i < lanes<S>; ++i) {
      if (!good[i]) continue;
      for (int k = 0; k < tree_.nq; ++k) set_lane(work_.q[k], i, lane(work_.q_end[k], i));
      for (int k = 0; k < nv; ++k) {
        set_lane(work_.s[k], i, lane(work_.s_end[k], i));
        set_lane(work_.slopes[k], i, lane(after[k], i));
      }
    }
    for (int k = 0; k < nv; ++k) work_.rates[k] = work_.s[k];
  }

  std::pair<const S*, const S*> state() { return body_state(work_.q, work_.s); }
  std::pair<const S*, const S*> end() { return body_state(work_.q_end, work_.s_end); }

  // The state at a time within the step, equation (2).
  std::pair<const S*, const S*> between(const S& time) {
    const int nv = tree_.nv, n = 3 + pair_.dense;
    if (!has_terms_) make_terms();
    const S x = time / select(h_ > S(0.0), h_, S(1.0));
    for (int k = 0; k < 2 * nv; ++k) {
      S sum(0.0);
      for (int i = n - 1; i >= 0; --i) {
        sum = (sum + work_.terms[i * 2 * nv + k]) * (i % 2 == 0 ? x : S(1.0) - x);
      }
      (k < nv ? work_.u[k] : work_.s_stage[k - nv]) = k < nv ? sum : work_.s[k - nv] + sum;
    }
    move_coordinates(tree_, work_.q, work_.u, work_.q_stage);
    return body_state(work_.q_stage, work_.s_stage);
  }

 private:
  static constexpr double kSafety = 0.9, kShrink = 0.2, kGrow = 8.0;

  std::pair<const S*, const S*> body_state(const S* q, const S* s) {
    for (int k = 0; k < tree_.nq; ++k) work_.q_out[k] = q[k];
    to_body_axes(tree_, q, s, work_.v_out);
    return {work_.q_out, work_.v_out};
  }

  // Slope i at the state that these weights of the slopes before it lead to, kept as the stage.
  int slope(int i, const double* w, double time) {
    const int nv = tree_.nv;
    add_weighted((const S*)nullptr, h_, w, i, work_.rates, nv, work_.u);
    move_coordinates(tree_, work_.q, work_.u, work_.q_stage);
    add_weighted(work_.s, h_, w, i, work_.slopes, nv, work_.s_stage);
    S* own = work_.rates + std::size_t(i) * nv;
    for (int k = 0; k < nv; ++k) own[k] = work_.s_stage[k];
    pull_back(tree_, work_.u, own);
    return acceleration(i, h_ * time, work_.q_stage, work_.s_stage);
  }

  int acceleration(int i, const S& time, const S* q, const S* s) {
    S* own = work_.slopes + std::size_t(i) * tree_.nv;
    to_body_axes(tree_, q, s, work_.v);
    const S* tau = work_.force;
    if (controlled_ || passive_) {
      if (passive_) passive_forces(tree_, q, work_.v, work_.passive);
      for (int k = 0; k < tree_.nv; ++k) {
        work_.tau[k] = force[k] + force_slope[k] * time;
        if (passive_) work_.tau[k] += work_.passive[k];
      }
      tau = work_.tau;
    }
    const S* none = nullptr;
    const int singular = forward_dynamics(tree_, q, work_.v, tau, none, own, work_.dynamics);
    acceleration_to_parent_axes(tree_, q, work_.v, own);
    return singular;
  }

  S error_square(int row) const {
    const int nv = tree_.nv;
    const double* w = pair_.error_row(row);
    S sum(0.0);
    for (int k = 0; k < 2 * nv; ++k) {
      const S* x = k < nv ? work_.rates + k : work_.slopes + (k - nv);
      S e(0.0);
      for (int j = 0; j <= pair_.tableau.slopes; ++j) e += x[j * nv] * w[j];
      e = e * h_ / work_.allowed[k];
      sum += e * e;
    }
    return sum * (1.0 / (2 * nv));
  }

  // A hundredth of the time scale of the motion.
  S first_step() {
    const int nv = tree_.nv;
    allowed_errors(tree_, by_, work_.q, work_.s, work_.allowed, work_.allowed + nv);
    S large(0.0), fast(0.0);
    for (int k = 0; k < 2 * nv; ++k) {
      const S x = (k < nv ? S(1.0) : work_.s[k - nv]) / work_.allowed[k];
      const S y = (k < nv ? work_.s[k] : work_.slopes[k - nv]) / work_.allowed[k];
      large += x * x;
      fast += y * y;
    }
    return sqrt(large / larger(fast, S(1e-300))) * 0.01;
  }

  // The coefficients of (2), for which more slopes may be needed.
  void make_terms() {
    const int nv = tree_.nv, n = pair_.tableau.slopes;
    add_weighted((const S*)nullptr, h_, pair_.tableau.finish(0), n, work_.rates, nv, work_.terms);
    for (int i = 0; i < pair_.more; ++i) {
      const double* w = pair_.more_row(i);
      double time = 0.0;
      for (int j = 0; j <= n + i; ++j) time += w[j];
      slope(n + 1 + i, w, time);
    }
    for (int k = 0; k < 2 * nv; ++k) {
      const S* x = k < nv ? work_.rates + k : work_.slopes + (k - nv);
      S* term = work_.terms + k;
      const S begins = h_ * x[0], ends = h_ * x[n * nv];
      if (k >= nv) term[0] = work_.s_end[k - nv] - work_.s[k - nv];
      term[2 * nv] = begins - term[0];
      term[4 * nv] = term[0] * 2.0 - begins - ends;
      for (int i = 0; i < pair_.dense; ++i) {
        S sum(0.0);
        for (int j = 0; j < pair_.slopes(); ++j) sum += x[j * nv] * pair_.dense_row(i)[j];
        term[(3 + i) * 2 * nv] = sum * h_;
      }
    }
    has_terms_ = true;
  }

  const Tree<P>& tree_;
  const Embedded& pair_;
  Tolerance by_;
  bool controlled_, passive_, has_slope_ = false, has_terms_ = false;
  EmbeddedWork<S>& work_;
  S h_;
};

}  // namespace jounce
