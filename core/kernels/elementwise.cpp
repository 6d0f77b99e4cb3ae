#include "jounce/kernels/elementwise.hpp"

namespace jounce {
namespace {

KernelList all_functions() {
  KernelList all;
  for (const KernelList& part : {group_functions(), quaternion_functions(), twist_functions()}) {
    for (Kernel kernel : part) {
      kernel.slot = int(all.size());
      all.push_back(kernel);
    }
  }
  return all;
}

}  // namespace

const KernelList& elementwise_functions() {
  // Never destroyed: a thread may still compute when the process ends.
  static const KernelList* all = new KernelList(all_functions());
  return *all;
}

}  // namespace jounce
