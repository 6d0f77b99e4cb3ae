// Copies of arrays. Large ones are made in pieces, between which signals are handled: Ctrl-C ends them.
#pragma once

#include <cstddef>

#include "python.hpp"

namespace jounce {

// A C-contiguous array of doubles with the entries of another array: itself if it is one. A new
// reference, or null with an exception set.
PyObject* contiguous_doubles(PyObject* array);

// An array that reads the memory of another one, which must outlive it; null with an exception set.
PyObject* view_of(PyArrayObject* array, int axes, const Py_ssize_t* dims, const Py_ssize_t* strides,
                  void* first);

// False with an exception set if a signal handler raised.
bool copy_numbers(const double* from, std::ptrdiff_t count, double* to);

}  // namespace jounce
