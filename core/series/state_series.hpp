// The motion of one state as a series, fast: its products and linear maps in the lanes of registers.
//
// The recursion is that of series_solve.hpp, for trees of revolute and prismatic joints whose roots may be
// free. Each joint is seen from its pose X = (R, p) at time 0, T(t) = X D(t), where D(0) = 1:
//   (1) w = D^T y + w_j,               y = R^T w_p
//   (2) a = D^T A + 2 w x v_j + v_j',  A = R^T (a_p + B_p (p + R d))
//   (3) F_p += X (D F)
// so that coefficient k of what is not yet known enters with the factor one, and everything else of order k
// are sums over lower orders, which are known before it begins:
//   (4) w w^T, and (cos, sin)' = (-sin, cos) v   or, sliding, w v           left times right
//   (5) y, A and F turned                        or, sliding, B_p R d, d x f
// What remains are linear maps between accelerations m = (alpha, a) and wrenches F, as in forward dynamics:
//   (6) outward  m = X m_p + lower,   F = J m + wrench
//   (7) inward   u = (tau - s^T F) / D,   F += U u,   F_p += X^T (F + upper)
//   (8) outward  x = X x_p,   F += J' x,   y = u - U^T x / D,   x += s y,   m += x
// where J is the rigid inertia, J' the articulated one without the joint's rate, and x what m lacked.
// At a free root all of m is missing: m = J'^-1 (tau - F). See root_series.hpp for its pose.
#pragma once

#include "jounce/dynamics/articulated.hpp"
#include "jounce/series/state_maps.hpp"

namespace jounce {

struct StateSeriesWork {
  // Coefficient k of a joint, as (4) and (5) read it: of `turned`, y of order k, all else of order k - 1.
  struct Order {
    alignas(64) double left[8], right[8], turned[8];
  };
  // A joint at the order at hand; accelerations (alpha, a) and wrenches in halves.
  struct Joint : ArticulatedNode<double> {
    Pose<double> in_parent;
    alignas(64) double products[8];                 // (4)
    double by_cosine[8], by_sine[8], some[8];       // (5) and (4) without the newest coefficients
    double before[8], upper[8];                     // (y', A), and what (5) adds to the wrench
    double m[8], F[8], x[8];
    Vec3<double> slid;  // R^T (w w^T - |w|^2) R z, of the parent's w
    double u;
  };
  // Numbers that depend on the order alone.
  struct Scales {
    alignas(64) double next[8];  // 1 / (k + 1), twice, then ones
    double back[8];              // k + 1, twice, then ones
  };
  int r;
  Angles<double> angles;
  Joint* joint;
  JointMaps* maps;
  SolvedRate<double>* rate;
  Order* order;           // [node][k]
  double *cosine, *sine;  // [node][k]; sliding: the way, and nothing
  RootSeriesWork* root;   // [node], of free ones
  Scales* scales;         // [k]

