// Poses, twists, accelerations and Jacobians of bodies.
#include "jounce/batch/directions.hpp"
#include "jounce/batch/second.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/kinematics/bodies.hpp"
#include "jounce/kinematics/jacobian.hpp"

namespace jounce {

// Derivatives of one state in closed form are code for plain numbers, which belongs to that pass.
Failure pose_directions(Plain, const Call& call, std::ptrdiff_t first, int count, char* block);

namespace {

struct BodyPoses {
  static constexpr Signature signature{
      .name = "body_poses", .inputs = {configuration("q")}, .outputs = {{"poses", shapes::poses}}};
  template <class S>
  using Work = BodiesWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    body_poses(x.tree, x.in("q"), x.out("poses"), work);
  }
};

struct BodyTwists {
  static constexpr Signature signature{.name = "body_twists",
                                       .inputs = {configuration("q"), {"v", shapes::v}},
                                       .outputs = {{"twists", shapes::six_vectors}},
                                       .options = {options::representation}};
  template <class S>
  using Work = BodiesWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    body_twists(x.tree, x.options.representation, x.in("q"), x.in("v"), x.out("twists"), work);
  }
};

struct BodyAccelerations {
  static constexpr Signature signature{
      .name = "body_accelerations",
      .inputs = {configuration("q"), {"v", shapes::v}, {"a", shapes::v}},
      .outputs = {{"accelerations", shapes::six_vectors}},
      .options = {options::representation}};
  template <class S>
  using Work = BodiesWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    body_accelerations(x.tree, x.options.representation, x.in("q"), x.in("v"), x.in("a"),
                       x.out("accelerations"), work);
  }
};

struct BodyPose {
  static constexpr Signature signature{.name = "body_pose",
                                       .inputs = {configuration("q")},
                                       .outputs = {{"pose", shapes::pose}},
                                       .options = {options::frame}};
  template <class S>
  using Work = FrameWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    frame_pose(x.tree, x.options.frame, x.in("q"), x.out("pose"), work);
  }
};

struct BodyTwist {
  static constexpr Signature signature{.name = "body_twist",
                                       .inputs = {configuration("q"), {"v", shapes::v}},
                                       .outputs = {{"twist", shapes::six_vector}},
                                       .options = {options::frame, options::representation}};
  template <class S>
  using Work = FrameWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    frame_twist(x.tree, x.options.frame, x.options.representation, x.in("q"), x.in("v"),
                x.out("twist"), work);
  }
};

struct BodyAcceleration {
  static constexpr Signature signature{
      .name = "body_acceleration",
      .inputs = {configuration("q"), {"v", shapes::v}, {"a", shapes::v}},
      .outputs = {{"acceleration", shapes::six_vector}},
      .options = {options::frame, options::representation}};
  template <class S>
  using Work = FrameWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    frame_acceleration(x.tree, x.options.frame, x.options.representation, x.in("q"), x.in("v"),
                       x.in("a"), x.out("acceleration"), work);
  }
};

struct BiasAcceleration {
  static constexpr Signature signature{.name = "bias_acceleration",
                                       .inputs = {configuration("q"), {"v", shapes::v}},
                                       .outputs = {{"acceleration", shapes::six_vector}},
                                       .options = {options::frame, options::representation}};
  template <class S>
  using Work = FrameWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    frame_acceleration(x.tree, x.options.frame, x.options.representation, x.in("q"), x.in("v"),
                       (const S*)nullptr, x.out("acceleration"), work);
  }
};

struct Jacobian {
  static constexpr Signature signature{.name = "jacobian",
                                       .inputs = {configuration("q")},
                                       .outputs = {{"J", shapes::six_by_v}},
                                       .options = {options::frame, options::representation}};
  template <class S>
  using Work = FrameWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    const S* none = nullptr;
    jacobian(x.tree, x.options.frame, x.options.representation, x.in("q"), none, x.out("J"),
             (S*)nullptr, work);
  }
};

struct JacobianRate {
  static constexpr Signature signature{.name = "jacobian_rate",
                                       .inputs = {configuration("q"), {"v", shapes::v}},
                                       .outputs = {{"rate", shapes::six_by_v}},
                                       .options = {options::frame, options::representation}};
  template <class S>
  using Work = JacobianRateWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    jacobian(x.tree, x.options.frame, x.options.representation, x.in("q"), x.in("v"), work.J,
             x.out("rate"), work);
  }
};

struct PoseDirections {
  template <class S>
  struct State {
    FrameWork<S> frame;
    const Options<>* options = nullptr;

    State(const Tree<double>& tree, Arena& arena) : frame(tree, arena) {}
    int run(const Tree<double>& tree, NamedInputs<BodyPose, S> in, S* pose) {
      frame_pose(tree, options->frame, in("q"), pose, frame);
      return -1;
    }
  };
  using Work = NoWork<Wide>;
  static void run(const Tree<double>& tree, const State<double>& state, NamedInputs<BodyPose, double> in,
                  NamedInputs<BodyPose, Wide> d, Wide* to, Work&) {
    frame_pose_directions(tree, state.options->frame, in("q"), d("q"), to, state.frame);
  }
  static Failure one_state(const Call& call, std::ptrdiff_t first, int count, char* block) {
    return pose_directions(Plain{}, call, first, count, block);
  }
};

}  // namespace

Failure pose_directions(Pass, const Call& call, std::ptrdiff_t first, int count, char* block) {
  if constexpr (kPlain) return batch::run_closed<BodyPose, PoseDirections>(call, first, count, block);
  return {};
}

KernelList kinematics_kernels(Pass) {
  KernelList all =
      others<BodyPose>(second_derivatives<BodyPoses, BodyTwists, BodyAccelerations, BodyPose, JacobianRate>());
  if constexpr (kDuals) all.push_back(directions_kernel<BodyPose, PoseDirections, Still::shared>);
  return differentiable<BodyPoses, BodyTwists, BodyAccelerations, BodyTwist, BodyAcceleration, Jacobian, JacobianRate,
                        BiasAcceleration>(all);
}

}  // namespace jounce
