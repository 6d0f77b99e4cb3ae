// Steps by the Taylor series of the motion, as long as its last coefficients allow.
//
// The series of forward dynamics (series_solve.hpp) gives coefficients 0 ... p of the rates v. Those of
// the coordinates follow up to p + 1:
//   (1) q_(k+1) = v_k / (k+1)                                          1-DoF joints
//   (2) x' = x (w/2, 0), x_0 = 1                                       turns, relative to the start
//   (3) u = R v, p' = u: p_(k+1) = u_k / (k+1)                         positions, velocity in parent axes
// A step h makes the last two terms of all of them as large as the tolerance (Jorba, Zou, Experimental
// Mathematics 14, 2005). Turns count by (2): in steady spin the rates do not change at all. The state
// is kept with what its last addition lost, and the polynomials serve every time within the step. A
// free body is watched from a frame that moves with it.
//
// A state by itself takes the fast path of series/state_series.hpp, where its joints allow that.
#pragma once

#include <optional>
#include <utility>

#include "jounce/dynamics/articulated.hpp"
#include "jounce/series/series_solve.hpp"
#include "jounce/series/state_series.hpp"
#include "jounce/simulation/adaptive.hpp"
#include "jounce/simulation/forces.hpp"

namespace jounce {

// a + b with the rounding error of the sum (Knuth).
template <class S>
JOUNCE_INLINE void add_exactly(S& a, const S& b, S& lost) {
  const S sum = a + b, back = sum - a;
  lost = (a - (sum - back)) + (b - back);
  a = sum;
}

// Room for the fast path, where it serves.
template <class S>
struct AloneWork {
  AloneWork(const Tree<double>&, int, Arena&) {}
};
template <>
struct AloneWork<double> {
  std::optional<StateSeriesWork> series;

  AloneWork(const Tree<double>& tree, int order, Arena& arena) {
    if (has_state_series(tree)) series.emplace(tree, order, arena);
  }
};

template <class S>
struct TaylorWork {
  int order;  // p, of the rates
  SeriesSolveWork<S> solve;
  AloneWork<S> alone;
  S *q, *s, *q_low, *s_low;                   // the state, and what it lacks
  S *q_end, *s_end, *q_end_low, *s_end_low;   // at the end of the step
  S *v, *q_out, *v_out, *dq, *ds;
  S *coordinates;                             // [k][nq], k up to p + 1: (1), (2), (3)
  S *force, *force_slope, *allowed;

