#include "arguments.hpp"

#define NO_IMPORT_ARRAY
#include <numpy/arrayobject.h>

#include <string>

#include "pool.hpp"

namespace jounce {
namespace {

PyObject *name_model, *name_out, *name_threads;

const char* option_name(Option option) {
  switch (option) {
    case Option::prescribed: return "prescribed";
    case Option::frame: return "frame";
    case Option::method: return "method";
    default: return "representation";
  }
}

bool is(PyObject* name, const char* text) {
  return PyUnicode_CompareWithASCIIString(name, text) == 0;
}

// Where the argument of this name goes, or null.
PyObject** slot_named(const Signature& s, PyObject* name, Arguments& a) {
  if (name == name_out || is(name, "out")) return &a.out;
  if (name == name_threads || is(name, "threads")) return &a.threads;
  if (name == name_model || is(name, "model")) return &a.model;
  for (int k = 0; k < s.n_inputs; ++k) {
    if (is(name, s.inputs[k].name)) return &a.inputs[k];
  }
  for (int k = 0; k < s.n_options; ++k) {
    if (is(name, option_name(s.options[k]))) return &a.options[k];
  }
  return nullptr;
}

// Positional order: model, required inputs, options, optional inputs.
PyObject** slot_at(const Signature& s, Py_ssize_t at, Arguments& a) {
  if (at == 0) return &a.model;
  --at;
  int required = 0;
  while (required < s.n_inputs && !s.inputs[required].optional) ++required;
  if (at < required) return &a.inputs[at];
  at -= required;
  if (at < s.n_options) return &a.options[at];
  at -= s.n_options;
  if (at < s.n_inputs - required) return &a.inputs[required + at];
  return nullptr;
}

bool missing(const Signature& s, const char* name) {
  PyErr_Format(PyExc_TypeError, "%s() needs the argument '%s'", s.name, name);
  return false;
}

std::string shape_text(const Py_ssize_t* dims, int n, bool leading) {
  std::string text = leading ? "(..." : "(";
  for (int i = 0; i < n; ++i) {
    if (i || leading) text += ", ";
    text += std::to_string(dims[i]);
  }
  return text + (n == 1 && !leading ? ",)" : ")");
}

const char* shape_meaning(Shape shape) {
  switch (shape) {
    case Shape::q: return "nq";
    case Shape::v: return "nv";
    case Shape::motion: return "r + 2, nv";
    case Shape::series: return "r + 1, nv";
    case Shape::wrench_series: return "r + 1, n_bodies, 6";
    default: return "n_bodies, 6";
  }
}

// The order r that the rows of a series tell, if no input before it told.
void learn_order(const Input& input, PyArrayObject* array, Call& call) {
  const bool is_series = input.shape == Shape::motion || input.shape == Shape::series ||
                         input.shape == Shape::wrench_series;
  const int at = PyArray_NDIM(array) - rank(input.shape);
  if (!is_series || call.order >= 0 || at < 0) return;
  const Py_ssize_t order = PyArray_DIM(array, at) - (input.shape == Shape::motion ? 2 : 1);
  call.order = int(order < 0 ? 0 : order > kMostOrder ? kMostOrder : order);
}

bool wrong_shape(const Input& input, const Call& call, PyArrayObject* array) {
  Py_ssize_t dims[3];
  dimensions(input.shape, *call.tree, call.order < 0 ? 0 : call.order, dims);
  const std::string want = shape_text(dims, rank(input.shape), true);
  const std::string got = shape_text(PyArray_DIMS(array), PyArray_NDIM(array), false);
  PyErr_Format(PyExc_ValueError, "%s must have shape %s, that is (..., %s) of this model%s, got %s",
               input.name, want.c_str(), shape_meaning(input.shape),
               call.order < 0 ? "" : " with r = 0 ... 100, the same for all series", got.c_str());
  return false;
}

bool is_real(PyArrayObject* array) {
  const int type = PyArray_TYPE(array);
  return PyTypeNum_ISFLOAT(type) || PyTypeNum_ISINTEGER(type) || PyTypeNum_ISBOOL(type);
}

// Turns the error of a conversion into one that names the argument; what is not the argument's
// fault (no memory, an interrupt) stays.
void name_argument(const char* name, PyObject* object, const char* wanted) {
  if (PyErr_ExceptionMatches(PyExc_MemoryError) || !PyErr_ExceptionMatches(PyExc_Exception)) return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyErr_Format(PyExc_ValueError, "%s must be %s, got %s: %S", name, wanted,
               Py_TYPE(object)->tp_name, value ? value : Py_None);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
}

// A C-contiguous double array for the object: itself if it is one.
PyArrayObject* as_doubles(const char* name, PyObject* object, Keep& keep) {
  if (PyArray_CheckExact(object)) {
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    if (PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISCARRAY_RO(array)) return array;
  }
  PyObject* any = PyArray_FROM_O(object);
  if (!any) {
    name_argument(name, object, "an array of real numbers");
    return nullptr;
  }
  if (!is_real(reinterpret_cast<PyArrayObject*>(any))) {
    PyErr_Format(PyExc_ValueError, "%s must be an array of real numbers, got %s of dtype %S", name,
                 Py_TYPE(object)->tp_name, PyArray_DESCR(reinterpret_cast<PyArrayObject*>(any)));
    Py_DECREF(any);
    return nullptr;
  }
  PyObject* array = PyArray_FROMANY(any, NPY_DOUBLE, 0, 0,
                                    NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST | NPY_ARRAY_ENSUREARRAY);
  Py_DECREF(any);
  return reinterpret_cast<PyArrayObject*>(keep(array));
}

bool merge_axes(const char* name, PyArrayObject* array, int axes, Batch& batch) {
  const Py_ssize_t* dims = PyArray_DIMS(array);
  if (axes > kMostAxes) {
    PyErr_Format(PyExc_ValueError, "%s has too many axes (%d)", name, PyArray_NDIM(array));
    return false;
  }
  if (axes > batch.axes) {  // make room in front
    const int more = axes - batch.axes;
    for (int i = batch.axes - 1; i >= 0; --i) batch.dims[i + more] = batch.dims[i];
    for (int i = 0; i < more; ++i) batch.dims[i] = 1;
    batch.axes = axes;
  }
  for (int i = 0; i < axes; ++i) {
    Py_ssize_t& have = batch.dims[batch.axes - axes + i];
    if (dims[i] == have || dims[i] == 1) continue;
    if (have != 1) {
      const std::string a = shape_text(dims, axes, false);
      const std::string b = shape_text(batch.dims, batch.axes, false);
      PyErr_Format(PyExc_ValueError,
                   "the leading (batch) axes of %s, %s, do not broadcast with %s of the arguments "
                   "before it",
                   name, a.c_str(), b.c_str());
      return false;
    }
    have = dims[i];
  }
  return true;
}

// Repeats an array over the batch where its own leading axes are neither absent nor complete.
PyArrayObject* spread(PyArrayObject* array, int trailing, const Batch& batch, Keep& keep) {
  static PyObject* broadcast_to = nullptr;
  if (!broadcast_to) {
    PyObject* numpy = PyImport_ImportModule("numpy");
    if (!numpy) return nullptr;
    broadcast_to = PyObject_GetAttrString(numpy, "broadcast_to");
    Py_DECREF(numpy);
    if (!broadcast_to) return nullptr;
  }
  PyObject* shape = PyTuple_New(batch.axes + trailing);
  if (!shape) return nullptr;
  const Py_ssize_t* own = PyArray_DIMS(array) + PyArray_NDIM(array) - trailing;
  for (int i = 0; i < batch.axes + trailing; ++i) {
    PyTuple_SET_ITEM(shape, i, PyLong_FromSsize_t(i < batch.axes ? batch.dims[i] : own[i - batch.axes]));
  }
  PyObject* view = PyObject_CallFunctionObjArgs(broadcast_to, array, shape, nullptr);
  Py_DECREF(shape);
  if (!view) return nullptr;
  PyObject* full = PyArray_FROMANY(view, NPY_DOUBLE, 0, 0, NPY_ARRAY_CARRAY_RO);
  Py_DECREF(view);
  return reinterpret_cast<PyArrayObject*>(keep(full));
}

bool read_mask(PyObject* object, Call& call, Keep& keep) {
  PyObject* array = keep(PyArray_FROMANY(object, NPY_NOTYPE, 0, 0, NPY_ARRAY_CARRAY_RO));
  if (!array) {
    name_argument("prescribed", object, "a bool array over the rates");
    return false;
  }
  auto* mask = reinterpret_cast<PyArrayObject*>(array);
  if (PyArray_TYPE(mask) != NPY_BOOL || PyArray_NDIM(mask) != 1 ||
      PyArray_DIM(mask, 0) != call.tree->nv) {
    const std::string got = shape_text(PyArray_DIMS(mask), PyArray_NDIM(mask), false);
    PyErr_Format(PyExc_ValueError,
                 "prescribed must be a bool array of shape (%d,), that is (nv,) of this model, got "
                 "%S of shape %s",
                 call.tree->nv, PyArray_DESCR(mask), got.c_str());
    return false;
  }
  call.options.prescribed = static_cast<const unsigned char*>(PyArray_DATA(mask));
  return true;
}

// (node, 4x4 pose) as the Python layer makes it.
bool read_frame(PyObject* object, Call& call, Keep& keep) {
  if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != 2) {
    PyErr_SetString(PyExc_TypeError, "frame must be (node, pose)");
    return false;
  }
  const long node = PyLong_AsLong(PyTuple_GET_ITEM(object, 0));
  if (node == -1 && PyErr_Occurred()) return false;
  PyArrayObject* pose = as_doubles("frame", PyTuple_GET_ITEM(object, 1), keep);
  if (!pose) return false;
  if (node < -1 || node >= call.tree->n || PyArray_SIZE(pose) != 16) {
    PyErr_SetString(PyExc_ValueError, "frame is not of this model");
    return false;
  }
  const Pose<double> own = detail::pose_from(static_cast<const double*>(PyArray_DATA(pose)));
  call.options.frame.node = int(node);
  call.options.frame.pose = node < 0 ? own : inverse(call.tree->nodes[node].alignment) * own;
  return true;
}

}  // namespace

