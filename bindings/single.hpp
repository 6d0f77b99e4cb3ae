// Calls of one state, as control loops make them, or of a few.
#pragma once

#include "bound.hpp"

namespace jounce {

// The call, if its arguments are as the kernel takes them: arrays of doubles of one state, in order, and
// no keyword but `out`; or, without that, some of them of a few states that run at once, such as directions. Then nothing has to be converted, repeated or kept, and the call costs little more than
// the kernel and NumPy's arrays. Null, without an exception, if it has to go the general way, which
// also tells what is wrong with it.
PyObject* call_single(const Bound& bound, const PythonModel& own, PyObject* const* args, Py_ssize_t n_args,
                      PyObject* keyword_names);

}  // namespace jounce
