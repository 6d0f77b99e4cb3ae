// From the failure of a kernel to a Python exception that says what and where.
#pragma once

#include "inputs.hpp"

namespace jounce {

void raise_failure(const Kernel& kernel, const Model& model, const Call& call, const Batch& batch,
                   const Failure& failure);

}  // namespace jounce
