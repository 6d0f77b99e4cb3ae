// The gradient of the work mu . inverse_dynamics(q, v, a) by all numbers of the model, in the same sweep as
// that by q and v (work_gradient.hpp, whose symbols these are): the transpose of a direction in which a
// model changes, see batch/model_tangent.hpp, laid out as that.
//   (1) inertia:    the coefficients of  X . I A + (X x V) . I V,  linear in the ten of a node
//   (2) placement:  -T, seen from the frame of the joint at zero: the subtree moves as one body
//   (3) alignment:  n x X_w + f x X_v of the external wrench (n, f), which is given along other axes
//   (4) pitch:      of the linear part along the axis, -q T + v G + a P + mu W
//   (5) gravity:    -R P_f of each root
//   (6) armature:   mu a
#pragma once

#include "jounce/simulation/work_gradient.hpp"

namespace jounce {

constexpr int kAlignmentAt = 6, kPitchAt = 9, kInertiaAt = 10, kNodeNumbers = 20;

// Subtracts y . I z as coefficients of the ten numbers of I.
template <class S>
JOUNCE_INLINE void subtract_inertia_terms(const Motion<S>& y, const Motion<S>& z, S* to) {
  const Vec3<S> h = cross(z.v, y.w) + cross(y.v, z.w);
  const Vec3<S>&a = y.w, &b = z.w;
  to[0] -= dot(y.v, z.v);
  to[1] -= h.x, to[2] -= h.y, to[3] -= h.z;
  to[4] -= a.x * b.x, to[5] -= a.x * b.y + a.y * b.x, to[6] -= a.y * b.y;
  to[7] -= a.x * b.z + a.z * b.x, to[8] -= a.y * b.z + a.z * b.y, to[9] -= a.z * b.z;
}

// A wrench seen from the frame of the joint at zero.
template <class S, class P>
JOUNCE_INLINE Force<S> before_joint(const Node<P>& node, const S* q, const Pose<S>& in_parent, const Force<S>& x,
                                    const Angles<S>& angles) {
  if (is_group(node.kind)) return to_child(node.placement, to_parent(in_parent, x));
  Force<S> y = x;
  if (node.kind != Kind::prismatic) {
    const S &s = angles.sine[node.angle], &c = angles.cosine[node.angle];
    y.n.x = c * x.n.x - s * x.n.y, y.n.y = s * x.n.x + c * x.n.y;
    y.f.x = c * x.f.x - s * x.f.y, y.f.y = s * x.f.x + c * x.f.y;
  }
  if (node.kind == Kind::revolute) return y;
  const S moved = node.kind == Kind::helical ? q[node.q] * node.pitch : q[node.q];
  y.n.x -= moved * y.f.y, y.n.y += moved * y.f.x;
  return y;
}

// Subtracts the gradient from `to`, and puts that by q and v to dq and dv.
template <class S, class P>
void subtract_model_gradient(const Tree<P>& tree, const S* q, const S* v, const S* a, const S* mu,
                             const S* f_ext, S* dq, S* dv, S* to, WorkGradientWork<S>& work) {
  S* rates = to + std::size_t(kNodeNumbers) * tree.n;
  S* gravity = rates + 3 * std::size_t(tree.nv);
  work_gradient(tree, q, v, a, mu, f_ext, dq, dv, work,
                [&](int i, const auto& me, const Force<S>& T, const Force<S>& G) {
    const Node<P>& node = tree.nodes[i];
    S* own = to + std::size_t(kNodeNumbers) * i;
    subtract_inertia_terms(me.X, me.A, own + kInertiaAt);  // (1)
    subtract_inertia_terms(bracket(me.X, me.V), me.V, own + kInertiaAt);
    const Force<S> placed = before_joint(node, q, me.in_parent, T, work.angles);  // (2)
    own[0] += placed.n.x, own[1] += placed.n.y, own[2] += placed.n.z;
    own[3] += placed.f.x, own[4] += placed.f.y, own[5] += placed.f.z;
    if (f_ext && node.body >= 0) {  // (3)
      const Force<S> w = external_wrench(node, f_ext);
      const Vec3<S> turn = cross(w.n, me.X.w) + cross(w.f, me.X.v);
      own[kAlignmentAt] -= turn.x, own[kAlignmentAt + 1] -= turn.y, own[kAlignmentAt + 2] -= turn.z;
    }
    if (node.kind == Kind::helical) {  // (4)
      own[kPitchAt] += q[node.q] * T.f.z - v[node.v] * G.f.z - a[node.v] * me.P.f.z - mu[node.v] * me.W.f.z;
    }
    if (node.parent < 0) {  // (5)
      const Vec3<S> pull = me.in_parent.R * me.P.f;
      gravity[0] += pull.x, gravity[1] += pull.y, gravity[2] += pull.z;
    }
  });
  for (int k = 0; k < tree.nv; ++k) rates[k] -= mu[k] * a[k];  // (6)
}

}  // namespace jounce
