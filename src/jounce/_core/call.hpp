// A Python call of a kernel: arguments, batching, threads, errors.
#pragma once

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL jounce_array_api
#include <Python.h>

#include "engine.hpp"

namespace jounce {

// The core tree of a Python model, or null with an exception set.
const Tree<double>* tree_of(PyObject* model);

// Calls the kernel with positional and keyword arguments (model, required inputs, options,
// optional inputs, *, out, threads).
PyObject* call_kernel(const Entry& entry, PyObject* const* args, Py_ssize_t n_args,
                      PyObject* keyword_names);

// Prepares NumPy's C API and interned names; false with an exception set on failure.
bool prepare_calls();

}  // namespace jounce
