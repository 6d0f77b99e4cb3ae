// Functions of elements without a model, as ufuncs of NumPy are.
#pragma once

#include <string_view>

#include "call.hpp"

namespace jounce {

// False if there is none of this name, or memory is short.
bool prepare_elementwise(std::string_view name, Bound& bound);

}  // namespace jounce
