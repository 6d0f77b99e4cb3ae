#include "call.hpp"

#include <numpy/arrayobject.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <string>

#include "arguments.hpp"
#include "failures.hpp"
#include "pool.hpp"

namespace jounce {

int rank(Shape shape) {
  switch (shape) {
    case Shape::scalar: return 0;
    case Shape::q: case Shape::v: case Shape::three: case Shape::six: return 1;
    case Shape::poses: case Shape::wrench_series: case Shape::pose_series:
    case Shape::jacobian_series: return 3;
    default: return 2;
  }
}

std::ptrdiff_t dimensions(Shape shape, const Tree<double>& t, int order, std::ptrdiff_t* d) {
  d[0] = d[1] = d[2] = 1;
  switch (shape) {
    case Shape::scalar: break;
    case Shape::q: d[0] = t.nq; break;
    case Shape::v: d[0] = t.nv; break;
    case Shape::three: d[0] = 3; break;
    case Shape::six: d[0] = 6; break;
    case Shape::wrenches: case Shape::twists: d[0] = t.n_bodies; d[1] = 6; break;
    case Shape::v_by_v: d[0] = d[1] = t.nv; break;
    case Shape::six_by_v: d[0] = 6; d[1] = t.nv; break;
    case Shape::pose: d[0] = d[1] = 4; break;
    case Shape::poses: d[0] = t.n_bodies; d[1] = d[2] = 4; break;
    case Shape::motion: d[0] = order + 2; d[1] = t.nv; break;
    case Shape::series: d[0] = order + 1; d[1] = t.nv; break;
    case Shape::wrench_series: d[0] = order + 1; d[1] = t.n_bodies; d[2] = 6; break;
    case Shape::twist_series: d[0] = order + 2; d[1] = 6; break;
    case Shape::pose_series: d[0] = order + 3; d[1] = d[2] = 4; break;
    case Shape::jacobian_series: d[0] = order + 3; d[1] = 6; d[2] = t.nv; break;
  }
  return d[0] * d[1] * d[2];
}

namespace {

constexpr int kWide = lanes<Wide>;
constexpr std::size_t kKeptBytes = std::size_t(64) << 20;
// About what the caches of a core hold.
constexpr std::size_t kPackBytes = std::size_t(2) << 20;
// Work of one state above which a call is worth releasing the lock for (some ten microseconds).
constexpr std::ptrdiff_t kLongCall = 1000;
// Work of the groups that a thread takes at once: about a millisecond.
constexpr std::ptrdiff_t kPiece = 20000;
constexpr std::chrono::milliseconds kSignalPeriod(30);

Workspace& thread_workspace() {
  thread_local Workspace workspace;
  return workspace;
}

using Clock = std::chrono::steady_clock;

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

// Numbers that a state reads and writes, and the nodes it visits: how long it takes, roughly.
std::ptrdiff_t work_per_state(const Call& call) {
  std::ptrdiff_t work = call.tree->n + 1;
  for (std::ptrdiff_t size : call.in_size) work += size / 8;
  for (std::ptrdiff_t size : call.out_size) work += size / 8;
  return call.order > 0 ? work * (1 + call.order / 8) : work;
}

// A batch, cut into groups of one pack each; threads take several groups at a time.
class BatchRun {
 public:
  BatchRun(const Entry& entry, const Call& call) : entry_(entry), call_(call) {
    bytes_ = entry.bytes(*call.tree, call.order, false);
    if (call.states > 1 && entry.signature.packs) {
      const std::size_t wide = entry.bytes(*call.tree, call.order, true);
      // Kernels of matrices work on many columns at once: large ones need no packs.
      const bool columns = entry.signature.outputs[0] == Shape::v_by_v;
      if (!columns || wide <= kPackBytes) group_ = kWide;
      if (group_ > 1 && wide > bytes_) bytes_ = wide;
    }
    groups_ = (call.states + group_ - 1) / group_;
    at_once_ = kPiece / (work_per_state(call) * group_);
    if (at_once_ < 1) at_once_ = 1;
    lowest_failure_ = groups_;
  }

