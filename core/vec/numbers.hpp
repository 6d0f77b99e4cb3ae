// A few numbers side by side, in as many registers as they need.
#pragma once

#include <utility>

#include "jounce/scalar/pack.hpp"

namespace jounce {

template <int N>
struct Numbers {
  static constexpr int kWidth = N < lanes<Wide> ? N : lanes<Wide>, kParts = N / kWidth;
  using Part = Pack<kWidth>;
  Part part[kParts];

  static JOUNCE_INLINE Numbers all(double a) {
    Numbers x;
    for (int i = 0; i < kParts; ++i) x.part[i] = Part(a);
    return x;
  }
  static JOUNCE_INLINE Numbers zero() { return all(0.0); }
  // From single numbers, which are in registers: a load would wait for all of them to be stored.
  template <class... X>
  static JOUNCE_INLINE Numbers of(X... x) {
    static_assert(sizeof...(X) == N);
    Numbers to;
    if constexpr (kParts == 1) {
      to.part[0].v = decltype(to.part[0].v){x...};
    } else {
      const double single[] = {x...};
      for (int i = 0; i < N; ++i) to.part[i / kWidth].v[i % kWidth] = single[i];
    }
    return to;
  }
  static JOUNCE_INLINE Numbers load(const double* from) {
    Numbers x;
    for (int i = 0; i < kParts; ++i) x.part[i] = Part::load(from + i * kWidth);
    return x;
  }
  JOUNCE_INLINE void store(double* to) const {
    for (int i = 0; i < kParts; ++i) part[i].store(to + i * kWidth);
  }
  JOUNCE_INLINE double first() const { return part[0].v[0]; }
  JOUNCE_INLINE Numbers& operator+=(const Numbers& b) {
    for (int i = 0; i < kParts; ++i) part[i] += b.part[i];
    return *this;
  }
  friend JOUNCE_INLINE Numbers operator*(Numbers a, const Numbers& b) {
    for (int i = 0; i < kParts; ++i) a.part[i] *= b.part[i];
    return a;
  }
  // += a b, where a is one number or as many.
  JOUNCE_INLINE void add(double a, const Numbers& b) {
    for (int i = 0; i < kParts; ++i) part[i] += Part(a) * b.part[i];
  }
  JOUNCE_INLINE void add(const Numbers& a, const Numbers& b) {
    for (int i = 0; i < kParts; ++i) part[i] += a.part[i] * b.part[i];
  }
};

using Eight = Numbers<8>;

// Number I everywhere.
template <int I, int N, int... J>
JOUNCE_INLINE Numbers<N> spread(const Numbers<N>& x, std::integer_sequence<int, J...>) {
  constexpr int kWidth = Numbers<N>::kWidth;
  const auto& v = x.part[I / kWidth].v;
  const typename Numbers<N>::Part one(JOUNCE_SHUFFLE(v, v, (J * 0 + I % kWidth)...));
  Numbers<N> y;
  for (int i = 0; i < Numbers<N>::kParts; ++i) y.part[i] = one;
  return y;
}
template <int I, int N>
JOUNCE_INLINE Numbers<N> spread(const Numbers<N>& x) {
  return spread<I>(x, std::make_integer_sequence<int, Numbers<N>::kWidth>{});
}

// Some of the first four numbers of x, by their positions.
template <int... I, int N>
JOUNCE_INLINE Numbers<N> picked(const Numbers<N>& x) {
  static_assert(sizeof...(I) == 8 && N == 8);
  constexpr int at[] = {I...};
  if constexpr (Numbers<N>::kWidth == 8) {
    return {{Pack<8>(JOUNCE_SHUFFLE(x.part[0].v, x.part[0].v, I...))}};
  } else if constexpr (Numbers<N>::kWidth == 4) {
    const auto& v = x.part[0].v;
    return {{Pack<4>(JOUNCE_SHUFFLE(v, v, at[0], at[1], at[2], at[3])),
             Pack<4>(JOUNCE_SHUFFLE(v, v, at[4], at[5], at[6], at[7]))}};
  } else {
    const auto &u = x.part[0].v, &v = x.part[1].v;
    return {{Pack<2>(JOUNCE_SHUFFLE(u, v, at[0], at[1])), Pack<2>(JOUNCE_SHUFFLE(u, v, at[2], at[3])),
             Pack<2>(JOUNCE_SHUFFLE(u, v, at[4], at[5])), Pack<2>(JOUNCE_SHUFFLE(u, v, at[6], at[7]))}};
  }
}

// The numbers 0, 1, 4, 5 of both.
template <int N>
JOUNCE_INLINE Numbers<N> first_pairs(const Numbers<N>& a, const Numbers<N>& b) {
  static_assert(N == 8);
  if constexpr (Numbers<N>::kWidth == 8) {
    return {{Pack<8>(JOUNCE_SHUFFLE(a.part[0].v, b.part[0].v, 0, 1, 4, 5, 8, 9, 12, 13))}};
  } else if constexpr (Numbers<N>::kWidth == 4) {
    return {{Pack<4>(JOUNCE_SHUFFLE(a.part[0].v, a.part[1].v, 0, 1, 4, 5)),
             Pack<4>(JOUNCE_SHUFFLE(b.part[0].v, b.part[1].v, 0, 1, 4, 5))}};
  } else {
    return {{a.part[0], a.part[2], b.part[0], b.part[2]}};
  }
}

// The numbers 0, 1 and 2, 3 as the firsts of two halves that are zero otherwise; or 4, 5 and 6, 7.
template <bool kSecond, int N>
JOUNCE_INLINE Numbers<N> spread_pairs(const Numbers<N>& x) {
  static_assert(N == 8);
  using Part = typename Numbers<N>::Part;
  const Part zero(0.0);
  if constexpr (Numbers<N>::kWidth == 8) {
    constexpr int a = kSecond ? 4 : 0;
    return {{Part(JOUNCE_SHUFFLE(x.part[0].v, zero.v, a, a + 1, 8, 8, a + 2, a + 3, 8, 8))}};
  } else if constexpr (Numbers<N>::kWidth == 4) {
    const auto& v = x.part[kSecond].v;
    return {{Part(JOUNCE_SHUFFLE(v, zero.v, 0, 1, 4, 4)), Part(JOUNCE_SHUFFLE(v, zero.v, 2, 3, 4, 4))}};
  } else {
    return {{x.part[2 * kSecond], zero, x.part[2 * kSecond + 1], zero}};
  }
}

// Each number in the place of that whose position differs in the bits of X, 0 to 3.
template <int X, int N, int... I>
JOUNCE_INLINE Numbers<N> swapped(const Numbers<N>& x, std::integer_sequence<int, I...>) {
  using Part = typename Numbers<N>::Part;
  constexpr bool kPairs = sizeof...(I) == 2;  // in parts of two the second bit tells the part
  Numbers<N> y;
  for (int i = 0; i < Numbers<N>::kParts; ++i) {
    const auto& v = x.part[kPairs ? i ^ (X >> 1) : i].v;
    y.part[i] = Part(JOUNCE_SHUFFLE(v, v, (I ^ (kPairs ? X & 1 : X))...));
  }
  return y;
}
template <int X, int N>
JOUNCE_INLINE Numbers<N> swapped(const Numbers<N>& x) {
  return swapped<X>(x, std::make_integer_sequence<int, Numbers<N>::kWidth>{});
}

// The sum of term(j) over j = 0 ... k, where term(j, sum) adds to it: in two halves, so that one need not
// wait for the other.
template <int N, class Term>
JOUNCE_INLINE Numbers<N> sum_of(int k, Term&& term) {
  auto even = Numbers<N>::zero(), odd = Numbers<N>::zero();
  int j = 0;
  for (; j < k; j += 2) {
    term(j, even);
    term(j + 1, odd);
  }
  if (j == k) term(j, even);
  return even += odd;
}

}  // namespace jounce
