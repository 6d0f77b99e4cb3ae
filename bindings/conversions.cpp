#include "conversions.hpp"

#include <cstring>

#include "copies.hpp"

namespace jounce {
namespace {

bool is_real(PyArrayObject* array) {
  const int type = PyArray_TYPE(array);
  return PyTypeNum_ISFLOAT(type) || PyTypeNum_ISINTEGER(type) || PyTypeNum_ISBOOL(type);
}

}  // namespace

void name_argument(const char* name, PyObject* object, const char* wanted) {
  if (PyErr_ExceptionMatches(PyExc_MemoryError) || !PyErr_ExceptionMatches(PyExc_Exception)) return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  raise(kArgumentError, "%s must be %s, got %s: %S", name, wanted, Py_TYPE(object)->tp_name,
        value ? value : Py_None);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
}

// What a masked array hides is no number; to compute with it would be silently wrong.
bool shows_all(const char* name, PyObject* object) {
  if (PyArray_CheckExact(object)) return true;
  if (!PyArray_Check(object) && !PyList_Check(object) && !PyTuple_Check(object)) return true;
  PyObject* arrays = PyImport_ImportModule("jounce._core.arrays");
  PyObject* fine = arrays ? PyObject_CallMethod(arrays, "refuse_masked", "sO", name, object) : nullptr;
  Py_XDECREF(arrays);
  Py_XDECREF(fine);
  return fine != nullptr;
}

PyArrayObject* as_numbers(const char* name, PyObject* object, Keep& keep) {
  if (PyArray_CheckExact(object) && is_ready(reinterpret_cast<PyArrayObject*>(object))) {
    return reinterpret_cast<PyArrayObject*>(object);
  }
  if (!shows_all(name, object)) return nullptr;
  PyObject* any = PyArray_FROM_O(object);
  if (!any) {
    name_argument(name, object, "an array of real numbers");
    return nullptr;
  }
  if (PyDict_Check(object) && std::strcmp(name, "f_ext") == 0) {
    raise(kArgumentError,
          "f_ext must be an array (..., n_bodies, 6), got a dict; jc.external_wrenches(model, q, {frame: "
          "wrench}) makes one of wrenches by name");
    Py_DECREF(any);
    return nullptr;
  }
  if (!is_real(reinterpret_cast<PyArrayObject*>(any))) {
    raise(kArgumentError, "%s must be an array of real numbers, got %s of dtype %S", name,
          Py_TYPE(object)->tp_name, PyArray_DESCR(reinterpret_cast<PyArrayObject*>(any)));
    Py_DECREF(any);
    return nullptr;
  }
  if (double(PyArray_SIZE(reinterpret_cast<PyArrayObject*>(any))) * sizeof(double) >= kLargeBytes) {
    return reinterpret_cast<PyArrayObject*>(keep(any));
  }
  PyObject* array = contiguous_doubles(any);
  Py_DECREF(any);
  return reinterpret_cast<PyArrayObject*>(keep(array));
}

PyArrayObject* as_doubles(const char* name, PyObject* object, Keep& keep) {
  PyArrayObject* numbers = as_numbers(name, object, keep);
  if (!numbers || is_ready(numbers)) return numbers;
  return reinterpret_cast<PyArrayObject*>(keep(contiguous_doubles(reinterpret_cast<PyObject*>(numbers))));
}

}  // namespace jounce
