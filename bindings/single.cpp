#include "single.hpp"

#include "failures.hpp"
#include "inputs.hpp"
#include "jounce/batch/schedule.hpp"
#include "jounce/series/factorial.hpp"
#include "outputs.hpp"

namespace jounce {
namespace {

constexpr int kMostSingleRows = 4096;  // of constraints; calls with more go the general way

bool is_plain(PyObject* object) {
  if (!PyArray_CheckExact(object)) return false;
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  return PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISCARRAY_RO(array);
}

// What an array of this shape tells of the call, if it is the first to do so. False if such a call goes the
// general way.
bool learns_sizes(const Shape& shape, PyArrayObject* array, Call& call) {
  if (shape.is_timed() && shape.dims[0].of != Dimension::records) return false;
  learns(shape, array, call);
  return call.rows <= kMostSingleRows;
}

// What a leading axis tells: how many states there are, unless another one said something else.
bool learns_states(Py_ssize_t count, Call& call) {
  if (count == 0 || (call.is_batch && count != call.states)) return false;
  call.states = count;
  call.is_batch = true;
  return true;
}

// Reads an input; false if it is not an array of this shape, or of several states.
bool reads_input(const Shape& shape, PyObject* object, Call& call, int k) {
  if (!is_plain(object)) return false;
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  const int lead = PyArray_NDIM(array) - shape.rank;
  if (lead < 0 || lead > 1 || !learns_sizes(shape, array, call)) return false;
  if (lead && !learns_states(PyArray_DIM(array, 0), call)) return false;
  const Sizes sizes = call.sizes();
  std::ptrdiff_t size = 1;
  for (int i = 0; i < shape.rank; ++i) {
    const std::ptrdiff_t n = PyArray_DIM(array, lead + i);
    if (n != sizes(shape.dims[i])) return false;
    size *= n;
  }
  call.in[k] = static_cast<const double*>(PyArray_DATA(array));
  call.in_size[k] = size;
  call.in_step[k] = lead ? size : 0;
  return true;
}

// Whether reading an option runs no code of Python that could change the inputs.
bool is_plain_option(const Option& option, PyObject* object) {
  switch (option.kind) {
    case Option::frame:
    case Option::representation: return PyUnicode_CheckExact(object) || PyLong_CheckExact(object);
    case Option::mask: return PyArray_CheckExact(object);
    default: return false;
  }
}

bool reads_arguments(const Bound& bound, const PythonModel& own, PyObject* const* args, Py_ssize_t n_args,
                     Call& call, Keep& keep) {
  const Signature& s = *bound.kernel->signature;
  for (int k = 0; k < s.inputs.count; ++k) {
    call.in[k] = nullptr;
    call.in_size[k] = call.in_step[k] = 0;
  }
  for (Py_ssize_t i = 1; i < n_args; ++i) {
    const int slot = bound.order[i];
    if (slot < kOptions) {
      const Input& input = s.inputs[slot - kInputs];
      if (args[i] == Py_None && input.optional) continue;
      if (!reads_input(input.shape, args[i], call, slot - kInputs)) return false;
    } else {
      const Option& option = s.options[slot - kOptions];
      if (!is_plain_option(option, args[i])) return false;
      if (!read_option(option, args[i], args[0], own, call, keep)) return false;
    }
  }
  return true;
}

bool overlap(const double* a, std::ptrdiff_t n_a, const double* b, std::ptrdiff_t n_b) {
  return a < b + n_b && b < a + n_a;
}

// Reads the array of `out` for the only output; false if it does not fit or shares memory with an input.
bool reads_output(const Signature& s, PyObject* out, Call& call) {
  const Shape& shape = s.outputs[0].shape;
  if (s.outputs.count != 1 || !is_plain(out)) return false;
  auto* array = reinterpret_cast<PyArrayObject*>(out);
  if (!PyArray_ISWRITEABLE(array) || PyArray_NDIM(array) != shape.rank) return false;
  const Sizes sizes = call.sizes();
  for (int i = 0; i < shape.rank; ++i) {
    if (PyArray_DIM(array, i) != sizes(shape.dims[i])) return false;
  }
  call.out[0] = static_cast<double*>(PyArray_DATA(array));
  for (int k = 0; k < s.inputs.count; ++k) {
    if (call.in[k] && overlap(call.in[k], call.in_size[k], call.out[0], call.out_size[0])) return false;
  }
  return true;
}

// New arrays for all results, in so far as there is memory.
bool makes_outputs(const Signature& s, Call& call, PyObject** arrays) {
  const Sizes sizes = call.sizes();
  bool all = true;
  for (int k = 0; k < s.outputs.count; ++k) {
    const int lead = call.is_batch;
    Py_ssize_t dims[1 + kMostRank] = {call.states};
    entries(s.outputs[k].shape, sizes, dims + lead);
    arrays[k] = array_again(lead + s.outputs[k].shape.rank, dims);
    all = all && arrays[k];
    if (arrays[k]) call.out[k] = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(arrays[k])));
  }
  return all;
}

// Whether the only keyword, if there is one, is `out`, which is then told.
bool has_keyword(const Bound& bound, PyObject* const* keywords, PyObject* names, PyObject*& out) {
  out = nullptr;
  if (!names) return true;
  if (PyTuple_GET_SIZE(names) != 1 || PyTuple_GET_ITEM(names, 0) != bound.names[kOut]) return false;
  if (keywords[0] != Py_None) out = keywords[0];
  return true;
}

bool runs(const Kernel& kernel, const Model& model, const Call& call) {
  if (call.states == 1) return runs_alone(kernel, model, call);
  return run_short(kernel, model, call).status == Outcome::done;
}

PyObject* new_results(const Bound& bound, const Model& model, Call& call) {
  const Signature& s = *bound.kernel->signature;
  PyObject* arrays[kMostOutputs];
  const bool done = makes_outputs(s, call, arrays) && runs(*bound.kernel, model, call);
  PyObject* result = done ? result_of(bound, arrays, false) : nullptr;
  for (int k = 0; k < s.outputs.count; ++k) Py_XDECREF(arrays[k]);
  return result;
}

}  // namespace

PyObject* call_single(const Bound& bound, const PythonModel& own, PyObject* const* args, Py_ssize_t n_args,
                      PyObject* keyword_names) {
  const Kernel& kernel = *bound.kernel;
  const Signature& s = *kernel.signature;
  PyObject* out;
  if (n_args < bound.required || n_args > bound.positional) return nullptr;
  if (!has_keyword(bound, args + n_args, keyword_names, out)) return nullptr;
  Call call;
  Keep keep;
  call.tree = &own.model.tree;
  if (!reads_arguments(bound, own, args, n_args, call, keep)) return nullptr;
  if (layout(s, call) != Layout::own) return nullptr;
  const Sizes sizes = call.sizes();
  for (int k = 0; k < s.outputs.count; ++k) {
    call.out_size[k] = call.out_step[k] = entries(s.outputs[k].shape, sizes);
  }
  if (!is_short(kernel, call)) return nullptr;
  if (!out) return new_results(bound, own.model, call);
  if (call.is_batch || !reads_output(s, out, call) || !runs_alone(kernel, own.model, call)) return nullptr;
  Py_INCREF(out);
  return out;
}

}  // namespace jounce