bool intern_names() {
  name_model = PyUnicode_InternFromString("model");
  name_out = PyUnicode_InternFromString("out");
  name_threads = PyUnicode_InternFromString("threads");
  return name_model && name_out && name_threads;
}

bool read_arguments(const Signature& s, PyObject* const* args, Py_ssize_t n_args,
                    PyObject* keyword_names, Arguments& arguments) {
  for (Py_ssize_t i = 0; i < n_args; ++i) {
    PyObject** slot = slot_at(s, i, arguments);
    if (!slot) {
      PyErr_Format(PyExc_TypeError, "%s() takes at most %zd positional arguments, got %zd", s.name,
                   i, n_args);
      return false;
    }
    *slot = args[i];
  }
  const Py_ssize_t n_names = keyword_names ? PyTuple_GET_SIZE(keyword_names) : 0;
  for (Py_ssize_t i = 0; i < n_names; ++i) {
    PyObject* name = PyTuple_GET_ITEM(keyword_names, i);
    PyObject** slot = slot_named(s, name, arguments);
    if (!slot || *slot) {
      PyErr_Format(PyExc_TypeError,
                   slot ? "%s() got two values for argument '%U'" : "%s() has no argument '%U'",
                   s.name, name);
      return false;
    }
    *slot = args[n_args + i];
  }
  if (!arguments.model) return missing(s, "model");
  for (int k = 0; k < s.n_inputs; ++k) {
    if (arguments.inputs[k] == Py_None) arguments.inputs[k] = nullptr;
    if (!arguments.inputs[k] && !s.inputs[k].optional) return missing(s, s.inputs[k].name);
  }
  for (int k = 0; k < s.n_options; ++k) {
    if (!arguments.options[k]) return missing(s, option_name(s.options[k]));
  }
  if (arguments.out == Py_None) arguments.out = nullptr;
  return true;
}

