// A Python call of a kernel: arguments, the batch, errors.
#pragma once

#include "inputs.hpp"

namespace jounce {

// Positional and keyword arguments: (model, required inputs, options, optional inputs, *, out, threads).
PyObject* call_kernel(const Bound& bound, PyObject* const* args, Py_ssize_t n_args,
                      PyObject* keyword_names);

// The same for elementwise functions: (inputs, options, *, out, threads).
PyObject* call_elementwise(const Bound& bound, PyObject* const* args, Py_ssize_t n_args,
                           PyObject* keyword_names);

// A call whose arguments are sorted, of a kernel on a model. May throw std::bad_alloc.
PyObject* call_with(const Bound& bound, const Kernel& kernel, const PythonModel& own,
                    GivenArguments& arguments, Keep& keep);

// Calls with models that have no tree go to this function of Python instead.
void use_coupled(PyObject* function);

// Once, when the module is loaded; false with an exception set.
bool know_main_thread();

}  // namespace jounce
