// Python's arguments as the arrays and options of a call.
#pragma once

#include <string>
#include <vector>

#include "bound.hpp"
#include "jounce/series/factorial.hpp"

namespace jounce {

constexpr int kMostAxes = 32;

// Owns references for the time of a call: converted, spread and copied inputs, options, outputs.
class Keep {
 public:
  PyObject* operator()(PyObject* object) {
    if (count_ == kMost) Py_FatalError("jounce: a call holds more references than it can");
    if (object) held_[count_++] = object;
    return object;
  }
  Keep() = default;
  Keep(const Keep&) = delete;
  Keep& operator=(const Keep&) = delete;
  ~Keep() {
    for (int i = 0; i < count_; ++i) Py_DECREF(held_[i]);
  }

 private:
  static constexpr int kMost = 3 * kMostInputs + kMostOptions + kMostOutputs;
  PyObject* held_[kMost];
  int count_ = 0;
};

// Leading axes shared by all inputs.
struct Batch {
  int axes = 0;
  Py_ssize_t dims[kMostAxes];  // as many as there are axes
};

// Several frames where one is asked for: the results get an axis of frames after the leading ones.
struct FrameList {
  bool given = false;
  std::vector<FrameAt<>> frames;
};

// "(2, 3)", or "(..., 2, 3)" with leading axes.
std::string shape_text(const Py_ssize_t* dims, int n, bool leading = false);

// Whether the axes of an input tell what no input before it told: the order r of a series, the number
// of times, or of rows and records of constraints.
inline bool learns(const Shape& shape, PyArrayObject* array, Call& call) {
  const int at = PyArray_NDIM(array) - shape.rank;
  if (at < 0) return false;
  bool tells = false;
  for (int i = 0; i < shape.rank && call.rows < 0; ++i) {
    if (shape.dims[i].of != Dimension::rows) continue;
    call.rows = int(PyArray_DIM(array, at + i));
    tells = true;
  }
  if (shape.is_series() && call.order < 0) {
    const Py_ssize_t order = PyArray_DIM(array, at) - shape.dims[0].plus;
    call.order = int(order < 0 ? 0 : order > kMostOrder ? kMostOrder : order);
    return true;
  }
  if (!shape.is_timed()) return tells;
  std::ptrdiff_t& count = shape.dims[0].of == Dimension::records ? call.records : call.times;
  if (count < 0) {
    count = PyArray_DIM(array, at);
    return true;
  }
  return tells;
}

// A call is read in this order, so that nothing that is checked can change before it is used:
// converting objects may run Python code, the last step does not. All return false with an exception
// set if something is wrong.
bool convert_inputs(const Signature& signature, GivenArguments& arguments, Keep& keep);
bool read_option(const Option& option, PyObject* object, PyObject* owner, const PythonModel& model,
                 Call& call, Keep& keep);
bool read_options(const Signature& signature, const GivenArguments& arguments, const PythonModel& model,
                  Call& call, FrameList& several, Keep& keep);
// Checks the shapes of the converted inputs, fills the call, repeats arrays over the batch where
// needed.
bool read_inputs(const Kernel& kernel, const Model& model, const GivenArguments& arguments, int threads,
                 Call& call, Batch& batch, const FrameList& several, Keep& keep);
// 0 and an exception if the argument is not a number of threads.
int read_threads(PyObject* threads);

}  // namespace jounce
