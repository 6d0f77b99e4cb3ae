#include "inputs.hpp"

#include <cstdint>
#include <iterator>

#include "conversions.hpp"
#include "copies.hpp"
#include "jounce/batch/pool.hpp"
#include "jounce/batch/schedule.hpp"
#include "jounce/series/factorial.hpp"

namespace jounce {
namespace {

// The shape in words: "r + 2, nv".
std::string shape_meaning(const Shape& shape) {
  std::string text;
  for (int i = 0; i < shape.rank; ++i) {
    const Dimension& d = shape.dims[i];
    if (i) text += ", ";
    text += Dimension::letters[d.of];
    if (d.of == Dimension::number) {
      text += std::to_string(d.plus);
    } else if (d.plus) {
      text += " + " + std::to_string(d.plus);
    }
  }
  return text;
}

bool depends_on_model(const Shape& shape) {
  for (int i = 0; i < shape.rank; ++i) {
    if (shape.dims[i].of != Dimension::number) return true;
  }
  return false;
}

bool wrong_shape(const Input& input, Call call, PyArrayObject* array) {
  Py_ssize_t dims[kMostRank];
  const bool series = call.order >= 0;
  if (!series) call.order = 0;
  if (call.times < 0) call.times = 1;
  if (call.records < 0) call.records = 1;
  entries(input.shape, call.sizes(), dims);
  const std::string want = shape_text(dims, input.shape.rank, true);
  const std::string got = shape_text(PyArray_DIMS(array), PyArray_NDIM(array), false);
  if (!depends_on_model(input.shape)) {
    raise(kArgumentError, "%s must have shape %s, got %s", input.name, want.c_str(), got.c_str());
    return false;
  }
  raise(kArgumentError, "%s must have shape %s, that is (..., %s) of this model%s, got %s", input.name,
        want.c_str(), shape_meaning(input.shape).c_str(),
        series ? " with r = 0 ... 100, the same for all series" : "", got.c_str());
  return false;
}

// A megabyte: results of fewer numbers take short, and workspaces of fewer do not count.
constexpr double kManyNumbers = 1 << 17;

bool has_memory(const char* function, double results, double bytes) {
  PyObject* memory = PyImport_ImportModule("jounce._core.memory");
  PyObject* fine = memory ? PyObject_CallMethod(memory, "require", "sdd", function, results, bytes) : nullptr;
  Py_XDECREF(memory);
  Py_XDECREF(fine);
  return fine != nullptr;
}

bool merge_axes(const char* name, PyArrayObject* array, int axes, Batch& batch) {
  const Py_ssize_t* dims = PyArray_DIMS(array);
  if (axes > kMostAxes) {
    raise(kArgumentError, "%s has too many axes (%d)", name, PyArray_NDIM(array));
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
      raise(kArgumentError,
            "the leading (batch) axes of %s, %s, do not broadcast with %s of the arguments before it",
            name, a.c_str(), b.c_str());
      return false;
    }
    have = dims[i];
  }
  return true;
}

// Repeats an array over the batch where its own leading axes are neither absent nor complete.
PyArrayObject* spread(PyArrayObject* array, int trailing, const Batch& batch, Keep& keep) {
  Py_ssize_t dims[kMostAxes + kMostRank], strides[kMostAxes + kMostRank];
  const int axes = batch.axes + trailing, missing = axes - PyArray_NDIM(array);
  for (int i = 0; i < axes; ++i) {
    const bool own = i >= missing && (i >= batch.axes || PyArray_DIM(array, i - missing) != 1);
    dims[i] = i < batch.axes ? batch.dims[i] : PyArray_DIM(array, i - missing);
    strides[i] = own ? PyArray_STRIDE(array, i - missing) : 0;
  }
  PyObject* view = view_of(array, axes, dims, strides, PyArray_DATA(array));
  PyObject* full = view ? contiguous_doubles(view) : nullptr;
  Py_XDECREF(view);
  return reinterpret_cast<PyArrayObject*>(keep(full));
}

// Whether an array repeats the numbers of one state, as numpy.broadcast_to gives it.
bool repeats_one(PyArrayObject* array, int trailing) {
  if (PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISBEHAVED_RO(array)) return false;
  Py_ssize_t step = sizeof(double);
  for (int i = PyArray_NDIM(array) - 1; i >= 0; --i) {
    const bool own = i >= PyArray_NDIM(array) - trailing;
    if (PyArray_DIM(array, i) != 1 && PyArray_STRIDE(array, i) != (own ? step : 0)) return false;
    if (own) step *= PyArray_DIM(array, i);
  }
  return true;
}

// Whether there is room for the results, for inputs that have to be copied or repeated over the batch, and for
// the workspace; false with an exception set if not. Large ones alone are looked at.
bool fits_memory(const Kernel& kernel, const Model& model, const GivenArguments& arguments, int threads,
                 const Call& call, const Batch& batch, const FrameList& several) {
  const Signature& s = *kernel.signature;
  const double frames = several.given ? double(several.frames.size()) : 1.0;
  double states = 1.0, span = 1.0, written = 0.0, most = 1.0;
  for (int i = 0; i < batch.axes; ++i) {
    states *= double(batch.dims[i]);
    if (batch.dims[i] > 0) span *= double(batch.dims[i]);
  }
  for (int k = 0; k < s.outputs.count; ++k) {
    const double own = frames * double(entries(s.outputs[k].shape, call.sizes()));
    written += states * own;
    most = std::max(most, own);
  }
  const double all = sizeof(double) * span * most;  // as if no axis were empty
  if (all >= kMostBytes) return has_memory(arguments.function, all, all);
  double numbers = arguments.at[kOut] ? 0.0 : written;
  const double results = sizeof(double) * numbers;
  for (int k = 0; batch.axes > 0 && k < s.inputs.count; ++k) {
    auto* array = reinterpret_cast<PyArrayObject*>(arguments.at[kInputs + k]);
    if (!array || call.in_size[k] == 0) continue;
    const Py_ssize_t own = PyArray_SIZE(array) / call.in_size[k];
    if (own != 1 && double(own) != states) {
      numbers += states * double(call.in_size[k]);
    } else if (!is_ready(array) && !repeats_one(array, s.inputs[k].shape.rank)) {
      numbers += double(PyArray_SIZE(array));
    }
  }
  double bytes = sizeof(double) * numbers;
  if (written >= kManyNumbers) {  // fewer need little
    const double own = workspace_bytes(kernel, model, call.extent(), states, threads);
    if (own >= sizeof(double) * kManyNumbers) bytes += own;
  }
  return bytes < kLargeBytes || has_memory(arguments.function, results, bytes);
}

bool read_mask(const char* name, PyObject* object, Call& call, Keep& keep) {
  if (!shows_all(name, object)) return false;
  PyObject* array = keep(PyArray_FROMANY(object, NPY_NOTYPE, 0, 0, NPY_ARRAY_CARRAY_RO));
  if (!array) {
    name_argument(name, object, "a bool array over the rates");
    return false;
  }
  auto* mask = reinterpret_cast<PyArrayObject*>(array);
  const bool empty = PyArray_NDIM(mask) == 1 && PyArray_DIM(mask, 0) == 0;  // of an empty list, numbers
  if ((PyArray_TYPE(mask) != NPY_BOOL && !empty) || PyArray_NDIM(mask) != 1 ||
      PyArray_DIM(mask, 0) != call.tree->nv) {
    const std::string got = shape_text(PyArray_DIMS(mask), PyArray_NDIM(mask), false);
    raise(kArgumentError,
          "%s must be a bool array of shape (%d,), that is (nv,) of this model, got %S of shape %s",
          name, call.tree->nv, PyArray_DESCR(mask), got.c_str());
    return false;
  }
  call.options.prescribed = static_cast<const unsigned char*>(PyArray_DATA(mask));
  return true;
}

// A body's name or index, or the name of a frame. What is none of them, `Model.frame` refuses.
bool read_frame(PyObject* owner, const PythonModel& own, PyObject* object, FrameAt<>& frame) {
  Py_ssize_t at = -1;
  if (PyUnicode_Check(object)) {
    PyObject* found = PyDict_GetItemWithError(own.frames, object);
    if (!found && PyErr_Occurred()) return false;
    if (found) at = PyLong_AsSsize_t(found);
  } else if (PyIndex_Check(object) && !PyBool_Check(object)) {
    at = PyNumber_AsSsize_t(object, nullptr);
    if (at == -1 && PyErr_Occurred()) {  // what has no integer says so by a TypeError
      if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
      PyErr_Clear();
    }
    if (at >= own.model.tree.n_bodies) at = -1;
  }
  if (at >= 0) {
    frame = own.model.frames[at];
    return true;
  }
  PyObject* unexpected = PyObject_CallMethod(owner, "frame", "(O)", object);
  if (!unexpected) return false;
  Py_DECREF(unexpected);
  raise_got(kArgumentTypeError, object, "body must be a name or an index");
  return false;
}

bool is_list(PyObject* object) {
  if (PyList_Check(object) || PyTuple_Check(object)) return true;
  return PyArray_Check(object) && PyArray_NDIM(reinterpret_cast<PyArrayObject*>(object)) == 1;
}

bool read_frames(PyObject* owner, const PythonModel& own, PyObject* object, FrameList& several) {
  PyObject* items = PySequence_Fast(object, "body must be a name, an index, or a list of them");
  if (!items) return false;
  several.given = true;
  bool good = true;
  for (Py_ssize_t k = 0; good && k < PySequence_Fast_GET_SIZE(items); ++k) {
    PyObject* item = PySequence_Fast_GET_ITEM(items, k);
    Py_INCREF(item);  // a refusal runs Python code, which might empty the list
    several.frames.emplace_back();
    good = read_frame(owner, own, item, several.frames.back());
    Py_DECREF(item);
  }
  Py_DECREF(items);
  return good;
}

bool read_representation(const char* name, PyObject* object, Representation& representation) {
  for (int k = 0; PyUnicode_Check(object) && k < int(std::size(kRepresentations)); ++k) {
    if (PyUnicode_CompareWithASCIIString(object, kRepresentations[k]) != 0) continue;
    representation = Representation(k);
    return true;
  }
  raise_made("unknown_representation", name, object);
  return false;
}

bool read_method(const char* name, PyObject* object, Call& call) {
  int beyond = 0;
  const long value = PyLong_AsLongAndOverflow(object, &beyond);
  if (value == -1 && PyErr_Occurred()) return false;
  if (beyond || value < 0 || value >= kMethods) {
    raise_got(kArgumentError, object, "%s must be below %d and not negative", name, kMethods);
    return false;
  }
  call.options.method = int(value);
  return true;
}

// The integer that an object is, the nearest one that fits, or `otherwise` if it is none. False if it raised what is
// not about that: an object without an integer says so by a TypeError.
bool integer_of(PyObject* object, std::ptrdiff_t otherwise, std::ptrdiff_t& value) {
  PyObject* number = PyIndex_Check(object) ? PyNumber_Index(object) : nullptr;
  value = number ? PyNumber_AsSsize_t(number, nullptr) : otherwise;
  Py_XDECREF(number);
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) return false;
  PyErr_Clear();
  return true;
}

