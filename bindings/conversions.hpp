// Objects of Python as arrays of doubles.
#pragma once

#include "inputs.hpp"

namespace jounce {

constexpr double kLargeBytes = 1 << 26;  // fewer are not looked at, whether there is room for them
constexpr double kMostBytes = 0x1p63;  // no array has as many, even if one of its axes is empty

// Turns the error of a conversion into one that names the argument; what is not the argument's
// fault (no memory, an interrupt) stays.
void name_argument(const char* name, PyObject* object, const char* wanted);

// False with an exception set if an array, or one in lists of them, masks entries.
bool shows_all(const char* name, PyObject* object);

// Whether a kernel can read the array as it is.
inline bool is_ready(PyArrayObject* array) {
  return PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISCARRAY_RO(array);
}

// An array of real numbers for the object, ready unless it is large: then its numbers stay where and as they
// are, until it is known that there is room for all that the call needs. Null with an exception set.
PyArrayObject* as_numbers(const char* name, PyObject* object, Keep& keep);

// The same, ready however large it is.
PyArrayObject* as_doubles(const char* name, PyObject* object, Keep& keep);

}  // namespace jounce
