// The compiled module: models, and the kernels as plain functions.
#define JOUNCE_IMPORTS_ARRAY
#include "python.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cmath>
#include <new>
#include <utility>

#include "call.hpp"
#include "directional.hpp"
#include "elementwise.hpp"
#include "jounce/batch/inertias.hpp"
#include "jounce/batch/memory.hpp"
#include "jounce/batch/pool.hpp"
#include "jounce/batch/schedule.hpp"
#include "jounce/kernels/list.hpp"
#include "long_calls.hpp"
#include "outputs.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace jounce {
namespace {

PyTypeObject* tree_type = nullptr;

// The type of models that Python uses, a heap type made from the one above; kept alive.
std::atomic<PyTypeObject*> model_type{nullptr};

void remember_type(PyObject* model) {
  PyTypeObject* none = nullptr;
  if (!model_type.load(std::memory_order_relaxed) && model_type.compare_exchange_strong(none, Py_TYPE(model))) {
    Py_INCREF(Py_TYPE(model));
  }
}

template <class T>
using Array = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;

void expect(bool condition) {
  if (!condition) throw nb::value_error("the sizes of a tree's arrays disagree");
}

// What Python tells of a model: arrays over nodes, rates and bodies, the joint of each node by name,
// and the frames that are not a body's own, by name, with their bodies and poses.
void make_model(PythonModel* self, Array<int> parent, Array<int> kind, Array<double> placement,
                Array<double> alignment, Array<double> pitch, Array<double> parameters,
                Array<int> body_node, Array<double> armature, Array<double> stiffness,
                Array<double> springref, Array<double> damping, Array<double> friction,
                Array<double> gravity,
                std::vector<std::string> joints, nb::dict frames, Array<int> frame_body,
                Array<double> frame_pose) {
  const std::size_t n = parent.size();
  expect(kind.size() == n && pitch.size() == n && parameters.size() == 10 * n && joints.size() == n);
  expect(placement.size() == 16 * n && alignment.size() == 16 * n);
  expect(gravity.size() == 3 && frame_pose.size() == 16 * frame_body.size());
  expect(frames.size() <= body_node.size() + frame_body.size());
  std::size_t nq = 0, nv = 0;
  for (std::size_t i = 0; i < n; ++i) {
    nq += coordinates(Kind(kind.data()[i]));
    nv += rates(Kind(kind.data()[i]));
  }
  expect(armature.size() == nv && stiffness.size() == nv && springref.size() == nq);
  expect(damping.size() == nv && friction.size() == nv);
  const int n_bodies = int(body_node.size());
  const std::vector<int> bodies(frame_body.data(), frame_body.data() + frame_body.size());
  for (auto [name, at] : frames) {
    const Py_ssize_t k = nb::cast<Py_ssize_t>(at);
    expect(k >= 0 && k < Py_ssize_t(n_bodies + bodies.size()));
  }
  const TreeData data{int(n), n_bodies, parent.data(), kind.data(), body_node.data(), placement.data(),
                      alignment.data(), pitch.data(), parameters.data(), armature.data(), gravity.data(),
                      stiffness.data(), springref.data(), damping.data(), friction.data()};
  new (self) PythonModel(frames.ptr(), data, int(kernels().size()), std::move(joints), bodies, frame_pose.data());
  frames.release();
}

const Kernel& kernel_named(const std::string& name) {
  if (const Kernel* kernel = find_kernel(name)) return *kernel;
  throw nb::key_error(name.c_str());
}

// The functions of Python are built-in ones: calling them costs no Python frame. Each belongs to a
// module object of its own, in whose state the kernel is found; that the owner is a module makes
// functions picklable by name.
PyObject* call_bound(PyObject* owner, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return call_kernel(*static_cast<const Bound*>(PyModule_GetState(owner)), args, n, names);
}

PyObject* call_bound_elementwise(PyObject* owner, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return call_elementwise(*static_cast<const Bound*>(PyModule_GetState(owner)), args, n, names);
}

PyObject* call_bound_directional(PyObject* owner, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return call_directional(*static_cast<const Directional*>(PyModule_GetState(owner)), args, n, names);
}

// A function of Python, and in `own` what it is called with.
template <class Own>
nb::object function_of(const std::string& name, const std::string& doc, const std::string& module_name,
                       decltype(&call_bound) call, Own** own) {
  static PyModuleDef owner_type = {
      PyModuleDef_HEAD_INIT, "jounce._core.kernel", nullptr, sizeof(Own), nullptr, nullptr, nullptr,
      nullptr, nullptr};
  nb::object owner = nb::steal(PyModule_Create(&owner_type));
  if (!owner.is_valid()) throw nb::python_error();
  *own = static_cast<Own*>(PyModule_GetState(owner.ptr()));
  // Python keeps pointers to these as long as the process lives.
  auto* texts = new std::pair<std::string, std::string>(name, doc);
  auto* method = new PyMethodDef{texts->first.c_str(),
                                 reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(call)),
                                 METH_FASTCALL | METH_KEYWORDS, texts->second.c_str()};
  nb::object home = nb::cast(module_name);
  PyObject* function = PyCFunction_NewEx(method, owner.ptr(), home.ptr());
  if (!function) throw nb::python_error();
  return nb::steal(function);
}

