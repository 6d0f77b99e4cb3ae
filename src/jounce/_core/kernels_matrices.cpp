// Mass matrix and its inverse, Jacobians, the centroidal momentum matrix.
#include "../../../core/dynamics/inverse_mass_matrix.hpp"
#include "../../../core/dynamics/mass_matrix.hpp"
#include "../../../core/dynamics/momentum.hpp"
#include "engine.hpp"

namespace jounce {
namespace {

struct MassMatrix {
  static constexpr Signature signature{
      "mass_matrix", 1, {{"q", Shape::q}}, 0, {}, 1, {Shape::v_by_v}};
  template <class S>
  using Work = MassMatrixWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options&, const S* const* in, S* const* out,
                 Work<S>& work) {
    mass_matrix(tree, in[0], out[0], work);
    return -1;
  }
};

struct InverseMassMatrix {
  static constexpr Signature signature{
      "inverse_mass_matrix", 1, {{"q", Shape::q}}, 0, {}, 1, {Shape::v_by_v}};
  template <class S>
  using Work = InverseMassMatrixWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options&, const S* const* in, S* const* out,
                 Work<S>& work) {
    return inverse_mass_matrix(tree, in[0], out[0], work);
  }
};

struct Jacobian {
  static constexpr Signature signature{
      "jacobian", 1, {{"q", Shape::q}},
      2, {Option::frame, Option::representation}, 1, {Shape::six_by_v}};
  template <class S>
  using Work = JacobianWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options& o, const S* const* in, S* const* out,
                 Work<S>& work) {
    const S* none = nullptr;
    jacobian(tree, o.frame, o.representation, in[0], none, out[0], (S*)nullptr, work);
    return -1;
  }
};

template <class S>
struct JacobianRateWork : JacobianWork<S> {
  S* J;
  template <class P>
  JacobianRateWork(const Tree<P>& tree, Arena& arena)
      : JacobianWork<S>(tree, arena), J(arena.take<S>(6 * std::size_t(tree.nv))) {}
};

struct JacobianRate {
  static constexpr Signature signature{
      "jacobian_rate", 2, {{"q", Shape::q}, {"v", Shape::v}},
      2, {Option::frame, Option::representation}, 1, {Shape::six_by_v}};
  template <class S>
  using Work = JacobianRateWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options& o, const S* const* in, S* const* out,
                 Work<S>& work) {
    jacobian(tree, o.frame, o.representation, in[0], in[1], work.J, out[0], work);
    return -1;
  }
};

struct CentroidalMomentumMatrix {
  static constexpr Signature signature{
      "centroidal_momentum_matrix", 1, {{"q", Shape::q}}, 0, {}, 1, {Shape::six_by_v}};
  template <class S>
  using Work = CentroidalWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options&, const S* const* in, S* const* out,
                 Work<S>& work) {
    centroidal_momentum_matrix(tree, in[0], (const S*)nullptr, out[0], (S*)nullptr, work);
    return -1;
  }
};

struct CentroidalMomentumMatrixRate {
  static constexpr Signature signature{
      "centroidal_momentum_matrix_rate", 2, {{"q", Shape::q}, {"v", Shape::v}},
      0, {}, 1, {Shape::six_by_v}};
  template <class S>
  using Work = CentroidalRateWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options&, const S* const* in, S* const* out,
                 Work<S>& work) {
    centroidal_momentum_matrix(tree, in[0], in[1], work.A, out[0], work);
    return -1;
  }
};

const Entry* const kEntries[] = {
    &entry_of<MassMatrix>, &entry_of<InverseMassMatrix>, &entry_of<Jacobian>,
    &entry_of<JacobianRate>, &entry_of<CentroidalMomentumMatrix>,
    &entry_of<CentroidalMomentumMatrixRate>};
}  // namespace

Entries matrix_entries() { return {kEntries, int(std::size(kEntries))}; }

}  // namespace jounce
