// Partial derivatives of twist, acceleration and Jacobian of one frame, from the columns J_j of its
// Jacobian in body axes (mueller, eq. 5, 12 and 14). When rate k moves, what is inward of its joint
// moves against the frame:
//   (1) D_k J_j = [J_j, J_k] for a joint of j inward of that of k, else zero.
// With V_<k and A_<k, what the joints inward of k contribute to the twist V and its derivative A, and
// V_>k the twist from those outward of it,
//   (2) D_k V = [V_<k, J_k],  D_k A = [A_<k, J_k] + [D_k V, V - V_<k],
//   (3) dA/dv_k = D_k V + [J_k, V_>k].
// The other representations turn their axes with the frame (`turning`):
//   (4) D_k (X y) = X (D_k y + turning(J_k, y)).
#pragma once

#include <algorithm>

#include "jounce/kinematics/jacobian.hpp"
#include "jounce/scalar/pause.hpp"

namespace jounce {

template <class S>
struct FramePartialsWork : FrameWork<S> {
  struct Column {
    int rate, node;
    Motion<S> J, dV;  // dV: D_k V
  };
  Column* column;  // of the frame's ancestors, the first from the root
  int count = 0;
  Pose<S> world;

  template <class P>
  FramePartialsWork(const Tree<P>& tree, Arena& arena)
      : FrameWork<S>(tree, arena), column(arena.take<Column>(tree.nv)) {}

