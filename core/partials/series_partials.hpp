// Partial derivatives of the time derivatives of tau with respect to q and to all derivatives of the
// motion, from the time series of three matrices: M = dtau/da, D_v = dtau/dv and D_q = dtau/dq along the
// motion.
//
// A quantity x(t) is held by its Taylor coefficients (series/joint_series.hpp); coefficient k of a product
// is a sum over x_a y_(k-a). The matrices are those of inverse_partials.hpp, equations (1), (2), (4) and
// (5) there, with everything along the axes of the root and about one point, the origin of the base: there
// sums over subtrees are mere sums. In these axes, which move, inertias are series as well:
//   (1) R = R_p R0 Rj,  p = p_p + R_p (p0 + R0 pj),  s = (R e, p x R e), likewise for slides,
//   (2) h = R h_own + m p,  I = R I_own R^T - hat(p) hat(k) - (hat(p) hat(k))^T,  k = R h_own + m p / 2.
//
// When q at time 0 and the derivatives of v change, the coordinates at other times move by xi(t), with
//   (3) xi' = delta v - ad_v xi,  delta tau = D_q xi + D_v delta v + M delta v',
// where ad_v acts within each joint and is zero for those with one rate. With the responses E of xi to
// delta q and L_l to coefficient l of delta v, order k of tau has the derivatives
//   (4) by q:            k!    sum_a D_q[a] E[k-a],
//       by v^(l):  k! / l! (sum_a D_q[a] L_l[k-a] + D_v[k-l] + l M[k-l+1]),   0 for l > k+1,
//   (5) (k+1) E[k+1] = -sum_a ad(v_a) E[k-a],  E[0] = 1,  L_l likewise from L_l[l+1] = 1 / (l+1) on.
#pragma once

#include "jounce/partials/mass_partials.hpp"
#include "jounce/series/joint_series.hpp"

namespace jounce {

template <class S>
struct SeriesPartialsWork {
  struct Row {  // coefficient k of a node
    Mat3<S> R;
    Vec3<S> p;
    RigidInertia<S> I;  // of the subtree, as momentum, f and Y
    Motion<S> V, A;
    Force<S> momentum, f;
    Sym3<S> Y;
  };
  struct Rate {
    Motion<S> s, psi, psi2, sum;
  };
  int r, rows;               // order; coefficients of the matrices, r + 1
  std::size_t nv;
  Angles<S> angles;
  Row* row;                  // [node][k]
  Rate* rate;                // [rate][k]
  S *v, *sine, *cosine;      // [k][nv]; [k] of the joint at hand, as what follows
  Mat3<S>*rotation, *turn;   // Rj of a group, R0 Rj
  Vec3<S>* place;            // pj
  Motion<S>* joint;          // velocity of the joint
  S *t1, *t2, *t3, *t4;      // [k] six or three rows over the rates
  S *M, *dv, *dq;            // [k][nv][nv]
  S *response, *scratch;     // [k][6][6] of equation (5); one row of a matrix

