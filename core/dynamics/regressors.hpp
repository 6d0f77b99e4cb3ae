// What torques, energies and momentum have in common: they are linear in the inertial parameters.
//
// Of a body, these are pi = (m, h, Ixx, Ixy, Iyy, Ixz, Iyz, Izz), with the first moment h = m c and
// the inertia I about the origin of its frame, along its axes. With its angular velocity w, the
// linear velocity v of its origin, position p and orientation R, and gravity g,
//   (1) kinetic energy    m v.v / 2 + h.(v x w) + w.I w / 2
//   (2) potential energy  -g.(m p + R h)
//   (3) momentum          R (m v + w x h), about the origin R (h x v + I w) + p x (that)
// For torques see torque_regressor.hpp.
#pragma once

#include <algorithm>

#include "jounce/kinematics/bodies.hpp"

namespace jounce {

constexpr int kParameters = 10;  // of a body

// I x for the six entries of I, turned by R, at the columns from 4 on.
template <class S>
JOUNCE_INLINE void inertia_columns(const Mat3<S>& R, const Vec3<S>& x, Vec3<S>* column) {
  column[4] = R.x * x.x;
  column[5] = R.x * x.y + R.y * x.x;
  column[6] = R.y * x.y;
  column[7] = R.x * x.z + R.z * x.x;
  column[8] = R.y * x.z + R.z * x.y;
  column[9] = R.z * x.z;
}

// Equation (1); y: (10 n_bodies).
template <class S, class P>
void kinetic_energy_regressor(const Tree<P>& tree, const S* q, const S* v, S* y, BodiesWork<S>& work) {
  bodies_outward(tree, q, v, (const S*)nullptr, work);
  for_bodies(tree, work, [&](int b, const auto& node, const auto& row, const Pose<S>&) {
    const Motion<S> twist = to_parent(node.alignment, row.twist);
    const Vec3<S>& w = twist.w;
    const Vec3<S> by_h = cross(twist.v, w);
    const S half(0.5);
    const S by_I[] = {w.x * w.x * half, w.x * w.y, w.y * w.y * half,
                      w.x * w.z,        w.y * w.z, w.z * w.z * half};
    S* at = y + kParameters * b;
    at[0] = dot(twist.v, twist.v) * half;
    store(by_h, at + 1);
    std::copy_n(by_I, 6, at + 4);
  });
}

// Equation (2); y: (10 n_bodies).
template <class S, class P>
void potential_energy_regressor(const Tree<P>& tree, const S* q, S* y, BodiesWork<S>& work) {
  bodies_outward(tree, q, (const S*)nullptr, (const S*)nullptr, work);
  for_bodies(tree, work, [&](int b, const auto&, const auto&, const Pose<S>& world) {
    S* at = y + kParameters * b;
    at[0] = -dot(world.p, tree.gravity);
    store(-transposed(world.R, tree.gravity), at + 1);
    std::fill_n(at + 4, 6, S(0.0));
  });
}

// Equation (3); Y: (6, 10 n_bodies), moment first.
template <class S, class P>
void momentum_regressor(const Tree<P>& tree, const S* q, const S* v, S* Y, BodiesWork<S>& work) {
  const int step = kParameters * tree.n_bodies;
  bodies_outward(tree, q, v, (const S*)nullptr, work);
  for_bodies(tree, work, [&](int b, const auto& node, const auto& row, const Pose<S>& world) {
    const Motion<S> twist = to_parent(node.alignment, row.twist);
    const Mat3<S>& R = world.R;
    const Vec3<S>&w = twist.w, &u = twist.v;
    Vec3<S> n[kParameters], f[4];
    n[0] = Vec3<S>::zero();
    f[0] = R * u;
    n[1] = R.z * u.y - R.y * u.z;  // R (x-axis x v), and so on
    n[2] = R.x * u.z - R.z * u.x;
    n[3] = R.y * u.x - R.x * u.y;
    f[1] = R.y * w.z - R.z * w.y;  // R (w x x-axis)
    f[2] = R.z * w.x - R.x * w.z;
    f[3] = R.x * w.y - R.y * w.x;
    inertia_columns(R, w, n);
    for (int k = 0; k < kParameters; ++k) {
      const Force<S> x = shifted(world.p, Force<S>{n[k], k < 4 ? f[k] : Vec3<S>::zero()});
      S* at = Y + kParameters * b + k;
      store(x.n, at, step);
      store(x.f, at + 3 * step, step);
    }
  });
}

}  // namespace jounce
