// Shapes of the arrays of one state, in terms of the model's sizes and the order of a series.
#pragma once

#include <cstddef>

namespace jounce {

// A size of the model, or the order r of a series, times a number, and a number added to it.
struct Dimension {
  enum Of { number, nq, nv, n_bodies, order };
  Of of = number;
  int plus = 0;
  int times = 1;
};

// What the dimensions of a call count.
struct Sizes {
  std::ptrdiff_t of[5];

  constexpr Sizes(int nq, int nv, int n_bodies, int order) : of{0, nq, nv, n_bodies, order} {}
  constexpr std::ptrdiff_t operator()(const Dimension& d) const { return of[d.of] * d.times + d.plus; }
};

constexpr int kMostRank = 4;

struct Shape {
  int rank = 0;
  Dimension dims[kMostRank] = {};

  constexpr bool is_series() const { return rank > 0 && dims[0].of == Dimension::order; }
};

// How many numbers an array has; with `dims`, writes its dimensions there.
constexpr std::ptrdiff_t entries(const Shape& shape, const Sizes& sizes,
                                 std::ptrdiff_t* dims = nullptr) {
  std::ptrdiff_t product = 1;
  for (int i = 0; i < shape.rank; ++i) {
    const std::ptrdiff_t n = sizes(shape.dims[i]);
    if (dims) dims[i] = n;
    product *= n;
  }
  return product;
}

// The shapes that kernels use. `motion` is v and its derivatives up to order r+1, `series` are forces
// or accelerations and theirs up to order r.
namespace shapes {

constexpr Dimension nq{Dimension::nq}, nv{Dimension::nv}, n_bodies{Dimension::n_bodies};
constexpr Dimension three{Dimension::number, 3}, four{Dimension::number, 4};
constexpr Dimension six{Dimension::number, 6};
constexpr Dimension parameters{Dimension::n_bodies, 0, 10};  // inertial ones, of all bodies
constexpr Dimension r_plus(int k) { return {Dimension::order, k}; }

constexpr Shape scalar{};
constexpr Shape q{1, {nq}}, v{1, {nv}};
constexpr Shape vector{1, {three}}, six_vector{1, {six}};
constexpr Shape pose{2, {four, four}}, poses{3, {n_bodies, four, four}};
constexpr Shape six_vectors{2, {n_bodies, six}};
constexpr Shape v_by_v{2, {nv, nv}}, six_by_v{2, {six, nv}};
constexpr Shape by_parameters{1, {parameters}}, six_by_parameters{2, {six, parameters}};
constexpr Shape v_by_parameters{2, {nv, parameters}};
constexpr Shape motion{2, {r_plus(2), nv}}, series{2, {r_plus(1), nv}};
constexpr Shape wrench_series{3, {r_plus(1), n_bodies, six}};
constexpr Shape twist_series{2, {r_plus(2), six}};
constexpr Shape pose_series{3, {r_plus(3), four, four}};
constexpr Shape jacobian_series{3, {r_plus(3), six, nv}};

}  // namespace shapes
}  // namespace jounce
