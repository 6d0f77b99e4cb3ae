// Wrenches on bodies: through their joints, and at frames.
#include "jounce/batch/second.hpp"
#include "jounce/dynamics/joint_wrenches.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/kernels/once.hpp"
#include "jounce/kinematics/jacobian.hpp"

namespace jounce {
namespace {

struct JointWrenches {
  static constexpr Signature signature{
      .name = "joint_wrenches",
      .inputs = {configuration("q"), {"v", shapes::v}, {"a", shapes::v},
                 {"f_ext", shapes::six_vectors, optional}},
      .outputs = {{"wrenches", shapes::six_vectors}}};
  template <class S>
  using Work = JointWrenchesWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    joint_wrenches(x.tree, x.in("q"), x.in("v"), x.in("a"), x.in("f_ext"), x.out("wrenches"), work);
  }
};

// Not public: one wrench of external_wrenches.
struct FrameWrench {
  static constexpr Signature signature{
      .name = "frame_wrench",
      .inputs = {configuration("q"), {"wrench", shapes::six_vector}},
      .outputs = {{"on_body", shapes::six_vector}},
      .options = {options::frame, options::representation},
      .internal = true};
  template <class S>
  using Work = FrameWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    frame_wrench(x.tree, x.options.frame, x.options.representation, x.in("q"), x.in("wrench"),
                 x.out("on_body"), work);
  }
};

}  // namespace

KernelList wrench_kernels(Pass) {
  return differentiable<JointWrenches, FrameWrench>(second_derivatives<JointWrenches>());
}

}  // namespace jounce
