// The C entry point: jounce.h in terms of the list of kernels.
#include <cstdio>
#include <exception>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "jounce/batch/pool.hpp"
#include "jounce/batch/schedule.hpp"
#include "jounce/jounce.h"
#include "jounce/kernels/list.hpp"
#include "jounce/series/factorial.hpp"

namespace {

using namespace jounce;

static_assert(JOUNCE_MOST_INPUTS == kMostInputs && JOUNCE_MOST_OUTPUTS == kMostOutputs &&
              JOUNCE_MOST_RANK == kMostRank);

// C sees kernels and models by opaque pointers.
const Kernel* seen(const jounce_kernel* kernel) { return reinterpret_cast<const Kernel*>(kernel); }
const Model* seen(const jounce_model* model) { return reinterpret_cast<const Model*>(model); }
const jounce_kernel* shown(const Kernel* kernel) { return reinterpret_cast<const jounce_kernel*>(kernel); }

// Whether a call of C has room for an option: each kind is named, so that a new one is thought of.
bool can_tell(Option::Kind kind) {
  switch (kind) {
    case Option::mask:
    case Option::frame:
    case Option::representation:
    case Option::source:
    case Option::method:
    case Option::tableau: return true;
    case Option::every:
    case Option::hold:
    case Option::pair:
    case Option::order:
    case Option::passive: return false;
  }
  return false;
}

// Motions of many steps and constraints take what a call of C does not tell.
bool is_callable(const Signature& signature) {
  bool good = true;
  for (const Option& option : signature.options) good = good && can_tell(option.kind);
  for (const Input& input : signature.inputs) good = good && !input.shape.is_timed();
  return good;
}

// Those that can be called from here.
const std::vector<const Kernel*>& callable_kernels() {
  const auto make = [] {
    auto* all = new std::vector<const Kernel*>;
    for (const Kernel& kernel : kernels()) {
      if (is_callable(*kernel.signature)) all->push_back(&kernel);
    }
    return all;
  };
  static const std::vector<const Kernel*>* all = make();
  return *all;
}

bool is_order(int order) { return order >= -1 && order <= kMostOrder; }

template <class Argument>
void describe(const Argument& argument, bool may_miss, const Model& model, int order,
              jounce_array* array) {
  const Tree<double>& t = model.tree;
  std::ptrdiff_t dims[kMostRank];
  array->name = argument.name;
  array->optional = may_miss;
  array->is_series = argument.shape.is_series();
  array->rank = argument.shape.rank;
  array->size = entries(argument.shape, {t, order}, dims);
  for (int i = 0; i < array->rank; ++i) array->dims[i] = dims[i];
}

// Fills the arrays of a call. Returns what is wrong, or null; then `input` is the one, or -1.
const char* fill_arrays(const Signature& s, const jounce_call& from, Call& to, int& input) {
  const Sizes sizes = to.sizes();
  for (input = 0; input < s.inputs.count; ++input) {
    const Input& own = s.inputs[input];
    to.in[input] = from.inputs[input];
    to.in_step[input] = from.input_steps[input];
    to.in_size[input] = to.in[input] ? entries(own.shape, sizes) : 0;
    if (!to.in[input] && !own.optional) return "an input is missing";
    if (from.order < 0 && own.shape.is_series()) return "a series needs an order";
  }
  input = -1;
  for (int k = 0; k < s.outputs.count; ++k) {
    to.out[k] = from.outputs[k];
    to.out_step[k] = from.output_steps[k];
    to.out_size[k] = entries(s.outputs[k].shape, sizes);
    if (!to.out[k]) return "an output is missing";
    if (from.states > 1 && to.out_step[k] < to.out_size[k]) return "an output's step is below its size";
  }
  return nullptr;
}

// The same for its options.
const char* fill_options(const Signature& s, const Model& model, const jounce_call& from, Options<>& to) {
  for (const Option& option : s.options) {
    switch (option.kind) {
      case Option::mask:
        if (!from.prescribed) return "the mask of prescribed rates is missing";
        to.prescribed = from.prescribed;
        break;
      case Option::frame:
        if (option.optional && from.frame == -1) break;
        if (from.frame < 0 || from.frame >= int(model.frames.size())) return "there is no such frame";
        to.frame = model.frames[from.frame];
        break;
      case Option::representation:
        if (from.twist < 0 || from.twist >= int(std::size(kRepresentations))) {
          return "there is no such representation of a twist";
        }
        to.representation = Representation(from.twist);
        break;
      case Option::source: return "functions without a model cannot be asked for here";
      case Option::method:
        if (from.method < 0 || from.method >= kMethods) return "there is no such method";
        to.method = from.method;
        break;
      case Option::tableau:
        if (!from.tableau || !to.tableau.read(from.tableau, from.tableau_size)) {
          return "the numbers of the method are missing or are none";
        }
        break;
      default: return "a motion of many steps cannot be asked for here";
    }
  }
  return nullptr;
}

jounce_status status_of(const Outcome& outcome) {
  switch (outcome.status) {
    case Outcome::done: return JOUNCE_DONE;
    case Outcome::stopped: return JOUNCE_STOPPED;
    case Outcome::no_memory: return JOUNCE_NO_MEMORY;
    default: break;
  }
  switch (outcome.failure.kind) {
    case Failure::demand: return JOUNCE_BAD_CALL;
    case Failure::not_positive: return JOUNCE_NOT_POSITIVE;
    default: return jounce_status(outcome.failure.kind);
  }
}
static_assert(int(Failure::not_finite) == JOUNCE_NOT_FINITE && int(Failure::quaternion) == JOUNCE_QUATERNION &&
              int(Failure::singular) == JOUNCE_SINGULAR && int(Failure::overflow) == JOUNCE_OVERFLOW);

jounce_status run(const Kernel& kernel, const Model& model, const jounce_call& call,
                  jounce_failure& failure) {
  Call own;
  own.tree = &model.tree;
  own.order = call.order;
  own.states = call.states;
  const Signature& s = *kernel.signature;
  if (call.states < 0) failure.reason = "the number of states is negative";
  if (!is_order(call.order)) failure.reason = "the order must be -1 to 100";
  if (call.threads < 0 || call.threads > kMostThreads) failure.reason = "threads must be 0 to 1024";
  if (!failure.reason && call.states == 0) return JOUNCE_DONE;
  if (!failure.reason) failure.reason = fill_arrays(s, call, own, failure.input);
  if (!failure.reason) failure.reason = fill_options(s, model, call, own.options);
  if (failure.reason) return JOUNCE_BAD_CALL;
  Watch watch{nullptr, const_cast<jounce_call*>(&call)};
  if (call.stop) {
    watch.stop = [](void* x) {
      const auto* asked = static_cast<const jounce_call*>(x);
      return asked->stop(asked->data) != 0;
    };
  }
  const Outcome outcome = run_batch(kernel, model, own, call.threads > 1 ? call.threads : 1, watch);
  if (outcome.status == Outcome::failed) {
    const Failure at = pinpointed(kernel, model, own, outcome.failure);
    failure = {at.state, at.input, at.entry, at.node, nullptr};
  }
  return status_of(outcome);
}

bool is_complete(const jounce_tree* t) {
  if (!t || t->n < 0 || t->n_bodies < 0 || t->n_frames < 0) return false;
  if (t->n_frames && !(t->frame_body && t->frame_pose)) return false;
  return t->gravity && (t->n == 0 || (t->parent && t->kind && t->body_node && t->placement && t->alignment &&
                                      t->pitch && t->parameters && t->armature));
}

Model* make_model(const jounce_tree& t) {
  const TreeData data{t.n, t.n_bodies, t.parent, t.kind, t.body_node, t.placement, t.alignment, t.pitch,
                      t.parameters, t.armature, t.gravity, t.stiffness, t.springref, t.damping, t.friction};
  const std::vector<int> bodies(t.frame_body, t.frame_body + t.n_frames);
  return new Model(data, int(kernels().size()), {}, bodies, t.frame_pose);
}

}  // namespace

