// Shapes of the arrays of one state, in terms of the model's sizes, the order of a series, how many
// times a motion has, and how many rows and records constraints have.
#pragma once

#include <cstddef>
#include <iterator>

#include "jounce/tree/workspace.hpp"

namespace jounce {

// A size of the model, the order r of a series, the times at which a motion is controlled or stored,
// the rows of constraints, the records that describe them; times a number, and a number added to it.
// `tangent` counts the numbers of a direction in which a model may change, see jvp.hpp; `blocks` are pairs
// of a body and a rate before it.
struct Dimension {
  enum Of { number, nq, nv, n_bodies, order, times, stored, tangent, rows, records, blocks, kinds };
  static constexpr const char* names[] = {"number", "nq", "nv", "n_bodies", "order", "times", "stored",
                                          "tangent", "rows", "records", "blocks"};
  static constexpr const char* letters[] = {"", "nq", "nv", "n_bodies", "r", "T", "T",
                                            "numbers of the model", "rows", "records", "blocks"};
  static_assert(std::size(names) == kinds && std::size(letters) == kinds);
  Of of = number;
  int plus = 0;
  int factor = 1;
};

// Of a direction in which a model changes: for each node, placement (6), alignment (3), pitch (1) and
// inertia (10); for each rate, armature, stiffness and damping; gravity (3) and the pose of a frame (6).
constexpr int kNodeTangent = 20, kRateTangents = 3;
constexpr std::ptrdiff_t tangent_size(std::ptrdiff_t n, std::ptrdiff_t nv) {
  return kNodeTangent * n + kRateTangents * nv + 9;
}

// What the dimensions of a call count.
struct Sizes {
  std::ptrdiff_t of[Dimension::kinds];

  // `Tree` is that of tree/tree.hpp.
  template <class Tree>
  constexpr Sizes(const Tree& tree, Extent extent, std::ptrdiff_t times = 0, std::ptrdiff_t stored = 0,
                  std::ptrdiff_t records = 0)
      : of{0, tree.nq, tree.nv, tree.n_bodies, extent.order, times, stored,
           tangent_size(tree.n, tree.nv), extent.rows, records, tree.n_blocks} {}
  constexpr std::ptrdiff_t operator()(const Dimension& d) const { return of[d.of] * d.factor + d.plus; }
};

constexpr int kMostRank = 4;

struct Shape {
  int rank = 0;
  Dimension dims[kMostRank] = {};

  constexpr bool is_series() const { return rank > 0 && dims[0].of == Dimension::order; }
  // A kernel reads and writes such an array row by row, never as a whole.
  constexpr bool is_timed() const {
    return rank > 0 && (dims[0].of == Dimension::times || dims[0].of == Dimension::stored ||
                        dims[0].of == Dimension::records);
  }
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

// How many numbers a row has: what the first dimension counts.
constexpr std::ptrdiff_t row_entries(const Shape& shape, const Sizes& sizes) {
  std::ptrdiff_t product = 1;
  for (int i = 1; i < shape.rank; ++i) product *= sizes(shape.dims[i]);
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

constexpr Shape scalar{}, model_tangent{1, {{Dimension::tangent}}};
constexpr Shape q{1, {nq}}, v{1, {nv}};
constexpr Shape vector{1, {three}}, six_vector{1, {six}};
constexpr Shape quaternion{1, {four}}, rotation{2, {three, three}}, six_by_six{2, {six, six}};
constexpr Shape pose{2, {four, four}}, poses{3, {n_bodies, four, four}};
constexpr Shape vectors{2, {n_bodies, three}}, six_vectors{2, {n_bodies, six}};
constexpr Shape v_by_v{2, {nv, nv}}, three_by_v{2, {three, nv}}, six_by_v{2, {six, nv}};
constexpr Shape v_by_v_by_v{3, {nv, nv, nv}};
constexpr Shape jacobian_by_v{3, {six, nv, nv}}, jacobian_by_v_by_v{4, {six, nv, nv, nv}};
constexpr Shape by_parameters{1, {parameters}}, six_by_parameters{2, {six, parameters}};
constexpr Shape v_by_parameters{2, {nv, parameters}};
constexpr Shape parameter_blocks{2, {{Dimension::blocks}, {Dimension::number, 10}}};
constexpr Shape motion{2, {r_plus(2), nv}}, series{2, {r_plus(1), nv}};
constexpr Shape wrench_series{3, {r_plus(1), n_bodies, six}};
constexpr Shape twist_series{2, {r_plus(2), six}};
constexpr Shape pose_series{3, {r_plus(3), four, four}};
constexpr Shape jacobian_series{3, {r_plus(3), six, nv}};

constexpr Dimension times{Dimension::times}, stored{Dimension::stored}, rows{Dimension::rows};
constexpr Dimension records{Dimension::records};
constexpr Shape v_in_time{2, {times, nv}}, six_vectors_in_time{3, {times, n_bodies, six}};
constexpr Dimension servo{Dimension::number, 8};  // rows of simulation/forces.hpp
constexpr Shape servo_rows{2, {servo, nv}}, q_in_time{2, {times, nq}};
constexpr Shape q_stored{2, {stored, nq}}, v_stored{2, {stored, nv}};
constexpr Shape in_time{1, {times}};
constexpr Shape two_v_stored{2, {stored, {Dimension::nv, 0, 2}}};  // weights of q, then of v

}  // namespace shapes
}  // namespace jounce
