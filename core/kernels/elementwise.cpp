#include "jounce/kernels/elementwise.hpp"

namespace jounce {
const KernelList& elementwise_functions() {
  // Never destroyed: a thread may still compute when the process ends.
  static const KernelList* all =
      new KernelList(numbered({group_functions(), quaternion_functions(), twist_functions()}));
  return *all;
}

}  // namespace jounce
