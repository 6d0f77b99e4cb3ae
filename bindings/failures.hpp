// From the failure of a kernel to a Python exception that says what and where.
#pragma once

#include "inputs.hpp"

namespace jounce {

// `function` is the name of the function that was called.
void raise_failure(const char* function, const Kernel& kernel, const Model& model, const Call& call,
                   const Batch& batch, const Failure& failure);

}  // namespace jounce
