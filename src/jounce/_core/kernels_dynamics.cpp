// Inverse, forward and hybrid dynamics, bias and gravity forces.
#include "../../../core/dynamics/articulated.hpp"
#include "../../../core/dynamics/inverse_dynamics.hpp"
#include "engine.hpp"

namespace jounce {
namespace {

struct InverseDynamics {
  static constexpr Signature signature{
      "inverse_dynamics",
      4, {{"q", Shape::q}, {"v", Shape::v}, {"a", Shape::v}, {"f_ext", Shape::wrenches, true}},
      0, {}, 1, {Shape::v}};
  template <class S>
  using Work = InverseDynamicsWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options&, const S* const* in, S* const* out,
                 Work<S>& work) {
    inverse_dynamics(tree, in[0], in[1], in[2], in[3], out[0], work);
    return -1;
  }
};

struct BiasForces {
  static constexpr Signature signature{
      "bias_forces", 3, {{"q", Shape::q}, {"v", Shape::v}, {"f_ext", Shape::wrenches, true}},
      0, {}, 1, {Shape::v}};
  template <class S>
  using Work = InverseDynamicsWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options&, const S* const* in, S* const* out,
                 Work<S>& work) {
    inverse_dynamics(tree, in[0], in[1], (const S*)nullptr, in[2], out[0], work);
    return -1;
  }
};

struct GravityForces {
  static constexpr Signature signature{
      "gravity_forces", 1, {{"q", Shape::q}}, 0, {}, 1, {Shape::v}};
  template <class S>
  using Work = InverseDynamicsWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options&, const S* const* in, S* const* out,
                 Work<S>& work) {
    const S* none = nullptr;
    inverse_dynamics(tree, in[0], none, none, none, out[0], work);
    return -1;
  }
};

struct ForwardDynamics {
  static constexpr Signature signature{
      "forward_dynamics",
      4, {{"q", Shape::q}, {"v", Shape::v}, {"tau", Shape::v}, {"f_ext", Shape::wrenches, true}},
      0, {}, 1, {Shape::v}};
  template <class S>
  using Work = ArticulatedWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options&, const S* const* in, S* const* out,
                 Work<S>& work) {
    return forward_dynamics(tree, in[0], in[1], in[2], in[3], out[0], work);
  }
};

struct HybridDynamics {
  static constexpr Signature signature{
      "hybrid_dynamics",
      5, {{"q", Shape::q}, {"v", Shape::v}, {"a", Shape::v, false, Reads::prescribed},
          {"tau", Shape::v, false, Reads::unprescribed}, {"f_ext", Shape::wrenches, true}},
      1, {Option::prescribed}, 2, {Shape::v, Shape::v}};
  template <class S>
  using Work = ArticulatedWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options& options, const S* const* in,
                 S* const* out, Work<S>& work) {
    return hybrid_dynamics(tree, options.prescribed, in[0], in[1], in[2], in[3], in[4], out[0],
                           out[1], work);
  }
};

const Entry* const kEntries[] = {&entry_of<InverseDynamics>, &entry_of<BiasForces>,
                                 &entry_of<GravityForces>, &entry_of<ForwardDynamics>,
                                 &entry_of<HybridDynamics>};
}  // namespace

Entries dynamics_entries() { return {kEntries, int(std::size(kEntries))}; }

}  // namespace jounce
