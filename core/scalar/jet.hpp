// Jet: the Taylor coefficients of a function of time, as many as `Jet::count` says. With it every
// kernel gives time derivatives; the series of the dynamics have recursions of their own (series/),
// which are faster.
#pragma once

#include "scalar.hpp"
#include "sincos.hpp"

namespace jounce {

constexpr int kMostCoefficients = 103;

struct Jet {
  // Coefficients in use on this thread: set before a kernel runs on jets. A number in the type
  // instead would compile every kernel once per order.
  static inline thread_local int count = 1;

  double c[kMostCoefficients];

  Jet() = default;
  Jet(double x) {
    c[0] = x;
    for (int k = 1; k < count; ++k) c[k] = 0.0;
  }
  Jet(const Jet& b) { copy(b); }
  Jet& operator=(const Jet& b) {
    copy(b);
    return *this;
  }
  Jet& operator+=(const Jet& b) { return *this = *this + b; }
  Jet& operator-=(const Jet& b) { return *this = *this - b; }
  Jet& operator*=(const Jet& b) { return *this = *this * b; }

  // Out of line: kernels inline everything else.
#define JOUNCE_JET __attribute__((noinline)) friend Jet
  JOUNCE_JET operator+(const Jet& a, const Jet& b) {
    Jet y;
    for (int k = 0; k < count; ++k) y.c[k] = a.c[k] + b.c[k];
    return y;
  }
  JOUNCE_JET operator-(const Jet& a, const Jet& b) {
    Jet y;
    for (int k = 0; k < count; ++k) y.c[k] = a.c[k] - b.c[k];
    return y;
  }
  JOUNCE_JET operator-(const Jet& a) {
    Jet y;
    for (int k = 0; k < count; ++k) y.c[k] = -a.c[k];
    return y;
  }
  JOUNCE_JET operator*(const Jet& a, double b) {
    Jet y;
    for (int k = 0; k < count; ++k) y.c[k] = a.c[k] * b;
    return y;
  }
  JOUNCE_JET operator*(const Jet& a, const Jet& b) {
    Jet y(0.0);
    for (int j = 0; j < count; ++j) {
      const double x = a.c[j];
      if (x == 0.0) continue;  // unit screws have one coefficient
      for (int k = j; k < count; ++k) y.c[k] += x * b.c[k - j];
    }
    return y;
  }
#undef JOUNCE_JET
  friend Jet operator*(double a, const Jet& b) { return b * a; }

 private:
  __attribute__((noinline)) void copy(const Jet& b) {
    for (int k = 0; k < count; ++k) c[k] = b.c[k];
  }
};

// sin' = cos x', cos' = -sin x'.
inline void sincos(const Jet& x, Jet& sine, Jet& cosine) {
  sincos(x.c[0], sine.c[0], cosine.c[0]);
  for (int k = 1; k < Jet::count; ++k) {
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
