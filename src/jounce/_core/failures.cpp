#include "failures.hpp"

#include <cmath>
#include <cstdio>
#include <string>

namespace jounce {
namespace {

constexpr int kWide = lanes<Wide>;

// The indices of a flat position in an array of these dimensions: "2, 3".
std::string index_text(const std::ptrdiff_t* dims, int axes, std::ptrdiff_t flat) {
  std::string text;
  for (int i = axes - 1; i >= 0; --i) {
    text = std::to_string(flat % dims[i]) + (text.empty() ? "" : ", ") + text;
    flat /= dims[i];
  }
  return text;
}

// Where an entry of an input is, in NumPy's notation after broadcasting: "q[2, 3, 5]".
std::string entry_text(const Input& input, const Batch& batch, bool varies, std::ptrdiff_t state,
                       const std::string& last) {
  std::string lead = varies ? index_text(batch.dims, batch.axes, state) : batch.axes ? "..." : "";
  if (!lead.empty()) lead += ", ";
  return std::string(input.name) + "[" + lead + last + "]";
}

std::string state_text(const Batch& batch, std::ptrdiff_t state) {
  if (batch.axes == 0) return "";
  return " in state [" + index_text(batch.dims, batch.axes, state) + "] of the batch";
}

// The joint that a node belongs to, as text; a new reference.
PyObject* joint_name(PyObject* model, int node) {
  return PyObject_CallMethod(model, "_joint_of_node", "i", node);
}

void raise_not_finite(const Signature& s, const Call& call, const Batch& batch, std::ptrdiff_t state) {
  for (std::ptrdiff_t i = state; i < call.states && i < state + kWide; ++i) {
    for (int k = 0; k < s.n_inputs; ++k) {
      if (!call.in[k]) continue;
      const double* x = call.in[k] + i * call.in_step[k];
      for (std::ptrdiff_t j = 0; j < call.in_size[k]; ++j) {
        if (std::isfinite(x[j]) || !engine::is_read(s.inputs[k].reads, call, j)) continue;
        std::ptrdiff_t dims[3];
        dimensions(s.inputs[k].shape, *call.tree, call.order, dims);
        const std::string last = index_text(dims, rank(s.inputs[k].shape), j);
        const std::string at = entry_text(s.inputs[k], batch, call.in_step[k] != 0, i, last);
        PyObject* number = PyFloat_FromDouble(x[j]);
        PyErr_Format(PyExc_ValueError, "%s must be finite, got %R at %s", s.inputs[k].name, number,
                     at.c_str());
        Py_XDECREF(number);
        return;
      }
    }
  }
  PyErr_Format(PyExc_ValueError, "an input of %s() is not finite", s.name);
}

void raise_quaternion(const Signature& s, PyObject* model, const Call& call, const Batch& batch,
                      std::ptrdiff_t state) {
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
        const std::string last = std::to_string(node.q) + ":" + std::to_string(node.q + 4);
        const std::string at = entry_text(s.inputs[k], batch, call.in_step[k] != 0, i, last);
        PyErr_Format(PyExc_ValueError,
                     "%s must be the unit quaternion (x, y, z, w) of joint %R%s, got %s", at.c_str(),
                     joint, node.kind == Kind::free ? ", followed by the position (x, y, z)" : "", text);
        Py_DECREF(joint);
        return;
      }
    }
  }
  PyErr_Format(PyExc_ValueError, "a quaternion given to %s() is not of unit length", s.name);
}

void raise_singular(PyObject* model, const Batch& batch, const Failure& failure) {
  PyObject* errors = PyImport_ImportModule("jounce.errors");
  PyObject* type = errors ? PyObject_GetAttrString(errors, "SingularError") : nullptr;
  PyObject* joint = type ? joint_name(model, failure.node) : nullptr;
  if (joint) {
    PyErr_Format(type,
                 "the inertia that joint %R moves vanishes%s (a massless leaf, axes that "
                 "coincide, or coordinates that overflow), so its acceleration is undefined; give the body an inertia, the joint "
                 "an armature, or prescribe its acceleration",
                 joint, state_text(batch, failure.state).c_str());
  }
  Py_XDECREF(joint);
  Py_XDECREF(type);
  Py_XDECREF(errors);
}

}  // namespace

void raise(const Signature& s, PyObject* model, const Call& call, const Batch& batch,
           const Failure& failure) {
  switch (failure.kind) {
    case Failure::not_finite: return raise_not_finite(s, call, batch, failure.state);
    case Failure::quaternion: return raise_quaternion(s, model, call, batch, failure.state);
    case Failure::singular: return raise_singular(model, batch, failure);
    case Failure::overflow:
      PyErr_Format(PyExc_ValueError,
                   "the result of %s() is not finite%s: an input is too large", s.name,
                   state_text(batch, failure.state).c_str());
      return;
    case Failure::none: return;
  }
}

}  // namespace jounce
