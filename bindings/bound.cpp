#include "bound.hpp"

#include <string>

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

// How many fields a named tuple has; -1 with an exception set if it is none.
Py_ssize_t count_fields(PyTypeObject* type) {
  PyObject* names = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "_fields");
  const Py_ssize_t count = names ? PyObject_Size(names) : -1;
  Py_XDECREF(names);
  return count;
}

// Whether the named tuple has a place for the last output beside its fields.
bool has_place_beyond(Bound& bound) {
  const auto& outputs = bound.kernel->signature->outputs;
  const std::string name = std::string("_") + outputs[outputs.count - 1].name;
  bound.beyond = PyUnicode_InternFromString(name.c_str());
  if (bound.beyond && PyObject_HasAttr(reinterpret_cast<PyObject*>(bound.result), bound.beyond)) return true;
  Py_CLEAR(bound.beyond);
  return false;
}

// Finds a place for each output in the named tuples.
bool finds_fields(Bound& bound) {
  const int outputs = bound.fields = bound.kernel->signature->outputs.count;
  if (!bound.result) return true;
  const Py_ssize_t own = count_fields(bound.result), each = bound.part ? count_fields(bound.part) : 1;
  if (own < 0 || each < 0) return false;
  if (own * each == outputs && (!bound.part || own == 2)) return true;
  if (!bound.part && own + 1 == outputs && has_place_beyond(bound)) {
    bound.fields = outputs - 1;
    return true;
  }
  PyErr_Format(PyExc_ImportError, "%s returns %zd fields, but its kernel %d outputs", bound.function, own * each,
               outputs);
  return false;
}

}  // namespace

bool Bound::prepare(const Kernel& own) {
  const Signature& s = *own.signature;
  kernel = &own;
  function = s.name;
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
