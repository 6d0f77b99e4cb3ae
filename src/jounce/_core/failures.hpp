// From the failure of a kernel to a Python exception that says what and where.
#pragma once

#include "arguments.hpp"

namespace jounce {

// `failure.state` is the failing state, or the first of the pack that holds it.
void raise(const Signature& signature, PyObject* model, const Call& call, const Batch& batch,
           const Failure& failure);

}  // namespace jounce
