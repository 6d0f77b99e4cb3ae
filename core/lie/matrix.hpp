// Row-major matrices as rotations, poses and linear maps, and back.
#pragma once

#include "jounce/lie/group.hpp"

namespace jounce {

// Rows `step` apart.
template <class S>
JOUNCE_INLINE Mat3<S> matrix_from(const S* m, int step) {
  const S *a = m, *b = m + step, *c = m + 2 * step;
  return {{a[0], b[0], c[0]}, {a[1], b[1], c[1]}, {a[2], b[2], c[2]}};
}
template <class S>
JOUNCE_INLINE void store(const Mat3<S>& R, S* m, int step) {
  store(R.x, m, step);
  store(R.y, m + 1, step);
  store(R.z, m + 2, step);
}

// [[D, 0], [L, D]].
template <class S>
JOUNCE_INLINE void store(const Blocks<S>& map, S* m) {
  const Vec3<S> o = Vec3<S>::zero();
  store(map.D, m, 6);
  store(Mat3<S>{o, o, o}, m + 3, 6);
  store(map.L, m + 18, 6);
  store(map.D, m + 21, 6);
}

// Whether the last row of a pose is (0, 0, 0, 1), to 1e-6; of all poses, if S is a pack.
template <class S>
JOUNCE_INLINE bool has_last_row(const S* m) {
  const S off[] = {m[12], m[13], m[14], m[15] - S(1.0)};
  bool good = true;
  for (const S& x : off) good = good && all(value(x * x) <= value(S(1e-12)));
  return good;
}

}  // namespace jounce
