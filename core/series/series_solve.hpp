// Forward and hybrid dynamics as truncated Taylor series (ali, Algorithms 3 and 4).
//
// The articulated inertia is the same at every order (ali, Lemma 2): it is factored once. Then,
// for each order k, with the accelerations of order k of all unknown rates set to zero, a bias
// pass gives each node's own part of the wrenches F_k of series.hpp; the accelerations y that are
// missing solve
//   (1) M(q) y = tau_k - (screws^T F_k)
// by one sweep inward and one outward. Inward, F_k gathers what the nodes below pass on, and each rate
// lets go what it cannot hold (factor.hpp):
//   (2) u = tau_k - s^T F_k,   F_k += U u / D
// so that F_k is the wrench if the parent does not accelerate more than in the bias pass. Outward,
//   (3) x = X x_p,   F_k += J x,   y = (u - U^T x) / D,   x += s y,   w_(k+1) += x_w / (k+1)
// with J after the elimination of the node's rates, and x what its acceleration of order k lacked.
// Prescribed rates are part of the bias pass and left out of the factors.
#pragma once

#include "jounce/dynamics/articulated.hpp"
#include "jounce/series/series.hpp"

namespace jounce {

// Whether a node that is not a root moves its origin: then lower orders of `Outer` are read as well.
template <class P>
JOUNCE_INLINE bool has_inner_moving(const Tree<P>& tree) {
  for (const Node<P>& node : tree.nodes) {
    if (node.moving >= 0 && node.parent >= 0) return true;
  }
  return false;
}

template <class S>
struct SeriesSolveWork {
  struct Row : ArticulatedNode<S> {
    Pose<S> in_parent;  // at time 0
    Motion<S> x;
  };
  using Rate = SolvedRate<S>;
  SeriesWork<S> series;
  S* force;  // [k][nv]: coefficients of tau
  Row* row;
  Rate* rate;

  template <class P>
  SeriesSolveWork(const Tree<P>& tree, int order, Arena& arena)
      : series(tree, order, arena, has_inner_moving(tree)),
        force(arena.take<S>((order + 1) * std::size_t(tree.nv))),
        row(arena.take<Row>(tree.n)),
        rate(arena.take<Rate>(tree.nv)) {}
};

namespace series {

// Factors the articulated inertias at time 0. Returns a singular node or -1.
template <class S, class P, class Mask>
JOUNCE_INLINE int factor(const Tree<P>& tree, const S* q, Mask prescribed, SeriesSolveWork<S>& work) {
  const Angles<S>& angles = work.series.angles;
  for (int i = 0; i < tree.n; ++i) {
    work.row[i].in_parent = joint_pose(tree.nodes[i], q, angles.sine, angles.cosine);
    work.row[i].start(tree.nodes[i].inertia);
  }
  int singular = -1;
  factor_inward<S>(tree, prescribed, NodeAxes{}, work.row, work.rate, singular, FactorVisitor{});
  return singular;
}

// Kinematics and own wrenches of order k, unknown accelerations left out.
template <class S, class P>
JOUNCE_INLINE void bias_outward(const Tree<P>& tree, int k, const S* f_ext, SeriesWork<S>& work) {
  for (int i = 0; i < tree.n; ++i) {
    const SeriesNode<S, P> s(tree, work, i);
    with_kind(s.node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      angular_velocity<K>(s, k + 1);
      acceleration<K>(s, k, f_ext);
    });
  }
}

// Equation (2), from the leaves to the root.
template <class S, class P, class Mask>
JOUNCE_INLINE void solve_inward(const Tree<P>& tree, int k, Mask prescribed, SeriesSolveWork<S>& work) {
  const S* tau = work.force + std::size_t(k) * tree.nv;
  for (int i = tree.n - 1; i >= 0; --i) {
    const SeriesNode<S, P> s(tree, work.series, i);
    Force<S>& F = s.me[k].F;
    join(s.node.sharing, F);
    with_kind(s.node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int j = rates(K) - 1; j >= 0; --j) {
        const int at = s.node.v + j;
        if (!prescribed(at)) work.rate[at].release(tau[at] - along<K>(s.node, j, F), F);
      }
      if (s.up) pass_wrench<K>(s, k, s.up[k].F);
    });
  }
}

// Adds to coefficient k of a node's wrench after the sweep inward.
template <Kind K, class S, class P>
JOUNCE_INLINE void add_wrench(const SeriesNode<S, P>& s, int k, const Force<S>& F) {
  s.me[k].F += F;
  if constexpr (moves(K)) s.push[k] += turn_out<K>(s, 0, [&](int) { return F; }).f;
}

// What the parent's missing acceleration does to a node, the first half of (3), and to its coefficients,
// unless no order follows.
template <Kind K, class S, class P>
JOUNCE_INLINE Motion<S> missing_acceleration(const SeriesNode<S, P>& s, int k, bool is_last,
                                             const Motion<S>& parent,
                                             const typename SeriesSolveWork<S>::Row& me) {
  const Vec3<S> w = transposed(s.node.placement.R, parent.w);
  const Vec3<S> v = transposed(s.node.placement.R, parent.v + cross(parent.w, me.in_parent.p));
  const Motion<S> x{turn_in<K>(s, 0, [&](int) { return w; }), turn_in<K>(s, 0, [&](int) { return v; })};
  if (!is_last) {
    s.me[k + 1].y += w * reciprocal<S>(k + 1);
    s.me[k].A += v;
    add_wrench<K>(s, k, me.J * x);
  }
  return x;
}

