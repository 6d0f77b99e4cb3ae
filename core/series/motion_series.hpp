// Time derivatives of poses, twists and Jacobians of a frame along a motion: the kernels of
// kinematics/ on jets (ali, Remark 1; mueller, Sec. 2).
#pragma once

#include "../kinematics/jacobian.hpp"
#include "../scalar/jet.hpp"
#include "series.hpp"

namespace jounce {

static_assert(kMostCoefficients >= kMostOrder + 3);

// Jets of order r + 2.
struct MotionSeriesWork {
  int count;  // coefficients in use: r + 3
  JacobianWork<Jet> inner;
  Jet *q, *v, *out;

  template <class P>
  MotionSeriesWork(const Tree<P>& tree, int order, Arena& arena)
      : count(order + 3),
        inner(tree, arena),
        q(arena.take<Jet>(tree.nq)),
        v(arena.take<Jet>(tree.nv)),
        out(arena.take<Jet>(6 * std::size_t(tree.nv) + 16)) {}
};

namespace series {

// Rates as jets, from v and its derivatives (count - 1 rows).
inline void rate_jets(int nv, const double* motion, Jet* v) {
  for (int i = 0; i < nv; ++i) v[i] = Jet(0.0);
  double over_factorial = 1.0;
  for (int k = 0; k + 1 < Jet::count; ++k) {
    if (k > 1) over_factorial /= k;
    for (int i = 0; i < nv; ++i) v[i].c[k] = motion[k * nv + i] * over_factorial;
  }
}

// Quaternion along its body-fixed angular velocity: q' = q (w, 0) / 2.
inline void quaternion_jet(const double* start, const Jet* w, Jet* q) {
  for (int i = 0; i < 4; ++i) q[i] = Jet(start[i]);
  for (int k = 0; k + 1 < Jet::count; ++k) {
    Vec3<double> u = Vec3<double>::zero();
    double s = 0.0;
    for (int j = 0; j <= k; ++j) {
      const Vec3<double> a{q[0].c[j], q[1].c[j], q[2].c[j]};
      const Vec3<double> b{w[0].c[k - j], w[1].c[k - j], w[2].c[k - j]};
      u += b * q[3].c[j] + cross(a, b);
      s -= dot(a, b);
    }
    const double scale = 0.5 / (k + 1);
    q[0].c[k + 1] = u.x * scale; q[1].c[k + 1] = u.y * scale;
    q[2].c[k + 1] = u.z * scale; q[3].c[k + 1] = s * scale;
  }
}

inline Jet integral(double start, const Jet& rate) {
  Jet y(start);
  for (int k = 0; k + 1 < Jet::count; ++k) y.c[k + 1] = rate.c[k] / (k + 1);
  return y;
}

// Coordinates as jets along the rates.
template <class P>
void coordinate_jets(const Tree<P>& tree, const double* start, const Jet* v, Jet* q) {
  for (const Node<P>& node : tree.nodes) {
    if (node.nv == 1) {
      q[node.q] = integral(start[node.q], v[node.v]);
      continue;
    }
    quaternion_jet(start + node.q, v + node.v, q + node.q);
    if (node.kind != Kind::free) continue;
    const Jet* rate = v + node.v;
    const auto p = rotation(q + node.q) * Vec3<Jet>{rate[3], rate[4], rate[5]};
    q[node.q + 4] = integral(start[node.q + 4], p.x);
    q[node.q + 5] = integral(start[node.q + 5], p.y);
    q[node.q + 6] = integral(start[node.q + 6], p.z);
  }
}

// Runs kernel(q, v, out) on jets and writes derivatives 0 ... rows-1 of its `size` outputs.
template <class P, class Kernel>
void on_jets(const Tree<P>& tree, const double* q, const double* motion, int size, int rows,
             double* derivatives, MotionSeriesWork& work, Kernel&& kernel) {
  Jet::count = work.count;
  rate_jets(tree.nv, motion, work.v);
  coordinate_jets(tree, q, work.v, work.q);
  kernel(work.q, work.v, work.out);
  double factorial = 1.0;
  for (int k = 0; k < rows; ++k) {
    if (k > 1) factorial *= k;
    for (int i = 0; i < size; ++i) derivatives[k * size + i] = work.out[i].c[k] * factorial;
  }
}

}  // namespace series

// poses: (r+3, 4, 4), the pose and its derivatives up to order r+2.
template <class P>
void pose_series(const Tree<P>& tree, const FrameAt& frame, const double* q, const double* motion,
                 double* poses, MotionSeriesWork& work) {
  series::on_jets(tree, q, motion, 16, work.count, poses, work,
                  [&](const Jet* qj, const Jet*, Jet* out) {
                    frame_pose(tree, frame, qj, out, work.inner);
                  });
}

// twists: (r+2, 6), the twist and the derivatives of its components up to order r+1.
template <class P>
void twist_series(const Tree<P>& tree, const FrameAt& frame, Representation representation,
                  const double* q, const double* motion, double* twists, MotionSeriesWork& work) {
  series::on_jets(tree, q, motion, 6, work.count - 1, twists, work,
                  [&](const Jet* qj, const Jet* vj, Jet* out) {
                    frame_twist(tree, frame, representation, qj, vj, out, work.inner);
                  });
}

// jacobians: (r+3, 6, nv), the Jacobian and its derivatives up to order r+2.
template <class P>
void jacobian_series(const Tree<P>& tree, const FrameAt& frame, Representation representation,
                     const double* q, const double* motion, double* jacobians,
                     MotionSeriesWork& work) {
  series::on_jets(tree, q, motion, 6 * tree.nv, work.count, jacobians, work,
                  [&](const Jet* qj, const Jet* vj, Jet* out) {
                    Jet* none = nullptr;
                    jacobian(tree, frame, representation, qj, vj, out, none, work.inner);
                  });
}

}  // namespace jounce
