// What constraints measure, as truncated Taylor series in time, along the motion of series.hpp.
//
// With the twist V = (w, u) of a frame A relative to a frame B, in and about A, and its pose X = (R, p),
//   (1) V = V_A - Ad(X)^-1 V_B,   R' = R hat(w),   p' = R u
// A row is a wrench W that changes with time (rows.hpp): its rate is W . V. With the forces f of the rows
// the wrenches on both frames are
//   (2) F_A = sum W f,   F_B = -Ad*(X) F_A
// Products are sums over coefficients. Everything of order k follows from rates up to order k - 1, but V.
#pragma once

#include "jounce/constraints/rows.hpp"
#include "jounce/series/series_solve.hpp"

namespace jounce {

// Coefficients of one record, which has the place of its first row.
template <class S>
struct RecordSeries {
  Motion<S>* V;
  Mat3<S>*R, *world;  // of A: in B, and in the world (points)
  Vec3<S>*p, *lever;  // of A in B; w_B x p + u_B
  Mat3<S>* target_R;  // a target in B, if it moves
  Vec3<S>* target_p;
  Vec3<S>*n, *push;   // direction of a rod, or from a wheel's center to its contact; R F_A.f
  S* length;          // of a rod, or what makes n a unit vector
  Force<S>* F;        // on A
};

template <class S>
struct RowSeriesWork {
  int m, rows;         // rows of all constraints; coefficients, r + 2
  Vec3<S>*linear, *carried;  // [node][k] velocity of the origin; and what the parent's adds, before it is turned
  Force<S>* wrench;          // [m][k] W
  S* force;                  // [k][m] f
  S *rate, *wanted, *term;   // (m); (m); [k]
  RowsWork<S> paths;

  template <class P>
  RowSeriesWork(const Tree<P>& tree, Extent extent, Arena& arena)
      : m(extent.rows), rows(extent.order + 2), paths(tree, arena) {
    const std::size_t n = rows;
    linear = arena.take<Vec3<S>>(n * tree.n);
    carried = arena.take<Vec3<S>>(n * tree.n);
    const RecordSeries<S> all{arena.take<Motion<S>>(n * m), arena.take<Mat3<S>>(n * m),
                              arena.take<Mat3<S>>(n * m),   arena.take<Vec3<S>>(n * m),
                              arena.take<Vec3<S>>(n * m),   arena.take<Mat3<S>>(n * m),
                              arena.take<Vec3<S>>(n * m),   arena.take<Vec3<S>>(n * m),
                              arena.take<Vec3<S>>(n * m),   arena.take<S>(n * m),
                              arena.take<Force<S>>(n * m)};
    place = all;
    wrench = arena.take<Force<S>>(n * m);
    force = arena.take<S>(n * m);
    rate = arena.take<S>(m);
    wanted = arena.take<S>(m);
    term = arena.take<S>(2 * n);
  }

  // The coefficients of the record whose rows begin at `row`.
  JOUNCE_INLINE RecordSeries<S> at(int row) const {
    const std::size_t k = std::size_t(row) * rows;
    return {place.V + k,     place.R + k,        place.world + k,    place.p + k,
            place.lever + k, place.target_R + k, place.target_p + k, place.n + k,
            place.push + k,  place.length + k,   place.F + k};
  }
  JOUNCE_INLINE Force<S>* wrench_of(int row) const { return wrench + std::size_t(row) * rows; }

