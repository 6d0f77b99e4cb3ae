#include "call.hpp"

#include <atomic>
#include <new>

#include "failures.hpp"
#include "jounce/batch/schedule.hpp"
#include "outputs.hpp"
#include "single.hpp"

namespace jounce {
namespace {

// Python's main thread, which alone handles signals. In the child of a fork it is the one that forked.
std::atomic<unsigned long> main_thread{0};

// What computes with models that have no tree, since their joints are coupled; null if nothing does.
PyObject* coupled = nullptr;

// Hands a call to it: the kernel's name, the type of the result and of its parts, the model, and the
// arguments by name.
PyObject* call_coupled(const Bound& bound, const GivenArguments& arguments) {
  PyObject* given = PyDict_New();
  for (int slot = 0; given && slot < kSlots; ++slot) {
    PyObject* value = slot == kModel || !bound.names[slot] ? nullptr : arguments.at[slot];
    if (value && PyDict_SetItem(given, bound.names[slot], value) < 0) Py_CLEAR(given);
  }
  if (!given) return nullptr;
  PyObject* type = bound.result ? reinterpret_cast<PyObject*>(bound.result) : Py_None;
  PyObject* part = bound.part ? reinterpret_cast<PyObject*>(bound.part) : Py_None;
  PyObject* result = PyObject_CallFunction(coupled, "sOOOO", bound.kernel->signature->name, type, part,
                                           arguments.at[kModel], given);
  Py_DECREF(given);
  return result;
}

// Takes the lock back. An interpreter that ends meanwhile does not give it to other threads but ends
// them; they must not touch Python's objects then, so they stay here instead until the process is gone.
void take_lock(PyThreadState* state) {
  platform::stay_if_ended([state] { PyEval_RestoreThread(state); });
}

bool is_ending() {
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

// The lock of the interpreter, released while a batch runs; taken now and then to handle signals.
class Released {
 public:
  Released() : state_(PyEval_SaveThread()) {}
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  ~Released() { take_lock(state_); }

  Watch watch() { return {[](void* self) { return static_cast<Released*>(self)->signaled(); }, this}; }

 private:
  // Whether a signal handler raised; the exception stays set. Other threads may be at work for this
  // one, which must not end here.
  bool signaled() {
    if (PyThread_get_thread_ident() != main_thread || is_ending()) return false;
    take_lock(state_);
    const bool raised = handles_signals();
    state_ = PyEval_SaveThread();
    return raised;
  }

  // A timer may come again before its handler is done. If that interrupted the handler, each would
  // begin within the one before and none would end; so timers wait, and the batch goes on in between.
  static bool handles_signals() {
    const platform::TimersWait wait;
    return PyErr_CheckSignals() != 0;
  }

  PyThreadState* state_;
};

Outcome run(const Kernel& kernel, const Model& model, const Call& call, int threads) {
  if (is_short(kernel, call)) return run_short(kernel, model, call);
  Released lock;
  return run_batch(kernel, model, call, threads, lock.watch());
}

// False with an exception set if it did not end well.
bool runs(const char* function, const Kernel& kernel, const Model& model, const Call& call,
          const Batch& batch, int threads) {
  const Outcome outcome = run(kernel, model, call, threads);
  switch (outcome.status) {
    case Outcome::done: return true;
    case Outcome::no_memory: PyErr_NoMemory(); return false;
    case Outcome::stopped: return false;
    default: break;
  }
  raise_failure(function, kernel, model, call, batch, pinpointed(kernel, model, call, outcome.failure));
  return false;
}

// The same for each of several frames.
bool runs_for_all(const char* function, const Kernel& kernel, const Model& model, Call& call,
                  const Batch& batch, int threads, const FrameList& several, const Outputs& outputs) {
  for (const FrameAt<>& frame : several.frames) {
    call.options.frame = frame;
    if (!runs(function, kernel, model, call, batch, threads)) return false;
    outputs.next_frame(call);
  }
  return true;
}

}  // namespace

PyObject* call_with(const Bound& bound, const Kernel& kernel, const PythonModel& own,
                    GivenArguments& arguments, Keep& keep) {
  const Signature& s = *kernel.signature;
  Call call;
  Batch batch;
  FrameList several;
  Outputs outputs;
  call.tree = &own.model.tree;
  const int threads = read_threads(arguments.at[kThreads]);
  if (!threads || !convert_inputs(s, arguments, keep)) return nullptr;
  if (s.options.count && !read_options(s, arguments, own, call, several, keep)) return nullptr;
  if (!read_inputs(kernel, own.model, arguments, threads, call, batch, several, keep)) return nullptr;
  if (!outputs.prepare(s, arguments.at[kOut], call, batch, several, keep)) return nullptr;
  const Layout looks = layout(s, call);
  const bool done = several.given
                        ? runs_for_all(bound.function, kernel, own.model, call, batch, threads, several,
                                       outputs)
                        : runs(bound.function, kernel, own.model, call, batch, threads);
  if (!done || (looks != Layout::own && !warn_of(looks, s, own.model))) {
    outputs.spoil(threads);
    return nullptr;
  }
  return outputs.result(bound);
}

bool know_main_thread() {
  PyObject* threading = PyImport_ImportModule("threading");
  PyObject* main = threading ? PyObject_CallMethod(threading, "main_thread", nullptr) : nullptr;
  PyObject* ident = main ? PyObject_GetAttrString(main, "ident") : nullptr;
  if (ident) main_thread = PyLong_AsUnsignedLong(ident);
  Py_XDECREF(ident);
  Py_XDECREF(main);
  Py_XDECREF(threading);
  platform::watch_forks(nullptr, nullptr, [] { main_thread = PyThread_get_thread_ident(); });
  return !PyErr_Occurred();
}

void use_coupled(PyObject* function) {
  Py_INCREF(function);
  Py_XSETREF(coupled, function);
}

PyObject* call_kernel(const Bound& bound, PyObject* const* args, Py_ssize_t n_args,
                      PyObject* keyword_names) {
  try {
    const PythonModel* own = n_args > 0 ? known_model(args[0]) : nullptr;
    PyObject* result = own ? call_single(bound, *own, args, n_args, keyword_names) : nullptr;
    if (result || PyErr_Occurred()) return result;
    GivenArguments arguments;
    Keep keep;
    if (!read_arguments(bound, args, n_args, keyword_names, arguments)) return nullptr;
    if (coupled && is_treeless(arguments.at[kModel])) return call_coupled(bound, arguments);
    own = model_of(arguments.at[kModel]);
    return own ? call_with(bound, *bound.kernel, *own, arguments, keep) : nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

}  // namespace jounce
