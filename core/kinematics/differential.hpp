// How q exp(u) changes with q and u, and the u that leads from one configuration to another with both,
// joint by joint, in left-trivialized tangent spaces. With the right-trivialized dexp,
//   delta (q exp(u)) = Ad(exp(-u)) delta q + dexp(-u) delta u,
//   delta u = dexp(-u)^-1 delta q1 - dexp(u)^-1 delta q0  where  q1 = q0 exp(u).
// For 1-DoF joints all of these are 1.
#pragma once

#include <algorithm>

#include "jounce/kinematics/configuration.hpp"
#include "jounce/lie/group.hpp"

namespace jounce {

// Where the n x n block of a joint with n rates stands: on the diagonal of an nv x nv matrix, or, packed,
// in the first n of 6 rows. Elsewhere the matrix is zero.
enum class Layout { diagonal, packed };

template <class S>
class BlockMatrix {
 public:
  template <class P>
  BlockMatrix(const Tree<P>& tree, Layout layout, S* entries)
      : nv_(tree.nv), diagonal_(layout == Layout::diagonal), entries_(entries) {
    std::fill_n(entries, std::size_t(diagonal_ ? nv_ : 6) * nv_, S(0.0));
  }
  // The map times a sign.
  template <class P>
  void set(const Node<P>& node, const Blocks<S>& map, double sign = 1.0) {
    const Vec3<S> d[] = {map.D.x, map.D.y, map.D.z}, l[] = {map.L.x, map.L.y, map.L.z};
    for (int k = 0; k < node.nv; ++k) {
      S* column = at(node) + k;
      if (k < 3) store(d[k] * sign, column, nv_);
      if (node.nv > 3) store((k < 3 ? l[k] : d[k - 3]) * sign, column + 3 * std::size_t(nv_), nv_);
    }
  }
  template <class P>
  void set(const Node<P>& node, double x) { *at(node) = S(x); }

 private:
  template <class P>
  S* at(const Node<P>& node) const {
    return entries_ + node.v + (diagonal_ ? std::size_t(node.v) * nv_ : 0);
  }
  int nv_;
  bool diagonal_;
  S* entries_;
};

namespace detail {
// The linear part of a joint's tangent vector; zero where it only turns.
template <class S, class P>
Vec3<S> linear_part(const Node<P>& node, const S* u) {
  return node.kind == Kind::free ? Vec3<S>{u[3], u[4], u[5]} : Vec3<S>::zero();
}
}  // namespace detail

template <class S, class P>
void integrate_derivatives(const Tree<P>& tree, Layout layout, const S* dv, S* by_q, S* by_dv) {
  BlockMatrix<S> start(tree, layout, by_q), step(tree, layout, by_dv);
  for (const Node<P>& node : tree.nodes) {
    const S* u = dv + node.v;
    if (node.nv == 1) {
      start.set(node, 1.0);
      step.set(node, 1.0);
      continue;
    }
    const Vec3<S> w{-u[0], -u[1], -u[2]}, v = -detail::linear_part(node, u);
    const Blocks<S> dexp = right_dexp(w, v);
    step.set(node, dexp);
    start.set(node, adjoint_of_exp(w, v, dexp));
  }
}

template <class S, class P>
void difference_derivatives(const Tree<P>& tree, const S* q0, const S* q1, S* by_q0, S* by_q1) {
  BlockMatrix<S> start(tree, Layout::diagonal, by_q0), end(tree, Layout::diagonal, by_q1);
  for (const Node<P>& node : tree.nodes) {
    if (node.nv == 1) {
      start.set(node, -1.0);
      end.set(node, 1.0);
      continue;
    }
    S u[6];
    difference(node, q0 + node.q, q1 + node.q, u);
    const Vec3<S> w{u[0], u[1], u[2]}, v = detail::linear_part(node, u);
    start.set(node, inverse_right_dexp(w, v), -1.0);
    end.set(node, inverse_right_dexp(-w, -v));
  }
}

}  // namespace jounce