  // Whether the joint of column j is inward of that of column k.
  JOUNCE_INLINE bool inward(int j, int k) const { return column[j].node < column[k].node; }
  // Equation (1).
  JOUNCE_INLINE Motion<S> derivative(int j, int k) const {
    return inward(j, k) ? bracket(column[j].J, column[k].J) : Motion<S>::zero();
  }
};

namespace partials {

template <class S>
JOUNCE_INLINE Motion<S> difference(const Motion<S>& a, const Motion<S>& b) {
  return {a.w - b.w, a.v - b.v};
}
template <class S>
JOUNCE_INLINE Motion<S> sum(Motion<S> a, const Motion<S>& b) {
  a += b;
  return a;
}
template <class S>
JOUNCE_INLINE Motion<S> scaled(const Motion<S>& a, const S& s) {
  return {a.w * s, a.v * s};
}

// The columns, and the frame's pose.
template <class S, class P>
JOUNCE_INLINE void frame_columns(const Tree<P>& tree, const FrameAt<P>& frame, const S* q,
                                 FramePartialsWork<S>& work) {
  work.count = 0;
  for (int i = frame.node; i >= 0; i = tree.nodes[i].parent) work.count += tree.nodes[i].nv;
  int at = work.count, i = frame.node;
  work.world = walk_to_root(tree, frame, q, work, [&](const Node<P>& node, const Pose<S>& T) {
    at -= node.nv;
    for (int k = 0; k < node.nv; ++k) {
      auto& column = work.column[at + k];
      column.rate = node.v + k;
      column.node = i;
      column.J = to_child(T, screw<S>(node, k));
    }
    i = node.parent;
  });
}

// Calls visit(first, last) for the columns of each joint, from the root outward.
template <class S, class Visit>
JOUNCE_INLINE void for_joints(const FramePartialsWork<S>& work, Visit&& visit) {
  for (int first = 0, last = 0; first < work.count; first = last) {
    while (last < work.count && work.column[last].node == work.column[first].node) ++last;
    visit(first, last);
  }
}

// V, and D_k V by equation (2).
template <class S>
JOUNCE_INLINE Motion<S> twist_columns(const S* v, FramePartialsWork<S>& work) {
  Motion<S> V = Motion<S>::zero();
  for_joints(work, [&](int first, int last) {
    for (int k = first; k < last; ++k) work.column[k].dV = bracket(V, work.column[k].J);
    for (int k = first; k < last; ++k) V += scaled(work.column[k].J, v[work.column[k].rate]);
  });
  return V;
}

// J_k a_k + (D_k V) v_k: what a rate contributes to A.
template <class S>
JOUNCE_INLINE Motion<S> acceleration_term(const typename FramePartialsWork<S>::Column& column, const S* v,
                                          const S* a) {
  return sum(scaled(column.J, a[column.rate]), scaled(column.dV, v[column.rate]));
}

}  // namespace partials

// dq and dv are 6 x nv, row-major.
template <class S, class P>
void frame_twist_partials(const Tree<P>& tree, const FrameAt<P>& frame, Representation representation,
                          const S* q, const S* v, S* dq, S* dv, FramePartialsWork<S>& work) {
  const int nv = tree.nv;
  for (S* x : {dq, dv}) std::fill_n(x, 6 * std::size_t(nv), S(0.0));
  partials::frame_columns(tree, frame, q, work);
  const Motion<S> V = partials::twist_columns(v, work);
  for (int k = 0; k < work.count; ++k) {
    const auto& column = work.column[k];
    store(represented_rate(representation, work.world, column.J, V, column.dV), dq + column.rate, nv);
    store(represented(representation, work.world, column.J), dv + column.rate, nv);
  }
}

// dq, dv and da are 6 x nv, row-major; of the derivative of the twist's components.
template <class S, class P>
void frame_acceleration_partials(const Tree<P>& tree, const FrameAt<P>& frame,
                                 Representation representation, const S* q, const S* v, const S* a,
                                 S* dq, S* dv, S* da, FramePartialsWork<S>& work) {
  using namespace partials;
  const int nv = tree.nv;
  for (S* x : {dq, dv, da}) std::fill_n(x, 6 * std::size_t(nv), S(0.0));
  frame_columns(tree, frame, q, work);
  const Motion<S> V = twist_columns(v, work);
  Motion<S> A = turning(representation, V, V);  // of the represented components
  for (int k = 0; k < work.count; ++k) A += acceleration_term<S>(work.column[k], v, a);
  Motion<S> V_before = Motion<S>::zero(), A_before = V_before;
  const auto turn = [&](const Motion<S>& x, const Motion<S>& y) { return turning(representation, x, y); };
  for_joints(work, [&](int first, int last) {
    Motion<S> V_with = V_before;
    for (int k = first; k < last; ++k) V_with += scaled(work.column[k].J, v[work.column[k].rate]);
    const Motion<S> from = difference(V, V_before), after = difference(V, V_with);
    for (int k = first; k < last; ++k) {
      const auto& [rate, node, J, dV] = work.column[k];
      Motion<S> A_dq = sum(bracket(A_before, J), bracket(dV, from));  // (2)
      A_dq += sum(turn(dV, V), turn(V, dV));
      Motion<S> A_dv = sum(dV, bracket(J, after));  // (3)
      A_dv += sum(turn(J, V), turn(V, J));
      store(represented_rate(representation, work.world, J, A, A_dq), dq + rate, nv);
      store(represented(representation, work.world, A_dv), dv + rate, nv);
      store(represented(representation, work.world, J), da + rate, nv);
    }
    for (int k = first; k < last; ++k) A_before += acceleration_term<S>(work.column[k], v, a);
    V_before = V_with;
  });
}

// Entry [., j, k] of the 6 x nv x nv array is D_k J_j.
template <class S, class P>
void jacobian_partials(const Tree<P>& tree, const FrameAt<P>& frame, Representation representation,
                       const S* q, S* dJ, FramePartialsWork<S>& work) {
  const std::size_t nv = tree.nv;
  std::fill_n(dJ, 6 * nv * nv, S(0.0));
  partials::frame_columns(tree, frame, q, work);
  for (int j = 0; j < work.count; ++j) {
    const auto& own = work.column[j];
    for (int k = 0; k < work.count; ++k) {
      const auto& by = work.column[k];
      const Motion<S> x =
          represented_rate(representation, work.world, by.J, own.J, work.derivative(j, k));
      store(x, dJ + own.rate * nv + by.rate, int(nv * nv));
    }
  }
}

// Entry [., j, k, l] of the 6 x nv x nv x nv array is D_l D_k J_j: equations (1) and (4) twice.
template <class S, class P>
void jacobian_second_partials(const Tree<P>& tree, const FrameAt<P>& frame, Representation representation,
                              const S* q, S* ddJ, FramePartialsWork<S>& work) {
  using namespace partials;
  const std::size_t nv = tree.nv;
  for (std::size_t i = 0; i < 6 * nv; ++i) {
    std::fill_n(ddJ + i * nv * nv, nv * nv, S(0.0));
    pause();
  }
  frame_columns(tree, frame, q, work);
  const auto turn = [&](const Motion<S>& x, const Motion<S>& y) { return turning(representation, x, y); };
  for (int j = 0; j < work.count; ++j) {
    const auto& own = work.column[j];
    for (int k = 0; k < work.count; ++k) {
      const auto& by = work.column[k];
      const Motion<S> first = sum(work.derivative(j, k), turn(by.J, own.J));
      pause();
      for (int l = 0; l < work.count; ++l) {
        const auto& then = work.column[l];
        const Motion<S> own_by = work.derivative(j, l), by_by = work.derivative(k, l);
        Motion<S> second = sum(turn(by_by, own.J), turn(by.J, own_by));
        if (work.inward(j, k)) second += sum(bracket(own_by, by.J), bracket(own.J, by_by));
        const Motion<S> x = represented_rate(representation, work.world, then.J, first, second);
        store(x, ddJ + (own.rate * nv + by.rate) * nv + then.rate, int(nv * nv * nv));
      }
    }
  }
}

}  // namespace jounce
