#include "jounce/kernels/list.hpp"

namespace jounce {

namespace {

KernelList all_kernels() {
  const Plain numbers;
  const Duals duals;
  return numbered({
      dynamics_kernels(numbers),
      energy_kernels(numbers),
      matrix_kernels(numbers),
      regressor_kernels(numbers),
      adaptive_kernels(numbers),
      kinematics_kernels(numbers),
      configuration_kernels(numbers),
      wrench_kernels(numbers),
      center_of_mass_kernels(numbers),
      series_kernels(numbers),
      frame_series_kernels(numbers),
      partials_kernels(numbers),
      mass_partials_kernels(numbers),
      frame_partials_kernels(numbers),
      check_kernels(numbers),
      simulation_kernels(numbers),
      rollout_adjoint_kernels(numbers),
      constrained_rollout_kernels(numbers),
      passive_kernels(numbers),
      inverse_kinematics_kernels(numbers),
      hessian_kernels(numbers),
      series_partials_kernels(numbers),
      constraint_kernels(numbers),
      constrained_series_kernels(numbers),
      dynamics_kernels(duals),
      energy_kernels(duals),
      matrix_kernels(duals),
      regressor_kernels(duals),
      kinematics_kernels(duals),
      configuration_kernels(duals),
      wrench_kernels(duals),
      center_of_mass_kernels(duals),
      series_kernels(duals),
      frame_series_kernels(duals),
      partials_kernels(duals),
      mass_partials_kernels(duals),
      frame_partials_kernels(duals),
      simulation_kernels(duals),
      passive_kernels(duals),
      hessian_kernels(duals),
      series_partials_kernels(duals),
      constrained_series_kernels(duals),
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
