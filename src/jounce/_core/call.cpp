#include "call.hpp"

#include <numpy/arrayobject.h>

#include <atomic>
#include <chrono>
#include <string>

#include "arguments.hpp"
#include "pool.hpp"

namespace jounce {

int rank(Shape shape) {
  switch (shape) {
    case Shape::scalar: return 0;
    case Shape::q: case Shape::v: case Shape::three: case Shape::six: return 1;
    case Shape::poses: return 3;
    default: return 2;
  }
}

std::ptrdiff_t dimensions(Shape shape, const Tree<double>& t, std::ptrdiff_t* d) {
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
  }
  return d[0] * d[1] * d[2];
}

namespace {

constexpr int kWide = lanes<Wide>;
constexpr std::size_t kKeptBytes = std::size_t(64) << 20;
// Nodes times states above which a call is worth releasing the lock for (some microseconds).
constexpr std::ptrdiff_t kLongCall = 200;

Workspace& thread_workspace() {
  thread_local Workspace workspace;
  return workspace;
}

using Clock = std::chrono::steady_clock;

// A batch, cut into groups of one pack each; threads take several groups at a time.
class BatchRun {
 public:
  BatchRun(const Entry& entry, const Call& call) : entry_(entry), call_(call) {
    group_ = entry.signature.packs ? kWide : 1;
    groups_ = (call.states + group_ - 1) / group_;
    const std::ptrdiff_t work = std::ptrdiff_t(call.tree->n) * group_;
    at_once_ = 20000 / (work ? work : 1);
    if (at_once_ < 1) at_once_ = 1;
    const std::size_t wide = entry.bytes(*call.tree, true), narrow = entry.bytes(*call.tree, false);
    bytes_ = wide > narrow ? wide : narrow;
  }

  // Without the lock. False if a signal handler raised.
  bool run(int threads) {
    PyThreadState* state = PyEval_SaveThread();
    Clock::time_point checked = Clock::now();
    bool raised = false;
    const std::ptrdiff_t pieces = (groups_ + at_once_ - 1) / at_once_;
    const int helpers = int(threads < pieces ? threads : pieces) - 1;
    if (threads > 1 && at_once_ > groups_ / (8 * threads)) {
      at_once_ = groups_ / (8 * threads) < 1 ? 1 : groups_ / (8 * threads);
    }
    run_parallel(helpers, [&](bool caller) {
      try {
        char* block = thread_workspace().reserve(bytes_);
        while (take(block)) {
          if (!caller || Clock::now() - checked < std::chrono::milliseconds(30)) continue;
          PyEval_RestoreThread(state);
          if (PyErr_CheckSignals()) {
            raised = true;
            stop_ = true;
            return;  // keeps the lock
          }
          state = PyEval_SaveThread();
          checked = Clock::now();
        }
        thread_workspace().trim(kKeptBytes);
      } catch (const std::bad_alloc&) {
        no_memory_ = true;
        stop_ = true;
      }
    });
    if (!raised) PyEval_RestoreThread(state);
    if (no_memory_) PyErr_NoMemory();
    return !raised && !no_memory_;
  }

  Failure failure() const { return failure_; }

 private:
  // Computes the next groups; false when there are none.
  bool take(char* block) {
    const std::ptrdiff_t first = next_.fetch_add(at_once_);
    for (std::ptrdiff_t g = first; g < first + at_once_ && g < groups_; ++g) {
      if (stop_.load(std::memory_order_relaxed)) return false;
      const std::ptrdiff_t state = g * group_;
      const std::ptrdiff_t left = call_.states - state;
      const Failure bad = entry_.run(call_, state, int(left < group_ ? left : group_), block);
      if (bad.kind != Failure::none) {
        if (!failed_.exchange(true)) failure_ = bad;
        stop_ = true;
        return false;
      }
    }
    return first + at_once_ < groups_;
  }

