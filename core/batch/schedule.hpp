// A batch cut into groups of states, which threads take.
#pragma once

#include "jounce/batch/model.hpp"

namespace jounce {

// Asked on the calling thread every 30 ms or so: true stops the batch.
struct Watch {
  bool (*stop)(void* data) = nullptr;
  void* data = nullptr;
};

struct Outcome {
  enum Status { done, failed, stopped, no_memory };
  Status status = done;
  Failure failure;  // of the lowest state that failed, whatever the number of threads
};

// Whether the call takes so short that it is done before anybody could ask it to stop.
JOUNCE_EXPORT bool is_short(const Kernel& kernel, const Call& call);

// Bytes of the workspaces of a call on so many threads.
JOUNCE_EXPORT double workspace_bytes(const Kernel& kernel, const Model& model, Extent extent, double states,
                                     int threads);

// A short call, of one state or of one pack of them, on this thread.
JOUNCE_EXPORT Outcome run_short(const Kernel& kernel, const Model& model, const Call& call);

// The same for one state where it is enough to know whether it went well; false if memory is short, too.
JOUNCE_EXPORT bool runs_alone(const Kernel& kernel, const Model& model, const Call& call);

JOUNCE_EXPORT Outcome run_batch(const Kernel& kernel, const Model& model, const Call& call,
                                int threads, const Watch& watch = {});

// Sets numbers, on several threads if there are many.
JOUNCE_EXPORT void fill(double* first, std::ptrdiff_t count, double value, int threads);

// The failure with the state, and the entry of an input, that caused it: a kernel may tell only the
// first state of the pack.
JOUNCE_EXPORT Failure pinpointed(const Kernel& kernel, const Model& model, const Call& call,
                                 Failure failure);

}  // namespace jounce