// Equation (3), from the root to the leaves; and the forces at prescribed rates.
template <class S, class P, class Mask>
JOUNCE_INLINE void solve_outward(const Tree<P>& tree, int k, Mask prescribed,
                                 SeriesSolveWork<S>& work) {
  constexpr bool masked = !std::is_same_v<Mask, NoneMask>;
  const bool is_last = k == work.series.r && !masked;
  const auto over_next = reciprocal<S>(k + 1);
  S* rates_next = work.series.rate + std::size_t(k + 1) * tree.nv;
  S* tau = work.force + std::size_t(k) * tree.nv;
  for (int i = 0; i < tree.n; ++i) {
    const SeriesNode<S, P> s(tree, work.series, i);
    auto& me = work.row[i];
    with_kind(s.node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      Motion<S> x = Motion<S>::zero();
      if (s.up) x = missing_acceleration<K>(s, k, is_last, work.row[s.node.parent].x, me);
      for (int j = 0; j < rates(K); ++j) {
        const int at = s.node.v + j;
        if (prescribed(at)) {
          tau[at] = rate_force<K>(s, k, j);
        } else {
          const S y = work.rate[at].acceleration(x);
          rates_next[at] = y * over_next;
          add_rate<K>(s.node, j, y, x);
        }
      }
      me.x = x;
    });
    if (is_last) continue;
    s.me[k + 1].w += me.x.w * over_next;
    if (work.series.keeps_outer) s.outer[k].B = s.outer[k].B + hat(me.x.w);
  }
}

// Coefficient 0 of the joints' poses and of the angular velocities; the angles and rates must be there.
template <class S, class P>
JOUNCE_INLINE void start_velocities(const Tree<P>& tree, const S* q, SeriesWork<S>& work) {
  for (int i = 0; i < tree.n; ++i) {
    const SeriesNode<S, P> s(tree, work, i);
    with_kind(s.node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      start_joint<K>(s, q, work.angles);
      angular_velocity<K>(s, 0);
    });
  }
}

// Coefficients of what is given, and zeros elsewhere; arguments as those of solve_series.
template <class S, class P, class Mask>
JOUNCE_INLINE void start_coefficients(const Tree<P>& tree, Mask prescribed, const S* v, const S* a,
                                      const S* tau, SeriesSolveWork<S>& work) {
  SeriesWork<S>& w = work.series;
  const int r = w.r, nv = tree.nv;
  to_coefficients(tau, r + 1, nv, work.force);
  for (int i = 0; i < nv; ++i) w.rate[i] = v[i];
  for (int k = 0; k <= r; ++k) {
    for (int i = 0; i < nv; ++i) {
      S& next = w.rate[(k + 1) * nv + i];
      next = prescribed(i) ? a[k * nv + i] * kFactorial.inverse[k + 1] : S(0.0);
    }
  }
}

// Derivatives from coefficients; what was given comes back as it was.
template <class S, class P, class Mask>
JOUNCE_INLINE void finish_coefficients(const Tree<P>& tree, Mask prescribed, const S* a, const S* tau,
                                       S* a_out, S* tau_out, const SeriesSolveWork<S>& work) {
  const int r = work.series.r, nv = tree.nv;
  for (int k = 0; k <= r; ++k) {
    for (int i = 0; i < nv; ++i) {
      const int at = k * nv + i;
      const bool given = prescribed(i);
      a_out[at] = given ? a[at] : work.series.rate[at + nv] * kFactorial.of[k + 1];
      if (tau_out) tau_out[at] = given ? work.force[at] * kFactorial.of[k] : tau[at];
    }
  }
}

}  // namespace series

// Coefficients of the accelerations, where those of the rates (row 0, and whatever is prescribed) are
// set and all else in `rate` is zero. `forces(k)` is called before order k and sets row k of `force`.
// Returns a singular node or -1.
template <class S, class P, class Mask, class Forces>
int solve_coefficients(const Tree<P>& tree, Mask prescribed, const S* q, const S* f_ext,
                       Forces&& forces, SeriesSolveWork<S>& work) {
  using namespace series;
  SeriesWork<S>& w = work.series;
  const std::size_t wrenches = 6 * std::size_t(tree.n_bodies);
  w.angles.compute(tree, q);
  const int singular = factor(tree, q, prescribed, work);
  start_velocities(tree, q, w);
  for (int k = 0; k <= w.r; ++k) {
    forces(k);
    bias_outward(tree, k, f_ext ? f_ext + k * wrenches : nullptr, w);
    solve_inward(tree, k, prescribed, work);
    solve_outward(tree, k, prescribed, work);
  }
  return singular;
}

// v: (nv); a: (r+1, nv), read where prescribed, may be null if nothing is; tau: (r+1, nv), read
// elsewhere; f_ext: (r+1, n_bodies, 6) or null. Outputs (r+1, nv): derivatives of v from the first
// on, and of tau (may be null). Returns a singular node or -1.
template <class S, class P, class Mask>
int solve_series(const Tree<P>& tree, Mask prescribed, const S* q, const S* v, const S* a,
                 const S* tau, const S* f_ext, S* a_out, S* tau_out, SeriesSolveWork<S>& work) {
  series::start_coefficients(tree, prescribed, v, a, tau, work);
  const int singular = solve_coefficients(tree, prescribed, q, f_ext, [](int) {}, work);
  series::finish_coefficients(tree, prescribed, a, tau, a_out, tau_out, work);
  return singular;
}

}  // namespace jounce
