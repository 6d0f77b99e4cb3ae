// Derivatives of twist, acceleration and Jacobian of a frame.
#include "jounce/partials/frame_partials.hpp"

#include "jounce/batch/second.hpp"
#include "jounce/kernels/list.hpp"

namespace jounce {
namespace {

struct BodyTwistDerivatives {
  static constexpr Signature signature{
      .name = "body_twist_derivatives",
      .inputs = {configuration("q"), {"v", shapes::v}},
      .outputs = {{"dq", shapes::six_by_v}, {"dv", shapes::six_by_v}},
      .options = {options::frame, options::representation}};
  template <class S>
  using Work = FramePartialsWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    frame_twist_partials(x.tree, x.options.frame, x.options.representation, x.in("q"), x.in("v"),
                         x.out("dq"), x.out("dv"), work);
  }
};

struct BodyAccelerationDerivatives {
  static constexpr Signature signature{
      .name = "body_acceleration_derivatives",
      .inputs = {configuration("q"), {"v", shapes::v}, {"a", shapes::v}},
      .outputs = {{"dq", shapes::six_by_v}, {"dv", shapes::six_by_v}, {"da", shapes::six_by_v}},
      .options = {options::frame, options::representation}};
  template <class S>
  using Work = FramePartialsWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    frame_acceleration_partials(x.tree, x.options.frame, x.options.representation, x.in("q"),
                                x.in("v"), x.in("a"), x.out("dq"), x.out("dv"), x.out("da"), work);
  }
};

// Not public: the order is an argument of the function in Python.
template <int kOrder>
struct JacobianDerivatives {
  static constexpr Signature signature{
      .name = kOrder == 1 ? "jacobian_first_derivatives" : "jacobian_second_derivatives",
      .inputs = {configuration("q")},
      .outputs = {{"derivatives", kOrder == 1 ? shapes::jacobian_by_v : shapes::jacobian_by_v_by_v}},
      .options = {options::frame, options::representation},
      .packs = Packs::while_small,
      .internal = true};
  template <class S>
  using Work = FramePartialsWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    if constexpr (kOrder == 1) {
      jacobian_partials(x.tree, x.options.frame, x.options.representation, x.in("q"),
                        x.out("derivatives"), work);
    } else {
      jacobian_second_partials(x.tree, x.options.frame, x.options.representation, x.in("q"),
                               x.out("derivatives"), work);
    }
  }
};

}  // namespace

KernelList frame_partials_kernels(Pass) {
  return differentiable<BodyTwistDerivatives, BodyAccelerationDerivatives, JacobianDerivatives<1>,
                        JacobianDerivatives<2>>(
      second_derivatives<BodyTwistDerivatives, BodyAccelerationDerivatives>());
}

}  // namespace jounce
