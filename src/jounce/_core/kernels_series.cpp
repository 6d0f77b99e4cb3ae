// Time derivatives of inverse, forward and hybrid dynamics.
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
      5, {{"q", Shape::q}, {"v", Shape::v}, {"acc", Shape::series, false, Reads::prescribed},
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

const Entry* const kEntries[] = {&entry_of<InverseDynamicsSeries>, &entry_of<ForwardDynamicsSeries>,
                                 &entry_of<HybridDynamicsSeries>};
}  // namespace

Entries series_entries() { return {kEntries, int(std::size(kEntries))}; }

}  // namespace jounce
