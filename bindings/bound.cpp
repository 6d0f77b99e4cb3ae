#include "bound.hpp"

namespace jounce {
namespace {

int slot_named(const Bound& bound, PyObject* name) {
  for (int slot = 0; slot < kSlots; ++slot) {
    if (bound.names[slot] == name) return slot;
  }
  for (int slot = 0; slot < kSlots; ++slot) {  // a name that is not interned
    if (bound.names[slot] && PyUnicode_Compare(bound.names[slot], name) == 0) return slot;
  }
  return -1;
}

bool missing(const Bound& bound, int slot) {
  raise(kArgumentTypeError, "%s() needs the argument '%U'", bound.function, bound.names[slot]);
  return false;
}

// How many of the outputs are fields of the named tuple, and what the one beyond them is called.
bool finds_fields(Bound& bound) {
  const auto& outputs = bound.kernel->signature->outputs;
  bound.fields = outputs.count;
  if (!bound.result || outputs.count == 1) return true;
  PyObject* names = PyObject_GetAttrString(reinterpret_cast<PyObject*>(bound.result), "_fields");
  if (!names) return false;
  if (PyTuple_GET_SIZE(names) + 1 == outputs.count) {
    bound.fields = outputs.count - 1;
    bound.beyond = PyUnicode_FromFormat("_%s", outputs[bound.fields].name);
    PyUnicode_InternInPlace(&bound.beyond);
  }
  Py_DECREF(names);
  return bound.fields == outputs.count || bound.beyond;
}

}  // namespace

bool Bound::prepare(const Kernel& own, PyTypeObject* type) {
  const Signature& s = *own.signature;
  kernel = &own;
  function = s.name;
  result = type;
  if (!finds_fields(*this)) return false;
  const auto add = [&](int slot, const char* name) {
    names[slot] = PyUnicode_InternFromString(name);
    return names[slot] != nullptr;
  };
  bool good = add(kOut, "out") && add(kThreads, "threads");
  if (has_model) {
    good = good && add(kModel, "model");
    order[positional++] = kModel;
  }
  for (const bool late : {false, true}) {  // optional inputs come after the options
    for (int k = 0; k < s.inputs.count; ++k) {
      if (s.inputs[k].optional != late) continue;
      good = good && add(kInputs + k, s.inputs[k].name);
      order[positional++] = kInputs + k;
    }
    for (int k = 0; !late && k < s.options.count; ++k) {
      good = good && add(kOptions + k, s.options[k].name);
      order[positional++] = kOptions + k;
    }
  }
  for (int i = 0; i < positional; ++i) {
    const int slot = order[i];
    const bool may_miss = slot >= kOptions ? s.options[slot - kOptions].optional
                                           : slot >= kInputs && s.inputs[slot - kInputs].optional;
    if (!may_miss) required = i + 1;
  }
  return good;
}

bool read_arguments(const Bound& bound, PyObject* const* args, Py_ssize_t n_args,
                    PyObject* keyword_names, GivenArguments& arguments) {
  const Signature& s = *bound.kernel->signature;
  arguments.function = bound.function;
  for (const int slot : {kModel, kOut, kThreads}) arguments.at[slot] = nullptr;
  for (int i = 0; i < bound.positional; ++i) arguments.at[bound.order[i]] = nullptr;
  if (n_args > bound.positional) {
    raise(kArgumentTypeError, "%s() takes at most %d positional arguments, got %zd", bound.function,
          bound.positional, n_args);
    return false;
  }
  for (Py_ssize_t i = 0; i < n_args; ++i) arguments.at[bound.order[i]] = args[i];
  const Py_ssize_t n_names = keyword_names ? PyTuple_GET_SIZE(keyword_names) : 0;
  for (Py_ssize_t i = 0; i < n_names; ++i) {
    PyObject* name = PyTuple_GET_ITEM(keyword_names, i);
    const int slot = slot_named(bound, name);
    if (slot < 0 || arguments.at[slot]) {
      raise(kArgumentTypeError,
            slot < 0 ? "%s() has no argument '%U'" : "%s() got two values for argument '%U'",
            bound.function, name);
      return false;
    }
    arguments.at[slot] = args[n_args + i];
  }
  if (bound.has_model && !arguments.at[kModel]) return missing(bound, kModel);
  for (int k = 0; k < s.inputs.count; ++k) {
    PyObject*& input = arguments.at[kInputs + k];
    if (input == Py_None) input = nullptr;
    if (!input && !s.inputs[k].optional) return missing(bound, kInputs + k);
  }
  for (int k = 0; k < s.options.count; ++k) {
    if (!arguments.at[kOptions + k] && !s.options[k].optional) return missing(bound, kOptions + k);
  }
  if (arguments.at[kOut] == Py_None) arguments.at[kOut] = nullptr;
  return true;
}

}  // namespace jounce
