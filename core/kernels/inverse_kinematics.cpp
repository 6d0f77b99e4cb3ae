// Inverse kinematics: the search for a configuration of one start.
#include "jounce/kinematics/inverse_kinematics.hpp"

#include <algorithm>
#include <cstring>

#include "jounce/batch/states.hpp"
#include "jounce/kernels/list.hpp"

namespace jounce {
namespace {

enum Settings { kTolerance, kIterations, kSettings };

// Not public: Python prepares the arrays of tasks, r + 1 of them.
struct InverseKinematics {
  static constexpr Shape poses{3, {shapes::r_plus(1), shapes::four, shapes::four}};
  static constexpr Shape pairs{2, {shapes::r_plus(1), {Dimension::number, 2}}};
  static constexpr Shape six_each{2, {shapes::r_plus(1), shapes::six}};
  static constexpr Shape bounds{2, {{Dimension::number, 2}, shapes::nq}};  // lower, upper
  static constexpr Shape settings{1, {{Dimension::number, kSettings}}};
  static constexpr Shape couplings{2, {shapes::nv, shapes::three}};
  static constexpr Signature signature{.name = "search_configuration",
                                       .inputs = {configuration("q0"),
                                                  {"targets", poses},
                                                  {"weights", six_each},
                                                  {"nodes", pairs},
                                                  {"frames", poses},
                                                  {"bounds", bounds},
                                                  {"settings", settings},
                                                  {"couplings", couplings, optional}},
                                       .outputs = {{"q", shapes::q},
                                                   {"error", shapes::scalar},
                                                   {"iterations", shapes::scalar}},
                                       .packs = Packs::never,
                                       .internal = true};
  template <class S>
  using Work = InverseKinematicsWork;
  template <class S, class X>
  static void run(const X& x, Work<S>& work) {
    for (int k = 0; k < work.tasks; ++k) {
      work.task[k] = task_at(x.tree.n, x.in("nodes"), x.in("frames"), x.in("targets"),
                             x.in("weights"), k);
    }
    const double *settings = x.in("settings"), *bounds = x.in("bounds");
    const SearchLimits limits{bounds, bounds + x.tree.nq, x.in("couplings"), settings[kTolerance],
                              int(std::clamp(settings[kIterations], 0.0, 1e9))};
    std::memcpy(work.q, x.in("q0"), x.tree.nq * sizeof(double));
    find_configuration(x.tree, limits, x.out("error"), x.out("iterations"), work);
    std::memcpy(x.out("q"), work.q, x.tree.nq * sizeof(double));
  }
};

}  // namespace

KernelList inverse_kinematics_kernels(Plain) { return {kernel_of<InverseKinematics>}; }

}  // namespace jounce
