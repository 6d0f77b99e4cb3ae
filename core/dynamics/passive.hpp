// Forces of the joints themselves: springs, damping and dry friction.
//
// With the rest position q0 of the springs, and for each rate the stiffness k, damping d, friction f:
//   (1) tau = -k u - d v - f sign(v),
// where u leads from q0 to q: the difference of coordinates for a 1-DoF joint; for a rotation R the
// rotation vector w = log(R0^T R), for a position p of a free joint x = R^T (p - p0).
//   (2) q moved by a rotation delta:     dw = delta + w x delta / 2 + c w x (w x delta)
//   (3) q moved by (delta, epsilon):     dx = epsilon + x x delta
// with c = (1 - (t/2) cot(t/2)) / t^2, t = |w|.
#pragma once

#include "jounce/lie/group.hpp"
#include "jounce/tree/tree.hpp"

namespace jounce {

// Where a node stands relative to the rest position of its springs.
template <class S>
struct Deflection {
  Vec3<S> w, x;
};

template <class S, class P, class R>
Deflection<S> group_deflection(const Node<P>& node, const R* rest, const S* q) {
  Deflection<S> u{turn_between(rest, q), Vec3<S>::zero()};
  if (node.kind == Kind::free) {
    const Vec3<S> p{q[4] - rest[4], q[5] - rest[5], q[6] - rest[6]};
    u.x = transposed(rotation(q), p);
  }
  return u;
}

template <class S>
JOUNCE_INLINE S sign(const S& x) {
  return select(x > S(0.0), S(1.0), select(x < S(0.0), S(-1.0), S(0.0)));
}

template <class S, class P>
void passive_forces(const Tree<P>& tree, const S* q, const S* v, S* out) {
  for (const Node<P>& node : tree.nodes) {
    const P *rest = tree.springref.data() + node.q, *stiffness = tree.stiffness.data() + node.v;
    const S* at = q + node.q;
    S u[6];
    if (node.nv == 1) {
      u[0] = at[0] - rest[0];
    } else {
      const Deflection<S> d = group_deflection(node, rest, at);
      store(d.w, u);
      if (node.nv == 6) store(d.x, u + 3);
    }
    for (int i = 0; i < node.nv; ++i) {
      const int k = node.v + i;
      const S spring = is_zero(stiffness[i]) ? S(0.0) : stiffness[i] * u[i];
      out[k] = -spring - tree.damping[k] * v[k] - tree.friction[k] * sign(v[k]);  // (1)
    }
  }
}

// One column of (2) and (3) above each other: the change of the deflection by a unit of rate j.
template <class S>
void deflection_column(const Deflection<S>& d, int j, S* column) {
  const Mat3<S> one = Mat3<S>::identity();
  const Vec3<S> units[] = {one.x, one.y, one.z};
  const Vec3<S> unit = units[j % 3];
  if (j >= 3) {
    store(Vec3<S>::zero(), column);
    store(unit, column + 3);
    return;
  }
  store(inverse_translation(-d.w, unit), column);  // (2), the same map as that of translations
  store(cross(d.x, unit), column + 3);
}

template <class S, class P>
void passive_forces_partials(const Tree<P>& tree, const S* q, S* dq, S* dv) {
  const int nv = tree.nv;
  for (int k = 0; k < nv * nv; ++k) dq[k] = dv[k] = S(0.0);
  for (int k = 0; k < nv; ++k) dv[k * nv + k] = S(-tree.damping[k]);
  for (const Node<P>& node : tree.nodes) {
    const P* stiffness = tree.stiffness.data() + node.v;
    S* block = dq + node.v * nv + node.v;
    if (node.nv == 1) {
      block[0] = S(-stiffness[0]);
      continue;
    }
    const auto d = group_deflection(node, tree.springref.data() + node.q, q + node.q);
    for (int j = 0; j < node.nv; ++j) {
      S column[6];
      deflection_column(d, j, column);
      for (int i = 0; i < node.nv; ++i) {
        if (!is_zero(stiffness[i])) block[i * nv + j] = -stiffness[i] * column[i];
      }
    }
  }
}

}  // namespace jounce