  template <class P>
  TaylorWork(const Tree<P>& tree, int p, Arena& arena)
      : order(p < 1 ? 1 : p), solve(tree, order - 1, arena), alone(tree, order - 1, arena) {
    for (S** x : {&q, &q_low, &q_end, &q_end_low, &q_out, &dq}) *x = arena.take<S>(tree.nq);
    for (S** x : {&s, &s_low, &s_end, &s_end_low, &v, &v_out, &ds, &force, &force_slope}) {
      *x = arena.take<S>(tree.nv);
    }
    coordinates = arena.take<S>((order + 2) * std::size_t(tree.nq));
    allowed = arena.take<S>(2 * std::size_t(tree.nv));
  }
  // [k][nv], k up to p: coefficients of the rates, those of free joints along the parent's axes.
  S* rates() const { return solve.series.rate; }
};

namespace taylor {

// Equation (2) for a joint with rates w, whose coefficients are `step` apart.
template <class S>
void turn_series(int order, const S* w, int step, int nq, S* x) {
  for (int i = 0; i < 4; ++i) x[i] = S(i < 3 ? 0.0 : 1.0);
  for (int k = 1; k <= order + 1; ++k) {
    S a(0.0), b(0.0), c(0.0), d(0.0);
    for (int j = 0; j < k; ++j) {
      const S *y = x + (k - 1 - j) * nq, *v = w + j * step;
      a += y[3] * v[0] + y[1] * v[2] - y[2] * v[1];
      b += y[3] * v[1] + y[2] * v[0] - y[0] * v[2];
      c += y[3] * v[2] + y[0] * v[1] - y[1] * v[0];
      d -= y[0] * v[0] + y[1] * v[1] + y[2] * v[2];
    }
    S* to = x + k * nq;
    const auto half = reciprocal<S>(2 * k);
    to[0] = a * half, to[1] = b * half, to[2] = c * half, to[3] = d * half;
  }
}

// Coefficients of the coordinates from those of the rates and of the joints' poses; the rates of free joints
// turn to the parent's axes.
template <class S, class P>
void coordinate_series(const Tree<P>& tree, const SeriesWork<S>& joints, TaylorWork<S>& work) {
  const int p = work.order, nq = tree.nq, nv = tree.nv;
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    S *x = work.coordinates + node.q, *v = work.rates() + node.v;
    for (int k = is_group(node.kind) ? 4 : 0; k < (node.nv == 6 ? 7 : 1); ++k) x[k] = work.q[node.q + k];
    if (node.nv == 1) {
      for (int k = 0; k <= p; ++k) x[(k + 1) * nq] = v[k * nv] * reciprocal<S>(k + 1);
      continue;
    }
    turn_series(p, v, nv, nq, x);
    if (node.kind != Kind::free) continue;
    const SeriesNode<S, P> s(tree, joints, i);
    Vec3<S> last = Vec3<S>::zero();  // (3)
    for (int j = 0; j <= p; ++j) last += s.rotation[p - j] * vector_from(v + j * nv + 3);
    for (int k = 0; k <= p; ++k) {
      const Vec3<S> u = k == 0 ? vector_from(work.s + node.v + 3) : k < p ? s.place[k + 1] * double(k + 1) : last;
      store(u, v + k * nv + 3);
      store(u * reciprocal<S>(k + 1), x + (k + 1) * nq + 4);
    }
  }
}

// sum_(k >= 1) c_k h^k of n polynomials.
template <class S>
JOUNCE_SHARED void sum_series(const S* c, int order, int n, const S& h, S* out) {
  if constexpr (std::is_same_v<S, double>) {
    for (int i = 0; i < n; i += 8) {  // what is read and written beyond n is of nobody
      const Eight by = Eight::all(h);
      Eight sum = Eight::load(c + order * n + i);
      for (int k = order - 1; k > 0; --k) (sum = sum * by) += Eight::load(c + k * n + i);
      (sum * by).store(out + i);
    }
  } else {
    for (int i = 0; i < n; ++i) out[i] = c[order * n + i] * h;
    for (int k = order - 1; k > 0; --k) {
      const S* own = c + k * n;
      for (int i = 0; i < n; ++i) out[i] = (out[i] + own[i]) * h;
    }
  }
}

// A quaternion moved by 1 + x, relative to itself, with what it lacks; its length is kept one.
template <class S>
void turn(const S* q, const S* low, const S* x, S* to, S* to_low) {
  S step[4], rest[4];
  quaternion_product(q, x, step);
  quaternion_product(low, x, rest);
  for (int k = 0; k < 4; ++k) {
    to[k] = q[k];
    add_exactly(to[k], step[k] + (rest[k] + low[k]), to_low[k]);
  }
  const auto excess = [&] {  // of the squared length
    S sum(-1.0);
    for (int k = 3; k >= 0; --k) sum += to[k] * to[k];
    return sum;
  };
  S more(0.0), by = excess();
  if (const auto is_long = by * by > S(1e-11); any(is_long)) {  // the step is too long for its order
    const S square = by + S(1.0), scale = select(is_long, sqrt(square) / square, S(1.0));
    for (int k = 0; k < 4; ++k) to[k] *= scale, to_low[k] *= scale;
    by = excess();
  }
  for (int k = 0; k < 4; ++k) more += to[k] * to_low[k];
  const S scale = by * (by * 0.375 - S(0.5)) - more;  // 1 / length - 1
  for (int k = 0; k < 4; ++k) {
    const S low = to_low[k] + to[k] * scale;
    add_exactly(to[k], low, to_low[k]);
  }
}

// The state moved by sums of its series.
template <class S, class P>
void move(const Tree<P>& tree, const S* dq, const S* ds, TaylorWork<S>& work) {
  const S* q_low = work.q_low;
  for (const Node<P>& node : tree.nodes) {
    int first = node.q;
    if (is_group(node.kind)) {
      turn(work.q + first, q_low + first, dq + first, work.q_end + first, work.q_end_low + first);
      first += 4;
    }
    const int last = node.nv == 1 ? node.q + 1 : node.kind == Kind::free ? node.q + 7 : first;
    for (int k = first; k < last; ++k) {
      work.q_end[k] = work.q[k];
      add_exactly(work.q_end[k], dq[k] + q_low[k], work.q_end_low[k]);
    }
  }
  for (int k = 0; k < tree.nv; ++k) {
    work.s_end[k] = work.s[k];
    add_exactly(work.s_end[k], ds[k] + work.s_low[k], work.s_end_low[k]);
  }
}

}  // namespace taylor

template <class S, class P>
class TaylorStepper {
 public:
  static constexpr bool kRetries = false;  // the series says beforehand how long a step may be
  S *force, *force_slope;  // of the controls, at the start of a step
  const S* servo = nullptr;  // (8, nv), of which the gains answer: tau = row - kp q - kd v

