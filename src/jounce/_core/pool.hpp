// Threads that wait for work. Made at the first use; made anew after a fork.
#pragma once

#include <functional>

namespace jounce {

// Runs `job` on `helpers` further threads and on the calling one, and waits for all.
void run_parallel(int helpers, const std::function<void(bool caller)>& job);

int hardware_threads();

}  // namespace jounce
