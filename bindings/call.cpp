#include "call.hpp"

#include <new>

#if defined(__GLIBCXX__) && !defined(_WIN32)
#include <cxxabi.h>
#include <unistd.h>
#endif

#include "failures.hpp"
#include "jounce/batch/schedule.hpp"
#include "outputs.hpp"

namespace jounce {
namespace {

// Whether this thread is Python's main one, which alone handles signals. This runs Python code, and
// with it perhaps a signal handler: -1 with an exception set if that raises.
int is_main_thread() {
  PyObject* threading = PyImport_ImportModule("threading");
  PyObject* main = threading ? PyObject_CallMethod(threading, "main_thread", nullptr) : nullptr;
  PyObject* ident = main ? PyObject_GetAttrString(main, "ident") : nullptr;
  const int yes = ident ? PyLong_AsUnsignedLong(ident) == PyThread_get_thread_ident() : -1;
  Py_XDECREF(ident);
  Py_XDECREF(main);
  Py_XDECREF(threading);
  return yes;
}

// Takes the lock back. An interpreter that ends meanwhile does not give it to other threads but ends
// them, as if by an exception; they must not touch Python's objects then, so they stay here instead
// until the process is gone.
void take_lock(PyThreadState* state) {
#if defined(__GLIBCXX__) && !defined(_WIN32)
  try {
    PyEval_RestoreThread(state);
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
#else
  PyEval_RestoreThread(state);
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
  // Whether a signal handler raised; the exception stays set.
  bool signaled() {
    if (!listens_) return false;
    take_lock(state_);
    if (listens_ < 0) listens_ = is_main_thread();
    const bool raised = listens_ < 0 || (listens_ && PyErr_CheckSignals());
    state_ = PyEval_SaveThread();
    return raised;
  }

  PyThreadState* state_;
  int listens_ = -1;  // unknown
};

Outcome run(const Kernel& kernel, const Model& model, const Call& call, int threads) {
  if (is_short(kernel, call)) return run_batch(kernel, model, call, 1);
  Released lock;
  return run_batch(kernel, model, call, threads, lock.watch());
}

// False with an exception set if it did not end well.
bool runs(const Kernel& kernel, const Model& model, const Call& call, const Batch& batch, int threads) {
  const Outcome outcome = run(kernel, model, call, threads);
  switch (outcome.status) {
    case Outcome::done: return true;
    case Outcome::no_memory: PyErr_NoMemory(); return false;
    case Outcome::stopped: return false;
    default: break;
  }
  raise_failure(kernel, model, call, batch, pinpointed(kernel, model, call, outcome.failure));
  return false;
}

// The same for each of several frames.
bool runs_for_all(const Kernel& kernel, const Model& model, Call& call, const Batch& batch, int threads,
                  const FrameList& several, const Outputs& outputs) {
  for (const FrameAt& frame : several.frames) {
    call.options.frame = frame;
    if (!runs(kernel, model, call, batch, threads)) return false;
    outputs.next_frame(call);
  }
  return true;
}

}  // namespace

PyObject* call_with(const Bound& bound, const Kernel& kernel, const PythonModel& own,
                    Arguments& arguments, Keep& keep) {
  const Signature& s = *kernel.signature;
  Call call;
  Batch batch;
  FrameList several;
  Outputs outputs;
  call.tree = &own.model.tree;
  const int threads = read_threads(arguments.at[kThreads]);
  if (!threads || !convert_inputs(s, arguments, keep)) return nullptr;
  if (s.options.count && !read_options(s, arguments, own, call, several, keep)) return nullptr;
  if (!read_inputs(s, arguments, call, batch, keep)) return nullptr;
  if (!outputs.prepare(s, arguments.at[kOut], call, batch, several, keep)) return nullptr;
  const bool done = several.given
                        ? runs_for_all(kernel, own.model, call, batch, threads, several, outputs)
                        : runs(kernel, own.model, call, batch, threads);
  if (!done) {
    outputs.spoil();
    return nullptr;
  }
  return outputs.result(bound);
}

PyObject* call_kernel(const Bound& bound, PyObject* const* args, Py_ssize_t n_args,
                      PyObject* keyword_names) {
  try {
    Arguments arguments;
    Keep keep;
    if (!read_arguments(bound, args, n_args, keyword_names, arguments)) return nullptr;
    const PythonModel* own = model_of(arguments.at[kModel]);
    return own ? call_with(bound, *bound.kernel, *own, arguments, keep) : nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

}  // namespace jounce