  // Without the lock. False with an exception set if a signal handler raised or memory is short.
  bool run(int threads) {
    PyThreadState* state = PyEval_SaveThread();
    Clock::time_point checked = Clock::now();
    int listens = -1;  // unknown
    bool raised = false;
    const std::ptrdiff_t enough = (groups_ + at_once_ - 1) / at_once_;
    const int helpers = int(threads < enough ? threads : enough) - 1;
    if (threads > 1) at_once_ = std::clamp<std::ptrdiff_t>(groups_ / (32 * threads), 1, at_once_);
    pieces_ = (groups_ + at_once_ - 1) / at_once_;
    run_parallel(helpers, [&](bool caller) {
      try {
        char* block = thread_workspace().reserve(bytes_);
        while (take(caller, block)) {
          if (!caller || !listens || Clock::now() - checked < kSignalPeriod) continue;
          PyEval_RestoreThread(state);
          if (listens < 0) listens = is_main_thread();
          if (listens < 0 || PyErr_CheckSignals()) {
            raised = true;
            stop_ = true;
            return;  // keeps the lock
          }
          state = PyEval_SaveThread();
          checked = Clock::now();
          block = thread_workspace().reserve(bytes_);  // a handler may have run a kernel
        }
        thread_workspace().trim(kKeptBytes);
      } catch (const std::bad_alloc&) {
        no_memory_ = true;
        stop_ = true;
      }
    });
    if (!raised) PyEval_RestoreThread(state);
    if (!raised && no_memory_) PyErr_NoMemory();
    return !raised && !no_memory_;
  }

  // That of the lowest state, whatever the number of threads.
  Failure failure() const { return failure_; }

 private:
  // Computes the next piece of groups; false when there is none. The calling thread goes forward
  // from the first, the others backward from the last: so each writes to the memory that it wrote
  // to in the call before. A failure ends its piece and all above it.
  bool take(bool caller, char* block) {
    if (taken_.fetch_add(1) >= pieces_ || stop_.load(std::memory_order_relaxed)) return false;
    const std::ptrdiff_t piece = caller ? front_++ : pieces_ - 1 - back_.fetch_add(1);
    const std::ptrdiff_t last = (piece + 1) * at_once_;
    for (std::ptrdiff_t g = piece * at_once_; g < last && g < lowest_failure_; ++g) {
      if (stop_.load(std::memory_order_relaxed)) return false;
      const std::ptrdiff_t state = g * group_;
      const std::ptrdiff_t left = call_.states - state;
      const Failure bad = entry_.run(call_, state, int(left < group_ ? left : group_), block);
      if (bad.kind == Failure::none) continue;
      std::lock_guard<std::mutex> lock(failing_);
      if (g < lowest_failure_) {
        lowest_failure_ = g;
        failure_ = bad;
      }
    }
    return true;
  }

