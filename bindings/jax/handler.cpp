// JAX: one handler of XLA's foreign function interface for all kernels, on the C entry point.
//
// What a call computes (kernel, model, options) is registered by Python under a number, which is all
// that a compiled computation holds. Arrays are used where they lie: leading axes are the batch, those
// of size 1 broadcast. 32-bit arrays are converted, since kernels compute in 64 bits.
#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jounce/jounce.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

extern "C" {

// As Python fills it (src/jounce/interop/jax/_handler.py); what it points to stays where it is.
typedef struct {
  decltype(&jounce_run) run;
  const jounce_kernel* kernel;
  const jounce_model* model;
  const char* name;                        // for messages
  int inputs, outputs;                     // that a call has, in order
  int position[JOUNCE_MOST_INPUTS];        // of each among the inputs of the kernel
  const char* labels[JOUNCE_MOST_INPUTS];  // of each, for messages
  int input_rank[JOUNCE_MOST_INPUTS], output_rank[JOUNCE_MOST_OUTPUTS];
  int marks;  // states that fail become NaN; else they are an error
  jounce_call options;
} jounce_jax_operation;

JOUNCE_API void jounce_jax_register(int64_t number, const jounce_jax_operation* operation);
JOUNCE_API XLA_FFI_Error* jounce_jax_handler(XLA_FFI_CallFrame* frame);
}

namespace {

using Operation = jounce_jax_operation;

struct Registry {
  std::shared_mutex mutex;
  std::unordered_map<int64_t, std::unique_ptr<const Operation>> operations;

  // Operations stay, so each thread may remember the last one that it ran.
  const Operation* find(int64_t number) {
    static thread_local std::pair<int64_t, const Operation*> last{0, nullptr};
    if (last.second && last.first == number) return last.second;
    const std::shared_lock lock(mutex);
    const auto found = operations.find(number);
    if (found == operations.end()) return nullptr;
    last = {number, found->second.get()};
    return last.second;
  }
};

// Never destroyed: XLA's threads may outlive what is.
Registry& registry() {
  static auto* all = new Registry;
  return *all;
}

// An array: its leading axes, how many numbers each of its elements has, and where they are.
struct Array {
  ffi::Span<const int64_t> lead;
  int64_t states = 1, size = 1;
  void* data = nullptr;
  bool narrow = false;

