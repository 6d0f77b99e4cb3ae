// Quaternions (x, y, z, w) as rotations, elementwise.
#include "jounce/batch/states.hpp"
#include "jounce/kernels/elementwise.hpp"
#include "jounce/lie/matrix.hpp"

namespace jounce {
namespace {

// Copies a quaternion of any length but zero, scaled so that its squares are harmless; false if it is
// zero.
template <class S>
JOUNCE_INLINE bool scaled(const S* from, S* q) {
  for (int k = 0; k < 4; ++k) q[k] = from[k];
  return scale_quaternion(q);
}

struct QuatToMatrix : Elementwise {
  static constexpr Signature signature{.name = "quat_to_matrix",
                                       .inputs = {{"q", shapes::quaternion}},
                                       .outputs = {{"R", shapes::rotation}},
                                       .demands = {{"q", demands::nonzero}}};
  template <class S>
  static int run(const auto& x, NoWork<S>&) {
    S q[4];
    if (!scaled(x.in("q"), q)) return 0;
    normalize_quaternion(q);
    store(rotation(q), x.out("R"), 3);
    return -1;
  }
};

struct MatrixToQuat : Elementwise {
  static constexpr Signature signature{.name = "matrix_to_quat",
                                       .inputs = {{"R", shapes::rotation}},
                                       .outputs = {{"q", shapes::quaternion}},
                                       .demands = {{"R", demands::orthonormal},
                                                   {"R", demands::no_reflection}}};
  template <class S>
  static int run(const auto& x, NoWork<S>&) {
    const Mat3<S> R = matrix_from(x.in("R"), 3);
    if (const int defect = rotation_defect(R); defect >= 0) return defect;
    quaternion_multiple(R, x.out("q"));
    normalize_quaternion(x.out("q"));
    return -1;
  }
};

struct QuatMultiply : Elementwise {
  static constexpr Signature signature{
      .name = "quat_multiply",
      .inputs = {{"a", shapes::quaternion}, {"b", shapes::quaternion}},
      .outputs = {{"product", shapes::quaternion}}};
  template <class S>
  static void run(const auto& x, NoWork<S>&) {
    quaternion_product(x.in("a"), x.in("b"), x.out("product"));
  }
};

struct QuatExp : Elementwise {
  static constexpr Signature signature{
      .name = "quat_exp", .inputs = {{"x", shapes::vector}}, .outputs = {{"q", shapes::quaternion}}};
  template <class S>
  static void run(const auto& x, NoWork<S>&) {
    const S* w = x.in("x");
    quaternion_exp(Vec3<S>{w[0], w[1], w[2]}, x.out("q"));
  }
};

struct QuatLog : Elementwise {
  static constexpr Signature signature{.name = "quat_log",
                                       .inputs = {{"q", shapes::quaternion}},
                                       .outputs = {{"x", shapes::vector}},
                                       .demands = {{"q", demands::nonzero}}};
  template <class S>
  static int run(const auto& x, NoWork<S>&) {
    S q[4];
    if (!scaled(x.in("q"), q)) return 0;
    store(quaternion_log(q), x.out("x"));
    return -1;
  }
};

struct QuatNormalize : Elementwise {
  static constexpr Signature signature{.name = "quat_normalize",
                                       .inputs = {{"q", shapes::quaternion}},
                                       .outputs = {{"unit", shapes::quaternion}},
                                       .demands = {{"q", demands::nonzero}}};
  template <class S>
  static int run(const auto& x, NoWork<S>&) {
    if (!scaled(x.in("q"), x.out("unit"))) return 0;
    normalize_quaternion(x.out("unit"));
    return -1;
  }
};

}  // namespace

KernelList quaternion_functions() {
  return {kernel_of<QuatToMatrix>, kernel_of<MatrixToQuat>, kernel_of<QuatMultiply>,
          kernel_of<QuatExp>,      kernel_of<QuatLog>,      kernel_of<QuatNormalize>};
}

}  // namespace jounce