  template <class P>
  SeriesPartialsWork(const Tree<P>& tree, int order, Arena& arena)
      : r(order), rows(order + 1), nv(tree.nv), angles(tree, arena) {
    const std::size_t n = rows + 1;
    row = arena.take<Row>(n * tree.n);
    rate = arena.take<Rate>(n * nv);
    v = arena.take<S>(n * nv);
    for (S** x : {&sine, &cosine}) *x = arena.take<S>(n);
    for (Mat3<S>** x : {&rotation, &turn}) *x = arena.take<Mat3<S>>(n);
    place = arena.take<Vec3<S>>(n);
    joint = arena.take<Motion<S>>(n);
    for (S** x : {&t1, &t2, &t3}) *x = arena.take<S>(6 * n * nv);
    t4 = arena.take<S>(3 * n * nv);
    for (S** x : {&M, &dv, &dq}) *x = arena.take<S>(n * nv * nv);
    response = arena.take<S>(36 * (n + 1));
    scratch = arena.take<S>(nv);
  }
  JOUNCE_INLINE Row* of_node(int i) const { return row + std::size_t(rows) * i; }
  JOUNCE_INLINE Rate* of_rate(int i) const { return rate + std::size_t(rows) * i; }
  JOUNCE_INLINE SixRows<S> six(S* t, int k) const { return SixRows<S>(t + 6 * nv * k, nv); }
  JOUNCE_INLINE ThreeRows<S> three(int k) const { return ThreeRows<S>(t4 + 3 * nv * k, nv); }
};

namespace series_partials {

// Coefficient k of a product: the sum of f(a, k - a).
template <class F>
JOUNCE_INLINE auto convolved(int k, F&& f) {
  auto sum = f(0, k);
  for (int a = 1; a <= k; ++a) sum += f(a, k - a);
  return sum;
}

template <class S>
struct Matrix : Mat3<S> {
  JOUNCE_INLINE Matrix(const Mat3<S>& m) : Mat3<S>(m) {}
  JOUNCE_INLINE Matrix& operator+=(const Mat3<S>& b) {
    this->x += b.x; this->y += b.y; this->z += b.z;
    return *this;
  }
};

// Coefficient k of Rj.
template <Kind K, class S, class P>
JOUNCE_INLINE Mat3<S> joint_rotation(const JointSeries<S, P>& s, int k) {
  const S o(0.0), one(k == 0 ? 1.0 : 0.0);
  if constexpr (is_group(K)) return s.rotation[k];
  if constexpr (!turns(K)) return {{one, o, o}, {o, one, o}, {o, o, one}};
  return {{s.cosine[k], s.sine[k], o}, {-s.sine[k], s.cosine[k], o}, {o, o, one}};
}

template <class S, class P>
JOUNCE_INLINE JointSeries<S, P> joint_of(const Node<P>& node, const SeriesPartialsWork<S>& work) {
  return {node, work.v + node.v, work.nv, work.sine, work.cosine, work.rotation, work.place};
}

// R0 Rj and pj of the joint at hand.
template <Kind K, class S, class P>
JOUNCE_INLINE void expand(const JointSeries<S, P>& s, const S* q, SeriesPartialsWork<S>& work) {
  series::start_joint<K>(s, q, work.angles);
  for (int k = 1; k < work.rows; ++k) series::extend_joint<K>(s, k);
  for (int k = 0; k < work.rows; ++k) {
    work.turn[k] = s.node.placement.R * joint_rotation<K>(s, k);
    if constexpr (!moves(K)) work.place[k] = Vec3<S>::zero();
  }
}

// Equation (1) for the pose of a node; of a root, the gravity along its axes, as -A.
template <class S, class P>
JOUNCE_INLINE void place_node(const Tree<P>& tree, int i, SeriesPartialsWork<S>& work) {
  const Node<P>& node = tree.nodes[i];
  const Pose<P>& at = node.placement;
  auto* me = work.of_node(i);
  const Vec3<S> zero = Vec3<S>::zero();
  for (int k = 0; k < work.rows; ++k) {
    me[k].V = me[k].A = Motion<S>::zero();
    if (node.parent < 0) {
      me[k].R = k == 0 ? Mat3<S>::identity() : Mat3<S>{zero, zero, zero};
      me[k].p = zero;
      me[k].A.v = -transposed(work.turn[k], tree.gravity);
      continue;
    }
    const auto* up = work.of_node(node.parent);
    me[k].R = convolved(k, [&](int a, int b) { return Matrix<S>(up[a].R * work.turn[b]); });
    me[k].p = up[k].p + up[k].R * at.p +
              convolved(k, [&](int a, int b) { return up[a].R * (at.R * work.place[b]); });
  }
}

template <class S, class P>
JOUNCE_INLINE void poses(const Tree<P>& tree, const S* q, SeriesPartialsWork<S>& work) {
  work.angles.compute(tree, q);
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    with_kind(node.kind, [&](auto kind) {
      expand<decltype(kind)::value>(joint_of(node, work), q, work);
    });
    place_node(tree, i, work);
    for (int j = node.recenter; j >= 0 && j < i; ++j) {
      for (int k = 0; k < work.rows; ++k) work.of_node(j)[k].p -= work.of_node(i)[k].p;
    }
    for (int k = 0; node.recenter >= 0 && k < work.rows; ++k) work.of_node(i)[k].p = Vec3<S>::zero();
  }
}

// Coefficient k of equation (2).
template <class S, class P>
JOUNCE_INLINE RigidInertia<S> inertia(const RigidInertia<P>& own, const typename SeriesPartialsWork<S>::Row* me,
                                      int k) {
  const Sym3<P>& I = own.I;
  const Mat3<P> full{{I.xx, I.xy, I.xz}, {I.xy, I.yy, I.yz}, {I.xz, I.yz, I.zz}};
  const S o(0.0);
  Sym3<S> sum{o, o, o, o, o, o};
  for (int a = 0; a <= k; ++a) {
    const int b = k - a;
    const Mat3<S> X = me[a].R * full;  // its rows times those of R are the entries of X R^T
    const Mat3<S>& R = me[b].R;
    sum.xx += X.x.x * R.x.x + X.y.x * R.y.x + X.z.x * R.z.x;
    sum.xy += X.x.x * R.x.y + X.y.x * R.y.y + X.z.x * R.z.y;
    sum.xz += X.x.x * R.x.z + X.y.x * R.y.z + X.z.x * R.z.z;
    sum.yy += X.x.y * R.x.y + X.y.y * R.y.y + X.z.y * R.z.y;
    sum.yz += X.x.y * R.x.z + X.y.y * R.y.z + X.z.y * R.z.z;
    sum.zz += X.x.z * R.x.z + X.y.z * R.y.z + X.z.z * R.z.z;
    sum = shifted(me[a].p, sum, me[b].R * own.h + me[b].p * (own.m * 0.5));
  }
  return {S(k == 0 ? own.m : 0.0), me[k].R * own.h + me[k].p * own.m, sum};
}

// Coefficient k of screw j of a node, equation (1).
template <Kind K, class S, class P>
JOUNCE_INLINE Motion<S> screw(const Node<P>& node, int j, const typename SeriesPartialsWork<S>::Row* me,
                              int k) {
  Motion<S> s = base_frame_screw<K>(node, j, me[k].R);
  if constexpr (rotates(K)) {
    if (!slides(K, j)) {
      s.v += convolved(k, [&](int a, int b) {
        return cross(me[a].p, base_frame_screw<K>(node, j, me[b].R).w);
      });
    }
  }
  return s;
}

// The rates of a node, and what its joint adds to V and A, which are the parent's before.
template <Kind K, class S, class P>
JOUNCE_INLINE void add_joint(const Node<P>& node, typename SeriesPartialsWork<S>::Row* me,
                             SeriesPartialsWork<S>& work) {
  const int rows = work.rows;
  for (int k = 0; k < rows; ++k) {
    Motion<S>& joint = work.joint[k] = Motion<S>::zero();
    for (int j = 0; j < rates(K); ++j) {
      auto* rate = work.of_rate(node.v + j);
      rate[k].s = screw<K, S>(node, j, me, k);
      rate[k].psi = convolved(k, [&](int a, int b) { return bracket(me[a].V, rate[b].s); });
      rate[k].psi2 = convolved(k, [&](int a, int b) {
        Motion<S> sum = bracket(me[a].A, rate[b].s);
        sum += bracket(me[a].V, rate[b].psi);
        return sum;
      });
      for (int a = 0; a <= k; ++a) {
        const S& v = work.v[(k - a) * work.nv + node.v + j];
        joint += Motion<S>{rate[a].s.w * v, rate[a].s.v * v};
      }
    }
  }
  for (int k = 0; k < rows; ++k) {
    for (int j = 0; j < rates(K); ++j) {
      auto* rate = work.of_rate(node.v + j);
      rate[k].sum = {rate[k].psi.w * 2.0, rate[k].psi.v * 2.0};
      if constexpr (is_group(K)) {
        rate[k].sum += convolved(k, [&](int a, int b) { return bracket(work.joint[a], rate[b].s); });
      }
    }
  }
  for (int k = rows - 1; k >= 0; --k) {  // V is still the parent's at lower orders
    me[k].A += convolved(k, [&](int a, int b) { return bracket(me[a].V, work.joint[b]); });
    for (int j = 0; j < rates(K); ++j) {
      const auto* rate = work.of_rate(node.v + j);
      for (int a = 0; a <= k; ++a) {
        const S acceleration = work.v[(k - a + 1) * work.nv + node.v + j] * double(k - a + 1);
        me[k].A += Motion<S>{rate[a].s.w * acceleration, rate[a].s.v * acceleration};
      }
    }
    me[k].V += work.joint[k];
  }
}

// What belongs to a node itself; f_ext holds derivatives, or is null.
template <class S, class P>
JOUNCE_INLINE void own_terms(const Tree<P>& tree, const Node<P>& node, const S* f_ext,
                             typename SeriesPartialsWork<S>::Row* me, const SeriesPartialsWork<S>& work) {
  for (int k = 0; k < work.rows; ++k) {
    me[k].I = inertia<S>(node.inertia, me, k);
    me[k].momentum = convolved(k, [&](int a, int b) { return me[a].I * me[b].V; });
    me[k].Y = convolved(k, [&](int a, int b) { return rotational_rate(me[a].I, me[b].V); });
    me[k].f = convolved(k, [&](int a, int b) {
      Force<S> sum = me[a].I * me[b].A;
      sum += dual_bracket(me[a].V, me[b].momentum);
      return sum;
    });
    if (!f_ext || node.body < 0) continue;
    for (int a = 0; a <= k; ++a) {
      const Force<S> own = external_wrench(node, f_ext + std::size_t(a) * 6 * tree.n_bodies);
      for (int b = 0; a + b <= k; ++b) {  // along the root's axes, then about its origin
        const double scale = kFactorial.inverse[a];
        const Vec3<S> force = me[b].R * own.f * scale;
        if (a + b == k) me[k].f -= Force<S>{me[b].R * own.n * scale, force};
        me[k].f.n -= cross(me[k - a - b].p, force);
      }
    }
  }
}

// Equation (4) of inverse_partials.hpp.
template <class S>
JOUNCE_INLINE void keep_wrenches(const typename SeriesPartialsWork<S>::Row* me, int at,
                                 const SeriesPartialsWork<S>& work) {
  using partials::twice_B;
  const auto* rate = work.of_rate(at);
  const Columns<S, S> c{at};
  for (int k = 0; k < work.rows; ++k) {
    Force<S> t1 = Force<S>::zero(), t2 = t1, t3 = t1;
    Vec3<S> t4 = Vec3<S>::zero();
    for (int a = 0; a <= k; ++a) {
      const auto& x = me[a];
      const auto& y = rate[k - a];
      t1 += x.I * y.s;
      t2 += twice_B(x.Y, x.momentum, y.s.w);
      t2 += x.I * y.sum;
      t3 += twice_B(x.Y, x.momentum, y.psi.w);
      t3 += x.I * y.psi2;
      t3 += dual_bracket(y.s, x.f);
      t4 += partials::twice_B_transposed(x.Y, x.momentum, y.s);
    }
    store(t1, work.six(work.t1, k), c);
    store(t2, work.six(work.t2, k), c);
    store(t3, work.six(work.t3, k), c);
    work.three(k).set(c, t4);
  }
}

// Equation (5) of inverse_partials.hpp for a rate j and columns c outward of its node, or within it.
template <bool kOwn, class S, class C>
JOUNCE_INLINE void pair(int j, const C& c, const SeriesPartialsWork<S>& work) {
  using V = typename C::Value;
  const std::size_t nv = work.nv, size = nv * nv;
  const auto* rate = work.of_rate(j);
  for (int k = 0; k < work.rows; ++k) {
    V M(0.0), v(0.0), q(0.0), below_v(0.0), below_q(0.0);
    for (int a = 0; a <= k; ++a) {
      const auto& x = rate[k - a];
      const Force<V> t1 = wrench(work.six(work.t1, a), c);
      const Vec3<V> t4 = work.three(a).get(c);
      M += V(dot(t1, x.s));
      below_q += V(dot(t4, x.psi.w) + dot(t1, x.psi2));
      below_v += V(dot(t4, x.s.w) + dot(t1, x.sum));
      if constexpr (kOwn) continue;
      v += V(dot(wrench(work.six(work.t2, a), c), x.s));
      q += V(dot(wrench(work.six(work.t3, a), c), x.s));
    }
    const std::size_t row = k * size + j * nv, column = k * size + j;
    using partials::Cube;
    Cube<S>::scatter(c, below_q, work.dq + column, nv);
    Cube<S>::scatter(c, below_v, work.dv + column, nv);
    Cube<S>::scatter(c, M, work.M + column, nv);
    if constexpr (kOwn) continue;
    c.store(work.dq + row, q);
    c.store(work.dv + row, v);
    c.store(work.M + row, M);
  }
}

// The three matrices.
template <class S, class P>
JOUNCE_INLINE void matrices(const Tree<P>& tree, const S* q, const S* motion, const S* f_ext,
                            SeriesPartialsWork<S>& work) {
  const int rows = work.rows;
  for (int k = 0; k <= rows; ++k) {
    for (std::size_t i = 0; i < work.nv; ++i) {
      work.v[k * work.nv + i] = motion[k * work.nv + i] * kFactorial.inverse[k];
    }
  }
  for (S* x : {work.M, work.dv, work.dq}) std::fill_n(x, rows * work.nv * work.nv, S(0.0));
  poses(tree, q, work);
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    auto* me = work.of_node(i);
    for (int k = 0; node.parent >= 0 && k < rows; ++k) {
      me[k].V = work.of_node(node.parent)[k].V;
      me[k].A = work.of_node(node.parent)[k].A;
    }
    with_kind(node.kind, [&](auto kind) { add_joint<decltype(kind)::value, S>(node, me, work); });
    own_terms(tree, node, f_ext, me, work);
    pause();
  }
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<P>& node = tree.nodes[i];
    const auto* me = work.of_node(i);
    const int own_end = node.v + node.nv;
    for (int j = node.v; j < own_end; ++j) keep_wrenches<S>(me, j, work);
    for (int j = node.v; j < own_end; ++j) {
      for (int c = node.v; c < own_end; ++c) pair<true>(j, Columns<S, S>{c}, work);
      for_columns<S>(own_end, node.v_end, [&](auto c) { pair<false>(j, c, work); });
      pause();
      work.M[j * (work.nv + 1)] += tree.armature[j];
    }
    for (int k = 0; node.parent >= 0 && k < rows; ++k) {
      auto& up = work.of_node(node.parent)[k];
      up.I += me[k].I;
      up.momentum += me[k].momentum;
      up.f += me[k].f;
      up.Y += me[k].Y;
    }
  }
}

