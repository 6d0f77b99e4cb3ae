// Time derivatives of inverse, forward and hybrid dynamics, and of the motion of frames.
#include "../../../core/series/jacobian_series.hpp"
#include "../../../core/series/motion_series.hpp"
#include "../../../core/series/series.hpp"
#include "../../../core/series/series_solve.hpp"
#include "engine.hpp"

namespace jounce {
namespace {

struct InverseDynamicsSeries {
  static constexpr Signature signature{
      "inverse_dynamics_series",
      3, {{"q", Shape::q}, {"motion", Shape::motion}, {"f_ext", Shape::wrench_series, true}},
      0, {}, 1, {Shape::series}};
  template <class S>
  using Work = SeriesWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options&, const S* const* in, S* const* out,
                 Work<S>& work) {
    inverse_dynamics_series(tree, in[0], in[1], in[2], out[0], work);
    return -1;
  }
};

struct ForwardDynamicsSeries {
  static constexpr Signature signature{
      "forward_dynamics_series",
      4, {{"q", Shape::q}, {"v", Shape::v}, {"tau", Shape::series},
          {"f_ext", Shape::wrench_series, true}},
      0, {}, 1, {Shape::series}};
  template <class S>
  using Work = SeriesSolveWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options&, const S* const* in, S* const* out,
                 Work<S>& work) {
    const S* none = nullptr;
    return solve_series(tree, NoneMask{}, in[0], in[1], none, in[2], in[3], out[0], (S*)nullptr,
                        work);
  }
};

struct HybridDynamicsSeries {
  static constexpr Signature signature{
      "hybrid_dynamics_series",
      5, {{"q", Shape::q}, {"v", Shape::v}, {"a", Shape::series, false, Reads::prescribed},
          {"tau", Shape::series, false, Reads::unprescribed},
          {"f_ext", Shape::wrench_series, true}},
      1, {Option::prescribed}, 2, {Shape::series, Shape::series}};
  template <class S>
  using Work = SeriesSolveWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options& options, const S* const* in,
                 S* const* out, Work<S>& work) {
    return solve_series(tree, SomeMask{options.prescribed}, in[0], in[1], in[2], in[3], in[4],
                        out[0], out[1], work);
  }
};

struct BodyPoseSeries {
  static constexpr Signature signature{
      "body_pose_series", 2, {{"q", Shape::q}, {"motion", Shape::motion}},
      1, {Option::frame}, 1, {Shape::pose_series}};
  template <class S>
  using Work = MotionSeriesWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options& o, const S* const* in, S* const* out,
                 Work<S>& work) {
    pose_series(tree, o.frame, in[0], in[1], out[0], work);
    return -1;
  }
};

struct BodyMotionSeries {
  static constexpr Signature signature{
      "body_motion_series", 2, {{"q", Shape::q}, {"motion", Shape::motion}},
      2, {Option::frame, Option::representation}, 1, {Shape::twist_series}};
  template <class S>
  using Work = MotionSeriesWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options& o, const S* const* in, S* const* out,
                 Work<S>& work) {
    twist_series(tree, o.frame, o.representation, in[0], in[1], out[0], work);
    return -1;
  }
};

struct JacobianSeries {
  static constexpr Signature signature{
      "jacobian_series", 2, {{"q", Shape::q}, {"motion", Shape::motion}},
      2, {Option::frame, Option::representation}, 1, {Shape::jacobian_series}};
  template <class S>
  using Work = MotionSeriesWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options& o, const S* const* in, S* const* out,
                 Work<S>& work) {
    jacobian_series(tree, o.frame, o.representation, in[0], in[1], out[0], work);
    return -1;
  }
};

const Entry* const kEntries[] = {&entry_of<InverseDynamicsSeries>, &entry_of<ForwardDynamicsSeries>,
                                 &entry_of<HybridDynamicsSeries>,  &entry_of<BodyPoseSeries>,
                                 &entry_of<BodyMotionSeries>,      &entry_of<JacobianSeries>};
}  // namespace

Entries series_entries() { return {kEntries, int(std::size(kEntries))}; }

}  // namespace jounce
