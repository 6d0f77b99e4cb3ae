// Linear maps of a joint at time 0 between motions and wrenches, in the lanes of registers.
#pragma once

#include "jounce/dynamics/factor.hpp"
#include "jounce/series/root_series.hpp"
#include "jounce/series/series.hpp"
#include "jounce/vec/numbers.hpp"

namespace jounce {

// Six columns of a map between motions or wrenches, each with its halves at 0 and 4. The fourth row is one
// of its own.
struct StateMap {
  alignas(64) double column[6][8];

  template <class X>
  static JOUNCE_INLINE void halves(const X& x, double* to, double fourth = 0.0) {
    const auto* from = reinterpret_cast<const double*>(&x);
    for (int k = 0; k < 3; ++k) to[k] = from[k], to[k + 4] = from[k + 3];
    to[3] = fourth;
    to[7] = 0.0;
  }
  template <class X>
  JOUNCE_INLINE void set(int i, const X& x, double fourth = 0.0) {
    halves(x, column[i], fourth);
  }
  JOUNCE_INLINE Eight times(const double* x) const {
    return sum_of<8>(5, [&](int i, Eight& sum) JOUNCE_INLINED {
      sum.add(x[i < 3 ? i : i + 1], Eight::load(column[i]));
    });
  }
  // The same of numbers in registers.
  JOUNCE_INLINE Eight times(const Eight& x) const {
    return sum_of_six(spread<0>(x), spread<1>(x), spread<2>(x), spread<4>(x), spread<5>(x), spread<6>(x));
  }
  JOUNCE_INLINE Eight times_six(const Eight& x) const {
    return sum_of_six(spread<0>(x), spread<1>(x), spread<2>(x), spread<3>(x), spread<4>(x), spread<5>(x));
  }
  // The same of six numbers in a row.
  JOUNCE_INLINE Eight times_six(const double* x) const {
    return sum_of<8>(5, [&](int i, Eight& sum) JOUNCE_INLINED { sum.add(x[i], Eight::load(column[i])); });
  }

 private:
  template <class... X>
  JOUNCE_INLINE Eight sum_of_six(const X&... x) const {
    const Eight by[] = {x...};
    return sum_of<8>(5, [&](int i, Eight& sum) JOUNCE_INLINED { sum.add(by[i], Eight::load(column[i])); });
  }
};

// What is the same at all orders.
struct JointMaps {
  StateMap motion;       // X
  StateMap whole;        // X, then the joint's own rate, which is the fourth number
  StateMap wrench;       // X^T
  StateMap held;         // J' X
  StateMap inertia;      // J, or J'^-1 of a free root
  StateMap turn_wrench;  // w w^T to the wrench
  StateMap carried;      // the parent's w w^T to a
  alignas(64) double freed[8], freed_up[8];  // U / D, and X^T of it
};

namespace state_series {

using Vector = Vec3<double>;
using Wrench = Force<double>;

// (w w^T - |w|^2) v, where only entry i of w w^T is there, in the order xx, yy, zz, xy, xz, yz.
JOUNCE_INLINE Vector centripetal(int i, const Vector& v) {
  switch (i) {
    case 0: return {0.0, -v.y, -v.z};
    case 1: return {-v.x, 0.0, -v.z};
    case 2: return {-v.x, -v.y, 0.0};
    case 3: return {v.y, v.x, 0.0};
    case 4: return {v.z, 0.0, v.x};
    default: return {0.0, v.z, v.y};
  }
}
JOUNCE_INLINE Sym3<double> products_of(const double* x) { return {x[0], x[3], x[1], x[4], x[5], x[2]}; }

// Maps of a joint that do not depend on the state.
inline void set_inertia(const Node<double>& node, JointMaps& maps) {
  const ArticulatedInertia<double> J = ArticulatedInertia<double>::of(node.inertia);
  for (int i = 0; i < 6; ++i) {
    double one[6] = {};
    one[i] = 1.0;
    maps.inertia.set(i, J.column(i));
    maps.turn_wrench.set(i, Wrench{series::gyroscopic(node.inertia.I, products_of(one)),
                                   centripetal(i, node.inertia.h)});
  }
}

// Those that do, of a joint whose inertias are factored.
template <Kind K>
JOUNCE_INLINE void set_maps(const Node<double>& node, const Pose<double>& at, const ArticulatedInertia<double>& J,
                            const SolvedRate<double>* rate, JointMaps& maps) {
  if constexpr (K == Kind::free) {
    invert_six(rate, [&](int i, const double* x) { maps.inertia.set(i, *reinterpret_cast<const Wrench*>(x)); });
  } else {
    const Wrench U = rate->U * rate->inverse_D, up = to_parent(at, U);
    StateMap::halves(U, maps.freed);
    StateMap::halves(up, maps.freed_up);
    if (node.parent < 0) return;
    const auto& [R, p] = at;
    const Mat3<double> rows = transpose(R);
    const Vector o = Vector::zero(), *row = &rows.x, *column = &R.x;
    const Vector aside[] = {row[2] * p.y - row[1] * p.z, row[0] * p.z - row[2] * p.x,
                            row[1] * p.x - row[0] * p.y};
    Eight held[6];
    for (int i = 0; i < 6; ++i) {
      const Wrench c = J.column(i);
      held[i] = Eight::of(c.n.x, c.n.y, c.n.z, 0.0, c.f.x, c.f.y, c.f.z, 0.0);
    }
    for (int i = 0; i < 6; ++i) {
      Motion<double> x = i < 3 ? Motion<double>{row[i], aside[i]} : Motion<double>{o, row[i - 3]};
      const double y = -(&up.n.x)[i];
      maps.motion.set(i, x);
      maps.wrench.set(i, i < 3 ? Wrench{column[i], o} : Wrench{cross(p, column[i - 3]), column[i - 3]});
      sum_of<8>(5, [&](int j, Eight& sum) JOUNCE_INLINED { sum.add((&x.w.x)[j], held[j]); }).store(maps.held.column[i]);
      add_rate<K>(node, 0, y, x);
      maps.whole.set(i, x, y);
      maps.carried.set(i, Wrench{o, rows * centripetal(i, p)});
    }
  }
}

}  // namespace state_series
}  // namespace jounce
