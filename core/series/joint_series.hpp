// The motion of one joint as truncated Taylor series in time.
//
// A quantity x(t) is held by its Taylor coefficients x_k = x^(k) / k!, and a product by sums over j
// of x_j y_(k-j). A joint takes the parent's frame to (R0 Rj(t), p0 + R0 pj(t)), where (R0, p0) is
// the node's constant placement; in the child's frame it moves with (w_j, v_j).
#pragma once

#include "jounce/series/factorial.hpp"
#include "jounce/tree/joint.hpp"

namespace jounce {

template <class S, class P>
struct JointSeries {
  const Node<P>& node;
  const S* rate;      // coefficients of the node's rates, ...
  std::size_t step;   // ... and how far one is from the next
  S *sine, *cosine;   // [k], of a joint that turns by an angle
  Mat3<S>* rotation;  // [k] Rj, of spherical and free joints
  Vec3<S>* place;     // [k] pj, of a joint that moves its origin

  // Coefficient k of (w_j, v_j).
  template <Kind K>
  JOUNCE_INLINE Motion<S> joint(int k) const {
    return joint_motion<K>(node, rate + k * step);
  }
};

namespace series {

// Coefficient 0 of the joint's own pose.
template <Kind K, class S, class P>
JOUNCE_INLINE void start_joint(const JointSeries<S, P>& s, const S* q, const Angles<S>& angles) {
  const S* x = q + s.node.q;
  const S o(0.0);
  if constexpr (turns(K)) {
    s.sine[0] = angles.sine[s.node.angle];
    s.cosine[0] = angles.cosine[s.node.angle];
  }
  if constexpr (is_group(K)) s.rotation[0] = rotation(x);
  if constexpr (K == Kind::prismatic) s.place[0] = {o, o, x[0]};
  if constexpr (K == Kind::helical) s.place[0] = {o, o, x[0] * s.node.pitch};
  if constexpr (K == Kind::free) s.place[0] = {x[4], x[5], x[6]};
}

// Coefficient k > 0 of the joint's own pose from the rates 0 ... k-1:
//   (cos, sin)' = (-sin, cos) v,   Rj' = Rj hat(w_j),   pj' = Rj v_j.
template <Kind K, class S, class P>
JOUNCE_INLINE void extend_joint(const JointSeries<S, P>& s, int k) {
  const auto over_k = reciprocal<S>(k);
  if constexpr (turns(K)) {
    S c(0.0), d(0.0);
    for (int j = 0; j < k; ++j) {
      c -= s.sine[k - 1 - j] * s.rate[j * s.step];
      d += s.cosine[k - 1 - j] * s.rate[j * s.step];
    }
    s.cosine[k] = c * over_k;
    s.sine[k] = d * over_k;
  }
  if constexpr (advances(K)) {
    s.place[k] = s.template joint<K>(k - 1).v * over_k;
  }
  if constexpr (is_group(K)) {
    Mat3<S> R{Vec3<S>::zero(), Vec3<S>::zero(), Vec3<S>::zero()};
    Vec3<S> p = Vec3<S>::zero();
    for (int j = 0; j < k; ++j) {
      const Mat3<S>& Q = s.rotation[k - 1 - j];
      const Motion<S> m = s.template joint<K>(j);
      R.x += Q.y * m.w.z - Q.z * m.w.y;
      R.y += Q.z * m.w.x - Q.x * m.w.z;
      R.z += Q.x * m.w.y - Q.y * m.w.x;
      if constexpr (K == Kind::free) p += Q * m.v;
    }
    s.rotation[k] = {R.x * over_k, R.y * over_k, R.z * over_k};
    if constexpr (K == Kind::free) s.place[k] = p * over_k;
  }
}

// Coefficient k of Rj^T x, where x(j) gives coefficient j of x.
template <Kind K, class S, class P, class X>
JOUNCE_INLINE Vec3<S> turn_in(const JointSeries<S, P>& s, int k, X&& x) {
  if constexpr (turns(K)) {
    Vec3<S> sum{S(0.0), S(0.0), x(k).z};
    for (int j = 0; j <= k; ++j) {
      const Vec3<S>& v = x(j);
      sum.x += s.cosine[k - j] * v.x + s.sine[k - j] * v.y;
      sum.y += s.cosine[k - j] * v.y - s.sine[k - j] * v.x;
    }
    return sum;
  } else if constexpr (is_group(K)) {
    Vec3<S> sum = Vec3<S>::zero();
    for (int j = 0; j <= k; ++j) sum += transposed(s.rotation[k - j], x(j));
    return sum;
  } else {
    return x(k);
  }
}

// The same of both parts of motions.
template <Kind K, class S, class P>
JOUNCE_INLINE Motion<S> turn_motion_in(const JointSeries<S, P>& s, int k, const Motion<S>* x) {
  if constexpr (turns(K)) {
    Motion<S> sum{{S(0.0), S(0.0), x[k].w.z}, {S(0.0), S(0.0), x[k].v.z}};
    for (int j = 0; j <= k; ++j) {
      const Motion<S>& m = x[j];
      const S c = s.cosine[k - j], d = s.sine[k - j];
      sum.w.x += c * m.w.x + d * m.w.y;
      sum.w.y += c * m.w.y - d * m.w.x;
      sum.v.x += c * m.v.x + d * m.v.y;
      sum.v.y += c * m.v.y - d * m.v.x;
    }
    return sum;
  } else {
    return {turn_in<K>(s, k, [&](int j) -> const Vec3<S>& { return x[j].w; }),
            turn_in<K>(s, k, [&](int j) -> const Vec3<S>& { return x[j].v; })};
  }
}

// Coefficient k of Rj applied to both parts of the wrenches x(j).
template <Kind K, class S, class P, class X>
JOUNCE_INLINE Force<S> turn_out(const JointSeries<S, P>& s, int k, X&& x) {
  if constexpr (turns(K)) {
    Force<S> sum{{S(0.0), S(0.0), x(k).n.z}, {S(0.0), S(0.0), x(k).f.z}};
    for (int j = 0; j <= k; ++j) {
      const Force<S>& v = x(j);
      const S c = s.cosine[k - j], d = s.sine[k - j];
      sum.n.x += c * v.n.x - d * v.n.y;
      sum.n.y += c * v.n.y + d * v.n.x;
      sum.f.x += c * v.f.x - d * v.f.y;
      sum.f.y += c * v.f.y + d * v.f.x;
    }
    return sum;
  } else if constexpr (is_group(K)) {
    Force<S> sum = Force<S>::zero();
    for (int j = 0; j <= k; ++j) {
      const Mat3<S>& R = s.rotation[k - j];
      sum += Force<S>{R * x(j).n, R * x(j).f};
    }
    return sum;
  } else {
    return x(k);
  }
}

}  // namespace series
}  // namespace jounce
