#include "outputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "copies.hpp"
#include "jounce/batch/memory.hpp"
#include "jounce/batch/schedule.hpp"

namespace jounce {
namespace {

void wrong_output(PyObject* given, const Py_ssize_t* dims, int axes) {
  const std::string want = shape_text(dims, axes);
  const char* must = "out must be a writable C-contiguous float64 array of shape";
  if (!PyArray_Check(given)) {
    return raise(kArgumentError, "%s %s, got %s", must, want.c_str(), Py_TYPE(given)->tp_name);
  }
  auto* array = reinterpret_cast<PyArrayObject*>(given);
  PyObject* got = PyObject_GetAttrString(given, "shape");
  raise(kArgumentError, "%s %s, got a %s%s%s%S array of shape %S", must, want.c_str(),
        PyArray_ISWRITEABLE(array) ? "" : "read-only ", PyArray_ISALIGNED(array) ? "" : "misaligned ",
        PyArray_IS_C_CONTIGUOUS(array) ? "" : "non-contiguous ", PyArray_DESCR(array),
        got ? got : Py_None);
  Py_XDECREF(got);
}

// NumPy's arrays of results get their memory from `memory`, and return it when they die.
void* take_zeros(void*, std::size_t count, std::size_t size) {
  void* block = memory::take(count * size);
  if (block) std::memset(block, 0, count * size);
  return block;
}

PyObject* memory_handler() {
  static PyDataMem_Handler handler = {
      "jounce", 1,
      {nullptr, [](void*, std::size_t bytes) { return memory::take(bytes); }, take_zeros,
       [](void*, void* block, std::size_t bytes) { return memory::resize(block, bytes); },
       [](void*, void* block, std::size_t) { memory::give(block); }}};
  static PyObject* capsule = PyCapsule_New(&handler, "mem_handler", nullptr);
  return capsule;
}

// The array to write an output to: new, or the caller's.
PyArrayObject* output_array(const Shape& shape, const Sizes& sizes, const Batch& batch,
                            const FrameList& several, PyObject* given, std::ptrdiff_t& size) {
  Py_ssize_t dims[kMostAxes + 1 + kMostRank];
  int lead = batch.axes;
  for (int i = 0; i < lead; ++i) dims[i] = batch.dims[i];
  if (several.given) dims[lead++] = Py_ssize_t(several.frames.size());
  size = entries(shape, sizes, dims + lead);
  const int axes = lead + shape.rank;
  if (!given) return reinterpret_cast<PyArrayObject*>(array_again(axes, dims));
  if (PyArray_Check(given) && !PyArray_CheckExact(given) && PyObject_HasAttrString(given, "mask")) {
    raise(kArgumentError, "out must be a plain array, got a masked one");  // which would hide results
    return nullptr;
  }
  bool fits = PyArray_Check(given);
  auto* array = reinterpret_cast<PyArrayObject*>(given);
  fits = fits && PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISCARRAY(array) && PyArray_NDIM(array) == axes;
  for (int i = 0; fits && i < axes; ++i) fits = PyArray_DIM(array, i) == dims[i];
  if (!fits) {
    wrong_output(given, dims, axes);
    return nullptr;
  }
  Py_INCREF(given);
  return array;
}

// What is returned for one array: that, or the number in it.
PyObject* one_result(PyObject* array, bool as_it_is) {
  Py_INCREF(array);
  return as_it_is ? array : PyArray_Return(reinterpret_cast<PyArrayObject*>(array));
}

PyObject* tuple_of(PyTypeObject* type, PyObject* const* items, int count, bool as_they_are) {
  PyObject* all = type->tp_alloc(type, count);
  for (int k = 0; all && k < count; ++k) {
    PyObject* item = one_result(items[k], as_they_are);
    if (!item) Py_CLEAR(all);
    if (all) PyTuple_SET_ITEM(all, k, item);
  }
  return all;
}

// Whether memory of a result is there, but not in the caches. Who calls with out is taken to have written nothing else
// since; results that are a small part of the caches stay there for who reads them.
bool is_far(void* result, std::size_t bytes, bool given) {
  if (bytes < kCacheBytes / 4) return false;
  return (given ? bytes : memory::taken_since(result)) > kCacheBytes;
}

}  // namespace

PyObject* new_array(int axes, const Py_ssize_t* dims) {
  auto* own = const_cast<Py_ssize_t*>(dims);
  double bytes = sizeof(double);
  for (int i = 0; i < axes; ++i) bytes *= double(dims[i]);
  if (bytes < double(memory::kLeast)) return PyArray_SimpleNew(axes, own, NPY_DOUBLE);
  PyObject* ours = memory_handler();
  PyObject* before = ours ? PyDataMem_SetHandler(ours) : nullptr;
  if (!before) return nullptr;
  PyObject* array = PyArray_SimpleNew(axes, own, NPY_DOUBLE);
  PyObject* same = PyDataMem_SetHandler(before);
  Py_DECREF(before);
  if (!same) Py_CLEAR(array);
  Py_XDECREF(same);
  return array;
}

#ifdef Py_GIL_DISABLED
PyObject* array_again(int axes, const Py_ssize_t* dims) { return new_array(axes, dims); }
void forget_arrays() {}
#else
namespace {

// Arrays of results, by their shapes. A loop that keeps its last result needs two of each output.
struct KeptArrays {
  static constexpr int kShapes = 32, kOfShape = 8;
  static constexpr double kMostNumbers = 4096;
  PyObject* at[kShapes][kOfShape] = {};
  unsigned next[kShapes] = {};  // to be replaced
};
KeptArrays kept;

// Whether nobody else holds an array, and it is as it was made.
bool is_unused(PyObject* object, int axes, const Py_ssize_t* dims) {
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  if (Py_REFCNT(object) != 1 || PyArray_NDIM(array) != axes) return false;
  for (int i = 0; i < axes; ++i) {
    if (PyArray_DIM(array, i) != dims[i]) return false;
  }
  const auto* start = reinterpret_cast<char*>(object);
  if (*reinterpret_cast<PyObject* const*>(start + PyArray_Type.tp_weaklistoffset)) return false;
  return PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISCARRAY(array) && PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA);
}

}  // namespace