  const Entry& entry_;
  const Call& call_;
  std::ptrdiff_t group_, groups_, at_once_;
  std::size_t bytes_;
  std::atomic<std::ptrdiff_t> next_{0};
  std::atomic<bool> stop_{false}, failed_{false}, no_memory_{false};
  Failure failure_;
};

// The joint that a node belongs to, as text; a new reference.
PyObject* joint_name(PyObject* model, int node) {
  return PyObject_CallMethod(model, "_joint_of_node", "i", node);
}

void raise_not_finite(const Signature& s, const Call& call, std::ptrdiff_t state) {
  for (std::ptrdiff_t i = state; i < call.states && i < state + kWide; ++i) {
    for (int k = 0; k < s.n_inputs; ++k) {
      if (!call.in[k]) continue;
      const double* x = call.in[k] + i * call.in_step[k];
      for (std::ptrdiff_t j = 0; j < call.in_size[k]; ++j) {
        if (std::isfinite(x[j]) || !engine::is_read(s.inputs[k].reads, call.options.prescribed, j)) continue;
        PyObject* number = PyFloat_FromDouble(x[j]);
        PyErr_Format(PyExc_ValueError, "%s must be finite, got %R at entry %zd of state %zd",
                     s.inputs[k].name, number, Py_ssize_t(j), Py_ssize_t(i));
        Py_XDECREF(number);
        return;
      }
    }
  }
  PyErr_Format(PyExc_ValueError, "an input of %s() is not finite", s.name);
}

void raise_quaternion(const Signature& s, PyObject* model, const Call& call, std::ptrdiff_t state) {
  for (std::ptrdiff_t i = state; i < call.states && i < state + kWide; ++i) {
    for (int k = 0; k < s.n_inputs; ++k) {
      if (!call.in[k] || s.inputs[k].shape != Shape::q) continue;
      for (const Node<double>& node : call.tree->nodes) {
        if (node.kind != Kind::spherical && node.kind != Kind::free) continue;
        const double* x = call.in[k] + i * call.in_step[k] + node.q;
        const double norm = std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]);
        if (std::abs(norm - 1.0) <= engine::kQuaternionSlack) continue;
        PyObject* joint = joint_name(model, int(&node - call.tree->nodes.data()));
        if (!joint) return;
        char text[200];
        std::snprintf(text, sizeof text, "(%.6g, %.6g, %.6g, %.6g) with norm %.6g", x[0], x[1], x[2],
                      x[3], norm);
        PyErr_Format(PyExc_ValueError,
                     "%s[%d:%d] must be the unit quaternion (x, y, z, w) of joint %R%s, got %s in "
                     "state %zd",
                     s.inputs[k].name, node.q, node.q + 4, joint,
                     node.kind == Kind::free ? ", followed by the position (x, y, z)" : "", text,
                     Py_ssize_t(i));
        Py_DECREF(joint);
        return;
      }
    }
  }
  PyErr_Format(PyExc_ValueError, "a quaternion given to %s() is not of unit length", s.name);
}

void raise_singular(PyObject* model, const Failure& failure) {
  PyObject* errors = PyImport_ImportModule("jounce.errors");
  PyObject* type = errors ? PyObject_GetAttrString(errors, "SingularError") : nullptr;
  PyObject* joint = type ? joint_name(model, failure.node) : nullptr;
  if (joint) {
    PyErr_Format(type,
                 "the inertia that joint %R moves vanishes (a massless leaf, or axes that coincide), "
                 "so its acceleration is undefined (state %zd or one packed with it); give the body "
                 "an inertia, the joint an armature, or prescribe its acceleration",
                 joint, Py_ssize_t(failure.state));
  }
  Py_XDECREF(joint);
  Py_XDECREF(type);
  Py_XDECREF(errors);
}

void raise(const Signature& s, PyObject* model, const Call& call, const Failure& failure) {
  switch (failure.kind) {
    case Failure::not_finite: return raise_not_finite(s, call, failure.state);
    case Failure::quaternion: return raise_quaternion(s, model, call, failure.state);
    case Failure::singular: return raise_singular(model, failure);
    case Failure::none: return;
  }
}

bool runs(const Entry& entry, PyObject* model, const Call& call, int threads) {
  Failure failure;
  if (call.states == 0) return true;
  if (call.states == 1 && call.tree->n < kLongCall) {
    try {
      char* block = thread_workspace().reserve(entry.bytes(*call.tree, false));
      failure = entry.run(call, 0, 1, block);
    } catch (const std::bad_alloc&) {
      PyErr_NoMemory();
      return false;
    }
  } else {
    BatchRun batch(entry, call);
    if (!batch.run(threads)) return false;
    failure = batch.failure();
  }
  if (failure.kind == Failure::none) return true;
  raise(entry.signature, model, call, failure);
  return false;
}