bool read_integer(const char* name, PyObject* object, std::ptrdiff_t least, std::ptrdiff_t most,
                  std::ptrdiff_t& value) {
  if (!integer_of(object, least - 1, value)) return false;
  if (value >= least && value <= most && !PyBool_Check(object)) return true;
  if (most == PTRDIFF_MAX) {
    raise_got(kArgumentError, object, "%s must be an integer, at least %zd", name, least);
  } else {
    raise_got(kArgumentError, object, "%s must be an integer, %zd to %zd", name, least, most);
  }
  return false;
}

// Numbers that stay where they are until the call ends.
bool read_tableau(const char* name, PyObject* object, Call& call, Keep& keep) {
  PyArrayObject* array = as_doubles(name, object, keep);
  if (!array) return false;
  if (call.options.tableau.read(static_cast<double*>(PyArray_DATA(array)), PyArray_SIZE(array))) {
    return true;
  }
  raise(kArgumentError, "%s is not that of an explicit method: see Method.packed", name);
  return false;
}

bool read_pair(const char* name, PyObject* object, Call& call, Keep& keep) {
  PyArrayObject* array = as_doubles(name, object, keep);
  if (!array) return false;
  if (call.options.pair.read(static_cast<double*>(PyArray_DATA(array)), PyArray_SIZE(array))) return true;
  raise(kArgumentError, "%s is not that of a method with an error: see adaptive.packed", name);
  return false;
}

}  // namespace

