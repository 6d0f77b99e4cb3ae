// A Python call of a kernel: arguments, the batch, errors.
#pragma once

#include "bound.hpp"

namespace jounce {

// Positional and keyword arguments: (model, required inputs, options, optional inputs, *, out, threads).
PyObject* call_kernel(const Bound& bound, PyObject* const* args, Py_ssize_t n_args,
                      PyObject* keyword_names);

// Once, when the module is loaded; false with an exception set.
bool know_main_thread();

}  // namespace jounce
