// Python's and NumPy's C API, and the exceptions of the package.
#pragma once

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL jounce_array_api
#ifndef JOUNCE_IMPORTS_ARRAY
#define NO_IMPORT_ARRAY
#endif
#include <Python.h>
#include <numpy/arrayobject.h>

namespace jounce {

// The module jounce.errors; its names are looked up when something is raised.
void use_errors(PyObject* module);

// Sets an exception of the named class with a text as PyErr_Format makes it.
void raise(const char* error, const char* format, ...);

// The same, followed by what came instead.
void raise_got(const char* error, PyObject* got, const char* format, ...);

// Warns with a class of the same module; false with an exception set if warnings are exceptions.
bool warn(const char* category, const char* format, ...);

// Sets the exception that a function of jounce.errors makes of two arguments.
void raise_made(const char* function, const char* first, PyObject* second);

// An argument of a wrong value or shape, and one of a wrong type, or missing.
constexpr const char* kArgumentError = "ArgumentError";
constexpr const char* kArgumentTypeError = "ArgumentTypeError";
constexpr const char* kSingularError = "SingularError";

}  // namespace jounce