bool convert_inputs(const Signature& s, Arguments& arguments, Keep& keep) {
  for (int k = 0; k < s.n_inputs; ++k) {
    PyObject*& input = arguments.inputs[k];
    if (!input) continue;
    input = reinterpret_cast<PyObject*>(as_doubles(s.inputs[k].name, input, keep));
    if (!input) return false;
  }
  return true;
}

bool read_inputs(const Signature& s, const Arguments& arguments, Call& call, Batch& batch,
                 Keep& keep) {
  for (int k = 0; k < s.n_inputs; ++k) {
    auto* array = reinterpret_cast<PyArrayObject*>(arguments.inputs[k]);
    if (!array) continue;
    Py_ssize_t want[3];
    learn_order(s.inputs[k], array, call);
    call.in_size[k] = dimensions(s.inputs[k].shape, *call.tree, call.order, want);
    const int trailing = rank(s.inputs[k].shape), axes = PyArray_NDIM(array) - trailing;
    bool fits = axes >= 0;
    for (int i = 0; fits && i < trailing; ++i) fits = PyArray_DIM(array, axes + i) == want[i];
    if (!fits) return wrong_shape(s.inputs[k], call, array);
    if (axes > 0 && !merge_axes(s.inputs[k].name, array, axes, batch)) return false;
  }
  for (int i = 0; i < batch.axes; ++i) batch.states *= batch.dims[i];
  call.states = batch.states;
  for (int k = 0; k < s.n_inputs; ++k) {
    auto* array = reinterpret_cast<PyArrayObject*>(arguments.inputs[k]);
    if (!array) continue;
    Py_ssize_t own = 1;
    const int trailing = rank(s.inputs[k].shape);
    for (int i = 0; i < PyArray_NDIM(array) - trailing; ++i) own *= PyArray_DIM(array, i);
    if (own != 1 && own != batch.states && batch.states != 0) {
      array = spread(array, trailing, batch, keep);
      if (!array) return false;
    }
    call.in[k] = static_cast<const double*>(PyArray_DATA(array));
    call.in_step[k] = own == 1 ? 0 : call.in_size[k];
  }
  return true;
}

