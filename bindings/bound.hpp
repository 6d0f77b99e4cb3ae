// A kernel as a Python function: what its arguments are called and in which order they come.
#pragma once

#include <utility>

#include "jounce/batch/model.hpp"
#include "python.hpp"

namespace jounce {

// Slots of arguments: the model, inputs, options, and what every kernel takes.
constexpr int kModel = 0, kInputs = 1, kOptions = kInputs + kMostInputs;
constexpr int kOut = kOptions + kMostOptions, kThreads = kOut + 1, kSlots = kThreads + 1;

struct Bound {
  const Kernel* kernel = nullptr;
  const char* function = "";       // the name that messages give it: that of the function people call
  PyTypeObject* result = nullptr;  // the named tuple that it returns, or null
  int fields = 0;                  // how many outputs that has; one beyond them is an attribute of it,
  PyObject* beyond = nullptr;      // whose name begins with an underscore
  PyTypeObject* part = nullptr;    // of a derivative: the tuple that value and derivative are each, or null
  PyObject* names[kSlots] = {};    // interned; null where a slot is not in use
  int order[kSlots] = {};          // slots of positional arguments: model, required inputs, options,
  int positional = 0;              // optional inputs
  int required = 0;                // how many of them have to be given, at least

  // Of elementwise functions, which have no model:
  const Kernel* other = nullptr;    // the same function of elements of another shape, or null
  PyObject* of_complex = nullptr;   // the function of complex numbers in Python, or null
  bool has_model = true;

  // With `result` and `part` set. False with an exception set if these do not hold all outputs, or if memory is
  // short.
  bool prepare(const Kernel& own);
};

// The arguments as they were given, by slot; null where not given. The slots that the function uses
// are set, by `read_arguments`; clearing all of them would cost a short call as much as its work.
struct GivenArguments {
  const char* function;  // that they were given to, for messages
  PyObject* at[kSlots];
};

// False with an exception set if one is missing, unknown or given twice.
bool read_arguments(const Bound& bound, PyObject* const* args, Py_ssize_t n_args,
                    PyObject* keyword_names, GivenArguments& arguments);

// The model behind a Python object, with the names of its frames; null with an exception set.
struct PythonModel {
  Model model;
  PyObject* frames;  // dict: name to position in model.frames

  template <class... Arguments>
  explicit PythonModel(PyObject* names, Arguments&&... own)
      : model(std::forward<Arguments>(own)...), frames(names) {}
  PythonModel(const PythonModel&) = delete;
  PythonModel& operator=(const PythonModel&) = delete;
  ~PythonModel() { Py_DECREF(frames); }
};
const PythonModel* model_of(PyObject* object);

// The same for objects of the type that the first one had; null, without an exception, for others.
const PythonModel* known_model(PyObject* object);

// Whether it is a model of Python's that no tree was made for.
bool is_treeless(PyObject* object);

}  // namespace jounce
