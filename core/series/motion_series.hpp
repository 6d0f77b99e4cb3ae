// Time derivatives of poses, twists and Jacobians of a frame along a motion: the kernels of
// kinematics/ on jets (ali, Remark 1; mueller, Sec. 2).
#pragma once

#include "../kinematics/jacobian.hpp"
#include "../scalar/jet.hpp"
#include "series.hpp"

namespace jounce {

// Jets come in a few sizes; the smallest that holds `count` coefficients is used.
template <class F>
void with_jet(int count, F&& f) {
  if (count <= 4) return f(std::integral_constant<int, 4>{});
  if (count <= 8) return f(std::integral_constant<int, 8>{});
  if (count <= 16) return f(std::integral_constant<int, 16>{});
  if (count <= 32) return f(std::integral_constant<int, 32>{});
  f(std::integral_constant<int, kMostOrder + 3>{});
}

inline int jet_size(int count) {
  int size = 0;
  with_jet(count, [&](auto k) { size = decltype(k)::value; });
  return size;
}

// Room for jets of order r + 2.
struct MotionSeriesWork {
  int count;  // coefficients in use: r + 3
  double *angles, *q, *v, *out, *extra;

  template <class P>
  MotionSeriesWork(const Tree<P>& tree, int order, Arena& arena) : count(order + 3) {
    const std::size_t size = jet_size(count), nv = tree.nv;
    angles = arena.take<double>(2 * size * (tree.angle_q.size() + lanes<Wide> + 8));
    q = arena.take<double>(size * tree.nq);
    v = arena.take<double>(size * nv);
    out = arena.take<double>(size * (6 * nv + 16));
    extra = arena.take<double>(size * 6 * nv);
  }
};

namespace series {

// Rates as jets, from v and its derivatives (count - 1 rows).
template <int K>
void rate_jets(int nv, int count, const double* motion, Jet<K>* v) {
  for (int i = 0; i < nv; ++i) v[i] = Jet<K>(0.0);
  double over_factorial = 1.0;
  for (int k = 0; k + 1 < count; ++k) {
    if (k > 1) over_factorial /= k;
    for (int i = 0; i < nv; ++i) v[i].c[k] = motion[k * nv + i] * over_factorial;
  }
}

// Quaternion along its body-fixed angular velocity: q' = q (w, 0) / 2.
template <int K>
void quaternion_jet(const double* start, const Jet<K>* w, Jet<K>* q) {
  for (int i = 0; i < 4; ++i) q[i] = Jet<K>(start[i]);
  for (int k = 0; k + 1 < K; ++k) {
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

template <int K>
Jet<K> integral(double start, const Jet<K>& rate) {
  Jet<K> y(start);
  for (int k = 0; k + 1 < K; ++k) y.c[k + 1] = rate.c[k] / (k + 1);
  return y;
}

// Coordinates as jets along the rates.
template <int K, class P>
void coordinate_jets(const Tree<P>& tree, const double* start, const Jet<K>* v, Jet<K>* q) {
  for (const Node<P>& node : tree.nodes) {
    if (node.nv == 1) {
      q[node.q] = integral(start[node.q], v[node.v]);
      continue;
    }
    quaternion_jet(start + node.q, v + node.v, q + node.q);
    if (node.kind != Kind::free) continue;
    const Jet<K>* rate = v + node.v;
    const auto p = rotation(q + node.q) * Vec3<Jet<K>>{rate[3], rate[4], rate[5]};
    q[node.q + 4] = integral(start[node.q + 4], p.x);
    q[node.q + 5] = integral(start[node.q + 5], p.y);
    q[node.q + 6] = integral(start[node.q + 6], p.z);
  }
}

// Runs kernel(q, v, out, work) on jets and writes derivatives 0 ... rows-1 of its `size` outputs.
template <class P, class Kernel>
void on_jets(const Tree<P>& tree, const double* q, const double* motion, int size, int rows,
             double* derivatives, MotionSeriesWork& work, Kernel&& kernel) {
  with_jet(work.count, [&](auto width) {
    constexpr int K = decltype(width)::value;
    using J = Jet<K>;
    J *qj = reinterpret_cast<J*>(work.q), *vj = reinterpret_cast<J*>(work.v);
    J* out = reinterpret_cast<J*>(work.out);
    Arena arena(reinterpret_cast<char*>(work.angles));
    JacobianWork<J> inner(tree, arena);
    rate_jets(tree.nv, work.count, motion, vj);
    coordinate_jets(tree, q, vj, qj);
    kernel(qj, vj, out, inner);
    double factorial = 1.0;
    for (int k = 0; k < rows; ++k) {
      if (k > 1) factorial *= k;
      for (int i = 0; i < size; ++i) derivatives[k * size + i] = out[i].c[k] * factorial;
    }
  });
}

}  // namespace series

// poses: (r+3, 4, 4), the pose and its derivatives up to order r+2.
template <class P>
void pose_series(const Tree<P>& tree, const FrameAt& frame, const double* q, const double* motion,
                 double* poses, MotionSeriesWork& work) {
  series::on_jets(tree, q, motion, 16, work.count, poses, work,
                  [&](const auto* qj, const auto*, auto* out, auto& inner) {
                    frame_pose(tree, frame, qj, out, inner);
                  });
}

// twists: (r+2, 6), the twist and the derivatives of its components up to order r+1.
template <class P>
void twist_series(const Tree<P>& tree, const FrameAt& frame, Representation representation,
                  const double* q, const double* motion, double* twists, MotionSeriesWork& work) {
  series::on_jets(tree, q, motion, 6, work.count - 1, twists, work,
                  [&](const auto* qj, const auto* vj, auto* out, auto& inner) {
                    frame_twist(tree, frame, representation, qj, vj, out, inner);
                  });
}

// jacobians: (r+3, 6, nv), the Jacobian and its derivatives up to order r+2.
template <class P>
void jacobian_series(const Tree<P>& tree, const FrameAt& frame, Representation representation,
                     const double* q, const double* motion, double* jacobians,
                     MotionSeriesWork& work) {
  series::on_jets(tree, q, motion, 6 * tree.nv, work.count, jacobians, work,
                  [&](const auto* qj, const auto* vj, auto* out, auto& inner) {
                    std::remove_reference_t<decltype(out)> none = nullptr;
                    jacobian(tree, frame, representation, qj, vj, out, none, inner);
                  });
}

}  // namespace jounce