nb::object bound_function(const std::string& name, const std::string& doc, const std::string& module_name,
                          decltype(&call_bound) call, const Bound& bound) {
  Bound* own;
  nb::object function = function_of(name, doc, module_name, call, &own);
  new (own) Bound(bound);
  own->function = reinterpret_cast<PyCFunctionObject*>(function.ptr())->m_ml->ml_name;
  return function;
}

PyTypeObject* type_or_null(nb::handle type) {
  return type.is_none() ? nullptr : reinterpret_cast<PyTypeObject*>(type.inc_ref().ptr());
}

// `kernel` is the name in the list, `name` that of the function.
nb::object bind(const std::string& kernel, const std::string& name, const std::string& doc,
                const std::string& module_name, nb::handle result, nb::handle part) {
  Bound bound;
  bound.result = type_or_null(result);
  bound.part = type_or_null(part);
  if (!bound.prepare(kernel_named(kernel))) throw nb::python_error();
  return bound_function(name, doc, module_name, call_bound, bound);
}

nb::object bind_directional(const std::string& name, const std::string& doc, const std::string& module_name,
                            nb::handle any_form, nb::dict known) {
  Directional* own;
  nb::object function = function_of(name, doc, module_name, call_bound_directional, &own);
  *own = {any_form.inc_ref().ptr(), known.inc_ref().ptr()};
  return function;
}

nb::object bind_elementwise(const std::string& name, const std::string& doc,
                            const std::string& module_name, nb::handle of_complex) {
  Bound bound;
  if (!prepare_elementwise(name, bound)) throw nb::key_error(name.c_str());
  if (!of_complex.is_none()) bound.of_complex = of_complex.inc_ref().ptr();
  return bound_function(name, doc, module_name, call_bound_elementwise, bound);
}

// What the axes of an array count, by name.
nb::list axes_of(const Shape& shape) {
  nb::list axes;
  for (int k = 0; k < shape.rank; ++k) axes.append(Dimension::names[shape.dims[k].of]);
  return axes;
}

// The same with what is added to each size and multiplies it.
nb::list dims_of(const Shape& shape) {
  nb::list dims;
  for (int k = 0; k < shape.rank; ++k) {
    const Dimension& d = shape.dims[k];
    dims.append(nb::make_tuple(Dimension::names[d.of], d.plus, d.factor));
  }
  return dims;
}

