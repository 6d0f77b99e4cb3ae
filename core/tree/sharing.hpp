// Branches of one state in the lanes of a pack (branched_tree.hpp): lanes that hold the same node.
//
// Above the place where branches part, several lanes hold one node, the first of them with its inertia.
// What they gather on the way to the root is summed before the node uses it (`join`), and the first passes
// it on (`own`): so it counts once, and these lanes have the same numbers. In any other tree a scalar of
// the model belongs to one node, and nothing happens.
#pragma once

#include <utility>

#include "jounce/scalar/pack.hpp"

namespace jounce {

template <class P>
struct Sharing {};

template <int W>
struct Sharing<Pack<W>> {
  bool is_shared = false;
  Pack<W> owned;    // one in the first lane of each node, else zero
  Pack<W> same[W];  // [k]: one where the lane k further holds the same node

  JOUNCE_INLINE Pack<W> sum(const Pack<W>& x) const { return sum_rotated(x, All{}); }

 private:
  using All = std::make_integer_sequence<int, W>;

  template <int... Step>
  JOUNCE_INLINE Pack<W> sum_rotated(const Pack<W>& x, std::integer_sequence<int, Step...>) const {
    Pack<W> total(0.0);
    ((total += same[Step] * rotated<Step>(x, All{})), ...);
    return total;
  }
  template <int Step, int... I>
  static JOUNCE_INLINE Pack<W> rotated(const Pack<W>& x, std::integer_sequence<int, I...>) {
    return Pack<W>(JOUNCE_SHUFFLE(x.v, x.v, ((I + Step) % W)...));
  }
};

// What a node has from below, of all lanes that hold it.
template <class P, class X>
JOUNCE_INLINE void join(const Sharing<P>&, X&) {}
template <int W, class X>
JOUNCE_INLINE void join(const Sharing<Pack<W>>& sharing, X& x) {
  if (!sharing.is_shared) return;
  auto* numbers = reinterpret_cast<Pack<W>*>(&x);
  for (std::size_t k = 0; k < sizeof(X) / sizeof(Pack<W>); ++k) numbers[k] = sharing.sum(numbers[k]);
}

// What a node passes on to its parent.
template <class P, class X>
JOUNCE_INLINE const X& own(const Sharing<P>&, const X& x) {
  return x;
}
template <int W, class X>
JOUNCE_INLINE X own(const Sharing<Pack<W>>& sharing, X x) {
  if (!sharing.is_shared) return x;
  auto* numbers = reinterpret_cast<Pack<W>*>(&x);
  for (std::size_t k = 0; k < sizeof(X) / sizeof(Pack<W>); ++k) numbers[k] *= sharing.owned;
  return x;
}

}  // namespace jounce
