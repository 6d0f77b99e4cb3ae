// Columns of matrices as wrenches and motions.
#pragma once

#include "jounce/spatial/spatial.hpp"
#include "jounce/vec/columns.hpp"

namespace jounce {

template <class S, class C>
JOUNCE_INLINE Force<typename C::Value> wrench(const SixRows<S>& rows, const C& c) {
  return {rows.angular(c), rows.linear(c)};
}
template <class S, class C>
JOUNCE_INLINE Motion<typename C::Value> motion(const SixRows<S>& rows, const C& c) {
  return {rows.angular(c), rows.linear(c)};
}
template <class S, class C>
JOUNCE_INLINE void store(const Force<typename C::Value>& x, const SixRows<S>& rows, const C& c) {
  rows.set_angular(c, x.n);
  rows.set_linear(c, x.f);
}
template <class S, class C>
JOUNCE_INLINE void store(const Motion<typename C::Value>& x, const SixRows<S>& rows, const C& c) {
  rows.set_angular(c, x.w);
  rows.set_linear(c, x.v);
}

}  // namespace jounce