std::string shape_text(const Py_ssize_t* dims, int n, bool leading) {
  std::string text = leading ? "(..." : "(";
  for (int i = 0; i < n; ++i) {
    if (i || leading) text += ", ";
    text += std::to_string(dims[i]);
  }
  return text + (n == 1 && !leading ? ",)" : ")");
}

bool convert_inputs(const Signature& s, GivenArguments& arguments, Keep& keep) {
  for (int k = 0; k < s.inputs.count; ++k) {
    PyObject*& input = arguments.at[kInputs + k];
    if (!input) continue;
    input = reinterpret_cast<PyObject*>(as_numbers(s.inputs[k].name, input, keep));
    if (!input) return false;
  }
  return true;
}

bool read_option(const Option& option, PyObject* object, PyObject* owner, const PythonModel& model,
                 Call& call, Keep& keep) {
  const char* name = option.name;
  std::ptrdiff_t number = 0;
  bool good = false;
  switch (option.kind) {
    case Option::mask: return read_mask(name, object, call, keep);
    case Option::frame: return read_frame(owner, model, object, call.options.frame);
    case Option::representation: return read_representation(name, object, call.options.representation);
    case Option::source: return read_representation(name, object, call.options.source);
    case Option::method: return read_method(name, object, call);
    case Option::tableau: return read_tableau(name, object, call, keep);
    case Option::every: return read_integer(name, object, 1, PTRDIFF_MAX, call.options.every);
    case Option::pair: return read_pair(name, object, call, keep);
    case Option::order:
      good = read_integer(name, object, 0, kMostOrder, number);
      call.order = int(number);
      break;
    case Option::hold:
      good = read_integer(name, object, 0, 1, number);
      call.options.hold = int(number);
      break;
    case Option::passive:
      good = read_integer(name, object, 0, 1, number);
      call.options.passive = number != 0;
      break;
  }
  return good;
}

