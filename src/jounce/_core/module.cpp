// The compiled module: the tree of a model, and the kernels as plain functions.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <array>
#include <utility>

#include "call.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace jounce {
namespace {

struct ModelTree {
  Tree<double> tree;
};

PyTypeObject* tree_type = nullptr;

template <class T>
using Array = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;

void expect(bool condition, const char* what) {
  if (!condition) throw nb::value_error(what);
}

ModelTree make_model_tree(Array<int> parent, Array<int> kind, Array<double> placement,
                          Array<double> alignment, Array<double> pitch, Array<double> parameters,
                          Array<int> body_node, Array<double> armature, Array<double> gravity) {
  const std::size_t n = parent.size();
  expect(kind.size() == n && pitch.size() == n && parameters.size() == 10 * n, "sizes disagree");
  expect(placement.size() == 16 * n && alignment.size() == 16 * n, "sizes disagree");
  expect(gravity.size() == 3 && body_node.size() <= n, "sizes disagree");
  std::size_t nv = 0;
  for (std::size_t i = 0; i < n; ++i) nv += rates(Kind(kind.data()[i]));
  expect(armature.size() == nv, "sizes disagree");
  return {make_tree({int(n), int(body_node.size()), parent.data(), kind.data(), body_node.data(),
                     placement.data(), alignment.data(), pitch.data(), parameters.data(),
                     armature.data(), gravity.data()})};
}

std::vector<const Entry*> all_entries() {
  std::vector<const Entry*> all;
  for (const Entries& list : {dynamics_entries(), matrix_entries(), kinematics_entries(),
                              series_entries(), partials_entries()}) {
    all.insert(all.end(), list.first, list.first + list.count);
  }
  return all;
}

const std::vector<const Entry*>& entries() {
  static const std::vector<const Entry*> all = all_entries();
  return all;
}

// One C function per kernel, so that Python sees plain built-in functions.
constexpr int kMostEntries = 64;
PyTypeObject* result_types[kMostEntries];  // named tuples, where a kernel returns one

// Turns a tuple of results into the named tuple.
PyObject* named(PyObject* result, PyTypeObject* type) {
  if (!result || !type) return result;
  const Py_ssize_t n = PyTuple_GET_SIZE(result);
  PyObject* out = type->tp_alloc(type, n);
  for (Py_ssize_t k = 0; out && k < n; ++k) {
    PyTuple_SET_ITEM(out, k, Py_NewRef(PyTuple_GET_ITEM(result, k)));
  }
  Py_DECREF(result);
  return out;
}

template <std::size_t I>
PyObject* call_entry(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return named(call_kernel(*entries()[I], args, n, names), result_types[I]);
}
template <std::size_t... I>
constexpr auto make_functions(std::index_sequence<I...>) {
  return std::array<_PyCFunctionFastWithKeywords, sizeof...(I)>{call_entry<I>...};
}

const Entry& entry_named(const std::string& name) {
  for (const Entry* entry : entries()) {
    if (name == entry->signature.name) return *entry;
  }
  throw nb::key_error(name.c_str());
}

// The kernel as a function of the given module, with the documentation written in Python.
// `result` is the named tuple that it returns, or None.
nb::object bind(nb::handle module, const std::string& name, const std::string& doc,
                const std::string& module_name, nb::handle result) {
  static constexpr auto functions = make_functions(std::make_index_sequence<kMostEntries>{});
  for (std::size_t i = 0; i < entries().size(); ++i) {
    if (name != entries()[i]->signature.name) continue;
    if (!result.is_none()) {
      result_types[i] = reinterpret_cast<PyTypeObject*>(nb::borrow(result).release().ptr());
    }
    // Python keeps pointers to these as long as the process lives.
    auto* texts = new std::pair<std::string, std::string>(name, doc);
    auto* method = new PyMethodDef{texts->first.c_str(),
                                   reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(functions[i])),
                                   METH_FASTCALL | METH_KEYWORDS, texts->second.c_str()};
    nb::object owner = nb::cast(module_name);
    PyObject* function = PyCFunction_NewEx(method, module.ptr(), owner.ptr());
    if (!function) throw nb::python_error();
    return nb::steal(function);
  }
  throw nb::key_error(name.c_str());
}

}  // namespace

const Tree<double>* tree_of(PyObject* model) {
  if (PyObject_TypeCheck(model, tree_type) && nb::inst_ready(model)) {
    return &nb::inst_ptr<ModelTree>(model)->tree;
  }
  PyErr_Format(PyExc_TypeError, "model must be a jounce.Model, got %s", Py_TYPE(model)->tp_name);
  return nullptr;
}

}  // namespace jounce

NB_MODULE(JOUNCE_MODULE, m) {
  using namespace jounce;
  // A model that lives until the interpreter ends, as in most scripts, is not a leak.
  nb::set_leak_warnings(false);
  if (!prepare_calls()) throw nb::python_error();
  auto tree = nb::class_<ModelTree>(m, "Tree", "The tree of elementary joints behind a model.");
  tree_type = reinterpret_cast<PyTypeObject*>(tree.ptr());
  tree.def(
      "__init__",
      [](ModelTree* self, Array<int> parent, Array<int> kind, Array<double> placement,
         Array<double> alignment, Array<double> pitch, Array<double> parameters,
         Array<int> body_node, Array<double> armature, Array<double> gravity) {
        new (self) ModelTree(make_model_tree(parent, kind, placement, alignment, pitch, parameters,
                                             body_node, armature, gravity));
      },
      "parent"_a, "kind"_a, "placement"_a, "alignment"_a, "pitch"_a, "parameters"_a, "body_node"_a,
      "armature"_a, "gravity"_a);
  tree.def_prop_ro("nq", [](const ModelTree& t) { return t.tree.nq; }, "Number of coordinates.");
  tree.def_prop_ro("nv", [](const ModelTree& t) { return t.tree.nv; }, "Number of rates.");
  m.attr("pack_width") = lanes<Wide>;
  m.def(
      "workspace_bytes",
      [](const std::string& name, const ModelTree& t, int order, bool pack) {
        return entry_named(name).bytes(t.tree, order, pack);
      },
      "name"_a, "tree"_a, "order"_a = 0, "pack"_a = false,
      "Memory that a kernel needs for one state, or for one pack of states with its results.");
  nb::handle module = m;
  m.def(
      "bind",
      [module](const std::string& name, const std::string& doc, const std::string& module_name,
               nb::handle result) { return bind(module, name, doc, module_name, result); },
      "name"_a, "doc"_a, "module"_a, "result"_a = nb::none(), "Make a kernel a function of a Python module.");
}
