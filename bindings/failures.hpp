// From the failure of a kernel to a Python exception that says what and where.
#pragma once

#include "inputs.hpp"

namespace jounce {

// `function` is the name of the function that was called.
void raise_failure(const char* function, const Kernel& kernel, const Model& model, const Call& call,
                   const Batch& batch, const Failure& failure);

// Whether the first state looks as if it had the layout of another library: a joint at the root that
// is turned by half about an axis, in numbers that nobody computes but many write.
enum class Layout { own, position_first, scalar_first };
Layout layout(const Signature& s, const Call& call);

// Says so by a warning; false with an exception set if that is one.
bool warn_of(Layout layout, const Signature& s, const Model& model);

}  // namespace jounce