extern "C" {

int jounce_abi(void) { return JOUNCE_ABI; }

jounce_model* jounce_model_new(const jounce_tree* tree, char* message, size_t room) {
  const char* reason = "an array of the tree is missing, or a number is negative";
  try {
    if (is_complete(tree)) return reinterpret_cast<jounce_model*>(make_model(*tree));
    if (message && room) std::snprintf(message, room, "%s", reason);
  } catch (const std::exception& error) {
    if (message && room) std::snprintf(message, room, "%s", error.what());
  }
  return nullptr;
}
void jounce_model_free(jounce_model* model) { delete seen(model); }
int jounce_model_nq(const jounce_model* model) { return model ? seen(model)->tree.nq : 0; }
int jounce_model_nv(const jounce_model* model) { return model ? seen(model)->tree.nv : 0; }
int jounce_model_bodies(const jounce_model* model) { return model ? seen(model)->tree.n_bodies : 0; }
int jounce_model_frames(const jounce_model* model) { return model ? int(seen(model)->frames.size()) : 0; }

int jounce_kernel_count(void) { return int(callable_kernels().size()); }
const jounce_kernel* jounce_kernel_at(int index) {
  return index < 0 || index >= jounce_kernel_count() ? nullptr : shown(callable_kernels()[index]);
}
const jounce_kernel* jounce_find_kernel(const char* name) {
  for (const Kernel* kernel : callable_kernels()) {
    if (name && std::string_view(name) == kernel->signature->name) return shown(kernel);
  }
  return nullptr;
}
const char* jounce_kernel_name(const jounce_kernel* kernel) {
  return kernel ? seen(kernel)->signature->name : nullptr;
}
int jounce_kernel_is_internal(const jounce_kernel* kernel) {
  return kernel && seen(kernel)->signature->internal;
}
int jounce_input_count(const jounce_kernel* kernel) {
  return kernel ? seen(kernel)->signature->inputs.count : 0;
}
int jounce_output_count(const jounce_kernel* kernel) {
  return kernel ? seen(kernel)->signature->outputs.count : 0;
}
int jounce_option_count(const jounce_kernel* kernel) {
  return kernel ? seen(kernel)->signature->options.count : 0;
}

int jounce_input(const jounce_kernel* kernel, int index, const jounce_model* model, int order,
                 jounce_array* array) {
  if (!model || !array || !is_order(order) || index < 0 || index >= jounce_input_count(kernel)) return 0;
  const Input& input = seen(kernel)->signature->inputs[index];
  describe(input, input.optional, *seen(model), order, array);
  return 1;
}
int jounce_output(const jounce_kernel* kernel, int index, const jounce_model* model, int order,
                  jounce_array* array) {
  if (!model || !array || !is_order(order) || index < 0 || index >= jounce_output_count(kernel)) return 0;
  describe(seen(kernel)->signature->outputs[index], false, *seen(model), order, array);
  return 1;
}
const char* jounce_option_name(const jounce_kernel* kernel, int index) {
  if (index < 0 || index >= jounce_option_count(kernel)) return nullptr;
  return seen(kernel)->signature->options[index].name;
}

size_t jounce_workspace_bytes(const jounce_kernel* kernel, const jounce_model* model, int order,
                              int pack) {
  if (!kernel || !model || !is_order(order)) return 0;
  return seen(model)->workspace(*seen(kernel), order, pack != 0);
}

jounce_status jounce_run(const jounce_kernel* kernel, const jounce_model* model,
                         const jounce_call* call, jounce_failure* failure) {
  jounce_failure own{-1, -1, -1, -1, nullptr};
  jounce_status status = JOUNCE_BAD_CALL;
  try {
    if (kernel && model && call) {
      status = run(*seen(kernel), *seen(model), *call, own);
    } else {
      own.reason = "the kernel, the model or the call is missing";
    }
  } catch (const std::exception&) {  // of memory and threads
    status = JOUNCE_NO_MEMORY;
  }
  if (failure) *failure = own;
  return status;
}

}  // extern "C"
