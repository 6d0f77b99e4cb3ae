// Coefficients of the closed forms on SO(3) and SE(3), as functions of the squared angle t: entire
// functions, with no root of zero and no branch at the identity. Sums where the closed forms cancel.
#pragma once

#include "jounce/scalar/sincos.hpp"

namespace jounce {

// One of two forms, chosen by a mask; packs compute both only where their lanes differ.
template <class Mask, class Below, class Above>
JOUNCE_INLINE auto blend(Mask mask, Below&& below, Above&& above) {
  if (all(mask)) return below();
  if (!any(mask)) return above();
  return select(mask, below(), above());
}

// c_k(t) = sum_i (-t)^i / (k + 2i)!, the functions of Stumpff, k = 0 ... 5: with the angle theta,
//   c_0 = cos theta,  c_1 = sin theta / theta,  c_2 = (1 - cos theta) / t,
//   c_3 = (theta - sin theta) / theta^3,        c_k = 1/k! - t c_(k+2).
// Below the switch c_4 and c_5 are summed, to 1e-17, and the others follow downward, above it from
// c_0 and c_1 upward. Derivatives: dc_k/dt = (k c_(k+2) - c_(k+1)) / 2.
template <class S>
struct Stumpff {
  S c0, c1, c2, c3, c4, c5;

  static constexpr double kSwitch = 10.0;  // beyond half a turn

  explicit JOUNCE_INLINE Stumpff(const S& t) {
    *this = blend(value(t) < value(S(kSwitch)), [&] { return summed(t); }, [&] { return closed(t); });
  }
  template <class Mask>
  friend JOUNCE_INLINE Stumpff select(Mask mask, const Stumpff& a, const Stumpff& b) {
    return {select(mask, a.c0, b.c0), select(mask, a.c1, b.c1), select(mask, a.c2, b.c2),
            select(mask, a.c3, b.c3), select(mask, a.c4, b.c4), select(mask, a.c5, b.c5)};
  }

 private:
  JOUNCE_INLINE Stumpff(S a0, S a1, S a2, S a3, S a4, S a5)
      : c0(a0), c1(a1), c2(a2), c3(a3), c4(a4), c5(a5) {}

  static JOUNCE_INLINE Stumpff summed(const S& t) {
    S c4(1.0), c5(1.0);
    for (int i = 14; i >= 1; --i) {
      c4 = S(1.0) - c4 * t * (1.0 / ((2 * i + 3) * (2 * i + 4)));
      c5 = S(1.0) - c5 * t * (1.0 / ((2 * i + 4) * (2 * i + 5)));
    }
    c4 = c4 * (1.0 / 24.0);
    c5 = c5 * (1.0 / 120.0);
    const S c2 = S(1.0 / 2.0) - t * c4, c3 = S(1.0 / 6.0) - t * c5;
    return {S(1.0) - t * c2, S(1.0) - t * c3, c2, c3, c4, c5};
  }
  static JOUNCE_INLINE Stumpff closed(const S& t) {
    const S theta = sqrt(t), over_t = S(1.0) / t;
    S sine, cosine;
    sincos(theta, sine, cosine);
    const S c1 = sine / theta, c2 = (S(1.0) - cosine) * over_t, c3 = (S(1.0) - c1) * over_t;
    return {cosine, c1, c2, c3, (S(1.0 / 2.0) - c2) * over_t, (S(1.0 / 6.0) - c3) * over_t};
  }
};

// (1 - (theta/2) cot(theta/2)) / t: below 1/4 by its series, whose coefficients are the Bernoulli
// numbers |B_2k| / (2k)!.
template <class S>
JOUNCE_INLINE S cotangent_remainder(const S& t) {
  const auto closed = [&] {
    const S half = sqrt(t) * 0.5;
    S sine, cosine;
    sincos(half, sine, cosine);
    return (S(1.0) - half * cosine / sine) / t;
  };
  const double c[] = {1.0 / 12,      1.0 / 720,      1.0 / 30240,
                      1.0 / 1209600, 1.0 / 47900160, 691.0 / 1307674368000.0,
                      1.0 / 74724249600.0, 3617.0 / 10670622842880000.0};
  const auto summed = [&] {
    S y(0.0);
    for (int i = 7; i >= 0; --i) y = y * t + S(c[i]);
    return y;
  };
  return blend(value(t) < value(S(0.25)), summed, closed);
}

}  // namespace jounce
