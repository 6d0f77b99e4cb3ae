// Functions of group elements, twists and quaternions: kernels without a model, in a list of their own.
//
// They are declared, batched, checked and called as the others are, on a tree without nodes. A name may
// occur twice: then the shape of the first input chooses, (3) and (3, 3) of SO(3) or (6) and (4, 4) of
// SE(3). What else an element must fulfill is in the signature (`demands`).
#pragma once

#include "jounce/batch/arguments.hpp"
#include "jounce/kernels/list.hpp"

namespace jounce {

// What each of them is made from: it needs no workspace.
struct Elementwise {
  template <class S>
  using Work = NoWork<S>;
};

KernelList group_functions();
KernelList quaternion_functions();
KernelList twist_functions();

// All of them.
JOUNCE_EXPORT const KernelList& elementwise_functions();

}  // namespace jounce