PyObject* array_again(int axes, const Py_ssize_t* dims) {
  double numbers = 1.0;
  std::size_t place = axes;
  for (int i = 0; i < axes; ++i) {
    numbers *= double(dims[i]);
    place = 5 * place + std::size_t(dims[i]);
  }
  if (numbers > KeptArrays::kMostNumbers || !memory::limit()) return new_array(axes, dims);
  place %= KeptArrays::kShapes;
  for (PyObject* array : kept.at[place]) {
    if (!array) break;
    if (!is_unused(array, axes, dims)) continue;
    Py_INCREF(array);
    return array;
  }
  PyObject* array = new_array(axes, dims);
  if (!array) return nullptr;
  PyObject*& old = kept.at[place][kept.next[place]++ % KeptArrays::kOfShape];
  Py_INCREF(array);
  Py_XSETREF(old, array);
  return array;
}

void forget_arrays() {
  for (auto& of_shape : kept.at) {
    for (PyObject*& array : of_shape) Py_CLEAR(array);
  }
  for (unsigned& place : kept.next) place = 0;
}
#endif

bool Outputs::prepare(const Signature& s, PyObject* out, Call& call, const Batch& batch,
                      const FrameList& several, Keep& keep) {
  count_ = s.outputs.count;
  given_ = out != nullptr;
  if (out && count_ > 1 && (!PyTuple_Check(out) || PyTuple_GET_SIZE(out) != count_)) {
    raise(kArgumentError, "out must be a tuple of %d arrays", count_);
    return false;
  }
  const Sizes sizes = call.sizes();
  for (int k = 0; k < count_; ++k) {
    PyObject* given = out && count_ > 1 ? PyTuple_GET_ITEM(out, k) : out;
    std::ptrdiff_t& size = call.out_size[k];
    PyArrayObject* array = output_array(s.outputs[k].shape, sizes, batch, several, given, size);
    if (!array) return false;
    arrays_[k] = keep(reinterpret_cast<PyObject*>(array));
    call.out[k] = static_cast<double*>(PyArray_DATA(array));
    call.out_step[k] = several.given ? size * std::ptrdiff_t(several.frames.size()) : size;
  }
  call.out_is_far = count_ == 1 && is_far(call.out[0], std::size_t(call.states * call.out_size[0]) * sizeof(double), out);
  if (!out) return true;
  for (int k = 0; k < count_; ++k) {
    written_[k] = {call.out[k], call.states * call.out_step[k]};
    for (int j = 0; j < k; ++j) {
      if (!written_[k].overlaps(written_[j])) continue;
      raise(kArgumentError, "the arrays of out must not share memory with each other");
      return false;
    }
  }
  return part_inputs(s.inputs.count, call, keep);
}

void Outputs::next_frame(Call& call) const {
  for (int k = 0; k < count_; ++k) call.out[k] += call.out_size[k];
}

// Inputs that share memory with an output are copied, so that `out=` may be one of the inputs.
bool Outputs::part_inputs(int count, Call& call, Keep& keep) {
  for (int k = 0; k < count; ++k) {
    if (!call.in[k]) continue;
    const std::ptrdiff_t size = (call.in_step[k] ? call.states : 1) * call.in_size[k];
    const Span own{const_cast<double*>(call.in[k]), size};
    bool shares = false;
    for (int o = 0; o < count_; ++o) shares = shares || own.overlaps(written_[o]);
    if (!shares) continue;
    Py_ssize_t dims[] = {size};
    PyObject* copy = keep(PyArray_SimpleNew(1, dims, NPY_DOUBLE));
    if (!copy) return false;
    auto* data = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(copy)));
    if (!copy_numbers(own.first, size, data)) return false;
    original_[shared_] = own;
    copies_[shared_++] = call.in[k] = data;
  }
  return true;
}

void Outputs::spoil(int threads) const {
  if (!given_) return;
  for (int k = 0; k < count_; ++k) fill(written_[k].first, written_[k].size, std::nan(""), threads);
  for (int k = 0; k < shared_; ++k) {
    std::memcpy(original_[k].first, copies_[k], original_[k].size * sizeof(double));
  }
}

PyObject* Outputs::result(const Bound& bound) const { return result_of(bound, arrays_, given_); }

PyObject* result_of(const Bound& bound, PyObject* const* arrays, bool given) {
  const int count = bound.kernel->signature->outputs.count;
  if (count == 1) return one_result(arrays[0], given);
  if (!bound.part) {
    PyTypeObject* type = bound.result ? bound.result : &PyTuple_Type;
    PyObject* all = tuple_of(type, arrays, bound.fields, given || !bound.result);
    if (all && bound.beyond && PyObject_GenericSetAttr(all, bound.beyond, arrays[bound.fields])) Py_CLEAR(all);
    return all;
  }
  PyObject* halves[] = {tuple_of(bound.part, arrays, count / 2, given),
                        tuple_of(bound.part, arrays + count / 2, count / 2, given)};
  PyObject* both = halves[0] && halves[1] ? tuple_of(bound.result, halves, 2, true) : nullptr;
  for (PyObject* half : halves) Py_XDECREF(half);
  return both;
}

}  // namespace jounce
