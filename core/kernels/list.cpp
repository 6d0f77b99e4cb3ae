#include "jounce/kernels/list.hpp"

namespace jounce {
namespace {

KernelList all_kernels() {
  KernelList all;
  for (const KernelList& part : {kinematics_kernels(), dynamics_kernels(), energy_kernels(),
                                 matrix_kernels(), series_kernels(), frame_series_kernels(),
                                 partials_kernels(), regressor_kernels()}) {
    for (Kernel kernel : part) {
      kernel.slot = int(all.size());
      all.push_back(kernel);
    }
  }
  return all;
}

}  // namespace

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
