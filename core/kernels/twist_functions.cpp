// Twists and wrenches from one representation to another, elementwise.
#include "jounce/batch/states.hpp"
#include "jounce/kernels/elementwise.hpp"
#include "jounce/kinematics/conversion.hpp"
#include "jounce/lie/matrix.hpp"

namespace jounce {
namespace {

constexpr Demand kPoseDemand{"T", demands::last_row};

template <class S>
struct Between {
  Pose<S> T;
  Axes from, to;
};

// The pose and the two representations that a conversion is given.
template <class S>
JOUNCE_INLINE Between<S> between(const auto& x) {
  return {pose_from(x.in("T")), axes_of(x.options.source), axes_of(x.options.representation)};
}

// Of twists, or of wrenches.
template <bool kWrench>
struct Convert : Elementwise {
  static constexpr const char* own = kWrench ? "w" : "x";
  static constexpr Signature signature{
      .name = kWrench ? "convert_wrench" : "convert",
      .inputs = {{own, shapes::six_vector}, {"T", shapes::pose}},
      .outputs = {{own, shapes::six_vector}},
      .options = {options::source, options::target},
      .demands = {kPoseDemand}};
  template <class S>
  static int run(const auto& x, NoWork<S>&) {
    if (!has_last_row(x.in("T"))) return 0;
    const auto [T, from, to] = between<S>(x);
    if constexpr (kWrench) {
      const Force<S> y = converted(T, from, to, force_from(x.in(own)));
      store(Motion<S>{y.n, y.f}, x.out(own));
    } else {
      store(converted(T, from, to, motion_from(x.in(own))), x.out(own));
    }
    return -1;
  }
};

struct ConvertAcceleration : Elementwise {
  static constexpr Signature signature{
      .name = "convert_acceleration",
      .inputs = {{"a", shapes::six_vector}, {"x", shapes::six_vector}, {"T", shapes::pose}},
      .outputs = {{"a", shapes::six_vector}},
      .options = {options::source, options::target},
      .demands = {kPoseDemand}};
  template <class S>
  static int run(const auto& x, NoWork<S>&) {
    if (!has_last_row(x.in("T"))) return 0;
    const auto [T, from, to] = between<S>(x);
    store(converted_rate(T, from, to, motion_from(x.in("x")), motion_from(x.in("a"))), x.out("a"));
    return -1;
  }
};

// The matrix of `convert`, column by column.
struct ConversionMatrix : Elementwise {
  static constexpr Signature signature{.name = "matrix",
                                       .inputs = {{"T", shapes::pose}},
                                       .outputs = {{"X", shapes::six_by_six}},
                                       .options = {options::source, options::target},
                                       .demands = {kPoseDemand}};
  template <class S>
  static int run(const auto& x, NoWork<S>&) {
    if (!has_last_row(x.in("T"))) return 0;
    const auto [T, from, to] = between<S>(x);
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
  return {kernel_of<Convert<false>>, kernel_of<Convert<true>>, kernel_of<ConvertAcceleration>,
          kernel_of<ConversionMatrix>};
}

}  // namespace jounce
