// Jet<K>: the first K Taylor coefficients of a function of time. With it every kernel gives time
// derivatives; the series of the dynamics have recursions of their own (series/), which are faster.
#pragma once

#include "scalar.hpp"
#include "sincos.hpp"

namespace jounce {

template <int K>
struct Jet {
  double c[K];

  Jet() = default;
  JOUNCE_INLINE Jet(double x) : c{x} {}

  friend Jet operator+(const Jet& a, const Jet& b) {
    Jet y;
    for (int k = 0; k < K; ++k) y.c[k] = a.c[k] + b.c[k];
    return y;
  }
  friend Jet operator-(const Jet& a, const Jet& b) {
    Jet y;
    for (int k = 0; k < K; ++k) y.c[k] = a.c[k] - b.c[k];
    return y;
  }
  friend Jet operator-(const Jet& a) {
    Jet y;
    for (int k = 0; k < K; ++k) y.c[k] = -a.c[k];
    return y;
  }
  friend Jet operator*(const Jet& a, double b) {
    Jet y;
    for (int k = 0; k < K; ++k) y.c[k] = a.c[k] * b;
    return y;
  }
  friend Jet operator*(double a, const Jet& b) { return b * a; }
  friend Jet operator*(const Jet& a, const Jet& b) {
    Jet y(0.0);
    for (int j = 0; j < K; ++j) {
      const double x = a.c[j];
      if (x == 0.0) continue;  // constants of the model and unit screws have one coefficient
      for (int k = j; k < K; ++k) y.c[k] += x * b.c[k - j];
    }
    return y;
  }
  Jet& operator+=(const Jet& b) { return *this = *this + b; }
  Jet& operator-=(const Jet& b) { return *this = *this - b; }
  Jet& operator*=(const Jet& b) { return *this = *this * b; }
};

// sin' = cos x', cos' = -sin x'.
template <int K>
void sincos(const Jet<K>& x, Jet<K>& sine, Jet<K>& cosine) {
  sincos(x.c[0], sine.c[0], cosine.c[0]);
  for (int k = 1; k < K; ++k) {
    double s = 0.0, c = 0.0;
    for (int j = 1; j <= k; ++j) {
      s += j * x.c[j] * cosine.c[k - j];
      c -= j * x.c[j] * sine.c[k - j];
    }
    sine.c[k] = s / k;
    cosine.c[k] = c / k;
  }
}

}  // namespace jounce
