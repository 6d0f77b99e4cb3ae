// The arrays that a call writes to: new ones, or those of `out=`.
#pragma once

#include "inputs.hpp"

namespace jounce {

// A new array of doubles; null with an exception set.
PyObject* new_array(int axes, const Py_ssize_t* dims);

// The same for a result of one state: an array that was returned before and that nobody holds any more, if
// there is one of this shape. Making one takes as long as a small kernel.
PyObject* array_again(int axes, const Py_ssize_t* dims);
// Lets go of those.
void forget_arrays();

// What a function returns, from the arrays of its outputs; those of `out=` if `given`.
PyObject* result_of(const Bound& bound, PyObject* const* arrays, bool given);

// Outputs of one call. If it fails, `out` holds no results and inputs that shared its memory are as
// they were: nothing is half-done.
class Outputs {
 public:
  // False with an exception set if `out` does not fit. With several frames, the results of each state
  // are one after the other, and the call writes those of the first.
  bool prepare(const Signature& signature, PyObject* out, Call& call, const Batch& batch,
               const FrameList& several, Keep& keep);
  // Lets the call write the results of the next frame.
  void next_frame(Call& call) const;
  // What the function returns.
  PyObject* result(const Bound& bound) const;
  // After a failure.
  void spoil(int threads) const;

 private:
  bool part_inputs(int count, Call& call, Keep& keep);

  struct Span {  // of doubles
    double* first;
    std::ptrdiff_t size;
    bool overlaps(const Span& b) const { return first < b.first + b.size && b.first < first + size; }
  };
  PyObject* arrays_[kMostOutputs];
  int count_ = 0, shared_ = 0;
  bool given_ = false;
  Span written_[kMostOutputs];
  Span original_[kMostInputs];            // of inputs that share memory with an output, ...
  const double* copies_[kMostInputs];     // ... and where their values are
};

}  // namespace jounce
