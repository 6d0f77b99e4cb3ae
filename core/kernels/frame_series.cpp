// Time derivatives of poses, twists and Jacobians of frames.
#include "jounce/batch/second.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/series/jacobian_series.hpp"
#include "jounce/series/motion_series.hpp"

namespace jounce {
namespace {

struct BodyPoseSeries {
  static constexpr Signature signature{.name = "body_pose_series",
                                       .inputs = {configuration("q"), {"motion", shapes::motion}},
                                       .outputs = {{"poses", shapes::pose_series}},
                                       .options = {options::frame}};
  template <class S>
  using Work = MotionSeriesWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    pose_series(x.tree, x.options.frame, x.in("q"), x.in("motion"), x.out("poses"), work);
  }
};

struct BodyMotionSeries {
  static constexpr Signature signature{.name = "body_motion_series",
                                       .inputs = {configuration("q"), {"motion", shapes::motion}},
                                       .outputs = {{"twists", shapes::twist_series}},
                                       .options = {options::frame, options::representation}};
  template <class S>
  using Work = MotionSeriesWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    twist_series(x.tree, x.options.frame, x.options.representation, x.in("q"), x.in("motion"),
                 x.out("twists"), work);
  }
};

struct JacobianSeries {
  static constexpr Signature signature{.name = "jacobian_series",
                                       .inputs = {configuration("q"), {"motion", shapes::motion}},
                                       .outputs = {{"jacobians", shapes::jacobian_series}},
                                       .options = {options::frame, options::representation}};
  template <class S>
  using Work = MotionSeriesWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    jacobian_series(x.tree, x.options.frame, x.options.representation, x.in("q"), x.in("motion"),
                    x.out("jacobians"), work);
  }
};

}  // namespace

KernelList frame_series_kernels(Pass) {
  return differentiable<BodyPoseSeries, BodyMotionSeries, JacobianSeries>(
      second_derivatives<BodyPoseSeries, BodyMotionSeries, JacobianSeries>());
}

}  // namespace jounce
