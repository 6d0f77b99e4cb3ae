// What torques, energies and momentum have in common: they are linear in the inertial parameters.
//
// Of a body, these are pi = (m, h, Ixx, Ixy, Iyy, Ixz, Iyz, Izz), with the first moment h = m c and
// the inertia I about the origin of its frame, along its axes. With its angular velocity w, the
// angular acceleration alpha, the acceleration a of its origin less gravity, and
// B = hat(alpha) + hat(w) hat(w), the wrench of inverse_dynamics.hpp, equation (5), is
//   (1) f = m a + B h,   n = h x a + I alpha + w x I w
// and its columns, along the axes of the root, are projected on the screws of the bodies before it.
// With the linear velocity v of its origin, position p and orientation R, and gravity g,
//   (2) kinetic energy    m v.v / 2 + h.(v x w) + w.I w / 2
//   (3) potential energy  -g.(m p + R h)
//   (4) momentum          R (m v + w x h), about the origin R (h x v + I w) + p x (that)
#pragma once

#include <cstdint>
#include <cstring>

#include "jounce/dynamics/inverse_dynamics.hpp"
#include "jounce/dynamics/mass_matrix.hpp"
#include "jounce/kinematics/bodies.hpp"

namespace jounce {

constexpr int kParameters = 10;  // of a body

template <class S>
struct TorqueRegressorWork {
  BaseFrameWork<S> base;
  InverseDynamicsWork<S> motion;
  SixRows<S> wrenches;  // of one body, by its parameters
  bool is_bounded;      // that the results are finite is certain

  template <class P>
  TorqueRegressorWork(const Tree<P>& tree, Arena& arena)
      : base(tree, arena),
        motion(tree, arena, base.angles),
        wrenches(arena.take<S>(6 * kParameters), kParameters) {}
};

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

// Equation (1) for a body with axes R, along which w, alpha, a and B are.
template <class S>
JOUNCE_INLINE void body_regressor(const Mat3<S>& R, const Vec3<S>& w, const Vec3<S>& alpha,
                                  const Vec3<S>& a, const Mat3<S>& B, const SixRows<S>& wrenches) {
  Vec3<S> n[kParameters], f[4] = {R * a, R * B.x, R * B.y, R * B.z}, gyroscopic[kParameters];
  n[0] = Vec3<S>::zero();
  n[1] = R.z * a.y - R.y * a.z;  // R (x-axis x a), and so on
  n[2] = R.x * a.z - R.z * a.x;
  n[3] = R.y * a.x - R.x * a.y;
  inertia_columns(R, alpha, n);
  inertia_columns(R, w, gyroscopic);
  const Vec3<S> omega = R * w;
  for (int k = 4; k < kParameters; ++k) n[k] += cross(omega, gyroscopic[k]);
  for (int k = 0; k < kParameters; ++k) wrenches.set_angular(Columns<S, S>{k}, n[k]);
  for (int k = 0; k < 4; ++k) wrenches.set_linear(Columns<S, S>{k}, f[k]);
}

// Whether numbers are so small that sums of products of two of them are finite.
template <class S>
JOUNCE_INLINE bool are_small(const S* x, int n) {
  constexpr std::int64_t limit = 0x5fb0000000000000, sign = INT64_MIN;  // 2^508
  const auto* numbers = reinterpret_cast<const double*>(x);
  std::int64_t bad = 0;
  for (std::size_t k = 0; k < n * sizeof(S) / sizeof(double); ++k) {
    std::int64_t bits;
    std::memcpy(&bits, numbers + k, 8);
    bad |= (bits & ~sign) > limit;
  }
  return bad == 0;
}

template <class S>
JOUNCE_INLINE bool are_small(const Vec3<S>& x) {
  return are_small(&x.x, 3);
}
// The wrenches of a body, whose products with places the regressor holds.
template <class S>
JOUNCE_INLINE bool are_small(const SixRows<S>& wrenches) {
  return are_small(wrenches.wx, 3 * kParameters) && are_small(wrenches.vx, 4) &&
         are_small(wrenches.vy, 4) && are_small(wrenches.vz, 4);
}

// Y: (nv, 10 n_bodies), with tau = Y pi + armature a.
template <class S, class P>
void torque_regressor(const Tree<P>& tree, const S* q, const S* v, const S* a, S* Y,
                      TorqueRegressorWork<S>& work) {
  const std::size_t step = std::size_t(kParameters) * tree.n_bodies;
  std::fill_n(Y, step * tree.nv, S(0.0));
  base_frame(tree, q, work.base);
  work.is_bounded = true;
  for (int i = 0; i < tree.n; ++i) {
    work.is_bounded = work.is_bounded && are_small(work.base.in_root[i].p);
    motion_from_parent(tree, i, q, work.motion);
    add_joint_motion(tree.nodes[i], v + tree.nodes[i].v, a + tree.nodes[i].v, work.motion.row[i]);
  }
  for (int b = 0; b < tree.n_bodies; ++b) {
    const int own = tree.body_node[b];
    const Pose<P>& body = tree.nodes[own].alignment;  // of the node in the body's frame
    const auto& me = work.motion.row[own];
    const Vec3<S> at = Vec3<S>::zero() - transposed(body.R, body.p);  // of the body, seen from the node
    const Pose<S>& in_root = work.base.in_root[own];
    const Mat3<S> R = in_root.R * transpose(body.R);
    const Vec3<S> w = body.R * me.w, alpha = body.R * me.alpha;
    const Mat3<S> B = acceleration_gradient(outer_square(w), alpha);
    body_regressor(R, w, alpha, body.R * (me.a + me.B * at), B, work.wrenches);
    const Vec3<S> origin = in_root.p + in_root.R * at;
    work.is_bounded = work.is_bounded && are_small(work.wrenches) && are_small(origin);
    for (int i = own; i >= 0; i = tree.nodes[i].parent) {
      const Node<P>& node = tree.nodes[i];
      const Pose<S>& pose = work.base.in_root[i];
      const Vec3<S> d = origin - pose.p;
      with_kind(node.kind, [&](auto kind) {
        constexpr Kind K = decltype(kind)::value;
        S* rows = Y + node.v * step + kParameters * b;
        const auto wrenches = [&](auto c) JOUNCE_INLINED { return shifted(d, wrench(work.wrenches, c)); };
        const auto moments = [&](auto c) JOUNCE_INLINED {  // the inertia causes no force
          using V = typename decltype(c)::Value;
          return Force<V>{work.wrenches.angular(c), Vec3<V>::zero()};
        };
        project_wrenches<K>(node, pose.R, wrenches, 0, 4, step, rows);
        project_wrenches<K>(node, pose.R, moments, 4, kParameters, step, rows);
      });
    }
  }
}

// Equation (2); y: (10 n_bodies).
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

// Equation (3); y: (10 n_bodies).
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

// Equation (4); Y: (6, 10 n_bodies), moment first.
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