// [v, x] of rates v and columns x of a group joint, as entries of n x n matrices; n is 3 or 6.
template <class S>
JOUNCE_INLINE void add_bracket(int n, const S* v, const S* x, S* out) {
  const Vec3<S> w{v[0], v[1], v[2]};
  for (int c = 0; c < n; ++c) {
    const Vec3<S> xw{x[c], x[n + c], x[2 * n + c]};
    const Vec3<S> angular = cross(w, xw);
    out[c] += angular.x; out[n + c] += angular.y; out[2 * n + c] += angular.z;
    if (n == 3) continue;
    const Vec3<S> xv{x[3 * n + c], x[4 * n + c], x[5 * n + c]};
    const Vec3<S> linear = cross(w, xv) + cross(Vec3<S>{v[3], v[4], v[5]}, xw);
    out[3 * n + c] += linear.x; out[4 * n + c] += linear.y; out[5 * n + c] += linear.z;
  }
}

// Equation (5) for a joint of n rates: from the identity, divided by `first`, at coefficient `first`
// (or 1 at 0) on.
template <class S>
JOUNCE_INLINE void respond(int n, int v, int first, SeriesPartialsWork<S>& work) {
  const std::size_t size = std::size_t(n) * n;
  for (int k = 0; k <= work.r; ++k) {
    S* now = work.response + k * size;
    std::fill_n(now, size, S(0.0));
    if (k < first) continue;
    if (k == first) {
      for (int i = 0; i < n; ++i) now[i * (n + 1)] = S(first ? 1.0 / first : 1.0);
      continue;
    }
    for (int a = 0; a < k - first; ++a) {
      add_bracket(n, work.v + a * work.nv + v, work.response + (k - 1 - a) * size, now);
    }
    for (std::size_t i = 0; i < size; ++i) now[i] *= S(-1.0 / k);
  }
}

