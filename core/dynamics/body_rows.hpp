// Numbers of all bodies: of one state, each in a row over the bodies, so that several bodies are worked on
// at once; of a pack of states, those of a body are together.
#pragma once

#include "jounce/tree/workspace.hpp"
#include "jounce/vec/columns.hpp"

namespace jounce {

template <class S, int kRows>
struct BodyRows {
  static constexpr bool kTogether = !std::is_same_v<S, double>;
  S* x;
  std::size_t length;

  // Of the last bodies, a whole register is read: with numbers of the next row, or with those that
  // `clear_end` sets.
  BodyRows(int n_bodies, Arena& arena)
      : x(arena.take<S>(std::size_t(kRows) * n_bodies + (kTogether ? 0 : lanes<Wide>))),
        length(n_bodies) {}

  JOUNCE_INLINE void clear_end() const {
    if constexpr (!kTogether) Wide(0.0).store(x + kRows * length);
  }
  template <class C>
  JOUNCE_INLINE typename C::Value get(int row, const C& c) const {
    return C{place(c.at)}.load(first(row));
  }
  template <class C>
  JOUNCE_INLINE void put(int row, const C& c, const typename C::Value& y) const {
    C{place(c.at)}.store(first(row), y);
  }
  template <class C>
  JOUNCE_INLINE Vec3<typename C::Value> vector(int row, const C& c) const {
    return {get(row, c), get(row + 1, c), get(row + 2, c)};
  }
  template <class C>
  JOUNCE_INLINE Mat3<typename C::Value> matrix(int row, const C& c) const {
    return {vector(row, c), vector(row + 3, c), vector(row + 6, c)};
  }
  template <class C>
  JOUNCE_INLINE void set(int row, const C& c, const Vec3<typename C::Value>& y) const {
    put(row, c, y.x), put(row + 1, c, y.y), put(row + 2, c, y.z);
  }
  template <class C>
  JOUNCE_INLINE void set(int row, const C& c, const Mat3<typename C::Value>& y) const {
    set(row, c, y.x), set(row + 3, c, y.y), set(row + 6, c, y.z);
  }
 private:
  JOUNCE_INLINE S* first(int row) const { return x + (kTogether ? row : row * length); }
  static JOUNCE_INLINE int place(int body) { return kTogether ? kRows * body : body; }
};

}  // namespace jounce