// The array to write output k to: new, or the caller's.
PyArrayObject* output_array(const Signature& s, int k, const Call& call, const Batch& batch,
                            PyObject* given) {
  Py_ssize_t dims[kMostAxes + 3];
  for (int i = 0; i < batch.axes; ++i) dims[i] = batch.dims[i];
  dimensions(s.outputs[k], *call.tree, dims + batch.axes);
  const int axes = batch.axes + rank(s.outputs[k]);
  if (!given) return reinterpret_cast<PyArrayObject*>(PyArray_SimpleNew(axes, dims, NPY_DOUBLE));
  bool fits = PyArray_Check(given);
  auto* array = reinterpret_cast<PyArrayObject*>(given);
  fits = fits && PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISCARRAY(array) && PyArray_NDIM(array) == axes;
  for (int i = 0; fits && i < axes; ++i) fits = PyArray_DIM(array, i) == dims[i];
  if (!fits) {
    std::string want = "(";
    for (int i = 0; i < axes; ++i) want += (i ? ", " : "") + std::to_string(dims[i]);
    want += axes == 1 ? ",)" : ")";
    PyObject* got = PyArray_Check(given) ? PyObject_GetAttrString(given, "shape") : nullptr;
    PyErr_Format(PyExc_ValueError,
                 "out must be a writable C-contiguous float64 array of shape %s, got %s %S",
                 want.c_str(), Py_TYPE(given)->tp_name, got ? got : Py_None);
    Py_XDECREF(got);
    return nullptr;
  }
  Py_INCREF(given);
  return array;
}

bool overlaps(const Call& call, const Signature& s, const double* out, std::ptrdiff_t size) {
  for (int k = 0; k < s.n_inputs; ++k) {
    if (!call.in[k]) continue;
    const double* end = call.in[k] + (call.in_step[k] ? call.states : 1) * call.in_size[k];
    if (call.in[k] < out + size && out < end) return true;
  }
  return false;
}

// Copies inputs that share memory with an output, so that `out=` may be one of the inputs.
bool part_from_outputs(const Signature& s, Call& call, Keep& keep) {
  for (int o = 0; o < s.n_outputs; ++o) {
    const std::ptrdiff_t size = call.states * call.out_size[o];
    for (int k = 0; k < s.n_inputs; ++k) {
      if (!call.in[k]) continue;
      Call one = call;
      for (int j = 0; j < s.n_inputs; ++j) {
        if (j != k) one.in[j] = nullptr;
      }
      if (!overlaps(one, s, call.out[o], size)) continue;
      Py_ssize_t count = (call.in_step[k] ? call.states : 1) * call.in_size[k];
      PyObject* copy = keep(PyArray_SimpleNew(1, &count, NPY_DOUBLE));
      if (!copy) return false;
      auto* data = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(copy)));
      std::memcpy(data, call.in[k], count * sizeof(double));
      call.in[k] = data;
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

}  // namespace

bool prepare_calls() {
  import_array1(false);
  return intern_names();
}

PyObject* call_kernel(const Entry& entry, PyObject* const* args, Py_ssize_t n_args,
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
  if (!threads || !read_inputs(s, arguments, call, batch, keep)) return nullptr;
  if (s.n_options && !read_options(s, arguments, call, keep)) return nullptr;
  PyObject* outputs[kMostOutputs];
  for (int k = 0; k < s.n_outputs; ++k) {
    PyObject* given = given_output(s, arguments.out, k);
    if (arguments.out && !given) return nullptr;
    PyArrayObject* array = output_array(s, k, call, batch, given);
    if (!array) return nullptr;
    outputs[k] = keep(reinterpret_cast<PyObject*>(array));
    call.out[k] = static_cast<double*>(PyArray_DATA(array));
    std::ptrdiff_t dims[3];
    call.out_size[k] = dimensions(s.outputs[k], *call.tree, dims);
  }
  if (arguments.out && !part_from_outputs(s, call, keep)) return nullptr;
  if (!runs(entry, arguments.model, call, threads)) return nullptr;
  if (s.n_outputs == 1) {
    Py_INCREF(outputs[0]);
    return s.outputs[0] == Shape::scalar && !arguments.out
               ? PyArray_Return(reinterpret_cast<PyArrayObject*>(outputs[0]))
               : outputs[0];
  }
  return PyTuple_Pack(2, outputs[0], outputs[1]);
}

}  // namespace jounce
