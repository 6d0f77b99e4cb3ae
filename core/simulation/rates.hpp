// What explicit methods integrate: coordinates q, and rates s that are v but for the linear velocity
// of free joints, which is kept along the axes of the parent. There it does not turn with the body:
//   (1) u = R v,   u' = R (v' + w x v)
// Turns are elements of SO(3), everything else is added:
//   (2) q exp(u): R exp(u_w), p + u_v
//   (3) xi' = dexp_inv(-xi) w = w + xi x w / 2 + e(|xi|^2) xi x (xi x w),  for R_0 exp(xi)
// (Munthe-Kaas 1999) with e of `Cotangent`.
#pragma once

#include "jounce/lie/group.hpp"
#include "jounce/tree/tree.hpp"

namespace jounce {

// Equation (1).
template <class S, class P>
void to_parent_axes(const Tree<P>& tree, const S* q, const S* v, S* s) {
  for (int k = 0; k < tree.nv; ++k) s[k] = v[k];
  for (const Node<P>& node : tree.nodes) {
    if (node.kind != Kind::free) continue;
    store(rotation(q + node.q) * vector_from(v + node.v + 3), s + node.v + 3);
  }
}
template <class S, class P>
void to_body_axes(const Tree<P>& tree, const S* q, const S* s, S* v) {
  for (int k = 0; k < tree.nv; ++k) v[k] = s[k];
  for (const Node<P>& node : tree.nodes) {
    if (node.kind != Kind::free) continue;
    store(transposed(rotation(q + node.q), vector_from(s + node.v + 3)), v + node.v + 3);
  }
}

// The acceleration v' becomes s', in place.
template <class S, class P>
void acceleration_to_parent_axes(const Tree<P>& tree, const S* q, const S* v, S* a) {
  for (const Node<P>& node : tree.nodes) {
    if (node.kind != Kind::free) continue;
    const S* x = v + node.v;
    S* own = a + node.v + 3;
    store(rotation(q + node.q) * (vector_from(own) + cross(vector_from(x), vector_from(x + 3))), own);
  }
}

// And s' becomes v'.
template <class S, class P>
void acceleration_to_body_axes(const Tree<P>& tree, const S* q, const S* v, S* a) {
  for (const Node<P>& node : tree.nodes) {
    if (node.kind != Kind::free) continue;
    const S* x = v + node.v;
    S* own = a + node.v + 3;
    store(transposed(rotation(q + node.q), vector_from(own)) - cross(vector_from(x), vector_from(x + 3)), own);
  }
}

// Equation (2) for one node; `end` may be `from`.
template <class S, class P>
JOUNCE_INLINE void move_coordinates(const Node<P>& node, const S* from, const S* d, S* end) {
  if (node.nv == 1) {
    end[0] = from[0] + d[0];
    return;
  }
  turn_quaternion(from, vector_from(d), end);
  for (int k = 4; node.kind == Kind::free && k < 7; ++k) end[k] = from[k] + d[k - 1];
}

// Equation (2); `to` may be q.
template <class S, class P>
void move_coordinates(const Tree<P>& tree, const S* q, const S* u, S* to) {
  for (const Node<P>& node : tree.nodes) {
    move_coordinates(node, q + node.q, u + node.v, to + node.q);
  }
}

// Equation (3), in place.
template <class S, class P>
void pull_back(const Tree<P>& tree, const S* xi, S* rates) {
  for (const Node<P>& node : tree.nodes) {
    if (!is_group(node.kind)) continue;
    S* own = rates + node.v;
    store(inverse_translation(-vector_from(xi + node.v), vector_from(own)), own);
  }
}

}  // namespace jounce
