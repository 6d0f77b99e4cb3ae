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

template <class S>
  requires has_triples<S>
JOUNCE_ALWAYS_INLINE Triple<S> triple(S x, S y, S z) {
  return Pack<4>(Pack<4>::Values{x, y, z, 0.0});
}

// An articulated inertia as the columns of A, B^T and C.
template <class S>
struct TriadInertia {
  Triad<S> A, Bt, C;

  template <class P>
  static JOUNCE_INLINE TriadInertia of(const RigidInertia<P>& j) {
    const Mat3<S> I = whole(j.I);
    const S o(0.0);
    return {{triple(I.x.x, I.x.y, I.x.z), triple(I.y.x, I.y.y, I.y.z), triple(I.z.x, I.z.y, I.z.z)},
            {triple(o, -j.h.z, j.h.y), triple(j.h.z, o, -j.h.x), triple(-j.h.y, j.h.x, o)},
            {triple(j.m, o, o), triple(o, j.m, o), triple(o, o, j.m)}};
  }
  JOUNCE_INLINE TriadInertia& operator+=(const TriadInertia& b) {
    A = A + b.A;
    Bt = Bt + b.Bt;
    C = C + b.C;
    return *this;
  }
  JOUNCE_INLINE Force<S> column(int k) const {
    switch (k) {
      case 0: return {vector<S>(A.x), vector<S>(Bt.x)};
      case 1: return {vector<S>(A.y), vector<S>(Bt.y)};
      case 2: return {vector<S>(A.z), vector<S>(Bt.z)};
      case 3: return {{Bt.x.v[0], Bt.y.v[0], Bt.z.v[0]}, vector<S>(C.x)};
      case 4: return {{Bt.x.v[1], Bt.y.v[1], Bt.z.v[1]}, vector<S>(C.y)};
      default: return {{Bt.x.v[2], Bt.y.v[2], Bt.z.v[2]}, vector<S>(C.z)};
    }
  }
  JOUNCE_INLINE void eliminate(const Force<S>& U, const Force<S>& u) {
    const Triple<S> n = triple(U.n.x, U.n.y, U.n.z), f = triple(U.f.x, U.f.y, U.f.z);
    A = {A.x - n * u.n.x, A.y - n * u.n.y, A.z - n * u.n.z};
    Bt = {Bt.x - f * u.n.x, Bt.y - f * u.n.y, Bt.z - f * u.n.z};
    C = {C.x - f * u.f.x, C.y - f * u.f.y, C.z - f * u.f.z};
  }
};

// Image of a motion, of which the angular or the linear part alone may count.
template <bool kAngular, bool kLinear, class S>
JOUNCE_INLINE Force<S> image(const TriadInertia<S>& j, const Motion<S>& x) {
  Triple<S> n, f;
  if constexpr (kAngular) n = j.A * x.w, f = j.Bt * x.w;
  if constexpr (kLinear) {
    const Triple<S> moment = transpose(j.Bt) * x.v, force = j.C * x.v;
    if constexpr (kAngular) n += moment, f += force;
    if constexpr (!kAngular) n = moment, f = force;
  }
  return {vector<S>(n), vector<S>(f)};
}

template <class S>
  requires has_triples<S>
JOUNCE_ALWAYS_INLINE S trace(const Triad<S>& m) {
  return m.x.v[0] + m.y.v[1] + m.z.v[2];
}

//   B'^T = B^T - C hat(d),   A' = A + Q + Q^T,   Q = -(B + B') hat(d) / 2
template <class S>
JOUNCE_INLINE TriadInertia<S> shifted(const Vec3<S>& d, const TriadInertia<S>& j) {
  const Triad<S> Bt = j.Bt + times_minus_hat(j.C, d);
  const Triad<S> Q = times_minus_hat(transpose(j.Bt + Bt), d * 0.5);
  return {j.A + Q + transpose(Q), Bt, j.C};
}

}  // namespace jounce
