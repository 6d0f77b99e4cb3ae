// `jounce.jvp` for calls in the usual form, without a Python frame.
#pragma once

#include "bound.hpp"

namespace jounce {

// What the function needs: the function in Python that takes every form, and a dict of those that may go
// the short way, function to the kernel of its derivative.
struct Directional {
  PyObject *any_form, *known;
};

// jvp(function, model, arguments, tangents, *, parameters, out, threads). Two tuples, of a known function,
// become the arguments of its kernel here, with `threads` and a pair of arrays as `out` if they are given.
PyObject* call_directional(const Directional& own, PyObject* const* args, Py_ssize_t n_args,
                           PyObject* keyword_names);

}  // namespace jounce
