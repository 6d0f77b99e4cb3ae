// Twists and wrenches from one representation to another, elementwise.
#include "jounce/batch/states.hpp"
#include "jounce/kernels/elementwise.hpp"
#include "jounce/kinematics/conversion.hpp"
#include "jounce/lie/matrix.hpp"

namespace jounce {
namespace {

constexpr Demand kPoseDemand{"T", demands::last_row};

struct Convert {
  static constexpr Signature signature{
      .name = "convert",
      .inputs = {{"x", shapes::six_vector}, {"T", shapes::pose}},
      .outputs = {{"x", shapes::six_vector}},
      .options = {options::source, options::target},
      .demands = {kPoseDemand}};
  template <class S>
  using Work = NoWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>&) {
    if (!has_last_row(x.in("T"))) return 0;
    const Axes from = axes_of(x.options.source), to = axes_of(x.options.representation);
    store(converted(pose_from(x.in("T")), from, to, motion_from(x.in("x"))), x.out("x"));
    return -1;
  }
};

struct ConvertWrench {
  static constexpr Signature signature{
      .name = "convert_wrench",
      .inputs = {{"w", shapes::six_vector}, {"T", shapes::pose}},
      .outputs = {{"w", shapes::six_vector}},
      .options = {options::source, options::target},
      .demands = {kPoseDemand}};
  template <class S>
  using Work = NoWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>&) {
    if (!has_last_row(x.in("T"))) return 0;
    const Axes from = axes_of(x.options.source), to = axes_of(x.options.representation);
    const Force<S> y = converted(pose_from(x.in("T")), from, to, force_from(x.in("w")));
    store(y.n, x.out("w"));
    store(y.f, x.out("w") + 3);
    return -1;
  }
};

struct ConvertAcceleration {
  static constexpr Signature signature{
      .name = "convert_acceleration",
      .inputs = {{"a", shapes::six_vector}, {"x", shapes::six_vector}, {"T", shapes::pose}},
      .outputs = {{"a", shapes::six_vector}},
      .options = {options::source, options::target},
      .demands = {kPoseDemand}};
  template <class S>
  using Work = NoWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>&) {
    if (!has_last_row(x.in("T"))) return 0;
    const Axes from = axes_of(x.options.source), to = axes_of(x.options.representation);
    store(converted_rate(pose_from(x.in("T")), from, to, motion_from(x.in("x")), motion_from(x.in("a"))),
          x.out("a"));
    return -1;
  }
};

// The matrix of `convert`, column by column.
struct ConversionMatrix {
  static constexpr Signature signature{.name = "matrix",
                                       .inputs = {{"T", shapes::pose}},
                                       .outputs = {{"X", shapes::six_by_six}},
                                       .options = {options::source, options::target},
                                       .demands = {kPoseDemand}};
  template <class S>
  using Work = NoWork<S>;
  template <class S, class X>
  static int run(const X& x, Work<S>&) {
    if (!has_last_row(x.in("T"))) return 0;
    const Axes from = axes_of(x.options.source), to = axes_of(x.options.representation);
    const Pose<S> T = pose_from(x.in("T"));
    for (int k = 0; k < 6; ++k) {
      S unit[6];
      for (int i = 0; i < 6; ++i) unit[i] = S(i == k ? 1.0 : 0.0);
      store(converted(T, from, to, motion_from(unit)), x.out("X") + k, 6);
    }
    return -1;
  }
};

}  // namespace

KernelList twist_functions() {
  return {kernel_of<Convert>, kernel_of<ConvertWrench>, kernel_of<ConvertAcceleration>,
          kernel_of<ConversionMatrix>};
}

}  // namespace jounce