 private:
  RecordSeries<S> place;
};

namespace series {

// Coefficient k of a node's linear velocity, when that of its angular velocity is known.
template <Kind K, class S, class P>
JOUNCE_INLINE void linear_velocity(const SeriesNode<S, P>& s, int k, Vec3<S>* linear, Vec3<S>* carried,
                                   const Vec3<S>* parent) {
  linear[k] = s.template joint<K>(k).v;
  if (!s.up) return;
  carried[k] = transposed(s.node.placement.R, parent[k] + cross(s.up[k].w, s.node.placement.p));
  if constexpr (moves(K)) {
    for (int j = 0; j <= k; ++j) carried[k] += cross(s.me[k - j].y, s.place[j]);
  }
  linear[k] += turn_in<K>(s, k, [&](int j) -> const Vec3<S>& { return carried[j]; });
}

template <class S, class P>
JOUNCE_INLINE void linear_velocities(const Tree<P>& tree, int k, const SeriesWork<S>& w, RowSeriesWork<S>& work) {
  for (int i = 0; i < tree.n; ++i) {
    const SeriesNode<S, P> s(tree, w, i);
    const std::size_t n = work.rows;
    const Vec3<S>* parent = s.up ? work.linear + n * s.node.parent : nullptr;
    with_kind(s.node.kind, [&](auto kind) {
      linear_velocity<decltype(kind)::value>(s, k, work.linear + n * i, work.carried + n * i, parent);
    });
  }
}

// Coefficient k of the twist of a frame, zero for the world.
template <class S>
JOUNCE_INLINE Motion<S> frame_twist(const FrameAt<>& frame, int k, const SeriesWork<S>& w,
                                    const RowSeriesWork<S>& work) {
  if (frame.node < 0) return Motion<S>::zero();
  const std::size_t at = std::size_t(work.rows) * frame.node + k;
  return to_child(frame.pose, Motion<S>{w.row[at].w, work.linear[at]});
}

// Coefficient k of R^T x, of R x, and of x' = R hat(w) if coefficient k - 1 is.
template <class S, class X>
JOUNCE_INLINE Vec3<S> turned_back(const Mat3<S>* R, int k, X&& x) {
  Vec3<S> sum = Vec3<S>::zero();
  for (int j = 0; j <= k; ++j) sum += transposed(R[j], x(k - j));
  return sum;
}
template <class S, class X>
JOUNCE_INLINE Vec3<S> turned_forth(const Mat3<S>* R, int k, X&& x) {
  Vec3<S> sum = Vec3<S>::zero();
  for (int j = 0; j <= k; ++j) sum += R[j] * x(k - j);
  return sum;
}
template <class S, class X>
JOUNCE_INLINE void extend_rotation(Mat3<S>* R, int k, X&& w) {
  Mat3<S> sum{Vec3<S>::zero(), Vec3<S>::zero(), Vec3<S>::zero()};
  for (int j = 0; j < k; ++j) {
    const Mat3<S>& Q = R[k - 1 - j];
    const Vec3<S> x = w(j);
    sum.x += Q.y * x.z - Q.z * x.y;
    sum.y += Q.z * x.x - Q.x * x.z;
    sum.z += Q.x * x.y - Q.y * x.x;
  }
  const auto over_k = reciprocal<S>(k);
  R[k] = {sum.x * over_k, sum.y * over_k, sum.z * over_k};
}

// Equation (1): coefficient k of V, which may be computed again.
template <class S>
void relative_twist(const Constraint& c, int k, const SeriesWork<S>& w, RowSeriesWork<S>& work) {
  const RecordSeries<S> x = work.at(c.row);
  x.V[k] = frame_twist(c.first, k, w, work);
  if (c.second.node < 0) return;
  const auto base = [&](int j) { return frame_twist(c.second, j, w, work); };
  x.lever[k] = base(k).v;
  for (int j = 0; j <= k; ++j) x.lever[k] += cross(base(k - j).w, x.p[j]);
  x.V[k].w -= turned_back(x.R, k, [&](int j) { return base(j).w; });
  x.V[k].v -= turned_back(x.R, k, [&](int j) { return x.lever[j]; });
}

// Coefficient k > 0 of the pose.
template <class S>
void extend_pose(const Constraint& c, int k, const SeriesWork<S>& w, const RecordSeries<S>& x,
                 const RowSeriesWork<S>& work) {
  extend_rotation(x.R, k, [&](int j) { return x.V[j].w; });
  x.p[k] = turned_forth(x.R, k - 1, [&](int j) { return x.V[j].v; }) * reciprocal<S>(k);
  if (c.kind == Constraint::point) {
    extend_rotation(x.world, k, [&](int j) { return frame_twist(c.first, j, w, work).w; });
  }
}

// Derivatives of the rates w that m rows shall have, by which their targets move.
template <class S>
struct WantedRates {
  const S* w;  // [k][row]
  int m;

