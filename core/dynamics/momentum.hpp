// Momentum of the whole robot, the matrix that gives it from the rates, that matrix's rate, and the
// derivatives of the momentum.
//
// Nodes are resolved along the axes of their root and seen from the reference point of its tree
// (base_frame.hpp); the trees of several roots are put together as seen from the heaviest one. So
// what does not depend on the world's origin does not lose digits far from it.
//
// With the inertia I of the subtree of a node and d its origin seen from the center of mass c, a
// screw s of its joint gives the column
//   (1) (n + d x f, f),  (n, f) = I s.
// At a fixed point, I changes like a rigid inertia without mass: its first moment by the linear
// momentum, its rotational part by `rotational_rate`. These rates add and shift as inertias do. With
// the node's twist V,
//   (2) (n', f') = I' s + I (V x s),  and the column's rate is (n' + d x f' - c' x f, f').
// If q moves along s, the subtree with its momentum H moves as one body, but what the twist V_p of the
// node's parent gives to it does not move along, and c moves by f / m:
//   (3) (n*, f*) = s x* H - I (s x V_p),  and the momentum changes by (n* + d x f* + c' x f, f*).
// About the world's origin, with c seen from there, the momentum (n, f) is
//   (4) (n + c x f, f),  and if q moves it changes by c x df + dc x f more, where m dc is what the matrix gives.
#pragma once

#include "jounce/kinematics/base_frame.hpp"
#include "jounce/spatial/columns.hpp"

namespace jounce {

template <class S>
struct MomentumWork {
  BaseFrameWork<S> base;
  Motion<S>* twist;

  template <class P>
  MomentumWork(const Tree<P>& tree, Arena& arena)
      : base(tree, arena), twist(arena.take<Motion<S>>(tree.n)) {}
};

// Where all trees are seen from.
template <class S, class P>
JOUNCE_INLINE Vec3<S> common_origin(const Tree<P>& tree, const S* q, const BaseFrameWork<S>& work) {
  if (tree.n == 0) return Vec3<S>::zero();
  return base_frame_in_world(tree, tree.heaviest, q, work).p;
}

// Momentum (angular, linear) along the world's axes, about the world's origin or, if `centroidal`,
// about the center of mass.
template <class S, class P>
void momentum(const Tree<P>& tree, bool centroidal, const S* q, const S* v, S* out,
              MomentumWork<S>& work) {
  base_frame(tree, q, work.base);
  base_frame_twists(tree, v, work.base, work.twist);
  const Vec3<S> origin = common_origin(tree, q, work.base);
  Force<S> total = Force<S>::zero();
  Vec3<S> h = Vec3<S>::zero();
  S m(0.0);
  for (int root = 0; root < tree.n; root = tree.nodes[root].end) {
    Force<S> own = Force<S>::zero();
    Vec3<S> own_h = Vec3<S>::zero();
    S own_m(0.0);
    for (int i = root; i < tree.nodes[root].end; ++i) {
      const RigidInertia<S>& I = work.base.inertia[i];
      const Vec3<S>& p = work.base.in_root[i].p;
      own += shifted(p, I * work.twist[i]);
      own_h += I.h + p * I.m;
      own_m += I.m;
    }
    Pose<S> at = base_frame_in_world(tree, root, q, work.base);
    at.p -= origin;
    total += to_parent(at, own);
    h += at.R * own_h + at.p * own_m;
    m += own_m;
  }
  const Vec3<S> to = centroidal ? h * inverse_mass(m) : -origin;
  store(Motion<S>{total.n - cross(to, total.f), total.f}, out);
}

template <class S>
struct CentroidalWork {
  BaseFrameWork<S> base;            // inertias become those of subtrees
  ThreeRows<S> origin;              // the points that the columns refer to
  Motion<S>* twist = nullptr;       // for the rate of the matrix
  RigidInertia<S>* rate = nullptr;  // of the subtree's inertia, about a fixed point, for the same
  Force<S>* momentum = nullptr;     // of the subtree, for the derivatives

  template <class P>
  CentroidalWork(const Tree<P>& tree, Arena& arena)
      : base(tree, arena), origin(arena.take<S>(3 * std::size_t(tree.nv)), tree.nv) {}
};

template <class S>
struct CentroidalRateWork : CentroidalWork<S> {
  S* A;

