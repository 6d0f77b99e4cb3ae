#include "jounce/kernels/list.hpp"

namespace jounce {

namespace {

// Those that can be differentiated, or their derivatives.
template <class Kernels>
KernelList basic_kernels(Kernels pass) {
  return numbered({dynamics_kernels(pass), energy_kernels(pass)});
}
template <class Kernels>
KernelList usual_kernels(Kernels pass) {
  return numbered({
      matrix_kernels(pass),
      regressor_kernels(pass),
      kinematics_kernels(pass),
      center_of_mass_kernels(pass),
      series_kernels(pass),
      partials_kernels(pass),
      simulation_kernels(pass),
      hessian_kernels(pass),
  });
}
template <class Kernels>
KernelList further_kernels(Kernels pass) {
  return numbered({
      configuration_kernels(pass),
      wrench_kernels(pass),
      frame_series_kernels(pass),
      mass_partials_kernels(pass),
      frame_partials_kernels(pass),
      passive_kernels(pass),
      series_partials_kernels(pass),
  });
}

// What is called most and gains most by wide registers, compiled for each instruction set.
KernelList own_kernels() {
  const Plain numbers;
  return numbered(
      {basic_kernels(numbers), usual_kernels(numbers), constraint_kernels(numbers), adaptive_kernels(numbers),
       rollout_adjoint_kernels(numbers), inverse_kinematics_kernels(numbers), basic_kernels(Duals{})});
}

}  // namespace

#ifndef JOUNCE_ON_NARROWER
const KernelList& other_kernels() {
  const auto make = [] {
    const Plain numbers;
    return new KernelList(numbered({
        further_kernels(numbers),
        check_kernels(numbers),
        constrained_rollout_kernels(numbers),
        constrained_series_kernels(numbers),
        usual_kernels(Duals{}),
        further_kernels(Duals{}),
        constrained_series_kernels(Duals{}),
        basic_kernels(Seconds{}),
        usual_kernels(Seconds{}),
        further_kernels(Seconds{}),
    }));
  };
  // Never destroyed: a thread may still compute when the process ends.
  static const KernelList* all = make();
  return *all;
}
#endif

KernelList numbered(std::initializer_list<KernelList> parts) {
  KernelList all;
  for (const KernelList& part : parts) {
    for (Kernel kernel : part) {
      kernel.slot = int(all.size());
      all.push_back(kernel);
    }
  }
  return all;
}

const KernelList& kernels() {
  static const KernelList* all = new KernelList(numbered({own_kernels(), other_kernels()}));
  return *all;
}

const Kernel* find_kernel(std::string_view name) {
  for (const Kernel& kernel : kernels()) {
    if (name == kernel.signature->name) return &kernel;
  }
  return nullptr;
}

}  // namespace jounce
