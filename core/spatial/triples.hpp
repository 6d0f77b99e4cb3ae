// Articulated inertias of one state by itself, three numbers of a column at a time (vec/triple.hpp).
#pragma once

#include "jounce/spatial/spatial.hpp"
#include "jounce/vec/triple.hpp"

namespace jounce {

// R m R^T by columns, where `known` is R as well.
template <class S>
  requires has_triples<S>
JOUNCE_ALWAYS_INLINE Triad<S> rotated(const Triad<S>& R, const Mat3<S>& known, const Mat3<S>& m) {
  const Triad<S> turned = R * m;
  return {turned.x * known.x.x + turned.y * known.y.x + turned.z * known.z.x,
          turned.x * known.x.y + turned.y * known.y.y + turned.z * known.z.y,
          turned.x * known.x.z + turned.y * known.y.z + turned.z * known.z.z};
}

template <class S>
  requires has_triples<S>
JOUNCE_ALWAYS_INLINE Mat3<S> whole(const Sym3<S>& m) {
  return {{m.xx, m.xy, m.xz}, {m.xy, m.yy, m.yz}, {m.xz, m.yz, m.zz}};
}

template <class S>
  requires has_triples<S>
JOUNCE_ALWAYS_INLINE Triad<S> transpose(const Triad<S>& m) {
  const auto x = m.x.v, y = m.y.v, z = m.z.v;
  const auto low = JOUNCE_SHUFFLE(x, y, 0, 4, 2, 6), high = JOUNCE_SHUFFLE(x, y, 1, 5, 3, 7);
  return {Pack<4>(JOUNCE_SHUFFLE(low, z, 0, 1, 4, 5)),
          Pack<4>(JOUNCE_SHUFFLE(high, JOUNCE_SHUFFLE(z, z, 1, 0, 3, 2), 0, 1, 4, 5)),
          Pack<4>(JOUNCE_SHUFFLE(low, z, 2, 3, 6, 7))};
}

// -m hat(d): its columns are m times those of -hat(d).
template <class S>
  requires has_triples<S>
JOUNCE_ALWAYS_INLINE Triad<S> times_minus_hat(const Triad<S>& m, const Vec3<S>& d) {
  return {m.z * d.y - m.y * d.z, m.x * d.z - m.z * d.x, m.y * d.x - m.x * d.y};
}

template <class S>
  requires has_triples<S>
JOUNCE_ALWAYS_INLINE Triad<S> operator+(const Triad<S>& a, const Triad<S>& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}

// Adds the upper triangle of a symmetric matrix given by its columns.
template <class S>
  requires has_triples<S>
JOUNCE_ALWAYS_INLINE void add(Sym3<S>& to, const Triad<S>& m) {
  const auto first = JOUNCE_SHUFFLE(m.x.v, m.y.v, 0, 1, 5, 2);
  const auto rest = JOUNCE_SHUFFLE(m.z.v, m.z.v, 1, 2);
  (Pack<4>::load(&to.xx) + Pack<4>(first)).store(&to.xx);
  (Pack<2>::load(&to.yz) + Pack<2>(rest)).store(&to.yz);
}

// Adds an inertia to that of its parent, which sees its origin at d and its axes as R:
//   C' = R C R^T,   B' = R B R^T + hat(d) C',   A' = R A R^T + hat(d) B'^T - R B R^T hat(d)
template <class S>
  requires has_triples<S>
JOUNCE_ALWAYS_INLINE void add_turned(const Pose<S>& at, const ArticulatedInertia<S>& j,
                                     ArticulatedInertia<S>& parent) {
  const Triad<S> R{triple(at.R.x), triple(at.R.y), triple(at.R.z)};
  const Vec3<S>& d = at.p;
  const Triad<S> C = rotated(R, at.R, whole(j.C)), turned = rotated(R, at.R, j.B);
  const Triad<S> B = turned + transpose(times_minus_hat(C, d));  // C is symmetric
  const Triad<S> A = rotated(R, at.R, whole(j.A)) + transpose(times_minus_hat(B, d)) + times_minus_hat(turned, d);
  add(parent.A, A);
  add(parent.C, C);
  S* b = &parent.B.x.x;
  const auto x = B.x.v, y = B.y.v, z = B.z.v;
  const auto xy = JOUNCE_SHUFFLE(x, y, 0, 1, 2, 4), yz = JOUNCE_SHUFFLE(y, z, 1, 2, 4, 5);
  (Pack<4>::load(b) + Pack<4>(xy)).store(b);
  (Pack<4>::load(b + 4) + Pack<4>(yz)).store(b + 4);
  b[8] += z[2];
}

}  // namespace jounce
