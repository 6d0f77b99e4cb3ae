// The C entry point: jounce.h in terms of the list of kernels.
#include <cstdio>
#include <exception>
#include <new>

#include "jounce/batch/schedule.hpp"
#include "jounce/jounce.h"
#include "jounce/kernels/list.hpp"
#include "jounce/series/factorial.hpp"

struct jounce_model : jounce::Model {
  using Model::Model;
};
struct jounce_kernel : jounce::Kernel {};

namespace {

using namespace jounce;

static_assert(JOUNCE_MOST_INPUTS == kMostInputs && JOUNCE_MOST_OUTPUTS == kMostOutputs &&
              JOUNCE_MOST_RANK == kMostRank);

template <class Argument>
void describe(const Argument& argument, bool may_miss, const Model& model, int order,
              jounce_array* array) {
  const Tree<double>& t = model.tree;
  std::ptrdiff_t dims[kMostRank];
  array->name = argument.name;
  array->optional = may_miss;
  array->is_series = argument.shape.is_series();
  array->rank = argument.shape.rank;
  array->size = entries(argument.shape, {t.nq, t.nv, t.n_bodies, order}, dims);
  for (int i = 0; i < array->rank; ++i) array->dims[i] = dims[i];
}

// Whether the kernel has all that it needs; fills the pointers of the call.
bool fill(const Kernel& kernel, const Model& model, const jounce_call& from, Call& to, int& input) {
  const Signature& s = *kernel.signature;
  to.tree = &model.tree;
  to.order = from.order;
  to.states = from.states;
  bool fits = from.states >= 0 && from.order >= -1 && from.order <= kMostOrder;
  for (input = 0; fits && input < s.inputs.count; ++input) {
    const Input& own = s.inputs[input];
    to.in[input] = from.inputs[input];
    to.in_step[input] = from.input_steps[input];
    to.in_size[input] = to.in[input] ? entries(own.shape, to.sizes()) : 0;
    fits = (to.in[input] || own.optional) && (from.order >= 0 || !own.shape.is_series());
    if (!fits) return false;
  }
  input = -1;
  for (int k = 0; fits && k < s.outputs.count; ++k) {
    to.out[k] = from.outputs[k];
    to.out_step[k] = from.output_steps[k];
    to.out_size[k] = entries(s.outputs[k].shape, to.sizes());
    fits = to.out[k] && (from.states <= 1 || to.out_step[k] >= to.out_size[k]);
  }
  for (const Option& option : s.options) {
    if (option.kind == Option::mask) fits = fits && from.prescribed;
    if (option.kind != Option::frame) continue;
    fits = fits && from.frame >= 0 && from.frame < int(model.frames.size());
    if (fits) to.options.frame = model.frames[from.frame];
  }
  to.options.prescribed = from.prescribed;
  to.options.representation = Representation(from.twist);
  to.options.method = from.method;
  return fits && from.twist >= 0 && from.twist <= 3 && from.method >= 0 && from.method <= 2;
}

jounce_status status_of(const Outcome& outcome) {
  switch (outcome.status) {
    case Outcome::done: return JOUNCE_DONE;
    case Outcome::stopped: return JOUNCE_STOPPED;
    case Outcome::no_memory: return JOUNCE_NO_MEMORY;
    default: return jounce_status(outcome.failure.kind);
  }
}
static_assert(int(Failure::not_finite) == JOUNCE_NOT_FINITE && int(Failure::quaternion) == JOUNCE_QUATERNION &&
              int(Failure::singular) == JOUNCE_SINGULAR && int(Failure::overflow) == JOUNCE_OVERFLOW);

jounce_status run(const Kernel& kernel, const Model& model, const jounce_call& call,
                  jounce_failure& failure) {
  Call own;
  failure = {-1, -1, -1, -1};
  if (!fill(kernel, model, call, own, failure.input)) return JOUNCE_BAD_CALL;
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
    failure = {at.state, at.input, at.entry, at.node};
  }
  return status_of(outcome);
}

}  // namespace

extern "C" {

jounce_model* jounce_model_new(const jounce_tree* t, char* message, size_t room) {
  try {
    return new jounce_model(
        make_tree({t->n, t->n_bodies, t->parent, t->kind, t->body_node, t->placement, t->alignment,
                   t->pitch, t->parameters, t->armature, t->gravity}),
        int(kernels().size()));
  } catch (const std::exception& error) {
    if (message && room) std::snprintf(message, room, "%s", error.what());
    return nullptr;
  }
}
void jounce_model_free(jounce_model* model) { delete model; }
int jounce_model_nq(const jounce_model* model) { return model->tree.nq; }
int jounce_model_nv(const jounce_model* model) { return model->tree.nv; }
int jounce_model_bodies(const jounce_model* model) { return model->tree.n_bodies; }
int jounce_model_frames(const jounce_model* model) { return int(model->frames.size()); }

int jounce_kernel_count(void) { return int(kernels().size()); }
const jounce_kernel* jounce_kernel_at(int index) {
  if (index < 0 || index >= jounce_kernel_count()) return nullptr;
  return static_cast<const jounce_kernel*>(&kernels()[index]);
}
const jounce_kernel* jounce_find_kernel(const char* name) {
  return static_cast<const jounce_kernel*>(find_kernel(name));
}
const char* jounce_kernel_name(const jounce_kernel* kernel) { return kernel->signature->name; }
int jounce_input_count(const jounce_kernel* kernel) { return kernel->signature->inputs.count; }
int jounce_output_count(const jounce_kernel* kernel) { return kernel->signature->outputs.count; }
int jounce_option_count(const jounce_kernel* kernel) { return kernel->signature->options.count; }

int jounce_input(const jounce_kernel* kernel, int index, const jounce_model* model, int order,
                 jounce_array* array) {
  if (index < 0 || index >= jounce_input_count(kernel)) return 0;
  const Input& input = kernel->signature->inputs[index];
  describe(input, input.optional, *model, order, array);
  return 1;
}
int jounce_output(const jounce_kernel* kernel, int index, const jounce_model* model, int order,
                  jounce_array* array) {
  if (index < 0 || index >= jounce_output_count(kernel)) return 0;
  describe(kernel->signature->outputs[index], false, *model, order, array);
  return 1;
}
const char* jounce_option_name(const jounce_kernel* kernel, int index) {
  if (index < 0 || index >= jounce_option_count(kernel)) return nullptr;
  return kernel->signature->options[index].name;
}

size_t jounce_workspace_bytes(const jounce_kernel* kernel, const jounce_model* model, int order,
                              int pack) {
  return model->workspace(*kernel, order, pack != 0);
}

jounce_status jounce_run(const jounce_kernel* kernel, const jounce_model* model,
                         const jounce_call* call, jounce_failure* failure) {
  jounce_failure unwanted;
  return run(*kernel, *model, *call, failure ? *failure : unwanted);
}

}  // extern "C"