  const Entry& entry_;
  const Call& call_;
  std::ptrdiff_t group_ = 1, groups_, at_once_, pieces_ = 0;
  std::size_t bytes_;
  std::ptrdiff_t front_ = 0;
  std::atomic<std::ptrdiff_t> back_{0}, taken_{0}, lowest_failure_{0};
  std::atomic<bool> stop_{false}, no_memory_{false};
  std::mutex failing_;
  Failure failure_;
};

// The state of a pack that is singular by itself.
Failure single_out(const Entry& entry, const Call& call, const Failure& failure) {
  char* block = thread_workspace().reserve(entry.bytes(*call.tree, call.order, false));
  for (std::ptrdiff_t i = failure.state; i < call.states && i < failure.state + kWide; ++i) {
    const Failure one = entry.run(call, i, 1, block);
    if (one.kind == Failure::singular) return one;
  }
  return failure;
}

bool runs(const Entry& entry, PyObject* model, const Call& call, const Batch& batch, int threads) {
  Failure failure;
  if (call.states == 0) return true;
  if (call.states == 1 && work_per_state(call) < kLongCall) {
    char* block = thread_workspace().reserve(entry.bytes(*call.tree, call.order, false));
    failure = entry.run(call, 0, 1, block);
  } else {
    BatchRun run(entry, call);
    if (!run.run(threads)) return false;
    failure = run.failure();
  }
  if (failure.kind == Failure::none) return true;
  if (failure.kind == Failure::singular) failure = single_out(entry, call, failure);
  raise(entry.signature, model, call, batch, failure);
  return false;
}

void wrong_output(PyObject* given, const Py_ssize_t* dims, int axes) {
  std::string want = "(";
  for (int i = 0; i < axes; ++i) want += (i ? ", " : "") + std::to_string(dims[i]);
  want += axes == 1 ? ",)" : ")";
  const char* must = "out must be a writable C-contiguous float64 array of shape";
  if (!PyArray_Check(given)) {
    PyErr_Format(PyExc_ValueError, "%s %s, got %s", must, want.c_str(), Py_TYPE(given)->tp_name);
    return;
  }
  auto* array = reinterpret_cast<PyArrayObject*>(given);
  PyObject* got = PyObject_GetAttrString(given, "shape");
  PyErr_Format(PyExc_ValueError, "%s %s, got a %s%s%s%S array of shape %S", must, want.c_str(),
               PyArray_ISWRITEABLE(array) ? "" : "read-only ",
               PyArray_ISALIGNED(array) ? "" : "misaligned ",
               PyArray_IS_C_CONTIGUOUS(array) ? "" : "non-contiguous ", PyArray_DESCR(array),
               got ? got : Py_None);
  Py_XDECREF(got);
}

// The array to write output k to: new, or the caller's.
PyArrayObject* output_array(const Signature& s, int k, const Call& call, const Batch& batch,
                            PyObject* given) {
  Py_ssize_t dims[kMostAxes + 3];
  for (int i = 0; i < batch.axes; ++i) dims[i] = batch.dims[i];
  dimensions(s.outputs[k], *call.tree, call.order, dims + batch.axes);
  const int axes = batch.axes + rank(s.outputs[k]);
  if (!given) return reinterpret_cast<PyArrayObject*>(PyArray_SimpleNew(axes, dims, NPY_DOUBLE));
  bool fits = PyArray_Check(given);
  auto* array = reinterpret_cast<PyArrayObject*>(given);
  fits = fits && PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISCARRAY(array) && PyArray_NDIM(array) == axes;
  for (int i = 0; fits && i < axes; ++i) fits = PyArray_DIM(array, i) == dims[i];
  if (!fits) {
    wrong_output(given, dims, axes);
    return nullptr;
  }
  Py_INCREF(given);
  return array;
}

// Memory of an array of doubles.
struct Span {
  const double* first;
  std::ptrdiff_t size;
  bool overlaps(const Span& b) const { return first < b.first + b.size && b.first < first + size; }
};
Span input_span(const Call& call, int k) {
  return {call.in[k], (call.in_step[k] ? call.states : 1) * call.in_size[k]};
}
Span output_span(const Call& call, int k) { return {call.out[k], call.states * call.out_size[k]}; }

// Inputs that share memory with an output are copied, so that `out=` may be one of the inputs. If
// the call fails they get their values back.
class Parted {
 public:
  bool part(const Signature& s, Call& call, Keep& keep) {
    for (int k = 0; k < s.n_inputs; ++k) {
      if (!call.in[k]) continue;
      const Span own = input_span(call, k);
      bool shares = false;
      for (int o = 0; o < s.n_outputs; ++o) shares = shares || own.overlaps(output_span(call, o));
      if (!shares) continue;
      Py_ssize_t count = own.size;
      PyObject* copy = keep(PyArray_SimpleNew(1, &count, NPY_DOUBLE));
      if (!copy) return false;
      auto* data = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(copy)));
      std::memcpy(data, own.first, count * sizeof(double));
      original_[k] = own;
      call.in[k] = data;
    }
    return true;
  }
  void restore(const Call& call) const {
    for (int k = 0; k < kMostInputs; ++k) {
      if (!original_[k].first) continue;
      std::memcpy(const_cast<double*>(original_[k].first), call.in[k], original_[k].size * sizeof(double));
    }
  }

