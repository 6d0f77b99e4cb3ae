// The center of mass, and how it and the momentum about it move.
#include "jounce/batch/second.hpp"
#include "jounce/dynamics/momentum.hpp"
#include "jounce/kernels/list.hpp"
#include "jounce/kinematics/center_of_mass.hpp"

namespace jounce {
namespace {

struct CenterOfMass {
  static constexpr Signature signature{
      .name = "center_of_mass", .inputs = {configuration("q")}, .outputs = {{"com", shapes::vector}}};
  template <class S>
  using Work = BodiesWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    center_of_mass(x.tree, x.in("q"), x.out("com"), work);
  }
};

struct CenterOfMassJacobian {
  static constexpr Signature signature{.name = "center_of_mass_jacobian",
                                       .inputs = {configuration("q")},
                                       .outputs = {{"J", shapes::three_by_v}},
                                       .options = {options::subtree}};
  template <class S>
  using Work = CenterOfMassWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    S* none = nullptr;
    center_of_mass_motion(x.tree, x.options.frame.node, x.in("q"), (const S*)nullptr, x.out("J"), none,
                          none, work);
  }
};

struct CenterOfMassJacobianRate {
  static constexpr Signature signature{.name = "center_of_mass_jacobian_rate",
                                       .inputs = {configuration("q"), {"v", shapes::v}},
                                       .outputs = {{"rate", shapes::three_by_v}},
                                       .options = {options::subtree}};
  template <class S>
  using Work = CenterOfMassRateWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    S* none = nullptr;
    center_of_mass_motion(x.tree, x.options.frame.node, x.in("q"), x.in("v"), none, x.out("rate"),
                          none, work);
  }
};

struct CenterOfMassDerivatives {
  static constexpr Signature signature{
      .name = "center_of_mass_derivatives",
      .inputs = {configuration("q"), {"v", shapes::v}},
      .outputs = {{"dq", shapes::three_by_v}, {"dv", shapes::three_by_v}},
      .options = {options::subtree}};
  template <class S>
  using Work = CenterOfMassRateWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    center_of_mass_motion(x.tree, x.options.frame.node, x.in("q"), x.in("v"), x.out("dv"),
                          (S*)nullptr, x.out("dq"), work);
  }
};

struct SubtreeCentersOfMass {
  static constexpr Signature signature{.name = "subtree_centers_of_mass",
                                       .inputs = {configuration("q")},
                                       .outputs = {{"centers", shapes::vectors}}};
  template <class S>
  using Work = CenterOfMassWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    subtree_centers_of_mass(x.tree, x.in("q"), x.out("centers"), work);
  }
};

struct CentroidalMomentumDerivatives {
  static constexpr Signature signature{
      .name = "centroidal_momentum_derivatives",
      .inputs = {configuration("q"), {"v", shapes::v}},
      .outputs = {{"dq", shapes::six_by_v}, {"dv", shapes::six_by_v}}};
  template <class S>
  using Work = CentroidalDerivativesWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    centroidal_momentum_matrix<Beside::by_q>(x.tree, x.in("q"), x.in("v"), x.out("dv"), x.out("dq"),
                                             work);
  }
};

}  // namespace

KernelList center_of_mass_kernels(Pass) {
  return differentiable<CenterOfMass, CenterOfMassJacobian, CenterOfMassJacobianRate,
                        CenterOfMassDerivatives, SubtreeCentersOfMass, CentroidalMomentumDerivatives>(
      second_derivatives<CenterOfMassJacobian, CenterOfMassJacobianRate, CenterOfMassDerivatives,
                         SubtreeCentersOfMass, CentroidalMomentumDerivatives>());
}

}  // namespace jounce
