// Threads that wait for work. Made at the first use; made anew after a fork.
#pragma once

#include <functional>

#include "jounce/scalar/platform.hpp"

namespace jounce {

constexpr int kMostThreads = 1024;

// Runs `job` on the calling thread and on up to `helpers` further ones, and waits for those that
// began. The job ends for the calling thread when nothing is left that another could begin.
//
// The job may fork, on the calling thread. In the child the others are gone, with what they had begun
// and perhaps with locks of theirs: `fork_count` has grown, and the job must end at once.
void run_parallel(int helpers, const std::function<void(bool caller)>& job);

// How many forks lie between this process and the one that first used threads.
unsigned fork_count();

// Cores that this process may use.
JOUNCE_EXPORT int hardware_threads();

}  // namespace jounce
