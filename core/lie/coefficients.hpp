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

// e(t) = (1 - (theta/2) cot(theta/2)) / t and its derivative by t. The first pole is at theta = 2 pi.
// Below the switch it is split off, by the partial fractions of the cotangent,
//   e = 2 / (4 pi^2 - t) + sum_m 2 (zeta(2m) - 1) t^(m-1) / (4 pi^2)^m,
// where all terms are positive and nothing cancels.
template <class S>
struct Cotangent {
  S e, de;

  explicit JOUNCE_INLINE Cotangent(const S& t) {
    const auto below = value(t) < value(S(Stumpff<S>::kSwitch));
    *this = blend(below, [&] { return summed(t); }, [&] { return closed(t); });
  }
  template <class Mask>
  friend JOUNCE_INLINE Cotangent select(Mask mask, const Cotangent& a, const Cotangent& b) {
    return {select(mask, a.e, b.e), select(mask, a.de, b.de)};
  }

 private:
  JOUNCE_INLINE Cotangent(S a, S b) : e(a), de(b) {}

  static constexpr double kFourPiSquared = 39.478417604357434;
  static constexpr double kSum[] = {
      0.032672741512164448, 0.00010564110705334699, 5.6373702828768453e-7, 3.3571419266574514e-9,
      2.0742872904166046e-11, 1.3000482138698974e-13, 8.1960520556910086e-16, 5.1801181961697243e-18,
      3.2775391747017918e-20, 2.0747401878593605e-22, 1.3136241807166534e-24, 8.3180031951892641e-27,
      5.2672629968342309e-29, 3.3354842988221443e-31, 2.1122063323183885e-33, 1.3375664093215244e-35};

  static JOUNCE_INLINE Cotangent summed(const S& t) {
    constexpr int n = int(sizeof kSum / sizeof *kSum);
    const S pole = S(1.0) / (S(kFourPiSquared) - t);
    S sum(kSum[n - 1]), slope(0.0);
    for (int i = n - 2; i >= 0; --i) {
      slope = slope * t + sum;
      sum = sum * t + S(kSum[i]);
    }
    return {pole + pole + sum, pole * pole * 2.0 + slope};
  }
  static JOUNCE_INLINE Cotangent closed(const S& t) {
    const S half = sqrt(t) * 0.5, over_t = S(1.0) / t;
    S sine, cosine;
    sincos(half, sine, cosine);
    const S e = (S(1.0) - half * cosine / sine) * over_t;
    // e' = (c_3 / (4 c_2) - e) / t, where c_2 = 2 sin^2(theta/2) / t keeps its digits near the pole
    const S c2 = sine * sine * 2.0 * over_t, c3 = (S(1.0) - sine * cosine / half) * over_t;
    return {e, (c3 / (c2 * 4.0) - e) * over_t};
  }
};

}  // namespace jounce