// Adds scale times sum_a D_q[a] response[k-a] to the columns of a joint of n rates in row i of `out`, but for
// the first of the responses, at coefficient `first`.
template <class S>
JOUNCE_INLINE void add_responses(int n, int v, int i, int k, int first, double scale, const S* responses,
                                 const SeriesPartialsWork<S>& work, S* out) {
  const std::size_t size = work.nv * work.nv;
  for (int a = 0; a < k - first; ++a) {
    const S* D = work.dq + a * size + i * work.nv + v;
    const S* X = responses + (k - a) * n * n;
    for (int x = 0; x < n; ++x) {
      for (int y = 0; y < n; ++y) out[v + y] += D[x] * X[x * n + y] * scale;
    }
  }
}

// Equation (4) with the first of each response, which is all of it for joints of one rate.
template <class S>
JOUNCE_INLINE void assemble(int k, std::size_t i, S* dq, S* dmotion, const SeriesPartialsWork<S>& work) {
  const std::size_t nv = work.nv, size = nv * nv;
  const auto row = [&](const S* matrices, int at) { return matrices + at * std::ptrdiff_t(size) + i * nv; };
  for (std::size_t j = 0; j < nv; ++j) dq[j] = row(work.dq, k)[j] * kFactorial.of[k];
  for (int l = 0; l < work.r + 2; ++l, dmotion += nv) {
    const double scale = kFactorial.of[k] * kFactorial.inverse[l];
    const S *q = row(work.dq, k - l - 1), *v = row(work.dv, k - l), *M = row(work.M, k - l + 1);
    for (std::size_t j = 0; j < nv; ++j) {
      S sum(0.0);
      if (l < k) sum += q[j] * (scale / (l + 1));
      if (l <= k) sum += v[j] * scale;
      if (l > 0 && l <= k + 1) sum += M[j] * (scale * l);
      dmotion[j] = sum;
    }
  }
}

}  // namespace series_partials

