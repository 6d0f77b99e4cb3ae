// One state by itself: many rates in the lanes of a register.
#pragma once

#include "jounce/kinematics/base_frame.hpp"
#include "jounce/spatial/columns.hpp"

namespace jounce {

// Four numbers at `at(i)` of each lane i become four packs.
template <class At>
JOUNCE_ALWAYS_INLINE void gather_fours(At&& at, Wide& a, Wide& b, Wide& c, Wide& d) {
  constexpr int W = lanes<Wide>;
  if constexpr (W == 8) {
    const auto pair = [&](int i) JOUNCE_FORCED {
      return JOUNCE_SHUFFLE(Pack<4>::load(at(i)).v, Pack<4>::load(at(i + 4)).v, 0, 1, 2, 3, 4, 5, 6, 7);
    };
    const auto p = pair(0), q = pair(1), r = pair(2), s = pair(3);
    const auto pq = JOUNCE_SHUFFLE(p, q, 0, 8, 2, 10, 4, 12, 6, 14);
    const auto qp = JOUNCE_SHUFFLE(p, q, 1, 9, 3, 11, 5, 13, 7, 15);
    const auto rs = JOUNCE_SHUFFLE(r, s, 0, 8, 2, 10, 4, 12, 6, 14);
    const auto sr = JOUNCE_SHUFFLE(r, s, 1, 9, 3, 11, 5, 13, 7, 15);
    a.v = JOUNCE_SHUFFLE(pq, rs, 0, 1, 8, 9, 4, 5, 12, 13);
    b.v = JOUNCE_SHUFFLE(qp, sr, 0, 1, 8, 9, 4, 5, 12, 13);
    c.v = JOUNCE_SHUFFLE(pq, rs, 2, 3, 10, 11, 6, 7, 14, 15);
    d.v = JOUNCE_SHUFFLE(qp, sr, 2, 3, 10, 11, 6, 7, 14, 15);
  } else if constexpr (W == 4) {
    Wide x[] = {Wide::load(at(0)), Wide::load(at(1)), Wide::load(at(2)), Wide::load(at(3))};
    transpose(x);
    a = x[0], b = x[1], c = x[2], d = x[3];
  }
}

// Wrenches F = I s of all rates, about the origins of their nodes, which are kept as well.
template <class S>
  requires has_triples<S>
JOUNCE_INLINE void wrenches_in_lanes(const Tree<S>& tree, const BaseFrameWork<S>& work, const SixRows<S>& wrenches,
                                     const ThreeRows<S>& origin) {
  const Pose<S>* const pose = work.in_root;
  const RigidInertia<S>* const inertia = work.inertia;
  for_packs<S>(0, tree.nv, [&](auto c, auto&&) JOUNCE_FORCED {
    const int *node = &tree.rate_node[c.at], *axis = &tree.rate_axis[c.at];
    RigidInertia<Wide> I;
    Vec3<Wide> s, p;
    Wide rest;
    gather_fours([&](int i) { return &inertia[node[i]].m; }, I.m, I.h.x, I.h.y, I.h.z);
    gather_fours([&](int i) { return &inertia[node[i]].I.xx; }, I.I.xx, I.I.xy, I.I.yy, I.I.xz);
    gather_fours([&](int i) { return &inertia[node[i]].I.yz; }, I.I.yz, I.I.zz, rest, rest);
    gather_fours([&](int i) { return &pose[node[i]].R.x.x + 3 * axis[i]; }, s.x, s.y, s.z, rest);
    gather_fours([&](int i) { return &pose[node[i]].p.x; }, p.x, p.y, p.z, rest);
    const Motion<Wide> screw{s * Wide::load(&tree.turning[c.at]), s * Wide::load(&tree.sliding[c.at])};
    store(I * screw, wrenches, c);
    origin.set(c, p);
  });
}

}  // namespace jounce