  // A state is `alone` if it is not one of a batch, all of which are to be computed alike.
  TaylorStepper(const Tree<P>& tree, const Tolerance& by, bool passive, bool alone, TaylorWork<S>& work,
                const S* gains = nullptr)
      : force(work.force), force_slope(work.force_slope), tree_(tree), by_(by), passive_(passive),
        work_(work) {
    for (int k = 0; k < tree.nv; ++k) force[k] = force_slope[k] = S(0.0);
    servo = gains;
    if constexpr (std::is_same_v<S, double>) {
      alone_ = alone && work.alone.series.has_value();
      for (const Node<P>& node : tree.nodes) {
        if (node.kind == Kind::free && !moves_with(node)) alone_ = false;
      }
      if (alone_) prepare_state_series(tree, *work.alone.series);
    }
  }

  // The forces on lane i at the start of the step, and their slope.
  template <class Tape>
  void load_start(const Tape& tape, int i, std::ptrdiff_t due, double share) {
    const double *now = tape.forces(i, due - 1), *next = tape.forces(i, due);
    const double span = tape.time(due) - tape.time(due - 1);
    for (int k = 0; k < tree_.nv; ++k) {
      const double change = tape.linear ? next[k] - now[k] : 0.0;
      set_lane(force[k], i, now[k] + change * share);
      set_lane(force_slope[k], i, change / span);
    }
  }
  template <class Tape>
  void load_end(const Tape&, int, std::ptrdiff_t, double) {}

  void start(const S* q, const S* v) {
    for (int k = 0; k < tree_.nq; ++k) work_.q[k] = q[k], work_.q_low[k] = S(0.0);
    for (int k = 0; k < tree_.nv; ++k) work_.s_low[k] = S(0.0);
    to_parent_axes(tree_, q, v, work_.s);
  }

  // The series of the motion, and how long a step may be. Returns a singular node or -1.
  int begin(S& h) {
    const auto forces = [&](int k) { set_force(k); };
    const int singular = series((const S*)nullptr, forces);
    h = longest_step();
    return singular;
  }

  // The same with forces of the caller: `forces(k)` sets row k of work.solve.force, f_ext (or null) are
  // derivatives of the external wrenches.
  template <class Forces>
  int series(const S* f_ext, Forces&& forces) {
    S* rate = work_.rates();
    if constexpr (std::is_same_v<S, double>) {
      if (alone_) {
        for (int k = 0; k < tree_.nv; ++k) rate[k] = work_.s[k];
        return solve_state_series(tree_, work_.q, f_ext, forces, work_.solve.force, rate, work_.coordinates,
                                  *work_.alone.series);
      }
    }
    to_body_axes(tree_, work_.q, work_.s, rate);
    for (int k = tree_.nv; k < (work_.order + 1) * tree_.nv; ++k) rate[k] = S(0.0);
    for (const Node<P>& node : tree_.nodes) {
      if (moves_with(node)) store(Vec3<S>::zero(), rate + node.v + 3);
    }
    const int singular = solve_coefficients(tree_, NoneMask{}, work_.q, f_ext, forces, work_.solve);
    taylor::coordinate_series(tree_, work_.solve.series, work_);
    return singular;
  }

  // By the last two coefficients of every coordinate and rate.
  S longest_step() {
    const int p = work_.order;
    allowed_errors(tree_, by_, work_.q, work_.s, work_.allowed, work_.allowed + tree_.nv);
    const S rates[] = {largest_rate(p), largest_rate(p - 1)};
    const S coordinates[] = {largest_coordinate(p + 1), largest_coordinate(p)};
    S h;
    for (int i = 0; i < lanes<S>; ++i) {
      double most = -700.0;  // the logarithm of the rate of growth; where nothing grows, steps have no limit
      bool is_finite = true;
      for (int k = 0; k < 2; ++k) {
        const double r = lane(rates[k], i), q = lane(coordinates[k], i);
        if (r > 0.0) most = std::fmax(most, std::log(r) / (p - k));
        if (q > 0.0) most = std::fmax(most, std::log(q) / (p + 1 - k));
        is_finite = is_finite && r + q < std::numeric_limits<double>::infinity();
      }
      set_lane(h, i, is_finite ? kSafety * std::exp(-most) : 0.0);
    }
    return h;
  }

  // The step has no error that were not allowed; NaN if it leads to numbers that are not finite.
  S attempt(const S& h, int&) {
    h_ = h;
    sums(h);
    at_end_ = true;
    S none(0.0);
    for (int k = 0; k < tree_.nq; ++k) none += work_.q_end[k] - work_.q_end[k];
    for (int k = 0; k < tree_.nv; ++k) none += work_.s_end[k] - work_.s_end[k];
    return none;
  }
  double next(double, double h, double&) const { return h; }