bool read_options(const Signature& s, const GivenArguments& arguments, const PythonModel& model, Call& call,
                  FrameList& several, Keep& keep) {
  PyObject* owner = arguments.at[kModel];
  for (int k = 0; k < s.options.count; ++k) {
    const Option& option = s.options[k];
    PyObject* object = arguments.at[kOptions + k];
    const bool may_miss = option.optional && (option.kind == Option::frame || option.kind == Option::mask);
    if (!object || (object == Py_None && may_miss)) continue;
    const bool frames = option.kind == Option::frame && is_list(object);
    const bool good = frames ? read_frames(owner, model, object, several)
                             : read_option(option, object, owner, model, call, keep);
    if (!good) return false;
  }
  return true;
}

bool read_inputs(const Kernel& kernel, const Model& model, const GivenArguments& arguments, int threads,
                 Call& call, Batch& batch, const FrameList& several, Keep& keep) {
  const Signature& s = *kernel.signature;
  Sizes sizes = call.sizes();
  for (int k = 0; k < s.inputs.count; ++k) {
    auto* array = reinterpret_cast<PyArrayObject*>(arguments.at[kInputs + k]);
    call.in[k] = nullptr;
    call.in_size[k] = call.in_step[k] = 0;
    if (!array) continue;
    const Shape& shape = s.inputs[k].shape;
    Py_ssize_t want[kMostRank];
    if (learns(shape, array, call)) sizes = call.sizes();
    call.in_size[k] = entries(shape, sizes, want);
    const int axes = PyArray_NDIM(array) - shape.rank;
    bool fits = axes >= 0;
    for (int i = 0; fits && i < shape.rank; ++i) fits = PyArray_DIM(array, axes + i) == want[i];
    if (!fits) return wrong_shape(s.inputs[k], call, array);
    if (axes > 0 && !merge_axes(s.inputs[k].name, array, axes, batch)) return false;
  }
  if (!fits_memory(kernel, model, arguments, threads, call, batch, several)) return false;
  call.states = 1;
  call.is_batch = batch.axes > 0;
  for (int i = 0; i < batch.axes; ++i) call.states *= batch.dims[i];
  for (int k = 0; k < s.inputs.count; ++k) {
    auto* array = reinterpret_cast<PyArrayObject*>(arguments.at[kInputs + k]);
    if (!array) continue;
    Py_ssize_t own = 1;
    const int trailing = s.inputs[k].shape.rank;
    for (int i = 0; i < PyArray_NDIM(array) - trailing; ++i) own *= PyArray_DIM(array, i);
    if (!is_ready(array) && repeats_one(array, trailing)) {
      own = 1;
    } else if (own != 1 && own != call.states && call.states != 0) {
      array = spread(array, trailing, batch, keep);
    } else if (!is_ready(array)) {
      array = reinterpret_cast<PyArrayObject*>(keep(contiguous_doubles(reinterpret_cast<PyObject*>(array))));
    }
    if (!array) return false;
    call.in[k] = static_cast<const double*>(PyArray_DATA(array));
    call.in_step[k] = own == 1 ? 0 : call.in_size[k];
  }
  return true;
}

int read_threads(PyObject* threads) {
  if (!threads) return 1;
  std::ptrdiff_t value;
  if (!integer_of(threads, -1, value)) return 0;
  if (value < 0 || value > kMostThreads) {
    raise_got(kArgumentError, threads, "threads must be 0 (all cores) or a number up to %d", kMostThreads);
    return 0;
  }
  return value == 0 ? hardware_threads() : int(value);
}

}  // namespace jounce
