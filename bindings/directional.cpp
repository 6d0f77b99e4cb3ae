#include "directional.hpp"

#include "call.hpp"

namespace jounce {
namespace {

// What a positional argument is that was not given; null if there is no such object.
PyObject* default_of(const Signature& s, int slot) {
  static PyObject* body = PyUnicode_InternFromString(kRepresentations[0]);
  if (slot < kOptions) return Py_None;
  return s.options[slot - kOptions].kind == Option::representation ? body : nullptr;
}

// The arguments of the kernel, whose inputs are those of a function, their tangents, and a direction of
// the model: the function's in their order, then the tangents in that of the inputs. Returns how many;
// 0 if the kernel cannot take them like that.
Py_ssize_t flattened(const Bound& bound, PyObject* model, PyObject* arguments, PyObject* tangents,
                     PyObject** flat) {
  const Signature& s = *bound.kernel->signature;
  const int inputs = (s.inputs.count - 1) / 2, count = inputs + s.options.count;
  const Py_ssize_t given = PyTuple_GET_SIZE(arguments), moving = PyTuple_GET_SIZE(tangents);
  if (given > count || moving > count || given + 1 < bound.required) return 0;
  flat[0] = model;
  for (int k = 0; k < inputs; ++k) flat[1 + count + k] = Py_None;
  for (int i = 0; i < count; ++i) {
    const int slot = bound.order[1 + i];
    flat[1 + i] = i < given ? PyTuple_GET_ITEM(arguments, i) : default_of(s, slot);
    if (!flat[1 + i]) return 0;
    PyObject* tangent = i < moving ? PyTuple_GET_ITEM(tangents, i) : Py_None;
    if (slot < kOptions) {
      flat[1 + count + slot - kInputs] = tangent;
    } else if (tangent != Py_None) {
      return 0;
    }
  }
  return 1 + count + inputs;
}

// Whether keywords are what the kernel takes under the same names: `threads`, and `out` as a pair of arrays.
bool are_kernel_keywords(const Bound& bound, PyObject* names, PyObject* const* values) {
  const Py_ssize_t count = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *name = PyTuple_GET_ITEM(names, i), *x = values[i];
    if (name == bound.names[kThreads]) continue;
    const bool is_pair = PyTuple_CheckExact(x) && PyTuple_GET_SIZE(x) == 2 &&
                         !PyTuple_Check(PyTuple_GET_ITEM(x, 0)) && !PyTuple_Check(PyTuple_GET_ITEM(x, 1));
    if (name != bound.names[kOut] || !is_pair) return false;
  }
  return true;
}

// The kernel of a function, or null.
const Bound* derivative_of(PyObject* function, PyObject* known) {
  PyObject* kernel = PyDict_GetItemWithError(known, function);
  if (!kernel) {
    PyErr_Clear();  // it cannot be a key
    return nullptr;
  }
  return static_cast<const Bound*>(PyModule_GetState(PyCFunction_GET_SELF(kernel)));
}

}  // namespace

PyObject* call_directional(const Directional& own, PyObject* const* args, Py_ssize_t n_args,
                           PyObject* keyword_names) {
  if (n_args == 4 && PyTuple_CheckExact(args[2]) && PyTuple_CheckExact(args[3])) {
    const Bound* bound = derivative_of(args[0], own.known);
    PyObject* flat[kSlots + 2];
    const bool is_short = bound && are_kernel_keywords(*bound, keyword_names, args + n_args);
    if (const Py_ssize_t count = is_short ? flattened(*bound, args[1], args[2], args[3], flat) : 0) {
      const Py_ssize_t keywords = keyword_names ? PyTuple_GET_SIZE(keyword_names) : 0;
      for (Py_ssize_t i = 0; i < keywords; ++i) flat[count + i] = args[n_args + i];  // two at most
      return call_kernel(*bound, flat, count, keyword_names);
    }
  }
  return PyObject_Vectorcall(own.any_form, args, n_args, keyword_names);
}

}  // namespace jounce
