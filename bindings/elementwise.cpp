#include "elementwise.hpp"

#include <new>

#include "jounce/kernels/elementwise.hpp"

namespace jounce {
namespace {

// Kernels run on a model; this one has no nodes.
const PythonModel& no_model() {
  const auto make = [] {
    const double gravity[3] = {};
    TreeData data{};
    data.gravity = gravity;
    return new PythonModel(PyDict_New(), data, int(elementwise_functions().size()));
  };
  static const auto* none = make();
  return *none;
}

// Whether an input is complex. What is no array is looked at as one and stays what it is: whether it holds masked
// arrays, or can be no array, is said later.
bool any_complex(const Signature& s, const GivenArguments& arguments) {
  bool found = false;
  for (int k = 0; k < s.inputs.count; ++k) {
    PyObject* array = PyArray_FROM_O(arguments.at[kInputs + k]);
    if (!array) PyErr_Clear();
    found = found || (array && PyTypeNum_ISCOMPLEX(PyArray_TYPE(reinterpret_cast<PyArrayObject*>(array))));
    Py_XDECREF(array);
  }
  return found;
}

bool fits(const Shape& shape, PyArrayObject* array) {
  const int axes = PyArray_NDIM(array) - shape.rank;
  if (axes < 0) return false;
  for (int i = 0; i < shape.rank; ++i) {
    if (PyArray_DIM(array, axes + i) != shape.dims[i].plus) return false;
  }
  return true;
}

std::string fixed_shape_text(const Shape& shape) {
  Py_ssize_t dims[kMostRank];
  for (int i = 0; i < shape.rank; ++i) dims[i] = shape.dims[i].plus;
  return shape_text(dims, shape.rank, true);
}

// The one of two functions that the shape of the first input asks for; null with an exception set if
// neither does.
const Kernel* choose(const Bound& bound, const GivenArguments& arguments) {
  auto* array = reinterpret_cast<PyArrayObject*>(arguments.at[kInputs]);
  const Input &first = bound.kernel->signature->inputs[0];
  if (!bound.other || fits(first.shape, array)) return bound.kernel;
  const Shape& second = bound.other->signature->inputs[0].shape;
  if (fits(second, array)) return bound.other;
  const std::string a = fixed_shape_text(first.shape), b = fixed_shape_text(second);
  const std::string got = shape_text(PyArray_DIMS(array), PyArray_NDIM(array));
  raise(kArgumentError, "%s must have shape %s or %s, got %s", first.name, a.c_str(), b.c_str(),
        got.c_str());
  return nullptr;
}

}  // namespace

bool prepare_elementwise(std::string_view name, Bound& bound) {
  const Kernel *first = nullptr;
  for (const Kernel& kernel : elementwise_functions()) {
    if (name != kernel.signature->name) continue;
    if (first && bound.other) {
      PyErr_Format(PyExc_SystemError, "three kernels have the name %s: a call chooses between two", first->signature->name);
      return false;
    }
    (first ? bound.other : first) = &kernel;
  }
  bound.has_model = false;
  return first && bound.prepare(*first);
}

PyObject* call_elementwise(const Bound& bound, PyObject* const* args, Py_ssize_t n_args,
                           PyObject* keyword_names) {
  try {
    const Signature& s = *bound.kernel->signature;
    GivenArguments arguments;
    Keep keep;
    if (!read_arguments(bound, args, n_args, keyword_names, arguments)) return nullptr;
    if (bound.of_complex && any_complex(s, arguments)) {
      return PyObject_Vectorcall(bound.of_complex, args, n_args, keyword_names);
    }
    if (!convert_inputs(s, arguments, keep)) return nullptr;
    const Kernel* kernel = choose(bound, arguments);
    return kernel ? call_with(bound, *kernel, no_model(), arguments, keep) : nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

}  // namespace jounce
