// Partial derivatives of inverse and forward dynamics.
#include "../../../core/partials/forward_partials.hpp"
#include "../../../core/partials/hybrid_partials.hpp"
#include "../../../core/partials/inverse_partials.hpp"
#include "engine.hpp"

namespace jounce {
namespace {

struct InverseDynamicsDerivatives {
  static constexpr Signature signature{
      "inverse_dynamics_derivatives",
      4, {{"q", Shape::q}, {"v", Shape::v}, {"a", Shape::v}, {"f_ext", Shape::wrenches, true}},
      0, {}, 3, {Shape::v_by_v, Shape::v_by_v, Shape::v_by_v}};
  template <class S>
  using Work = PartialsWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options&, const S* const* in, S* const* out,
                 Work<S>& work) {
    inverse_dynamics_partials(tree, in[0], in[1], in[2], in[3], out[0], out[1], out[2], work);
    return -1;
  }
};

// With a method (products or solves) for measuring where one overtakes the other.
template <bool kChoose>
struct ForwardDynamicsDerivatives {
  static constexpr Signature signature{
      kChoose ? "forward_dynamics_derivatives_by" : "forward_dynamics_derivatives",
      4, {{"q", Shape::q}, {"v", Shape::v}, {"tau", Shape::v}, {"f_ext", Shape::wrenches, true}},
      kChoose ? 1 : 0, {Option::method}, 3, {Shape::v_by_v, Shape::v_by_v, Shape::v_by_v}};
  template <class S>
  using Work = ForwardPartialsWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options& options, const S* const* in,
                 S* const* out, Work<S>& work) {
    return forward_dynamics_partials(tree, PartialsMethod(options.method), in[0], in[1], in[2],
                                     in[3], out[0], out[1], out[2], work);
  }
};

struct HybridDynamicsDerivatives {
  static constexpr Signature signature{
      "hybrid_dynamics_derivatives",
      5, {{"q", Shape::q}, {"v", Shape::v}, {"a", Shape::v, false, Reads::prescribed},
          {"tau", Shape::v, false, Reads::unprescribed}, {"f_ext", Shape::wrenches, true}},
      1, {Option::prescribed},
      8, {Shape::v_by_v, Shape::v_by_v, Shape::v_by_v, Shape::v_by_v,
          Shape::v_by_v, Shape::v_by_v, Shape::v_by_v, Shape::v_by_v}};
  template <class S>
  using Work = HybridPartialsWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options& o, const S* const* in, S* const* out,
                 Work<S>& work) {
    const HybridPartials<S> d{out[0], out[1], out[2], out[3], out[4], out[5], out[6], out[7]};
    return hybrid_dynamics_partials(tree, o.prescribed, in[0], in[1], in[2], in[3], in[4], d, work);
  }
};

template <class S>
struct CoriolisWork {
  PartialsWork<S> partials;
  S *dq, *M;
  CoriolisWork(const Tree<double>& tree, Arena& arena)
      : partials(tree, arena),
        dq(arena.take<S>(std::size_t(tree.nv) * tree.nv)),
        M(arena.take<S>(std::size_t(tree.nv) * tree.nv)) {}
};

struct CoriolisMatrix {
  static constexpr Signature signature{
      "coriolis_matrix", 2, {{"q", Shape::q}, {"v", Shape::v}}, 0, {}, 1, {Shape::v_by_v}};
  template <class S>
  using Work = CoriolisWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options&, const S* const* in, S* const* out,
                 Work<S>& work) {
    coriolis_matrix(tree, in[0], in[1], out[0], work.dq, work.M, work.partials);
    return -1;
  }
};

const Entry* const kEntries[] = {&entry_of<InverseDynamicsDerivatives>,
                                 &entry_of<ForwardDynamicsDerivatives<false>>,
                                 &entry_of<ForwardDynamicsDerivatives<true>>,
                                 &entry_of<HybridDynamicsDerivatives>,
                                 &entry_of<CoriolisMatrix>};
}  // namespace

Entries partials_entries() { return {kEntries, int(std::size(kEntries))}; }

}  // namespace jounce
