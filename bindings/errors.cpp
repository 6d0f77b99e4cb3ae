#include <cstdarg>

#include "python.hpp"

namespace jounce {
namespace {

PyObject* errors = nullptr;

}  // namespace

void use_errors(PyObject* module) {
  Py_INCREF(module);
  Py_XSETREF(errors, module);
}

void raise(const char* error, const char* format, ...) {
  PyObject* type = errors ? PyObject_GetAttrString(errors, error) : nullptr;
  if (!type) return PyErr_SetString(PyExc_SystemError, "the core does not know jounce.errors");
  va_list arguments;
  va_start(arguments, format);
  PyErr_FormatV(type, format, arguments);
  va_end(arguments);
  Py_DECREF(type);
}

void raise_got(const char* error, PyObject* got, const char* format, ...) {
  PyObject* shown = errors ? PyObject_CallMethod(errors, "shown", "(O)", got) : nullptr;
  if (!shown) return;  // with the exception of its repr
  va_list arguments;
  va_start(arguments, format);
  PyObject* expected = PyUnicode_FromFormatV(format, arguments);
  va_end(arguments);
  if (expected) raise(error, "%U, got %U", expected, shown);
  Py_XDECREF(expected);
  Py_DECREF(shown);
}

bool warn(const char* category, const char* format, ...) {
  PyObject* type = errors ? PyObject_GetAttrString(errors, category) : nullptr;
  if (!type) return false;
  va_list arguments;
  va_start(arguments, format);
  PyObject* text = PyUnicode_FromFormatV(format, arguments);
  va_end(arguments);
  PyObject* warned = text ? PyImport_ImportModule("jounce._core.warned") : nullptr;
  PyObject* told = warned ? PyObject_CallMethod(warned, "warn_caller", "OO", type, text) : nullptr;
  const bool fine = told != nullptr;
  Py_XDECREF(told);
  Py_XDECREF(warned);
  Py_XDECREF(text);
  Py_DECREF(type);
  return fine;
}

void raise_made(const char* function, const char* first, PyObject* second) {
  PyObject* error = errors ? PyObject_CallMethod(errors, function, "sO", first, second) : nullptr;
  if (!error) return;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
  Py_DECREF(error);
}

}  // namespace jounce
