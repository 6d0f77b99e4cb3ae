// The kernels, in one list for every front end. To add one, see docs/add-a-kernel.md.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "jounce/batch/call.hpp"

namespace jounce {

// One part of the list per file.
using KernelList = std::vector<Kernel>;
KernelList dynamics_kernels();
KernelList energy_kernels();
KernelList matrix_kernels();
KernelList regressor_kernels();
KernelList adaptive_kernels();
KernelList kinematics_kernels();
KernelList configuration_kernels();
KernelList wrench_kernels();
KernelList center_of_mass_kernels();
KernelList series_kernels();
KernelList frame_series_kernels();
KernelList partials_kernels();
KernelList mass_partials_kernels();
KernelList frame_partials_kernels();
KernelList check_kernels();
KernelList simulation_kernels();
KernelList rollout_adjoint_kernels();
KernelList constrained_rollout_kernels();
KernelList passive_kernels();
KernelList inverse_kinematics_kernels();
KernelList hessian_kernels();
KernelList series_partials_kernels();
KernelList constraint_kernels();

// Parts of a list together; the slot of each kernel is its position.
KernelList numbered(std::initializer_list<KernelList> parts);

// All of them.
JOUNCE_EXPORT const KernelList& kernels();

// Null if there is none of this name.
JOUNCE_EXPORT const Kernel* find_kernel(std::string_view name);

}  // namespace jounce
