// The kernels, in one list for every front end. To add one, see docs/add-a-kernel.md.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "jounce/batch/call.hpp"
#include "jounce/batch/passes.hpp"

namespace jounce {

// One part of the list per file. A file whose list takes a `Pass` is compiled again, see batch/passes.hpp.
using KernelList = std::vector<Kernel>;
KernelList dynamics_kernels(Plain);
KernelList energy_kernels(Plain);
KernelList matrix_kernels(Plain);
KernelList regressor_kernels(Plain);
KernelList adaptive_kernels(Plain);
KernelList kinematics_kernels(Plain);
KernelList configuration_kernels(Plain);
KernelList wrench_kernels(Plain);
KernelList center_of_mass_kernels(Plain);
KernelList series_kernels(Plain);
KernelList frame_series_kernels(Plain);
KernelList partials_kernels(Plain);
KernelList mass_partials_kernels(Plain);
KernelList frame_partials_kernels(Plain);
KernelList check_kernels(Plain);
KernelList simulation_kernels(Plain);
KernelList rollout_adjoint_kernels(Plain);
KernelList constrained_rollout_kernels(Plain);
KernelList passive_kernels(Plain);
KernelList inverse_kinematics_kernels(Plain);
KernelList hessian_kernels(Plain);
KernelList series_partials_kernels(Plain);
KernelList constraint_kernels(Plain);
KernelList constrained_series_kernels(Plain);
KernelList dynamics_kernels(Duals);
KernelList energy_kernels(Duals);
KernelList matrix_kernels(Duals);
KernelList regressor_kernels(Duals);
KernelList kinematics_kernels(Duals);
KernelList configuration_kernels(Duals);
KernelList wrench_kernels(Duals);
KernelList center_of_mass_kernels(Duals);
KernelList series_kernels(Duals);
KernelList frame_series_kernels(Duals);
KernelList partials_kernels(Duals);
KernelList mass_partials_kernels(Duals);
KernelList frame_partials_kernels(Duals);
KernelList simulation_kernels(Duals);
KernelList passive_kernels(Duals);
KernelList hessian_kernels(Duals);
KernelList series_partials_kernels(Duals);
KernelList constrained_series_kernels(Duals);
KernelList dynamics_kernels(Seconds);
KernelList energy_kernels(Seconds);
KernelList matrix_kernels(Seconds);
KernelList regressor_kernels(Seconds);
KernelList kinematics_kernels(Seconds);
KernelList configuration_kernels(Seconds);
KernelList wrench_kernels(Seconds);
KernelList center_of_mass_kernels(Seconds);
KernelList series_kernels(Seconds);
KernelList frame_series_kernels(Seconds);
KernelList partials_kernels(Seconds);
KernelList mass_partials_kernels(Seconds);
KernelList frame_partials_kernels(Seconds);
KernelList simulation_kernels(Seconds);
KernelList passive_kernels(Seconds);
KernelList hessian_kernels(Seconds);
KernelList series_partials_kernels(Seconds);

// Parts of a list together; the slot of each kernel is its position.
KernelList numbered(std::initializer_list<KernelList> parts);

// Those that are called less. A library whose registers are wider than those of another takes them from there
// (JOUNCE_ON_NARROWER): to compile them once more would cost more than it gains.
JOUNCE_EXPORT const KernelList& other_kernels();

// All of them.
JOUNCE_EXPORT const KernelList& kernels();

// Null if there is none of this name.
JOUNCE_EXPORT const Kernel* find_kernel(std::string_view name);

}  // namespace jounce