// motion: (r+2, nv) derivatives of v; f_ext: (r+1, n_bodies, 6) derivatives, or null. dq: (r+1, nv, nv),
// dmotion: (r+1, nv, r+2, nv).
template <class S, class P>
void inverse_dynamics_series_partials(const Tree<P>& tree, const S* q, const S* motion, const S* f_ext,
                                      S* dq, S* dmotion, SeriesPartialsWork<S>& work) {
  using namespace series_partials;
  matrices(tree, q, motion, f_ext, work);
  const int r = work.r, levels = r + 2;
  const std::size_t nv = work.nv, size = nv * nv;
  const auto at = [&](int k, int i, int l) { return dmotion + ((k * nv + i) * levels + l) * nv; };
  for (int k = 0; k <= r; ++k) {
    for (std::size_t i = 0; i < nv; ++i) assemble(k, i, dq + k * size + i * nv, at(k, i, 0), work);
    pause();
  }
  for (const Node<P>& node : tree.nodes) {
    const int n = node.nv, v = node.v;
    if (n == 1) continue;
    for (int l = -1; l < r; ++l) {  // of q, then of v and its derivatives
      respond(n, v, l + 1, work);
      for (int k = l + 2; k <= r; ++k) {
        const double scale = kFactorial.of[k] * (l < 0 ? 1.0 : kFactorial.inverse[l]);
        for (int i = 0; i < tree.nv; ++i) {
          S* out = l < 0 ? dq + k * size + i * nv : at(k, i, l);
          add_responses(n, v, i, k, l + 1, scale, work.response, work, out);
        }
        pause();
      }
    }
  }
}

}  // namespace jounce
