// Sine and cosine of W angles at once, within 1 ulp or so.
//
// x = n pi/2 + r, |r| <= pi/4, with pi/2 split in two (Cody and Waite; n below 2^20 makes the
// first product exact), then the minimax polynomials of fdlibm. Larger angles go to libm.
#pragma once

#include "jounce/scalar/dual.hpp"
#include "jounce/scalar/pack.hpp"

namespace jounce {

namespace detail {
constexpr double kTwoOverPi = 6.36619772367581382433e-01;
constexpr double kHalfPiHigh = 1.57079632673412561417e+00;  // first 33 bits
constexpr double kHalfPiMiddle = 6.07710050630396597660e-11;  // next 33 bits
constexpr double kHalfPiLow = 2.02226624879595063154e-21;
constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: its last bits hold the integer
constexpr double kReducible = 1.0e6;

constexpr double kSin[] = {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                           -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                           -2.50507602534068634195e-08, 1.58969099521155010221e-10};
constexpr double kCos[] = {4.16666666666666019037e-02,  -1.38888888888741095749e-03,
                           2.48015872894767294178e-05,  -2.75573143513906633035e-07,
                           2.08757232129817482790e-09,  -1.13596475577881948265e-11};

template <class S, int N>
JOUNCE_ALWAYS_INLINE S polynomial(const double (&c)[N], S x) {
  S y = c[N - 1];
  for (int i = N - 2; i >= 0; --i) y = y * x + S(c[i]);
  return y;
}

template <int W>
[[gnu::cold]] JOUNCE_SHARED void reduce_by_library(const Pack<W>& x, Pack<W>& sine, Pack<W>& cosine) {
  for (int i = 0; i < W; ++i) {
    if (!(std::abs(x.v[i]) > kReducible)) continue;
    sine.v[i] = std::sin(x.v[i]);
    cosine.v[i] = std::cos(x.v[i]);
  }
}
}  // namespace detail

template <int W>
JOUNCE_ALWAYS_INLINE void sincos(Pack<W> x, Pack<W>& sine, Pack<W>& cosine) {
  using P = Pack<W>;
  using Mask = typename P::Mask;
  using namespace detail;
  const P shifted = x * P(kTwoOverPi) + P(kRound);
  const P n = shifted - P(kRound);
  const P r = ((x - n * P(kHalfPiHigh)) - n * P(kHalfPiMiddle)) - n * P(kHalfPiLow);
  const P z = r * r;
  const P s = r + r * z * polynomial(kSin, z);
  const P half = P(0.5) * z, w = P(1.0) - half;
  const P c = w + (((P(1.0) - w) - half) + z * z * polynomial(kCos, z));
  const Mask quadrant = (Mask)shifted.v;
  const Mask odd = (quadrant & 1) != 0;
  const Mask sine_sign = (quadrant << 62) & INT64_MIN;
  const Mask cosine_sign = ((quadrant + 1) << 62) & INT64_MIN;
  const P a = select(odd, c, s), b = select(odd, s, c);
  sine.v = (typename P::Values)((Mask)a.v ^ sine_sign);  // casts keep the bits
  cosine.v = (typename P::Values)((Mask)b.v ^ cosine_sign);
  if (any((x < P(-kReducible)) | (x > P(kReducible)))) [[unlikely]] reduce_by_library(x, sine, cosine);
}

JOUNCE_ALWAYS_INLINE void sincos(double x, double& sine, double& cosine) {
  Pack<2> s, c;
  sincos(Pack<2>(x), s, c);
  sine = s.v[0];
  cosine = c.v[0];
}

template <class S>
JOUNCE_ALWAYS_INLINE void sincos(Dual<S> x, Dual<S>& sine, Dual<S>& cosine) {
  S s, c;
  sincos(x.x, s, c);
  sine = {s, c * x.d};
  cosine = {c, -(s * x.d)};
}

// Sine and cosine of many angles, gathered from q; doubles go through packs of four, even where there are wider ones:
// what follows works on narrow registers, and those have fewer units as long as wide ones are about.
template <class S>
JOUNCE_ALWAYS_INLINE void sincos_gather(const S* q, const int* index, int count, S* sine, S* cosine) {
  for (int k = 0; k < count; ++k) sincos(q[index[k]], sine[k], cosine[k]);
}

// The outputs have room for a multiple of the pack's width.
JOUNCE_ALWAYS_INLINE void sincos_gather(const double* q, const int* index, int count, double* sine,
                                 double* cosine) {
  constexpr int W = lanes<Wide> < 4 ? lanes<Wide> : 4;
  for (int k = 0; k < count; k += W) {
    Pack<W> x, s, c;
    if (k + W <= count && index[k + W - 1] - index[k] == W - 1) {
      x = Pack<W>::load(q + index[k]);
    } else {
      for (int i = 0; i < W; ++i) x.v[i] = k + i < count ? q[index[k + i]] : 0.0;
    }
    sincos(x, s, c);
    s.store(sine + k);
    c.store(cosine + k);
  }
}

}  // namespace jounce
