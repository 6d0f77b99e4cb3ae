// Threads that wait for work. Made at the first use; made anew after a fork.
#pragma once

#include <functional>

#include "jounce/scalar/platform.hpp"

namespace jounce {

constexpr int kMostThreads = 1024;

// Runs `job` on the calling thread and on up to `helpers` further ones, and waits for those that
// began. The job ends for the calling thread when nothing is left that another could begin.
void run_parallel(int helpers, const std::function<void(bool caller)>& job);

JOUNCE_EXPORT int hardware_threads();

}  // namespace jounce