  template <class P>
  CentroidalRateWork(const Tree<P>& tree, Arena& arena) : CentroidalWork<S>(tree, arena) {
    this->twist = arena.take<Motion<S>>(tree.n);
    this->rate = arena.take<RigidInertia<S>>(tree.n);
    A = arena.take<S>(6 * std::size_t(tree.nv));
  }
};

template <class S>
struct CentroidalDerivativesWork : CentroidalWork<S> {
  template <class P>
  CentroidalDerivativesWork(const Tree<P>& tree, Arena& arena) : CentroidalWork<S>(tree, arena) {
    this->twist = arena.take<Motion<S>>(tree.n);
    this->momentum = arena.take<Force<S>>(tree.n);
  }
};

// What is computed beside the matrix: nothing, its rate, or the derivative of the momentum by q.
enum class Beside { nothing, rate, by_q };

namespace centroidal {

// Of the subtrees, what (2) or (3) needs.
template <Beside B, class S, class P>
JOUNCE_INLINE void subtree_motion(const Tree<P>& tree, const S* v, CentroidalWork<S>& work) {
  base_frame_twists(tree, v, work.base, work.twist);
  for (int i = 0; i < tree.n; ++i) {
    const RigidInertia<S>& I = work.base.inertia[i];
    const Motion<S>& V = work.twist[i];
    if constexpr (B == Beside::by_q) work.momentum[i] = I * V;
    if constexpr (B == Beside::rate) {
      work.rate[i] = {S(0.0), V.v * I.m - cross(I.h, V.w), rotational_rate(I, V)};
    }
  }
  if constexpr (B == Beside::by_q) sum_subtrees(tree, work.base.in_root, work.momentum);
  if constexpr (B == Beside::rate) sum_subtrees(tree, work.base.in_root, work.rate);
}

// (n, f) and its change, of equations (1) and (2) or (3), for the joint of node i, about the origin of
// the node `at`.
template <Beside B, class S, class P>
JOUNCE_INLINE void columns(const Tree<P>& tree, int i, int at, const SixRows<S>& A,
                           const SixRows<S>& dA, CentroidalWork<S>& work) {
  const Node<P>& node = tree.nodes[i];
  const Vec3<S>& p = work.base.in_root[at].p;
  const Vec3<S> d = p - work.base.in_root[i].p;
  const RigidInertia<S>& I = work.base.inertia[i];
  Motion<S> V;  // that the screw meets
  if constexpr (B == Beside::rate) V = moved(work.twist[i], d);
  if constexpr (B == Beside::by_q) V = parent_twist(tree, i, at, work.base, work.twist);
  with_kind(node.kind, [&](auto kind) {
    constexpr Kind K = decltype(kind)::value;
    for (int k = 0; k < rates(K); ++k) {
      const Columns<S, S> c{node.v + k};
      Motion<S> s = base_frame_screw<K>(node, k, work.base.in_root[i].R);
      if (i != at) s = moved(s, d);
      const Force<S> x = I * s;
      store(x, A, c);
      work.origin.set(c, p);
      if constexpr (B != Beside::nothing) {
        Force<S> dx = I * bracket(V, s);
        if constexpr (B == Beside::rate) dx += work.rate[i] * s;
        if constexpr (B == Beside::by_q) dx += dual_bracket(s, work.momentum[i]);
        store(dx, dA, c);
      }
    }
  });
}

// The center of mass and its velocity (without rates zero), as the world's axes see them from the
// reference point of the heaviest tree.
template <class S>
struct Center {
  Vec3<S> c, dc;
};

template <Beside B, class S, class P>
JOUNCE_INLINE Center<S> center(const Tree<P>& tree, const S* q, const Vec3<S>& origin,
                               const CentroidalWork<S>& work) {
  Vec3<S> h = Vec3<S>::zero(), dh = h;
  S m(0.0);
  for (int root = 0; root < tree.n; root = tree.nodes[root].end) {
    const RigidInertia<S>& I = work.base.inertia[root];
    const Pose<S> at = base_frame_in_world(tree, root, q, work.base);
    h += at.R * I.h + (at.p - origin) * I.m;
    if constexpr (B == Beside::rate) dh += at.R * work.rate[root].h;
    if constexpr (B == Beside::by_q) dh += at.R * work.momentum[root].f;
    m += I.m;
  }
  return {h * inverse_mass(m), dh * inverse_mass(m)};
}

// Moves the columns [begin, end) to the center of mass and turns them to the world's axes R.
template <Beside B, class S>
JOUNCE_INLINE void finish(int begin, int end, const Mat3<S>& R, const Center<S>& to,
                          const SixRows<S>& A, const SixRows<S>& dA, const CentroidalWork<S>& work) {
  for_columns<S>(begin, end, [&](auto c) {
    const auto d = work.origin.from(to.c, c);
    const auto column = shifted(d, wrench(A, c));
    A.set_angular(c, R * column.n);
    A.set_linear(c, R * column.f);
    if constexpr (B != Beside::nothing) {
      auto change = shifted(d, wrench(dA, c));
      const auto moving = cross(to.dc, column.f);
      if constexpr (B == Beside::rate) change.n -= moving;
      if constexpr (B == Beside::by_q) change.n += moving;
      dA.set_angular(c, R * change.n);
      dA.set_linear(c, R * change.f);
    }
  });
}

}  // namespace centroidal

// A and what is beside it, dA, are 6 x nv, row-major. Beside nothing, v and dA are null.
template <Beside B, class S, class P>
void centroidal_momentum_matrix(const Tree<P>& tree, const S* q, const S* v, S* A, S* dA,
                                CentroidalWork<S>& work) {
  using namespace centroidal;
  const SixRows<S> rows(A, tree.nv), changes(dA, dA ? tree.nv : 0);
  BaseFrameWork<S>& base = work.base;
  base_frame(tree, q, base);
  if constexpr (B != Beside::nothing) subtree_motion<B>(tree, v, work);
  sum_subtrees(tree, base.in_root, base.inertia);
  const Vec3<S> origin = common_origin(tree, q, base);
  const Center<S> all = center<B>(tree, q, origin, work);
  for (int root = 0; root < tree.n; root = tree.nodes[root].end) {
    const Node<P>& first = tree.nodes[root];
    for_summed(tree, root, [&](int i, int at) JOUNCE_INLINED {
      columns<B>(tree, i, at, rows, changes, work);
    });
    const Pose<S> at = base_frame_in_world(tree, root, q, base);
    const Center<S> to{transposed(at.R, all.c - (at.p - origin)), transposed(at.R, all.dc)};
    finish<B>(first.v, first.v_end, at.R, to, rows, changes, work);
  }
}

// The momentum as `momentum` has it, and its derivatives, 6 x nv, row-major.
template <class S, class P>
void momentum_gradient(const Tree<P>& tree, bool about_center, const S* q, const S* v, S* out, S* by_q, S* by_v,
                       CentroidalDerivativesWork<S>& work) {
  centroidal_momentum_matrix<Beside::by_q>(tree, q, v, by_v, by_q, work);
  for (int r = 0; r < 6; ++r) {
    out[r] = S(0.0);
    for (int k = 0; k < tree.nv; ++k) out[r] += by_v[std::size_t(r) * tree.nv + k] * v[k];
  }
  if (about_center) return;
  S m(0.0);
  for (int root = 0; root < tree.n; root = tree.nodes[root].end) m += work.base.inertia[root].m;
  const Vec3<S> origin = common_origin(tree, q, work.base), f = vector_from(out + 3), f_m = f * inverse_mass(m),
                c = origin + centroidal::center<Beside::nothing>(tree, q, origin, work).c, n = cross(c, f);
  out[0] += n.x, out[1] += n.y, out[2] += n.z;
  const SixRows<S> A(by_v, tree.nv), dA(by_q, tree.nv);
  for_columns<S>(0, tree.nv, [&](auto k) {  // (4)
    const auto column = wrench(A, k);
    dA.set_angular(k, shifted(c, wrench(dA, k)).n - cross(f_m, column.f));
    A.set_angular(k, shifted(c, column).n);
  });
}

}  // namespace jounce
