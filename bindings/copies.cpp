#include "copies.hpp"

#include <algorithm>
#include <cstring>

namespace jounce {
namespace {

// Takes a few milliseconds, whatever the strides and types are.
constexpr Py_ssize_t kPiece = Py_ssize_t(1) << 18;

int longest_axis(PyArrayObject* array) {
  const Py_ssize_t* dims = PyArray_DIMS(array);
  return int(std::max_element(dims, dims + PyArray_NDIM(array)) - dims);
}

// The entries [from, to) along an axis.
PyObject* part_of(PyArrayObject* array, int axis, Py_ssize_t from, Py_ssize_t to) {
  Py_ssize_t dims[NPY_MAXDIMS];
  std::copy_n(PyArray_DIMS(array), PyArray_NDIM(array), dims);
  dims[axis] = to - from;
  return view_of(array, PyArray_NDIM(array), dims, PyArray_STRIDES(array),
                 PyArray_BYTES(array) + from * PyArray_STRIDE(array, axis));
}

// False with an exception set if a signal handler raised, or memory is short.
bool copy_pieces(PyArrayObject* from, PyArrayObject* to) {
  if (PyArray_SIZE(from) <= kPiece) return PyArray_CopyInto(to, from) == 0 && PyErr_CheckSignals() == 0;
  const int axis = longest_axis(from);
  const Py_ssize_t n = PyArray_DIM(from, axis), bounds[] = {0, n / 2, n};
  bool good = true;
  for (int half = 0; good && half < 2; ++half) {
    PyObject* source = part_of(from, axis, bounds[half], bounds[half + 1]);
    PyObject* target = part_of(to, axis, bounds[half], bounds[half + 1]);
    good = source && target &&
           copy_pieces(reinterpret_cast<PyArrayObject*>(source), reinterpret_cast<PyArrayObject*>(target));
    Py_XDECREF(source);
    Py_XDECREF(target);
  }
  return good;
}

}  // namespace

PyObject* view_of(PyArrayObject* array, int axes, const Py_ssize_t* dims, const Py_ssize_t* strides,
                  void* first) {
  PyArray_Descr* type = PyArray_DESCR(array);
  Py_INCREF(type);
  return PyArray_NewFromDescr(&PyArray_Type, type, axes, const_cast<Py_ssize_t*>(dims),
                              const_cast<Py_ssize_t*>(strides), first,
                              PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE, nullptr);
}

PyObject* contiguous_doubles(PyObject* object) {
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  const bool ready = PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISCARRAY_RO(array);
  if (PyArray_SIZE(array) <= kPiece || ready) {
    return PyArray_FROMANY(object, NPY_DOUBLE, 0, 0,
                           NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST | NPY_ARRAY_ENSUREARRAY);
  }
  PyObject* copy = PyArray_SimpleNew(PyArray_NDIM(array), PyArray_DIMS(array), NPY_DOUBLE);
  if (copy && !copy_pieces(array, reinterpret_cast<PyArrayObject*>(copy))) Py_CLEAR(copy);
  return copy;
}

bool copy_numbers(const double* from, std::ptrdiff_t count, double* to) {
  constexpr std::ptrdiff_t piece = 16 * kPiece;
  for (std::ptrdiff_t at = 0; at < count; at += piece) {
    std::memcpy(to + at, from + at, std::min(piece, count - at) * sizeof(double));
    if (count > piece && PyErr_CheckSignals()) return false;
  }
  return true;
}

}  // namespace jounce