bool read_options(const Signature& s, const Arguments& arguments, Call& call, Keep& keep) {
  for (int k = 0; k < s.n_options; ++k) {
    PyObject* object = arguments.options[k];
    switch (s.options[k]) {
      case Option::prescribed:
        if (!read_mask(object, call, keep)) return false;
        break;
      case Option::frame:
        if (!read_frame(object, call, keep)) return false;
        break;
      case Option::representation:
      case Option::method: {
        const long value = PyLong_AsLong(object);
        if (value == -1 && PyErr_Occurred()) return false;
        if (value < 0 || value > 3) {
          PyErr_Format(PyExc_ValueError, "%s must be 0 to 3", option_name(s.options[k]));
          return false;
        }
        if (s.options[k] == Option::method) {
          call.options.method = int(value);
        } else {
          call.options.representation = Representation(value);
        }
      }
    }
  }
  return true;
}

int read_threads(PyObject* threads) {
  if (!threads) return 1;
  const long value = PyIndex_Check(threads) ? PyLong_AsLong(threads) : -1;
  if (value < 0 || value > 1024) {
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "threads must be 0 (all cores) or a number up to 1024, got %R",
                 threads);
    return 0;
  }
  return value == 0 ? hardware_threads() : int(value);
}

}  // namespace jounce