// What a kernel takes and gives, for those who compare it with its definition in Python.
nb::dict signature_of(const Signature& s) {
  nb::list required, optional_inputs, options, optional_options, outputs, output_ranks, may_be_nan;
  nb::dict ranks;
  for (const Input& input : s.inputs) {
    (input.optional ? optional_inputs : required).append(input.name);
    ranks[input.name] = input.shape.rank;
  }
  for (const Option& option : s.options) {
    options.append(option.name);
    if (option.optional) optional_options.append(option.name);
  }
  for (const Output& output : s.outputs) {
    outputs.append(output.name);
    output_ranks.append(output.shape.rank);
    if (output.finite == Finite::unchecked) may_be_nan.append(output.name);
  }
  nb::dict all, input_axes, output_axes, input_dims, output_dims;
  for (const Input& input : s.inputs) {
    input_axes[input.name] = axes_of(input.shape);
    input_dims[input.name] = dims_of(input.shape);
  }
  for (const Output& output : s.outputs) {
    output_axes[output.name] = axes_of(output.shape);
    output_dims[output.name] = dims_of(output.shape);
  }
  all["input_dims"] = input_dims;
  all["output_dims"] = output_dims;
  all["input_axes"] = input_axes;
  all["output_axes"] = output_axes;
  all["inputs"] = required;
  all["options"] = options;
  all["options_with_defaults"] = optional_options;
  all["optional_inputs"] = optional_inputs;
  all["outputs"] = outputs;
  all["input_ranks"] = ranks;
  all["output_ranks"] = output_ranks;
  all["may_be_nan"] = may_be_nan;
  all["internal"] = s.internal;
  return all;
}

void define_tree(nb::module_& m) {
  auto tree = nb::class_<PythonModel>(m, "Tree", "What the kernels know of a model: its tree of elementary joints, and names.");
  tree_type = reinterpret_cast<PyTypeObject*>(tree.ptr());
  tree.def("__init__", &make_model, "parent"_a, "kind"_a, "placement"_a, "alignment"_a, "pitch"_a,
           "parameters"_a, "body_node"_a, "armature"_a, "stiffness"_a, "springref"_a,
           "damping"_a, "friction"_a, "gravity"_a, "joints"_a, "frames"_a, "frame_body"_a, "frame_pose"_a);
  tree.def_prop_ro("nq", [](const PythonModel& x) { return x.model.tree.nq; }, "Number of coordinates.");
  tree.def_prop_ro("nv", [](const PythonModel& x) { return x.model.tree.nv; }, "Number of rates.");
}

void define_environment(nb::module_& m) {
  m.attr("pack_width") = pack_width();
  m.attr("most_threads") = kMostThreads;
  m.def(
      "spoil",
      [](nb::ndarray<double, nb::c_contig, nb::device::cpu> array, int threads) {
        fill(array.data(), std::ptrdiff_t(array.size()), std::nan(""), threads ? threads : hardware_threads());
      },
      "array"_a, "threads"_a = 1, "Fill an array with NaN.");
  m.def("set_cache_limit", &memory::set_limit, "bytes"_a, "How much memory of results may wait.");
  m.def("cache_limit", &memory::limit, "The same.");
  m.def("cached", &memory::kept, "Bytes of results that wait for others.");
  m.def(
      "clear_cache",
      [] {
        forget_arrays();
        memory::clear();
      },
      "Give them back to the system.");
  m.def("cores", &hardware_threads, "How many cores this process may use.");
  nb::list representations;
  for (const char* name : kRepresentations) representations.append(name);
  m.attr("representations") = nb::tuple(representations);
  m.def("use_errors", [](nb::handle module) { use_errors(module.ptr()); }, "module"_a,
        "Raise the exceptions of this module, jounce.errors.");
  m.def("use_coupled", [](nb::handle function) { use_coupled(function.ptr()); }, "function"_a,
        "Call this for models that have no tree: (kernel, type of result, model, arguments).");
  m.def(
      "doubtful_inertias",
      [](Array<double> parameters) {
        return doubtful_inertias(parameters.data(), parameters.size() / 10);
      },
      "parameters"_a, "Rows of ten inertial parameters that not every check finds possible.");
}

