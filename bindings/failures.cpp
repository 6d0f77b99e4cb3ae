#include "failures.hpp"

#include <cmath>
#include <cstdio>
#include <string>

#include "jounce/batch/transfer.hpp"

namespace jounce {
namespace {

// The indices of a flat position in an array of these dimensions: "2, 3".
std::string index_text(const std::ptrdiff_t* dims, int axes, std::ptrdiff_t flat) {
  std::string text;
  for (int i = axes - 1; i >= 0; --i) {
    text = std::to_string(flat % dims[i]) + (text.empty() ? "" : ", ") + text;
    flat /= dims[i];
  }
  return text;
}

// Where an entry of the failing input is, in NumPy's notation after broadcasting: "q[2, 3, 5]".
std::string entry_text(const Input& input, const Call& call, const Batch& batch, const Failure& failure,
                       const std::string& last) {
  const bool varies = call.in_step[failure.input] != 0;
  std::string lead = varies ? index_text(batch.dims, batch.axes, failure.state) : batch.axes ? "..." : "";
  if (!lead.empty() && !last.empty()) lead += ", ";
  if (lead.empty() && last.empty()) return input.name;
  return std::string(input.name) + "[" + lead + last + "]";
}

std::string state_text(const Batch& batch, std::ptrdiff_t state) {
  if (batch.axes == 0) return "";
  return " in state [" + index_text(batch.dims, batch.axes, state) + "] of the batch";
}

// Of an entry that is not what it must be, "finite" or "positive".
void raise_entry(const char* expected, const Signature& s, const Call& call, const Batch& batch,
                 const Failure& failure) {
  const Input& input = s.inputs[failure.input];
  std::ptrdiff_t dims[kMostRank];
  entries(input.shape, call.sizes(), dims);
  const std::string last = index_text(dims, input.shape.rank, failure.entry);
  const std::string at = entry_text(input, call, batch, failure, last);
  const std::ptrdiff_t first = failure.state * call.in_step[failure.input];
  PyObject* number = PyFloat_FromDouble(call.in[failure.input][first + failure.entry]);
  const char* where = at == input.name ? "" : " at ";
  raise(kArgumentError, "%s must be %s, got %R%s%s", input.name, expected, number, where, *where ? at.c_str() : "");
  Py_XDECREF(number);
}

void raise_quaternion(const Signature& s, const Model& model, const Call& call, const Batch& batch,
                      const Failure& failure) {
  const Input& input = s.inputs[failure.input];
  const Node<double>& node = model.tree.nodes[failure.node];
  const double* x = call.in[failure.input] + failure.state * call.in_step[failure.input] + node.q;
  const double norm = quaternion_norm(x);
  char text[200];
  std::snprintf(text, sizeof text, "(%.6g, %.6g, %.6g, %.6g) with norm %.6g", x[0], x[1], x[2], x[3],
                norm);
  const std::string last = std::to_string(node.q) + ":" + std::to_string(node.q + 4);
  const std::string at = entry_text(input, call, batch, failure, last);
  PyObject* joint = PyUnicode_FromString(model.joints[failure.node].c_str());
  if (!joint) return;
  const bool free = node.kind == Kind::free;
  const bool position_first = free && std::abs(quaternion_norm(x + 3) - 1.0) < kQuaternionSlack;
  raise(kArgumentError, "%s must be the %s quaternion (x, y, z, w) of joint %R%s, got %s%s", at.c_str(),
        input.holds == Holds::directions ? "nonzero" : "unit", joint,
        free ? ", followed by the position (x, y, z)" : "", text,
        position_first ? "; what follows the first three numbers is a unit quaternion: if the position "
                         "comes first, as in Pinocchio and MuJoCo, jounce.interop converts it"
                       : "");
  Py_DECREF(joint);
}

void raise_singular(const Model& model, const Batch& batch, const Failure& failure) {
  PyObject* joint = PyUnicode_FromString(model.joints[failure.node].c_str());
  if (!joint) return;
  raise(kSingularError,
        "the inertia that joint %R moves vanishes%s (a massless leaf, axes that coincide, or coordinates "
        "that overflow), so its acceleration is undefined; give the body an inertia, the joint an "
        "armature, or prescribe its acceleration",
        joint, state_text(batch, failure.state).c_str());
  Py_DECREF(joint);
}

void raise_demand(const Signature& s, const Batch& batch, const Failure& failure) {
  const Demand& demand = s.demands[failure.node];
  raise(kArgumentError, "%s must be %s, but it is not%s", demand.input, demand.text,
        state_text(batch, failure.state).c_str());
}

}  // namespace

void raise_failure(const char* function, const Kernel& kernel, const Model& model, const Call& call,
                   const Batch& batch, const Failure& failure) {
  const Signature& s = *kernel.signature;
  const bool has_input = failure.input >= 0;
  if (failure.kind == Failure::singular) return raise_singular(model, batch, failure);
  if (failure.kind == Failure::demand) return raise_demand(s, batch, failure);
  if (failure.kind == Failure::overflow) {
    return raise(kArgumentError, "the result of %s() is not finite%s: an input is too large", function,
                 state_text(batch, failure.state).c_str());
  }
  if (!has_input) {  // changed by another thread in the meantime
    return raise(kArgumentError, "an input of %s() is not finite, not positive, or has a bad quaternion", function);
  }
  if (failure.kind == Failure::not_finite) return raise_entry("finite", s, call, batch, failure);
  if (failure.kind == Failure::not_positive) return raise_entry("positive", s, call, batch, failure);
  raise_quaternion(s, model, call, batch, failure);
}

// -0.0 as the scalar part says that the half turn is meant.
Layout layout(const Signature& s, const Call& call) {
  if (s.inputs.count == 0 || s.inputs[0].holds != Holds::configuration || call.states == 0) return Layout::own;
  if (call.tree->nodes.empty()) return Layout::own;
  const Kind kind = call.tree->nodes[0].kind;
  if (kind != Kind::free && kind != Kind::spherical) return Layout::own;
  const double* q = call.in[0];
  if (q[3] != 0.0 || std::signbit(q[3])) return Layout::own;
  if (q[0] == 1.0 && q[1] == 0.0 && q[2] == 0.0) return Layout::scalar_first;
  const bool second = kind == Kind::free && q[4] == 0.0 && q[5] == 0.0 && q[6] == 1.0;
  return second ? Layout::position_first : Layout::own;
}

bool warn_of(Layout layout, const Signature& s, const Model& model) {
  const bool position = layout == Layout::position_first;
  return warn("LayoutWarning",
              "%s: joint '%s' is turned by half a turn%s, since a quaternion is (x, y, z, w) here%s. If %s was "
              "meant, jounce.interop and jounce.configuration convert it; if the half turn is, write -0.0 for w",
              s.inputs[0].name, model.joints[0].c_str(), position ? "" : " about x",
              model.tree.nodes[0].kind == Kind::free ? " and comes before the position" : "",
              position ? "a position and then the identity (0, 0, 0, 1), as in Pinocchio,"
                       : "the identity as (w, x, y, z), as in MuJoCo and Drake,");
}

}  // namespace jounce