  // Lanes of steps that were taken go on from their ends.
  void accept(const bool* good) {
    go_to_end();
    for (int i = 0; i < lanes<S>; ++i) {
      if (!good[i]) continue;
      for (int k = 0; k < tree_.nq; ++k) {
        set_lane(work_.q[k], i, lane(work_.q_end[k], i));
        set_lane(work_.q_low[k], i, lane(work_.q_end_low[k], i));
      }
      for (int k = 0; k < tree_.nv; ++k) {
        set_lane(work_.s[k], i, lane(work_.s_end[k], i));
        set_lane(work_.s_low[k], i, lane(work_.s_end_low[k], i));
      }
    }
  }

  std::pair<const S*, const S*> state() { return body_state(work_.q, work_.s); }
  std::pair<const S*, const S*> end() {
    go_to_end();
    return body_state(work_.q_end, work_.s_end);
  }
  std::pair<const S*, const S*> between(const S& time) {
    sums(time);
    at_end_ = false;
    return body_state(work_.q_end, work_.s_end);
  }

 private:
  static constexpr double kSafety = 0.9;

  std::pair<const S*, const S*> body_state(const S* q, const S* s) {
    for (int k = 0; k < tree_.nq; ++k) work_.q_out[k] = q[k];
    to_body_axes(tree_, q, s, work_.v_out);
    return {work_.q_out, work_.v_out};
  }

  // Whether a free body may be watched from a frame that moves with it at the start of a step: its
  // velocity along turning axes, as large as it may be, then costs no digits.
  bool moves_with(const Node<P>& node) const {
    if (!is_free_root(node)) return false;
    for (int k = node.v + 3; k < node.v + 6; ++k) {
      if (passive_ && tree_.damping[k] != P(0.0)) return false;
      if (servo && any(servo[kServoD * tree_.nv + k] > S(0.0))) return false;
    }
    return true;
  }

  void go_to_end() {
    if (!at_end_) sums(h_);
    at_end_ = true;
  }
  void sums(const S& h) {
    taylor::sum_series(work_.coordinates, work_.order + 1, tree_.nq, h, work_.dq);
    taylor::sum_series(work_.rates(), work_.order, tree_.nv, h, work_.ds);
    taylor::move(tree_, work_.dq, work_.ds, work_);
  }

  // Coefficient k of the forces: linear controls, servos and springs of 1-DoF joints, damping.
  void set_force(int k) {
    const int nv = tree_.nv;
    const S* rate = work_.rates() + std::size_t(k) * nv;
    S* tau = work_.solve.force + std::size_t(k) * nv;
    for (int i = 0; i < nv; ++i) tau[i] = k == 0 ? force[i] : k == 1 ? force_slope[i] : S(0.0);
    for (int i = 0; servo && i < nv; ++i) tau[i] -= rate[i] * servo[kServoD * nv + i];
    for (int i = 0; passive_ && i < nv; ++i) tau[i] -= rate[i] * tree_.damping[i];
    if (!servo && !passive_) return;
    for (const Node<P>& node : tree_.nodes) {
      if (node.nv != 1) continue;
      const S moved = k ? rate[node.v - nv] * (1.0 / k) : work_.q[node.q];
      if (servo) tau[node.v] -= moved * servo[kServoP * nv + node.v];
      if (!passive_) continue;
      tau[node.v] -= (k ? moved : moved - tree_.springref[node.q]) * tree_.stiffness[node.v];
    }
  }

  // The largest coefficients of order k in units of what is allowed.
  S largest_rate(int k) const {
    const S *c = work_.rates() + std::size_t(k) * tree_.nv, *allowed = work_.allowed + tree_.nv;
    S most(0.0);
    for (int i = 0; i < tree_.nv; ++i) most = larger(most, magnitude(c[i]) / allowed[i]);
    return most;
  }
  S largest_coordinate(int k) const {
    const S* c = work_.coordinates + std::size_t(k) * tree_.nq;
    S most(0.0);
    for (const Node<P>& node : tree_.nodes) {
      const S *x = c + node.q, *allowed = work_.allowed + node.v;
      if (node.nv == 1) most = larger(most, magnitude(x[0]) / allowed[0]);
      if (!is_group(node.kind)) continue;
      for (int i = 0; i < 4; ++i) most = larger(most, magnitude(x[i]) / allowed[0]);
      for (int i = 4; i < node.nv + 1; ++i) most = larger(most, magnitude(x[i]) / allowed[i - 1]);
    }
    return most;
  }

  const Tree<P>& tree_;
  Tolerance by_;
  bool passive_, alone_ = false, at_end_ = false;
  TaylorWork<S>& work_;
  S h_;
};

}  // namespace jounce
