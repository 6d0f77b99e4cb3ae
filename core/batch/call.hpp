// A call of a kernel on a batch, and how kernels look to those who call them.
#pragma once

#include <cstddef>

#include "jounce/batch/signature.hpp"
#include "jounce/kinematics/jacobian.hpp"
#include "jounce/kinematics/representation.hpp"
#include "jounce/scalar/pause.hpp"
#include "jounce/simulation/embedded.hpp"
#include "jounce/simulation/tableau.hpp"
#include "jounce/tree/tree.hpp"

namespace jounce {

template <class P = double>
struct Options {
  const unsigned char* prescribed = nullptr;  // (nv)
  FrameAt<P> frame;
  Representation representation = Representation::body;
  Representation source = Representation::body;  // that is converted to the other
  int method = 0;  // of several that give the same numbers; 0 chooses
  Tableau tableau;
  Embedded pair;
  std::ptrdiff_t every = 1;
  int hold = 0;
  bool passive = false;
};

// Bytes of results that the last cache still has when they are written again: of the 32 MB that it has for a core, others
// take some.
constexpr std::size_t kCacheBytes = std::size_t(20) << 20;

// Arguments that are checked: pointers to the first state, how many numbers a state has, and how far
// it is from a state to the next (0: the same for all). Of the arrays, as many entries are set as the
// kernel has inputs and outputs.
struct Call {
  const Tree<double>* tree;
  Options<> options;
  int order = -1;             // r of series, -1 until an input tells
  std::ptrdiff_t times = -1;  // at which a motion is controlled, likewise
  int rows = -1;              // of constraints, likewise
  std::ptrdiff_t records = -1;  // of their table, likewise
  std::ptrdiff_t states = 1;
  bool is_batch = false;  // even if it has but one state
  const double* in[kMostInputs];  // null: not given
  std::ptrdiff_t in_size[kMostInputs], in_step[kMostInputs];
  bool out_is_far = false;  // there are pages for the result, but not in the caches: the system brings new ones into these
  double* out[kMostOutputs];
  std::ptrdiff_t out_size[kMostOutputs], out_step[kMostOutputs];

  // A kernel that takes long for one state asks now and then whether to return at once.
  bool (*stopped)(void* data) = nullptr;
  void* stop_data = nullptr;

  std::ptrdiff_t steps() const { return times > options.hold ? times - options.hold : 0; }
  Extent extent() const { return {order, rows < 0 ? 0 : rows}; }
  // States that a motion stores; most calls have none, and dividing takes long.
  std::ptrdiff_t stored() const { return times < 0 ? 1 : steps() / options.every + 1; }
  Sizes sizes() const { return {*tree, extent(), times, stored(), records}; }
};

struct Failure {
  enum Kind { none, not_finite, quaternion, singular, overflow, demand, not_positive };
  Kind kind = none;
  std::ptrdiff_t state = 0;
  int node = -1;   // whose joint is singular or has a bad quaternion; or the demand that is not met
  int input = -1;  // that is not finite, not positive or has a bad quaternion, and where
  std::ptrdiff_t entry = -1;
};

// `bytes` is the workspace for one state or, if `wide`, for a pack; `run` computes `count` states from
// `first`, at most a pack, in such a workspace, and tells what failed in the pack (see `pinpointed`).
// A pack has `lanes` states; kernels of one list may differ in that (see kernels/list.cpp). `slot` is the
// kernel's position in the list.
struct Kernel {
  const Signature* signature;
  std::size_t (*bytes)(const Tree<double>&, Extent extent, bool wide);
  Failure (*run)(const Call&, std::ptrdiff_t first, int count, char* block);
  int lanes;
  int slot = -1;
  Pause& (*pause_place)() = jounce::pause_place;  // of the library that the kernel is in
};

}  // namespace jounce