  StateSeriesWork(const Tree<double>& tree, int most, Arena& arena) : r(most), angles(tree, arena) {
    const std::size_t rows = r + 3, n = tree.n;
    joint = arena.take<Joint>(n);
    maps = arena.take<JointMaps>(n);
    rate = arena.take<SolvedRate<double>>(tree.nv);
    order = arena.take<Order>(rows * n);
    cosine = arena.take<double>(rows * n);
    sine = arena.take<double>(rows * n);
    root = arena.take<RootSeriesWork>(n);
    scales = arena.take<Scales>(rows);
    for (int i = 0; i < tree.n; ++i) {
      if (tree.nodes[i].kind != Kind::free) continue;
      const RootSeriesWork own(int(rows), arena);
      if (root) root[i] = own;
    }
  }
  std::size_t first(int i) const { return std::size_t(r + 3) * i; }
};

// Whether all joints are such that this serves.
inline bool has_state_series(const Tree<double>& tree) {
  for (const Node<double>& node : tree.nodes) {
    if (!is_free_root(node) && node.kind != Kind::revolute && node.kind != Kind::prismatic) return false;
  }
  return true;
}

namespace state_series {

using Work = StateSeriesWork;
using Joint = Work::Joint;

// Calls f with the kind of a joint.
template <class F>
JOUNCE_INLINE void with_served(Kind kind, F&& f) {
  if (kind == Kind::revolute) {
    f(KindOf<Kind::revolute>{});
  } else if (kind == Kind::prismatic) {
    f(KindOf<Kind::prismatic>{});
  } else {
    f(KindOf<Kind::free>{});
  }
}

// Where a joint's coefficients are.
struct Rows {
  Work::Order* order;
  double *cosine, *sine;
};
JOUNCE_INLINE Rows rows_of(const Work& work, int i) {
  const std::size_t at = work.first(i);
  return {work.order + at, work.cosine + at, work.sine + at};
}

// What (4) and (5) at order k have of coefficients 1 ... k - 1, which are known before order k - 1 is solved.
template <Kind K>
JOUNCE_INLINE void sum_some(int k, const Rows& rows, Joint& me) {
  Eight products[2], c[2], d[2];
  for (Eight* x : {products, c, d}) x[0] = x[1] = Eight::zero();
  const auto add = [&](int j, int half) JOUNCE_INLINED {
    products[half].add(Eight::load(rows.order[j].left), Eight::load(rows.order[k - j].right));
    if constexpr (K == Kind::free) return;
    const Eight x = Eight::load(rows.order[j].turned);
    c[half].add(rows.cosine[k + 1 - j], x);
    if constexpr (K == Kind::revolute) d[half].add(rows.sine[k + 1 - j], x);
  };
  int j = 1;
  for (; j < k - 1; j += 2) add(j, 0), add(j + 1, 1);
  if (j < k) add(j, 0);
  (products[0] += products[1]).store(me.some);
  if constexpr (K != Kind::free) (c[0] += c[1]).store(me.by_cosine);
  if constexpr (K == Kind::revolute) (d[0] += d[1]).store(me.by_sine);
}

// Left and right factors of (4) from (w, rate, ...); of a joint that turns, -sin and cos are there already.
template <Kind K>
JOUNCE_INLINE Eight left_factors(const Eight& x) {
  if constexpr (K == Kind::revolute) return picked<0, 1, 2, 0, 0, 1, 3, 3>(x);
  return picked<0, 1, 2, 0, 0, 1, 0, 1>(x);
}
template <Kind K>
JOUNCE_INLINE Eight right_factors(const Eight& x, const double* there) {
  if constexpr (K != Kind::revolute) return picked<0, 1, 2, 1, 2, 2, 3, 3>(x);
  alignas(64) static constexpr double mask[8] = {1, 1, 1, 1, 1, 1, 0, 0};
  Eight right = Eight::load(there);
  right.add(picked<0, 1, 2, 1, 2, 2, 3, 3>(x), Eight::load(mask));
  return right;
}

// What a joint that slides adds at order k, with the sums c of (5).
JOUNCE_INLINE Eight add_slid(const Eight& c, const Joint* up, Joint& me) {
  double t[8];
  c.store(t);
  const double* p = me.products;
  const double lower[8] = {0.0, 0.0, 0.0, 0.0, t[0] + 2.0 * p[7], t[1] - 2.0 * p[6], t[2], 0.0};
  me.upper[0] = -t[4], me.upper[1] = t[3];
  const Mat3<double>& R = me.in_parent.R;
  me.slid = Vector::zero();
  for (int i = 0; up && i < 6; ++i) me.slid += transposed(R, centripetal(i, R.z)) * up->products[i];
  return Eight::load(lower);
}

// All of (4) and (5) at order k, whose newest coefficients are given: (w, rate, ...) and `turned`. Returns
// what a joint adds to the acceleration of order k; `upper` is what it adds to the wrench.
template <Kind K>
JOUNCE_INLINE Eight sum_all(int k, const Rows& rows, const Work::Scales& scales, const Eight& x, double rate,
                            const Eight& turned, const Joint* up, Joint& me) {
  Work::Order& now = rows.order[k];
  const Eight left = left_factors<K>(x), right = right_factors<K>(x, now.right);
  left.store(now.left);
  right.store(now.right);
  Eight products = left * Eight::load(rows.order[0].right);
  if (k > 0) {
    products += Eight::load(me.some);
    products.add(Eight::load(rows.order[0].left), right);
  }
  products.store(me.products);
  if constexpr (K == Kind::free) return Eight::zero();
  turned.store(now.turned);
  const double over_next = scales.next[0];
  const Eight scaled = products * Eight::all(over_next);
  const Eight by = K == Kind::revolute ? spread<6>(scaled) : Eight::all(rate * over_next);
  rows.cosine[k + 1] = by.first();
  Eight c = Eight::zero();
  c.add(rows.cosine[1], turned);
  if (k > 0) {
    c += Eight::load(me.by_cosine);
    c.add(by, Eight::load(rows.order[0].turned));
  }
  if constexpr (K == Kind::revolute) {
    alignas(64) static constexpr double sign[8] = {1, -1, 1, -1, -1, 1, -1, 1};
    alignas(64) static constexpr double last[8] = {0, 0, 0, 0, 0, 0, -1, 1};
    const Eight by_sine = spread<7>(scaled);
    rows.sine[k + 1] = by_sine.first();
    (swapped<1>(scaled) * Eight::load(last)).store(rows.order[k + 1].right);  // -sin and cos
    Eight d = Eight::zero();
    d.add(rows.sine[1], turned);
    if (k > 0) {
      d += Eight::load(me.by_sine);
      d.add(by_sine, Eight::load(rows.order[0].turned));
    }
    c.add(Eight::load(sign), swapped<1>(d));
    spread_pairs<true>(c).store(me.upper);
    return spread_pairs<false>(c) * Eight::load(scales.back);
  } else {
    return add_slid(c, up, me);
  }
}

// Equation (6).
template <Kind K>
JOUNCE_INLINE void bias_outward(const Tree<double>& tree, const Node<double>& node, int k, const double* f_ext,
                                const Joint* up, const JointMaps& maps, const Eight& lower, Joint& me) {
  Eight F = maps.turn_wrench.times_six(me.products);
  if constexpr (K != Kind::free) {
    Eight m = Eight::zero();
    if (up) {
      m = maps.carried.times_six(up->products);
      m += maps.motion.times(up->m);
    } else if (k == 0) {
      const Vector g = transposed(me.in_parent.R, tree.gravity);
      const double weight[8] = {0.0, 0.0, 0.0, 0.0, -g.x, -g.y, -g.z, 0.0};
      m = Eight::load(weight);
    }
    m.store(me.before);
    m += lower;
    m.store(me.m);
    F += maps.inertia.times(m);
  }
  F.store(me.F);
  if (f_ext && node.body >= 0) {
    const Wrench given = external_wrench(node, f_ext) * kFactorial.inverse[k];
    for (int i = 0; i < 3; ++i) me.F[i] -= (&given.n.x)[i], me.F[i + 4] -= (&given.f.x)[i];
  }
}

// Equation (7), and the acceleration of a free root.
template <Kind K>
JOUNCE_INLINE void solve_inward(const Node<double>& node, const double* tau, const SolvedRate<double>* rate,
                                Joint* up, const JointMaps& maps, Joint& me) {
  if constexpr (K == Kind::free) {
    double left[6];
    for (int i = 0; i < 6; ++i) left[i] = tau[node.v + i] - me.F[i < 3 ? i : i + 1];
    maps.inertia.times_six(left).store(me.x);
  } else {
    const double u = tau[node.v] - me.F[K == Kind::revolute ? 2 : 6];
    me.u = u * rate->inverse_D;
    Eight F = Eight::load(me.F), passed = F;
    F.add(u, Eight::load(maps.freed));
    F.store(me.F);
    if (!up) return;
    passed = maps.wrench.times(passed += Eight::load(me.upper));
    passed.add(u, Eight::load(maps.freed_up));
    (passed += Eight::load(up->F)).store(up->F);
  }
}

// Equation (8). Returns (w, rate, ...) of the next order, and in `turned` what (5) reads.
template <Kind K>
JOUNCE_INLINE Eight solve_outward(const Work::Scales& scales, const Joint* up, const JointMaps& maps, Joint& me,
                                  Eight& turned) {
  Eight x = Eight::load(me.x);
  const Eight scale = Eight::load(scales.next);
  if constexpr (K != Kind::free) {
    constexpr bool turns = K == Kind::revolute;
    alignas(64) static constexpr double own[8] = {0, 0, turns, 1, 0, 0, !turns, 0};
    Eight F = Eight::load(me.F);
    x = Eight::zero();
    if (up) {
      x = maps.whole.times(up->x);
      F += maps.held.times(up->x);
    }
    x.add(me.u, Eight::load(own));
    x.store(me.x);
    Eight before = Eight::load(me.before);
    before += x;
    if constexpr (turns) {
      turned = first_pairs(before, F) * scale;
    } else {
      double y[8], f[8];
      before.store(y);
      F.store(f);
      const double slid[8] = {me.slid.x + y[1], me.slid.y - y[0], me.slid.z, f[4], f[5], 0.0, 0.0, 0.0};
      turned = Eight::load(slid);
    }
    x += Eight::load(me.m);
  }
  Eight w = Eight::zero();
  w.add(scales.next[0], x);
  return w;
}

// Calls f with what belongs to a joint: its kind, itself, its parent or null, its maps.
template <class F>
JOUNCE_INLINE void at_joint(const Tree<double>& tree, int i, const Work& work, F&& f) {
  const Node<double>& node = tree.nodes[i];
  Joint* up = node.parent < 0 ? nullptr : work.joint + node.parent;
  with_served(node.kind, [&](auto kind) JOUNCE_INLINED { f(kind, node, up, work.maps[i], work.joint[i]); });
}

// Poses, factors and maps at time 0, and the bias of order 0. Returns a singular node or -1.
inline int start(const Tree<double>& tree, const double* q, const double* rates, const double* f_ext, Work& work) {
  const int singular = factor_at(tree, q, work.angles, work.joint, work.rate);
  for (int i = 0; i < tree.n; ++i) {
    at_joint(tree, i, work, [&](auto kind, auto& node, Joint*, auto& maps, Joint& me) JOUNCE_INLINED {
      set_maps<kind()>(node, me.in_parent, me.J, work.rate + node.v, maps);
    });
  }
  for (int i = 0; i < tree.n; ++i) {
    const Rows rows = rows_of(work, i);
    at_joint(tree, i, work, [&](auto kind, auto& node, Joint* up, auto& maps, Joint& me) JOUNCE_INLINED {
      constexpr Kind K = kind();
      const double* v = rates + node.v;
      for (double* x : {me.upper, me.m}) Eight::zero().store(x);
      Eight::of(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, K == Kind::revolute ? 1.0 : 0.0).store(rows.order[0].right);
      Vector w = up ? transposed(me.in_parent.R, vector_from(rows_of(work, node.parent).order[0].left)) : Vector::zero();
      Eight y = Eight::zero();
      if constexpr (K == Kind::revolute) y = Eight::of(w.x, w.y, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), w.z += v[0];
      if constexpr (K == Kind::free) w = vector_from(v);
      const Eight x = Eight::of(w.x, w.y, w.z, K == Kind::free ? 0.0 : v[0], 0.0, 0.0, 0.0, 0.0);
      const Eight lower = sum_all<K>(0, rows, work.scales[0], x, v[0], y, up, me);
      bias_outward<K>(tree, node, 0, f_ext, up, maps, lower, me);
    });
  }
  return singular;
}

// Coefficient k of the accelerations, k + 1 of the rates and, of joints that are not free, k + 2 of the
// coordinates; sums and bias of the order that follows, while the sweeps wait for what they carry along the tree.
inline void solve_order(const Tree<double>& tree, int k, const double* tau, const double* f_ext, double* next,
                        double* along, Work& work) {
  const bool is_last = k == work.r;
  for (int i = tree.n - 1; i >= 0; --i) {
    at_joint(tree, i, work, [&](auto kind, auto& node, Joint* up, auto& maps, Joint& me) JOUNCE_INLINED {
      solve_inward<kind()>(node, tau, work.rate + node.v, up, maps, me);
      if (!is_last) sum_some<kind()>(k + 1, rows_of(work, i), me);
    });
  }
  for (int i = 0; i < tree.n; ++i) {
    at_joint(tree, i, work, [&](auto kind, auto& node, Joint* up, auto& maps, Joint& me) JOUNCE_INLINED {
      constexpr Kind K = kind();
      double w[8];
      Eight turned = Eight::zero();
      const Eight x = solve_outward<K>(work.scales[k], up, maps, me, turned);
      x.store(w);
      if constexpr (K == Kind::free) {
        store(vector_from(w), next + node.v);
        set_spin(k, Eight::load(me.x), work.scales[k].next[0], work.root[i]);
      } else {
        next[node.v] = w[3];
        along[node.q] = w[3] * work.scales[k + 1].next[0];
      }
      if (is_last) return;
      const Eight lower = sum_all<K>(k + 1, rows_of(work, i), work.scales[k + 1], x, w[3], turned, up, me);
      bias_outward<K>(tree, node, k + 1, f_ext, up, maps, lower, me);
    });
  }
}

}  // namespace state_series

// To be called once, before any series.
inline void prepare_state_series(const Tree<double>& tree, StateSeriesWork& work) {
  for (int i = 0; i < tree.n; ++i) state_series::set_inertia(tree.nodes[i], work.maps[i]);
  for (int k = 0; k <= work.r + 1; ++k) {
    StateSeriesWork::Scales& to = work.scales[k];
    for (int i = 0; i < 8; ++i) to.next[i] = i < 2 ? 1.0 / (k + 1) : 1.0, to.back[i] = i < 2 ? k + 1 : 1.0;
  }
}

// Coefficients 1 ... r + 1 of the rates, [k][nv], of which row 0 is given, and 0 ... r + 2 of the
// coordinates, [k][nq]: quaternions relative to the start. The linear velocity of free joints is along the
// axes of the parent. `forces(k)` sets row k of tau, [k][nv]; f_ext (or null) are derivatives of the external
// wrenches. Returns a singular node or -1.
template <class Forces>
int solve_state_series(const Tree<double>& tree, const double* q, const double* f_ext, Forces&& forces,
                       const double* tau, double* rates, double* coordinates, StateSeriesWork& work) {
  using namespace state_series;
  const int r = work.r, nq = tree.nq, nv = tree.nv;
  const auto wrenches = [&](int k) { return f_ext ? f_ext + std::size_t(k) * 6 * tree.n_bodies : nullptr; };
  const int singular = start(tree, q, rates, wrenches(0), work);
  for (int k = 0; k <= r; ++k) {
    forces(k);
    double *next = rates + std::size_t(k + 1) * nv, *along = coordinates + std::size_t(k + 2) * nq;
    solve_order(tree, k, tau + std::size_t(k) * nv, wrenches(k + 1), next, along, work);
  }
  for (int i = 0; i < tree.n; ++i) {
    const Node<double>& node = tree.nodes[i];
    if (node.kind == Kind::free) {
      root_series(tree, node, q, r, work.root[i], rates, coordinates);
      continue;
    }
    coordinates[node.q] = q[node.q];
    coordinates[nq + node.q] = rates[node.v];
  }
  return singular;
}

}  // namespace jounce
