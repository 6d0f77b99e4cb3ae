// Moving on the configuration manifold: q moved along a tangent vector, and the tangent vector
// between two configurations; left-trivialized for spherical and free joints.
#pragma once

#include "../tree/joint.hpp"

namespace jounce {

namespace detail {

// Taylor series in t = theta^2 below this, closed forms above.
constexpr double kSmall = 1.0;

// sin(x)/x for t = x^2.
template <class S>
JOUNCE_INLINE S sinc(const S& t, const S& sine, const S& theta, bool small) {
  if (!small) return sine / theta;
  S y(1.0);
  for (int k = 9; k >= 1; --k) y = S(1.0) - y * t * (1.0 / (2.0 * k * (2.0 * k + 1.0)));
  return y;
}
// (1 - cos x)/x^2.
template <class S>
JOUNCE_INLINE S versine(const S& t, const S& cosine, bool small) {
  if (!small) return (S(1.0) - cosine) / t;
  S y(1.0);
  for (int k = 9; k >= 1; --k) y = S(1.0) - y * t * (1.0 / ((2.0 * k + 1.0) * (2.0 * k + 2.0)));
  return y * 0.5;
}
// (x - sin x)/x^3.
template <class S>
JOUNCE_INLINE S cubic(const S& t, const S& sine, const S& theta, bool small) {
  if (!small) return (theta - sine) / (t * theta);
  S y(1.0);
  for (int k = 9; k >= 1; --k) y = S(1.0) - y * t * (1.0 / ((2.0 * k + 2.0) * (2.0 * k + 3.0)));
  return y * (1.0 / 6.0);
}

inline double root(double x) { return std::sqrt(x); }

// Quaternion (x, y, z, w) of the rotation vector w.
inline void quaternion_exp(const Vec3<double>& w, double* q) {
  const double t = dot(w, w) * 0.25, half = root(t);
  double sine, cosine;
  sincos(half, sine, cosine);
  const double s = 0.5 * sinc(t, sine, half, t < kSmall);
  q[0] = s * w.x; q[1] = s * w.y; q[2] = s * w.z; q[3] = cosine;
}

// Rotation vector of a unit quaternion, of length at most pi.
inline Vec3<double> quaternion_log(const double* q) {
  const double sign = q[3] < 0.0 ? -1.0 : 1.0;
  const Vec3<double> u = Vec3<double>{q[0], q[1], q[2]} * sign;
  const double s = root(dot(u, u));
  const double half = std::atan2(s, q[3] * sign);
  return u * (s < 1e-160 ? 2.0 : 2.0 * half / s);
}

inline void quaternion_product(const double* a, const double* b, double* c) {
  const Vec3<double> u{a[0], a[1], a[2]}, v{b[0], b[1], b[2]};
  const Vec3<double> w = u * b[3] + v * a[3] + cross(u, v);
  c[0] = w.x; c[1] = w.y; c[2] = w.z;
  c[3] = a[3] * b[3] - dot(u, v);
}

inline void normalize(double* q) {
  const double s = 1.0 / root(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  for (int k = 0; k < 4; ++k) q[k] *= s;
}

// The map V(w) with exp(w, v) = (exp w, V(w) v).
inline Vec3<double> translation(const Vec3<double>& w, const Vec3<double>& v) {
  const double t = dot(w, w), theta = root(t);
  double sine, cosine;
  sincos(theta, sine, cosine);
  const Vec3<double> x = cross(w, v);
  return v + x * versine(t, cosine, t < kSmall) + cross(w, x) * cubic(t, sine, theta, t < kSmall);
}

// (1 - (theta/2) cot(theta/2)) / theta^2 for t = theta^2: below 1/4 by its series, whose
// coefficients are Bernoulli numbers B_2k / (2k)!.
inline double cotangent_remainder(double t) {
  if (t >= 0.25) {
    const double half = 0.5 * root(t);
    double sine, cosine;
    sincos(half, sine, cosine);
    return (1.0 - half * cosine / sine) / t;
  }
  const double c[] = {1.0 / 12,      1.0 / 720,      1.0 / 30240,
                      1.0 / 1209600, 1.0 / 47900160, 691.0 / 1307674368000.0,
                      1.0 / 74724249600.0, 3617.0 / 10670622842880000.0};
  double y = 0.0;
  for (int i = 7; i >= 0; --i) y = y * t + c[i];
  return y;
}

// The inverse of V(w).
inline Vec3<double> inverse_translation(const Vec3<double>& w, const Vec3<double>& v) {
  const Vec3<double> x = cross(w, v);
  return v - x * 0.5 + cross(w, x) * cotangent_remainder(dot(w, w));
}

}  // namespace detail

inline void integrate(const Tree<double>& tree, const double* q, const double* dv, double* out) {
  using namespace detail;
  for (const Node<double>& node : tree.nodes) {
    const double *a = q + node.q, *d = dv + node.v;
    double* b = out + node.q;
    if (node.nv == 1) {
      b[0] = a[0] + d[0];
      continue;
    }
    double e[4], c[4];
    const Vec3<double> w{d[0], d[1], d[2]};
    quaternion_exp(w, e);
    quaternion_product(a, e, c);
    normalize(c);
    if (node.kind == Kind::free) {
      const Vec3<double> p = rotation(a) * translation(w, {d[3], d[4], d[5]});
      b[4] = a[4] + p.x; b[5] = a[5] + p.y; b[6] = a[6] + p.z;
    }
    for (int k = 0; k < 4; ++k) b[k] = c[k];
  }
}

inline void difference(const Tree<double>& tree, const double* q0, const double* q1, double* out) {
  using namespace detail;
  for (const Node<double>& node : tree.nodes) {
    const double *a = q0 + node.q, *b = q1 + node.q;
    double* d = out + node.v;
    if (node.nv == 1) {
      d[0] = b[0] - a[0];
      continue;
    }
    const double inverse[] = {-a[0], -a[1], -a[2], a[3]};
    double c[4];
    quaternion_product(inverse, b, c);
    const Vec3<double> w = quaternion_log(c);
    d[0] = w.x; d[1] = w.y; d[2] = w.z;
    if (node.kind == Kind::free) {
      const Vec3<double> p{b[4] - a[4], b[5] - a[5], b[6] - a[6]};
      const Vec3<double> v = inverse_translation(w, transposed(rotation(a), p));
      d[3] = v.x; d[4] = v.y; d[5] = v.z;
    }
  }
}

}  // namespace jounce