  Array() = default;
  Array(const ffi::AnyBuffer& from, int rank) : data(from.untyped_data()) {
    const auto dims = from.dimensions();
    lead = dims.first(dims.size() - rank);
    for (size_t k = 0; k < dims.size(); ++k) (k < lead.size() ? states : size) *= dims[k];
    narrow = from.element_type() == ffi::F32;
  }
  double* doubles() const { return static_cast<double*>(data); }
};

using Scratch = std::vector<std::unique_ptr<double[]>>;

double* room(Scratch& scratch, int64_t count) {
  scratch.emplace_back(new double[count]);
  return scratch.back().get();
}

// Copies states so that each has its own, where an array is shared along some of the axes only.
void spread(const double* from, const Array& own, ffi::Span<const int64_t> lead, int64_t states, double* to) {
  for (int64_t state = 0; state < states; ++state) {
    int64_t rest = state, at = 0, step = own.size;
    for (size_t k = lead.size(); k-- > 0; rest /= lead[k]) {
      if (own.lead[k] != 1) at += rest % lead[k] * step;
      step *= own.lead[k];
    }
    for (int64_t k = 0; k < own.size; ++k) to[state * own.size + k] = from[at + k];
  }
}

void read_input(const Array& own, const Array& result, Scratch& scratch, const double*& data, int64_t& step) {
  data = own.doubles();
  step = own.states == 1 ? 0 : own.size;
  if (own.narrow) {
    const float* from = static_cast<const float*>(own.data);
    double* to = room(scratch, own.states * own.size);
    for (int64_t k = 0; k < own.states * own.size; ++k) to[k] = from[k];
    data = to;
  }
  if (own.states != 1 && own.states != result.states) {
    double* to = room(scratch, result.states * own.size);
    spread(data, own, result.lead, result.states, to);
    data = to;
  }
}

std::string place(const Operation& own, const jounce_failure& failure, bool batch) {
  std::string text;
  if (failure.input >= 0) {
    for (int k = 0; k < own.inputs; ++k) {
      if (own.position[k] == failure.input) text += std::string(" ") + own.labels[k];
    }
    if (failure.entry >= 0) text += "[" + std::to_string(failure.entry) + "]";
  }
  if (batch && failure.state >= 0) text += " in state " + std::to_string(failure.state) + " of the batch";
  return text;
}

ffi::Error error_of(const Operation& own, jounce_status status, const jounce_failure& failure, bool batch) {
  const std::string name = std::string(own.name) + "(): ", where = place(own, failure, batch);
  switch (status) {
    case JOUNCE_NOT_FINITE: return ffi::Error::InvalidArgument(name + "not a finite number:" + where);
    case JOUNCE_QUATERNION:
      return ffi::Error::InvalidArgument(name + "not a unit quaternion (x, y, z, w):" + where);
    case JOUNCE_NOT_POSITIVE: return ffi::Error::InvalidArgument(name + "not a positive number:" + where);
    case JOUNCE_SINGULAR:
      return ffi::Error::InvalidArgument(name + "a joint moves no inertia, elementary joint " +
                                         std::to_string(failure.node) + where);
    case JOUNCE_OVERFLOW:
      return ffi::Error::InvalidArgument(name + "the result is not finite" + where + ": an input is too large");
    case JOUNCE_NO_MEMORY: return ffi::Error(ffi::ErrorCode::kResourceExhausted, name + "no memory");
    default: return ffi::Error::Internal(name + (failure.reason ? failure.reason : "failed"));
  }
}

// Whether it is a state that has no result, which may become NaN.
bool is_of_a_state(jounce_status status) {
  return status == JOUNCE_NOT_POSITIVE || (status != JOUNCE_DONE && status < JOUNCE_STOPPED);
}

// One state after the other; those that fail become NaN.
jounce_status run_marking(const Operation& own, jounce_call call, const int64_t* sizes,
                          jounce_failure& failure) {
  const int64_t states = call.states;
  call.states = 1;
  for (int64_t state = 0; state < states; ++state) {
    const jounce_status status = own.run(own.kernel, own.model, &call, &failure);
    if (status != JOUNCE_DONE && !is_of_a_state(status)) return status;
    for (int k = 0; k < own.outputs; ++k) {
      if (status != JOUNCE_DONE) std::fill_n(call.outputs[k], sizes[k], std::nan(""));
      call.outputs[k] += call.output_steps[k];
    }
    for (int k = 0; k < own.inputs; ++k) {
      call.inputs[own.position[k]] += call.input_steps[own.position[k]];
    }
  }
  return JOUNCE_DONE;
}

ffi::Error run(int64_t number, ffi::RemainingArgs arguments, ffi::RemainingRets results) {
  const Operation* own = registry().find(number);
  if (!own) {
    return ffi::Error(ffi::ErrorCode::kFailedPrecondition,
                      "jounce: this computation was compiled in another process; call jounce.interop.jax with "
                      "the same model here before it runs");
  }
  if (int(arguments.size()) != own->inputs || int(results.size()) != own->outputs) {
    return ffi::Error::Internal("jounce: a wrong number of arrays");
  }
  jounce_call call = own->options;
  Scratch scratch;
  Array out[JOUNCE_MOST_OUTPUTS];
  int64_t sizes[JOUNCE_MOST_OUTPUTS];
  for (int k = 0; k < own->outputs; ++k) {
    out[k] = Array(**results.get<ffi::AnyBuffer>(k), own->output_rank[k]);
    sizes[k] = call.output_steps[k] = out[k].size;
    call.outputs[k] = out[k].narrow ? room(scratch, out[k].states * out[k].size) : out[k].doubles();
  }
  call.states = out[0].states;
  if (call.states == 0) return ffi::Error::Success();
  for (int k = 0; k < own->inputs; ++k) {
    const Array in(*arguments.get<ffi::AnyBuffer>(k), own->input_rank[k]);
    const int at = own->position[k];
    read_input(in, out[0], scratch, call.inputs[at], call.input_steps[at]);
  }
  jounce_failure failure;
  jounce_status status = own->run(own->kernel, own->model, &call, &failure);
  if (own->marks && is_of_a_state(status)) {
    status = run_marking(*own, call, sizes, failure);
  }
  if (status != JOUNCE_DONE) return error_of(*own, status, failure, out[0].lead.size() > 0);
  for (int k = 0; k < own->outputs; ++k) {
    if (!out[k].narrow) continue;
    float* to = static_cast<float*>(out[k].data);
    for (int64_t i = 0; i < out[k].states * out[k].size; ++i) to[i] = float(call.outputs[k][i]);
  }
  return ffi::Error::Success();
}

}  // namespace

void jounce_jax_register(int64_t number, const jounce_jax_operation* operation) {
  Registry& all = registry();
  const std::unique_lock lock(all.mutex);
  all.operations.try_emplace(number, new Operation(*operation));
}

XLA_FFI_DEFINE_HANDLER(jounce_jax_bound, run,
                       ffi::Ffi::Bind().Attr<int64_t>("operation").RemainingArgs().RemainingRets());

XLA_FFI_Error* jounce_jax_handler(XLA_FFI_CallFrame* frame) { return jounce_jax_bound(frame); }
