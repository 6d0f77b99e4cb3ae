// Torques as a linear map of the inertial parameters: the ten numbers of a body and a rate before it.
//
// The parameters of a body are pi = (m, h, Ixx, Ixy, Iyy, Ixz, Iyz, Izz) as in regressors.hpp. With its angular
// velocity w, the angular acceleration alpha, the acceleration a of its origin less gravity, and
// B = hat(alpha) + hat(w) hat(w), the wrench of inverse_dynamics.hpp, equation (5), is
//   (1) f = m a + B h,   n = h x a + I alpha + w x I w,
// and a screw (z, u) before the body, about its origin and along its axes, has the torque
//   (2) z.n + u.f = m (u.a) + h.(a x z + B^T u) + z.(I alpha + w x I w).
// The last term is the sum over the entries of I of z.c, where c has entries of
//   (3) B, alpha, the products wx wy, wx wz, wy wz, and differences of squares of w.
// For one state see torque_regressor_single.hpp, for a pack of states torque_regressor_packs.hpp.
#pragma once

#include <cstring>

#include "jounce/dynamics/inverse_dynamics.hpp"
#include "jounce/dynamics/regressors.hpp"
#include "jounce/vec/lanes.hpp"
#include "jounce/vec/window.hpp"

namespace jounce {

namespace regressor {

// What equations (2) and (3) name of a body, along its axes.
template <class S>
struct BodyMotion {
  Vec3<S> a, alpha;
  Mat3<S> B;
  Vec3<S> products, differences;

  // What w adds.
  JOUNCE_INLINE void set_turning(const Vec3<S>& w) {
    const Sym3<S> W = outer_square(w);
    B = acceleration_gradient(W, alpha);
    products = {W.xy, W.xz, W.yz};
    differences = {W.xx - W.yy, W.zz - W.xx, W.yy - W.zz};
  }
};

// Equation (2); a screw that does not turn has z = 0.
template <bool kTurns, class S>
JOUNCE_INLINE void block(const Vec3<S>& z, const Vec3<S>& u, const BodyMotion<S>& body, S* x) {
  const Vec3<S>&a = body.a, &alpha = body.alpha, &off = body.products, &less = body.differences;
  const Mat3<S>& B = body.B;
  Vec3<S> by_h = transposed(B, u);
  x[0] = dot(u, a);
  if constexpr (kTurns) {
    by_h += cross(a, z);
    const S at_x = z.x * off.z, at_y = z.y * off.y, at_z = z.z * off.x;
    x[4] = z.x * alpha.x + (at_y - at_z);
    x[5] = z.y * B.y.z - z.x * B.x.z + z.z * less.x;
    x[6] = z.y * alpha.y + (at_z - at_x);
    x[7] = z.x * B.x.y + z.y * less.y - z.z * B.z.y;
    x[8] = z.x * less.z - z.y * B.y.x + z.z * B.z.x;
    x[9] = z.z * alpha.z + (at_x - at_y);
  } else {
    for (int k = 4; k < kParameters; ++k) x[k] = S(0.0);
  }
  x[1] = by_h.x, x[2] = by_h.y, x[3] = by_h.z;
}

// The same for a turn about the z-axis.
template <class S>
JOUNCE_INLINE void block_about_z(const BodyMotion<S>& body, S* x) {
  const S zero(0.0);
  x[0] = zero;
  x[1] = body.a.y, x[2] = -body.a.x, x[3] = zero;
  x[4] = -body.products.x, x[5] = body.differences.x, x[6] = body.products.x;
  x[7] = -body.B.z.y, x[8] = body.B.z.x, x[9] = body.alpha.z;
}

}  // namespace regressor

// Where the numbers of one state go: (nv, 10 n_bodies).
template <class S>
struct RegressorOut {
  S* Y;
  std::size_t step;  // from a row to the next

  JOUNCE_INLINE void clear(std::size_t begin, std::size_t end) const { clear_numbers(Y + begin, Y + end); }

  // Ten numbers of some bodies in a row.
  template <class V>
  JOUNCE_INLINE void put(const V (&x)[kParameters], std::size_t row, const int* body, int count) const {
    S* first = Y + row * step;
    if constexpr (!std::is_same_v<V, S>) {
      store_lanes(x, count, [&](int i) JOUNCE_INLINED { return first + kParameters * body[i]; });
    } else {
      for (int k = 0; k < kParameters; ++k) first[kParameters * body[0] + k] = x[k];
    }
  }
};

// The same for a pack of states, whose numbers lie `state_step` apart; kWhole: as many as it has lanes.
template <int W, bool kWhole>
struct RegressorsOut {
  double* Y;
  std::size_t step;
  std::ptrdiff_t state_step;
  int states;

  JOUNCE_INLINE void clear(std::size_t begin, std::size_t end) const {
    clear_rows(Y + begin, end - begin, kWhole ? W : states, state_step, std::make_integer_sequence<int, 8>{});
  }
  JOUNCE_INLINE void put(const Pack<W> (&x)[kParameters], std::size_t row, const int* body, int) const {
    double* const first = Y + row * step + kParameters * std::size_t(body[0]);
    const std::ptrdiff_t apart = state_step;  // a copy: what is stored cannot change it
    store_lanes(x, kWhole ? W : states, [=](int i) JOUNCE_INLINED { return first + i * apart; });
  }
};

// The same for whole packs of a batch that the caches do not hold; numbers have to come in the order of rows.
template <int W>
struct RegressorsBeyond {
  Window<W> window;
  std::size_t step;

  JOUNCE_INLINE void clear(std::size_t begin, std::size_t end) {
    window.complete(begin);
    inside(begin).clear(0, end - begin);
  }
  JOUNCE_INLINE void put(const Pack<W> (&x)[kParameters], std::size_t row, const int* body, int count) const {
    inside(row * step).put(x, 0, body, count);
  }

 private:
  // Numbers from `first`.
  JOUNCE_INLINE RegressorsOut<W, true> inside(std::size_t first) const {
    return {window.at(first), step, window.apart(), W};
  }
};

// What is not zero of them, (n_blocks, 10): row by row, the bodies of a row in the order of nodes.
template <class S, bool kWhole>
struct BlocksOut {
  static constexpr std::size_t step = 0;
  double* blocks;
  std::ptrdiff_t state_step;
  int states;

  JOUNCE_INLINE void clear(std::size_t, std::size_t) const {}
  template <class V>
  JOUNCE_INLINE void put(const V (&x)[kParameters], std::size_t, const int*, int count) {
    const std::ptrdiff_t apart = lanes<S> > 1 ? state_step : kParameters;
    const int places = lanes<S> == 1 ? count : kWhole ? lanes<S> : states;
    store_lanes(x, places, [&](int i) JOUNCE_INLINED { return blocks + i * apart; });
    blocks += kParameters * count;
  }
};

}  // namespace jounce
