// Loops over the columns of a matrix whose rows are arrays over the rates.
//
// For doubles, eight columns (or as many as a register holds) are worked on at once, then four,
// two, one; packs hold one column of several states and are worked on one by one. A loop body
// takes a `Columns` and loads and stores through it.
#pragma once

#include <type_traits>
#include <utility>

#include "jounce/scalar/pack.hpp"
#include "jounce/vec/triple.hpp"

namespace jounce {

template <class V, class S>
struct Columns {
  using Value = V;
  int at;

  JOUNCE_ALWAYS_INLINE V load(const S* x) const {
    if constexpr (std::is_same_v<V, S>) {
      return x[at];
    } else {
      return V::load(x + at);
    }
  }
  JOUNCE_ALWAYS_INLINE void store(S* x, const V& v) const {
    if constexpr (std::is_same_v<V, S>) {
      x[at] = v;
    } else {
      v.store(x + at);
    }
  }
};

template <class S, class Body>
JOUNCE_ALWAYS_INLINE void for_columns(int begin, int end, Body&& body) {
  int c = begin;
  if constexpr (std::is_same_v<S, double>) {
    constexpr int W = lanes<Wide>;
    for (; c + W <= end; c += W) body(Columns<Wide, S>{c});
    if constexpr (W > 4) {
      if (c + 4 <= end) { body(Columns<Pack<4>, S>{c}); c += 4; }
    }
    if constexpr (W > 2) {
      if (c + 2 <= end) { body(Columns<Pack<2>, S>{c}); c += 2; }
    }
  }
  for (; c < end; ++c) body(Columns<S, S>{c});
}

// So many numbers that whole packs of columns can be read.
template <class S>
constexpr std::size_t padded(int n) {
  constexpr int W = has_triples<S> ? lanes<Wide> : 1;
  return std::size_t(n + W - 1) / W * W;
}

// The same loop; where one state has arrays that are padded, always with the widest pack. There packs begin at
// multiples of their width: what was stored by packs is read as it was stored. `store(x, v, from)` writes the
// columns in question from `from` on, or more of those before it.
template <class S, class Body>
JOUNCE_ALWAYS_INLINE void for_packs(int begin, int end, Body&& body) {
  if constexpr (has_triples<S>) {
    constexpr int W = lanes<Wide>;
    for (int at = int(unsigned(begin) / W * W); at < end; at += W) {
      body(Columns<Wide, S>{at}, [=](S* x, const Wide& v, int from) JOUNCE_FORCED {
        v.store_part(x + at, from > at ? from - at : 0, end - at < W ? end - at : W);
      });
    }
  } else {
    for_columns<S>(begin, end, [&](auto c) JOUNCE_FORCED {
      body(c, [=](S* x, const typename decltype(c)::Value& v, int) JOUNCE_FORCED { c.store(x, v); });
    });
  }
}

// Six arrays over the rates: angular x, y, z, linear x, y, z.
template <class S>
struct SixRows {
  S *wx, *wy, *wz, *vx, *vy, *vz;

  SixRows() = default;
  JOUNCE_ALWAYS_INLINE SixRows(S* x, std::size_t length)
      : wx(x), wy(x + length), wz(x + 2 * length), vx(x + 3 * length), vy(x + 4 * length),
        vz(x + 5 * length) {}

  template <class C>
  JOUNCE_ALWAYS_INLINE Vec3<typename C::Value> angular(const C& c) const {
    return {c.load(wx), c.load(wy), c.load(wz)};
  }
  template <class C>
  JOUNCE_ALWAYS_INLINE Vec3<typename C::Value> linear(const C& c) const {
    return {c.load(vx), c.load(vy), c.load(vz)};
  }
  template <class C>
  JOUNCE_ALWAYS_INLINE void set_angular(const C& c, const Vec3<typename C::Value>& x) const {
    c.store(wx, x.x); c.store(wy, x.y); c.store(wz, x.z);
  }
  template <class C>
  JOUNCE_ALWAYS_INLINE void set_linear(const C& c, const Vec3<typename C::Value>& x) const {
    c.store(vx, x.x); c.store(vy, x.y); c.store(vz, x.z);
  }
};

// Three arrays over the rates: vectors, or points.
template <class S>
struct ThreeRows {
  S *x, *y, *z;

  ThreeRows() = default;
  JOUNCE_ALWAYS_INLINE ThreeRows(S* first, std::size_t length)
      : x(first), y(first + length), z(first + 2 * length) {}

