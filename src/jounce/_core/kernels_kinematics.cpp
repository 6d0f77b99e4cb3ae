// Poses, twists, accelerations, energies, momentum, and motion on the configuration manifold.
#include "../../../core/dynamics/energy.hpp"
#include "../../../core/dynamics/momentum.hpp"
#include "../../../core/kinematics/bodies.hpp"
#include "../../../core/kinematics/configuration.hpp"
#include "../../../core/kinematics/differential.hpp"
#include "../../../core/kinematics/jacobian.hpp"
#include "engine.hpp"

namespace jounce {
namespace {

struct BodyPoses {
  static constexpr Signature signature{
      "body_poses", 1, {{"q", Shape::q}}, 0, {}, 1, {Shape::poses}};
  template <class S>
  using Work = BodiesWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options& o, const S* const* in, S* const* out,
                 Work<S>& work) {
    const S* none = nullptr;
    bodies(tree, o.representation, in[0], none, none, out[0], (S*)nullptr, (S*)nullptr, work);
    return -1;
  }
};

struct BodyTwists {
  static constexpr Signature signature{
      "body_twists", 2, {{"q", Shape::q}, {"v", Shape::v}},
      1, {Option::representation}, 1, {Shape::twists}};
  template <class S>
  using Work = BodiesWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options& o, const S* const* in, S* const* out,
                 Work<S>& work) {
    S* none = nullptr;
    bodies(tree, o.representation, in[0], in[1], (const S*)nullptr, none, out[0], none, work);
    return -1;
  }
};

struct BodyAccelerations {
  static constexpr Signature signature{
      "body_accelerations", 3, {{"q", Shape::q}, {"v", Shape::v}, {"a", Shape::v}},
      1, {Option::representation}, 1, {Shape::twists}};
  template <class S>
  using Work = BodiesWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options& o, const S* const* in, S* const* out,
                 Work<S>& work) {
    S* none = nullptr;
    bodies(tree, o.representation, in[0], in[1], in[2], none, none, out[0], work);
    return -1;
  }
};

struct BodyPose {
  static constexpr Signature signature{
      "body_pose", 1, {{"q", Shape::q}}, 1, {Option::frame}, 1, {Shape::pose}};
  template <class S>
  using Work = JacobianWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options& o, const S* const* in, S* const* out,
                 Work<S>& work) {
    frame_pose(tree, o.frame, in[0], out[0], work);
    return -1;
  }
};

struct BodyTwist {
  static constexpr Signature signature{
      "body_twist", 2, {{"q", Shape::q}, {"v", Shape::v}},
      2, {Option::frame, Option::representation}, 1, {Shape::six}};
  template <class S>
  using Work = JacobianWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options& o, const S* const* in, S* const* out,
                 Work<S>& work) {
    frame_twist(tree, o.frame, o.representation, in[0], in[1], out[0], work);
    return -1;
  }
};

struct KineticEnergy {
  static constexpr Signature signature{
      "kinetic_energy", 2, {{"q", Shape::q}, {"v", Shape::v}}, 0, {}, 1, {Shape::scalar}};
  template <class S>
  using Work = BodiesWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options&, const S* const* in, S* const* out,
                 Work<S>& work) {
    kinetic_energy(tree, in[0], in[1], out[0], work);
    return -1;
  }
};

struct PotentialEnergy {
  static constexpr Signature signature{
      "potential_energy", 1, {{"q", Shape::q}}, 0, {}, 1, {Shape::scalar}};
  template <class S>
  using Work = BodiesWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options&, const S* const* in, S* const* out,
                 Work<S>& work) {
    potential_energy(tree, in[0], out[0], work);
    return -1;
  }
};

struct CenterOfMass {
  static constexpr Signature signature{
      "center_of_mass", 1, {{"q", Shape::q}}, 0, {}, 1, {Shape::three}};
  template <class S>
  using Work = BodiesWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options&, const S* const* in, S* const* out,
                 Work<S>& work) {
    center_of_mass(tree, in[0], out[0], work);
    return -1;
  }
};

template <bool kCentroidal>
struct Momentum {
  static constexpr Signature signature{
      kCentroidal ? "centroidal_momentum" : "momentum",
      2, {{"q", Shape::q}, {"v", Shape::v}}, 0, {}, 1, {Shape::six}};
  template <class S>
  using Work = MomentumWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options&, const S* const* in, S* const* out,
                 Work<S>& work) {
    momentum(tree, kCentroidal, in[0], in[1], out[0], work);
    return -1;
  }
};

template <class S>
struct NoWork {
  NoWork(const Tree<double>&, Arena&) {}
};

struct Integrate {
  static constexpr Signature signature{
      "integrate", 2, {{"q", Shape::q}, {"dv", Shape::v}}, 0, {}, 1, {Shape::q}, false};
  template <class S>
  using Work = NoWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options&, const S* const* in, S* const* out,
                 Work<S>&) {
    integrate(tree, in[0], in[1], out[0]);
    return -1;
  }
};

struct Difference {
  static constexpr Signature signature{
      "difference", 2, {{"q0", Shape::q}, {"q1", Shape::q}}, 0, {}, 1, {Shape::v}, false};
  template <class S>
  using Work = NoWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options&, const S* const* in, S* const* out,
                 Work<S>&) {
    difference(tree, in[0], in[1], out[0]);
    return -1;
  }
};

struct IntegrateDerivatives {
  static constexpr Signature signature{
      "integrate_derivatives", 1, {{"dv", Shape::v}},
      0, {}, 2, {Shape::six_by_v, Shape::six_by_v}, false};
  template <class S>
  using Work = NoWork<S>;
  template <class S>
  static int run(const Tree<double>& tree, const Options&, const S* const* in, S* const* out,
                 Work<S>&) {
    integrate_derivatives(tree, in[0], out[0], out[1]);
    return -1;
  }
};

const Entry* const kEntries[] = {
    &entry_of<BodyPoses>,     &entry_of<BodyTwists>,       &entry_of<BodyAccelerations>,
    &entry_of<BodyPose>,      &entry_of<BodyTwist>,        &entry_of<KineticEnergy>,
    &entry_of<PotentialEnergy>, &entry_of<CenterOfMass>,   &entry_of<Momentum<false>>,
    &entry_of<Momentum<true>>, &entry_of<Integrate>,       &entry_of<Difference>,
    &entry_of<IntegrateDerivatives>};
}  // namespace

Entries kinematics_entries() { return {kEntries, int(std::size(kEntries))}; }

}  // namespace jounce
