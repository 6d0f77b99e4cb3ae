#include "jounce/kernels/list.hpp"

namespace jounce {

KernelList constrained_series_kernels();

namespace {

KernelList all_kernels() {
  return numbered({kinematics_kernels(), dynamics_kernels(), energy_kernels(), matrix_kernels(),
                   series_kernels(), frame_series_kernels(), partials_kernels(),
                   mass_partials_kernels(), frame_partials_kernels(), configuration_kernels(),
                   wrench_kernels(), center_of_mass_kernels(), check_kernels(), simulation_kernels(),
                   rollout_adjoint_kernels(), passive_kernels(), inverse_kinematics_kernels(),
                   regressor_kernels(), hessian_kernels(), series_partials_kernels(),
                   adaptive_kernels(), constraint_kernels(), constrained_series_kernels(),
                   constrained_rollout_kernels()});
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
