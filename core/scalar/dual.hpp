// Dual<S>: a value and its tangent; exact derivatives along one direction (or, with S a Pack of
// directions, several). Nested duals give higher orders.
#pragma once

#include "jounce/scalar/scalar.hpp"

namespace jounce {

template <class S>
struct Dual {
  S x, d;

  Dual() = default;
  JOUNCE_ALWAYS_INLINE Dual(double value) : x(value), d(0.0) {}
  JOUNCE_ALWAYS_INLINE Dual(S value, S tangent) : x(value), d(tangent) {}

  friend JOUNCE_ALWAYS_INLINE Dual operator+(Dual a, Dual b) { return {a.x + b.x, a.d + b.d}; }
  friend JOUNCE_ALWAYS_INLINE Dual operator-(Dual a, Dual b) { return {a.x - b.x, a.d - b.d}; }
  friend JOUNCE_ALWAYS_INLINE Dual operator*(Dual a, Dual b) { return {a.x * b.x, a.x * b.d + a.d * b.x}; }
  friend JOUNCE_ALWAYS_INLINE Dual operator/(Dual a, Dual b) {
    S q = a.x / b.x;
    return {q, (a.d - q * b.d) / b.x};
  }
  friend JOUNCE_ALWAYS_INLINE Dual operator-(Dual a) { return {-a.x, -a.d}; }
  // Constants have no tangent to multiply with.
  friend JOUNCE_ALWAYS_INLINE Dual operator*(Dual a, double b) { return {a.x * b, a.d * b}; }
  friend JOUNCE_ALWAYS_INLINE Dual operator*(double a, Dual b) { return {a * b.x, a * b.d}; }
  friend JOUNCE_ALWAYS_INLINE Dual operator+(Dual a, double b) { return {a.x + b, a.d}; }
  friend JOUNCE_ALWAYS_INLINE Dual operator+(double a, Dual b) { return {a + b.x, b.d}; }
  friend JOUNCE_ALWAYS_INLINE Dual operator-(Dual a, double b) { return {a.x - b, a.d}; }
  friend JOUNCE_ALWAYS_INLINE Dual operator-(double a, Dual b) { return {a - b.x, -b.d}; }
  friend JOUNCE_ALWAYS_INLINE auto operator<(Dual a, Dual b) { return a.x < b.x; }
  friend JOUNCE_ALWAYS_INLINE auto operator<=(Dual a, Dual b) { return a.x <= b.x; }
  friend JOUNCE_ALWAYS_INLINE auto operator>(Dual a, Dual b) { return a.x > b.x; }
  friend JOUNCE_ALWAYS_INLINE auto operator>=(Dual a, Dual b) { return a.x >= b.x; }
  JOUNCE_ALWAYS_INLINE Dual& operator+=(Dual b) { return *this = *this + b; }
  JOUNCE_ALWAYS_INLINE Dual& operator-=(Dual b) { return *this = *this - b; }
  JOUNCE_ALWAYS_INLINE Dual& operator*=(Dual b) { return *this = *this * b; }

  template <class M>
  friend JOUNCE_ALWAYS_INLINE Dual select(M mask, Dual a, Dual b) {
    return {select(mask, a.x, b.x), select(mask, a.d, b.d)};
  }
  friend JOUNCE_ALWAYS_INLINE Dual sqrt(Dual a) {
    S root = sqrt(a.x);
    return {root, a.d / (root + root)};
  }
  friend JOUNCE_ALWAYS_INLINE bool is_zero(Dual a) { return is_zero(a.x) && is_zero(a.d); }
  friend JOUNCE_ALWAYS_INLINE auto value(Dual a) { return value(a.x); }
};

template <class S>
inline constexpr int lanes<Dual<S>> = lanes<S>;

template <class S>
inline constexpr bool is_dual = false;
template <class S>
inline constexpr bool is_dual<Dual<S>> = true;

}  // namespace jounce