void define_kernels(nb::module_& m) {
  m.def(
      "kernel_names",
      [] {
        nb::list names;
        for (const Kernel& kernel : kernels()) names.append(kernel.signature->name);
        return names;
      },
      "Names of all kernels.");
  m.def(
      "signature", [](const std::string& name) { return signature_of(*kernel_named(name).signature); },
      "name"_a, "What a kernel takes and gives.");
  m.def(
      "elementwise_signature",
      [](const std::string& name) {
        Bound bound;
        if (!prepare_elementwise(name, bound)) throw nb::key_error(name.c_str());
        return signature_of(*bound.kernel->signature);
      },
      "name"_a, "What an elementwise function takes and gives.");
  m.def(
      "workspace_bytes",
      [](const std::string& name, const PythonModel& x, int order, bool pack) {
        return x.model.workspace(kernel_named(name), order, pack);
      },
      "name"_a, "tree"_a, "order"_a = 0, "pack"_a = false,
      "Memory that a kernel needs for one state, or for one pack of states with its results.");
  m.def(
      "branched_nodes", [](const PythonModel& x) { return x.model.branched_nodes(); }, "tree"_a,
      "Nodes of the tree whose branches fill the lanes of a register; 0 if one state runs without.");
  m.def(
      "model_address", [](const PythonModel& x) { return reinterpret_cast<std::uintptr_t>(&x.model); },
      "tree"_a, "Address of the jounce_model of jounce.h, which lives as long as the tree.");
  m.def("bind", &bind, "kernel"_a, "name"_a, "doc"_a, "module"_a, "result"_a = nb::none(),
        "part"_a = nb::none(), "Make a kernel a function of a Python module.");
  m.def("bind_directional", &bind_directional, "name"_a, "doc"_a, "module"_a, "any_form"_a, "known"_a,
        "Make jvp a function of a Python module.");
  m.def("bind_elementwise", &bind_elementwise, "name"_a, "doc"_a, "module"_a, "of_complex"_a = nb::none(),
        "Make an elementwise function one of a Python module.");
}

void define_long_calls(nb::module_& m) {
  m.def(
      "start_long_call",
      [](nb::object start, nb::object run) {  // without Python in between, and so without signal handlers
        long_calls::begin();
        try {
          start(run, nb::tuple());
        } catch (...) {
          long_calls::end();
          throw;
        }
      },
      "start"_a, "run"_a, "Let `_thread.start_new_thread` make a call that forks wait for.");
  m.def("begin_long_call", &long_calls::begin, "This thread, which handles no signals, makes such a call.");
  m.def("end_long_call", &long_calls::end, "It has ended.");
  m.def("await_long_calls", &long_calls::wait, nb::call_guard<nb::gil_scoped_release>(),
        "Wait for all that have begun; signals are not handled meanwhile.");
  m.def("forget_long_calls", &long_calls::forget, "Those of another process.");
}

int import_numpy() {
  import_array1(-1);
  return 0;
}

}  // namespace

bool is_treeless(PyObject* object) {
  return PyObject_TypeCheck(object, tree_type) && !nb::inst_ready(object);
}

const PythonModel* known_model(PyObject* object) {
  if (Py_TYPE(object) != model_type.load(std::memory_order_relaxed) || !nb::inst_ready(object)) return nullptr;
  return nb::inst_ptr<PythonModel>(object);
}

const PythonModel* model_of(PyObject* object) {
  if (PyObject_TypeCheck(object, tree_type) && nb::inst_ready(object)) {
    remember_type(object);
    return nb::inst_ptr<PythonModel>(object);
  }
  raise(kArgumentTypeError, "model must be a jounce.Model, got %s", Py_TYPE(object)->tp_name);
  return nullptr;
}

static void define(nb::module_& m) {
  // A model that lives until the interpreter ends, as in most scripts, is not a leak.
  nb::set_leak_warnings(false);
  if (import_numpy() < 0 || !know_main_thread()) throw nb::python_error();
  define_tree(m);
  define_environment(m);
  define_kernels(m);
  define_long_calls(m);
}

}  // namespace jounce

// The module of each instruction set is this one, linked to other kernels.
NB_MODULE(_core_v2, m) { jounce::define(m); }
NB_MODULE(_core_v3, m) { jounce::define(m); }
NB_MODULE(_core_v4, m) { jounce::define(m); }
NB_MODULE(_core_native, m) { jounce::define(m); }
NB_MODULE(_core_generic, m) { jounce::define(m); }