  // Coefficient k of w, of its derivative, and of its integral.
  JOUNCE_INLINE S rate(int k, int row) const { return w[std::size_t(k) * m + row] * kFactorial.inverse[k]; }
  JOUNCE_INLINE S acceleration(int k, int row) const {
    return w[std::size_t(k + 1) * m + row] * kFactorial.inverse[k];
  }
  JOUNCE_INLINE S way(int k, int row) const {
    return k == 0 ? S(0.0) : w[std::size_t(k - 1) * m + row] * kFactorial.inverse[k];
  }
  // Coefficient k as a twist, of the rows of a pose.
  Motion<S> twist(const Constraint& c, int k) const {
    S x[6] = {S(0.0), S(0.0), S(0.0), S(0.0), S(0.0), S(0.0)};
    for (int d = 0, row = c.row; d < 6; ++d) {
      if (c.selects(d)) x[d] = rate(k, row++);
    }
    return {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
  }
};

// Coefficient k of the target of a pose, T' = T hat(w).
template <class S>
void extend_target(const Constraint& c, int k, const WantedRates<S>& wanted, const RecordSeries<S>& x) {
  if (k == 0) {
    const Pose<S> start = widened<S>(c.target);
    x.target_R[0] = start.R;
    x.target_p[0] = start.p;
    return;
  }
  extend_rotation(x.target_R, k, [&](int j) { return wanted.twist(c, j).w; });
  x.target_p[k] = turned_forth(x.target_R, k - 1, [&](int j) { return wanted.twist(c, j).v; }) * reciprocal<S>(k);
}

// Coefficient k of n = x / |x| and of |x|.
template <class S, class X>
void normalize_series(int k, X&& x, S* length, Vec3<S>* n) {
  S square(0.0);
  for (int j = 0; j <= k; ++j) square += dot(x(j), x(k - j));
  if (k == 0) {
    length[0] = sqrt(square);
    n[0] = x(0) * inverse_length(length[0]);
    return;
  }
  for (int j = 1; j < k; ++j) square -= length[j] * length[k - j];
  const S inverse = S(1.0) / length[0];
  length[k] = square * inverse * 0.5;
  Vec3<S> sum = x(k);
  for (int j = 1; j <= k; ++j) sum -= n[k - j] * length[j];
  n[k] = sum * inverse;
}

// Coefficient k of the direction from a wheel's center, or a ball's, to its contact.
template <class S>
void extend_contact(const Constraint& c, int k, const RecordSeries<S>& x) {
  if (c.is_ball()) {
    x.n[k] = unit<S>(2) * S(k == 0 ? -1.0 : 0.0);
    return;
  }
  const auto axis = [&](int j) { return x.R[j] * c.axis; };
  const auto down = [&](int j) {
    Vec3<S> sum = unit<S>(2) * S(j == 0 ? -1.0 : 0.0);
    for (int i = 0; i <= j; ++i) sum += axis(i) * axis(j - i).z;
    return sum;
  };
  normalize_series(k, down, x.length, x.n);
}

// Coefficient k of the wrenches W.
template <class S>
void extend_wrenches(const Constraint& c, int k, const RecordSeries<S>& x, RowSeriesWork<S>& work) {
  const Vec3<S> zero = Vec3<S>::zero();
  int i = c.row;
  switch (c.kind) {
    case Constraint::pose:
      for (int d = 0; d < 6; ++d) {
        if (!c.selects(d)) continue;
        const Vec3<S> e = unit<S>(d % 3) * S(k == 0 ? 1.0 : 0.0);
        work.wrench_of(i++)[k] = d < 3 ? Force<S>{e, zero} : Force<S>{zero, e};
      }
      return;
    case Constraint::point:
      for (int d = 0; d < 3; ++d) work.wrench_of(i + d)[k] = {zero, transposed(x.world[k], unit<S>(d))};
      return;
    case Constraint::distance:
      normalize_series(k, [&](int j) -> const Vec3<S>& { return x.p[j]; }, x.length, x.n);
      work.wrench_of(i)[k] = {zero, turned_back(x.R, k, [&](int j) { return x.n[j]; })};
      return;
    default:
      extend_contact(c, k, x);
      for (int d = 0; d < 3; ++d) {
        const Vec3<S> e = unit<S>(d);
        const Vec3<S> moment = turned_back(x.R, k, [&](int j) { return cross(x.n[j] * c.length, e); });
        work.wrench_of(i + d)[k] = {moment, transposed(x.R[k], e)};
      }
  }
}

// Coefficient k of a coordinate, ...
template <class S>
JOUNCE_INLINE S coordinate(const Constraint& c, int k, int nv, const S* q, const SeriesWork<S>& w) {
  return k == 0 ? q[c.q] : w.rate[std::size_t(k - 1) * nv + c.v] * reciprocal<S>(k);
}
// ... and coefficients 0 to k of a polynomial of it, a_0 + a_1 x + a_2 x^2 + ...
template <class S>
void polynomial(const Constraint& c, const double* a, int degree, int k, int nv, const S* q,
                const SeriesWork<S>& w, S* out) {
  std::fill_n(out, k + 1, S(0.0));
  for (int power = degree; power >= 0; --power) {  // Horner
    for (int j = k; j >= 0; --j) {
      S sum(0.0);
      for (int i = 0; i <= j; ++i) sum += out[j - i] * coordinate(c, i, nv, q, w);
      out[j] = sum;
    }
    out[0] += S(a[power]);
  }
}
template <class S>
void slope_series(const Constraint& c, int k, int nv, const S* q, const SeriesWork<S>& w, S* out) {
  const double* a = c.coefficients;
  const double slope[4] = {a[0], 2.0 * a[1], 3.0 * a[2], 4.0 * a[3]};
  polynomial(c, slope, 3, k, nv, q, w, out);
}

// Coefficient k of the rotation and of the shift, along its own axes, of A as seen from its target.
template <class S>
void pose_residuals(const Constraint& c, int k, const RecordSeries<S>& x, S (&all)[6]) {
  Mat3<S> turn = transpose(x.target_R[0]) * x.R[k];
  for (int j = 1; j <= k; ++j) turn = turn + transpose(x.target_R[j]) * x.R[k - j];
  store(sine_of_turn(c, turn), all);
  store(turned_back(x.R, k, [&](int j) { return x.p[j] - x.target_p[j]; }), all + 3);
}

// Coefficient k of the residuals that stabilize, for the rows of a record between frames.
template <class S>
void residuals(const Constraint& c, int k, const WantedRates<S>& wanted, const RecordSeries<S>& x, S* residual) {
  const S start(k == 0 ? 1.0 : 0.0);
  const auto open = [&](int j) { return j == 0 ? x.p[0] - widened<S>(c.target).p : x.p[j]; };
  if (c.kind == Constraint::distance) {
    residual[0] = x.length[k] - start * c.length - wanted.way(k, c.row);
  } else if (c.kind == Constraint::rolling) {
    residual[0] = residual[1] = S(0.0);
    residual[2] = x.p[k].z + x.n[k].z * c.length - wanted.way(k, c.row + 2);
  } else if (c.kind == Constraint::point) {
    store(turned_forth(x.world, k, [&](int j) { return turned_back(x.R, j, open); }), residual);
    for (int i = 0; i < 3; ++i) residual[i] -= wanted.way(k, c.row + i);
  } else {
    S all[6];
    extend_target(c, k, wanted, x);
    pose_residuals(c, k, x, all);
    for (int d = 0, i = 0; d < 6; ++d) {
      if (c.selects(d)) residual[i++] = c.targets(d) ? all[d] : S(0.0);
    }
  }
}

}  // namespace series
}  // namespace jounce
