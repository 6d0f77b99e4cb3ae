// Extended: a number with more digits than a double, where rounding errors of a long motion would add up.
//
// It is the compiler's long double: 64 bits instead of 53 on x86, 113 bits in software on ARM under Linux,
// and a plain double where the platform has nothing else.
#pragma once

#include <cmath>

#include "jounce/scalar/scalar.hpp"

namespace jounce {

struct Extended {
  long double x;

  Extended() = default;
  JOUNCE_ALWAYS_INLINE Extended(double value) : x(value) {}
  JOUNCE_ALWAYS_INLINE explicit Extended(long double value) : x(value) {}
  // A double and what it lacks, and back.
  static JOUNCE_ALWAYS_INLINE Extended of(double high, double low) {
    return Extended(static_cast<long double>(high) + low);
  }
  JOUNCE_ALWAYS_INLINE double high() const { return static_cast<double>(x); }
  JOUNCE_ALWAYS_INLINE double low() const { return static_cast<double>(x - high()); }

  friend JOUNCE_ALWAYS_INLINE Extended operator+(Extended a, Extended b) { return Extended(a.x + b.x); }
  friend JOUNCE_ALWAYS_INLINE Extended operator-(Extended a, Extended b) { return Extended(a.x - b.x); }
  friend JOUNCE_ALWAYS_INLINE Extended operator*(Extended a, Extended b) { return Extended(a.x * b.x); }
  friend JOUNCE_ALWAYS_INLINE Extended operator/(Extended a, Extended b) { return Extended(a.x / b.x); }
  friend JOUNCE_ALWAYS_INLINE Extended operator-(Extended a) { return Extended(-a.x); }
  friend JOUNCE_ALWAYS_INLINE bool operator<(Extended a, Extended b) { return a.x < b.x; }
  friend JOUNCE_ALWAYS_INLINE bool operator<=(Extended a, Extended b) { return a.x <= b.x; }
  friend JOUNCE_ALWAYS_INLINE bool operator>(Extended a, Extended b) { return a.x > b.x; }
  friend JOUNCE_ALWAYS_INLINE bool operator>=(Extended a, Extended b) { return a.x >= b.x; }
  JOUNCE_ALWAYS_INLINE Extended& operator+=(Extended b) { return *this = *this + b; }
  JOUNCE_ALWAYS_INLINE Extended& operator-=(Extended b) { return *this = *this - b; }
  JOUNCE_ALWAYS_INLINE Extended& operator*=(Extended b) { return *this = *this * b; }

  friend JOUNCE_ALWAYS_INLINE Extended select(bool mask, Extended a, Extended b) { return mask ? a : b; }
  friend JOUNCE_ALWAYS_INLINE Extended sqrt(Extended a) { return Extended(std::sqrt(a.x)); }
  friend JOUNCE_ALWAYS_INLINE bool is_zero(Extended a) { return a.x == 0.0L; }
  friend JOUNCE_ALWAYS_INLINE double value(Extended a) { return a.high(); }
  friend JOUNCE_ALWAYS_INLINE double lane(Extended a, int) { return a.high(); }
  friend JOUNCE_ALWAYS_INLINE void set_lane(Extended& a, int, double b) { a = b; }
  friend JOUNCE_ALWAYS_INLINE void sincos(Extended angle, Extended& sine, Extended& cosine) {
    sine = Extended(std::sin(angle.x));
    cosine = Extended(std::cos(angle.x));
  }
};

}  // namespace jounce