 private:
  Span original_[kMostInputs] = {};
};

bool outputs_are_apart(const Signature& s, const Call& call) {
  for (int k = 1; k < s.n_outputs; ++k) {
    for (int j = 0; j < k; ++j) {
      if (!output_span(call, k).overlaps(output_span(call, j))) continue;
      PyErr_SetString(PyExc_ValueError, "the arrays of out must not share memory with each other");
      return false;
    }
  }
  return true;
}

PyObject* given_output(const Signature& s, PyObject* out, int k) {
  if (!out || s.n_outputs == 1) return out;
  if (PyTuple_Check(out) && PyTuple_GET_SIZE(out) == s.n_outputs) return PyTuple_GET_ITEM(out, k);
  PyErr_Format(PyExc_ValueError, "out must be a tuple of %d arrays", s.n_outputs);
  return nullptr;
}

PyObject* checked_call(const Entry& entry, PyObject* const* args, Py_ssize_t n_args,
                      PyObject* keyword_names) {
  const Signature& s = entry.signature;
  Arguments arguments;
  Keep keep;
  Call call;
  Batch batch;
  if (!read_arguments(s, args, n_args, keyword_names, arguments)) return nullptr;
  call.tree = tree_of(arguments.model);
  if (!call.tree) return nullptr;
  const int threads = read_threads(arguments.threads);
  if (!threads || !convert_inputs(s, arguments, keep)) return nullptr;
  if (s.n_options && !read_options(s, arguments, call, keep)) return nullptr;
  if (!read_inputs(s, arguments, call, batch, keep)) return nullptr;
  PyObject* outputs[kMostOutputs];
  for (int k = 0; k < s.n_outputs; ++k) {
    PyObject* given = given_output(s, arguments.out, k);
    if (arguments.out && !given) return nullptr;
    PyArrayObject* array = output_array(s, k, call, batch, given);
    if (!array) return nullptr;
    outputs[k] = keep(reinterpret_cast<PyObject*>(array));
    call.out[k] = static_cast<double*>(PyArray_DATA(array));
    std::ptrdiff_t dims[3];
    call.out_size[k] = dimensions(s.outputs[k], *call.tree, call.order, dims);
  }
  Parted parted;
  if (arguments.out && (!outputs_are_apart(s, call) || !parted.part(s, call, keep))) return nullptr;
  if (!runs(entry, arguments.model, call, batch, threads)) {
    if (arguments.out) {  // nothing half-done: no results, and inputs as they were
      for (int k = 0; k < s.n_outputs; ++k) {
        std::fill_n(call.out[k], call.states * call.out_size[k], std::nan(""));
      }
      parted.restore(call);
    }
    return nullptr;
  }
  if (s.n_outputs == 1) {
    Py_INCREF(outputs[0]);
    return s.outputs[0] == Shape::scalar && !arguments.out
               ? PyArray_Return(reinterpret_cast<PyArrayObject*>(outputs[0]))
               : outputs[0];
  }
  PyObject* all = PyTuple_New(s.n_outputs);
  for (int k = 0; all && k < s.n_outputs; ++k) {
    Py_INCREF(outputs[k]);
    PyTuple_SET_ITEM(all, k, outputs[k]);
  }
  return all;
}

}  // namespace

bool prepare_calls() {
  import_array1(false);
  return intern_names();
}

PyObject* call_kernel(const Entry& entry, PyObject* const* args, Py_ssize_t n_args,
                      PyObject* keyword_names) {
  try {
    return checked_call(entry, args, n_args, keyword_names);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

}  // namespace jounce
