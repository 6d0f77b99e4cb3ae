#include "jounce/kernels/list.hpp"

namespace jounce {

namespace {

// Those that can be differentiated, or their derivatives.
template <class Kernels>
KernelList differentiable_kernels(Kernels pass) {
  return numbered({
      dynamics_kernels(pass),
      energy_kernels(pass),
      matrix_kernels(pass),
      regressor_kernels(pass),
      kinematics_kernels(pass),
      configuration_kernels(pass),
      wrench_kernels(pass),
      center_of_mass_kernels(pass),
      series_kernels(pass),
      frame_series_kernels(pass),
      partials_kernels(pass),
      mass_partials_kernels(pass),
      frame_partials_kernels(pass),
      simulation_kernels(pass),
      passive_kernels(pass),
      hessian_kernels(pass),
      series_partials_kernels(pass),
  });
}

KernelList all_kernels() {
  const Plain numbers;
  return numbered({
      differentiable_kernels(numbers),
      adaptive_kernels(numbers),
      check_kernels(numbers),
      rollout_adjoint_kernels(numbers),
      constrained_rollout_kernels(numbers),
      inverse_kinematics_kernels(numbers),
      constraint_kernels(numbers),
      constrained_series_kernels(numbers),
      differentiable_kernels(Duals{}),
      constrained_series_kernels(Duals{}),
      differentiable_kernels(Seconds{}),
  });
}

}  // namespace

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
  // Never destroyed: a thread may still compute when the process ends.
  static const KernelList* all = new KernelList(all_kernels());
  return *all;
}

const Kernel* find_kernel(std::string_view name) {
  for (const Kernel& kernel : kernels()) {
    if (name == kernel.signature->name) return &kernel;
  }
  return nullptr;
}

}  // namespace jounce