  template <class C>
  JOUNCE_ALWAYS_INLINE Vec3<typename C::Value> get(const C& c) const {
    return {c.load(x), c.load(y), c.load(z)};
  }
  // As seen from the point p.
  template <class C>
  JOUNCE_ALWAYS_INLINE Vec3<typename C::Value> from(const Vec3<S>& p, const C& c) const {
    return {c.load(x) - p.x, c.load(y) - p.y, c.load(z) - p.z};
  }
  template <class C>
  JOUNCE_ALWAYS_INLINE void set(const C& c, const Vec3<typename C::Value>& v) const {
    c.store(x, v.x); c.store(y, v.y); c.store(z, v.z);
  }
};

// Tiles of W rows of W numbers are written out, row by row: so they stay in registers.
template <int W>
using AllRows = std::make_integer_sequence<int, W>;

// One stage of the transpose below: exchanges elements whose indices differ in the bit `Step`.
template <int Step, int At, int W, int N, int... I>
JOUNCE_ALWAYS_INLINE void exchange_rows(Pack<W> (&x)[N], std::integer_sequence<int, I...>) {
  if constexpr (!(At & Step)) {
    const auto a = x[At].v, b = x[At | Step].v;
    x[At].v = JOUNCE_SHUFFLE(a, b, ((I & Step) ? (I ^ Step) + W : I)...);
    x[At | Step].v = JOUNCE_SHUFFLE(a, b, ((I & Step) ? I + W : I ^ Step)...);
  }
}
template <int Step, int W, int N, int... At>
JOUNCE_ALWAYS_INLINE void exchange(Pack<W> (&x)[N], std::integer_sequence<int, At...>) {
  (exchange_rows<Step, At>(x, AllRows<W>{}), ...);
}

// In-place transpose of W packs; of fewer, N, of each N lanes.
template <int W, int N>
JOUNCE_ALWAYS_INLINE void transpose(Pack<W> (&x)[N]) {
  constexpr AllRows<N> all{};
  exchange<1>(x, all);
  if constexpr (N > 2) exchange<2>(x, all);
  if constexpr (N > 4) exchange<4>(x, all);
}

// Writes a tile, whose rows are `from_step` apart, transposed to rows that are `to_step` apart.
template <int W, int... I>
JOUNCE_ALWAYS_INLINE void transpose_tile(const double* from, std::ptrdiff_t from_step, double* to,
                                  std::ptrdiff_t to_step, std::integer_sequence<int, I...>) {
  Pack<W> x[W] = {Pack<W>::load(from + I * from_step)...};
  transpose(x);
  (x[I].store(to + I * to_step), ...);
}

// What is written of a symmetric matrix: who stores packs reads the upper triangle alone, and of a mass
// matrix the entries of related rates in it.
enum class Fill { whole, upper };

// Copies the upper triangle of a matrix, rows `step` apart, transposed to the lower one of the
// n x n matrix `to` (which may be the same), up to column end(r) of row r. Nothing else of `from` is read.
template <class S, class End>
JOUNCE_ALWAYS_INLINE void mirror_upper(int n, const S* from, std::ptrdiff_t step, S* to, End&& end) {
  int done = 0;  // columns of the lower triangle that whole tiles cover, in each row of tiles
  if constexpr (std::is_same_v<S, double>) {
    constexpr int W = lanes<Wide> < 4 ? lanes<Wide> : 4;
    done = n / W * W;
    for (int r = 0; r < done; r += W) {
      int last = 0;
      for (int i = 0; i < W; ++i) {
        for (int k = 0; k < i; ++k) to[(r + i) * std::size_t(n) + r + k] = from[(r + k) * step + r + i];
        last = end(r + i) > last ? end(r + i) : last;
      }
      for (int c = r + W; c < done && c < last; c += W) {
        transpose_tile<W>(from + r * step + c, step, to + std::size_t(c) * n + r, n, AllRows<W>{});
      }
    }
  }
  for (int r = done; r < n; ++r) {
    for (int c = 0; c < r; ++c) to[std::size_t(r) * n + c] = from[c * step + r];
  }
}
template <class S>
JOUNCE_ALWAYS_INLINE void mirror_upper(int n, const S* from, std::ptrdiff_t step, S* to) {
  mirror_upper(n, from, step, to, [n](int) { return n; });
}

}  // namespace jounce
