// Reading the arguments of a call into arrays.
#pragma once

#include "call.hpp"

namespace jounce {

constexpr int kMostAxes = 32;
// References that a call may own: converted, spread and copied inputs, options, outputs.
constexpr int kMostReferences = 3 * kMostInputs + 2 + kMostOutputs;

// The arguments in the order of the signature; null where not given. `out` and `threads` apart.
struct Arguments {
  PyObject* model = nullptr;
  PyObject* inputs[kMostInputs] = {};
  PyObject* options[2] = {};
  PyObject* out = nullptr;
  PyObject* threads = nullptr;
};

bool read_arguments(const Signature& signature, PyObject* const* args, Py_ssize_t n_args,
                    PyObject* keyword_names, Arguments& arguments);

bool intern_names();

// Owns references for the time of a call.
class Keep {
 public:
  PyObject* operator()(PyObject* object) {
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
  PyObject* held_[kMostReferences];
  int count_ = 0;
};

// Leading axes shared by all inputs.
struct Batch {
  int axes = 0;
  Py_ssize_t dims[kMostAxes] = {};
  Py_ssize_t states = 1;
};

// A call is read in this order, so that nothing that is checked can change before it is used:
// converting objects may run Python code, the last step does not.
bool convert_inputs(const Signature& signature, Arguments& arguments, Keep& keep);
bool read_options(const Signature& signature, const Arguments& arguments, Call& call, Keep& keep);
// Checks the shapes of the converted inputs, fills the call, repeats arrays over the batch where
// needed.
bool read_inputs(const Signature& signature, const Arguments& arguments, Call& call, Batch& batch,
                 Keep& keep);
// 0 and an exception if the argument is not a number of threads.
int read_threads(PyObject* threads);

}  // namespace jounce
