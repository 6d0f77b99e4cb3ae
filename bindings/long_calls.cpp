#include "long_calls.hpp"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <new>

namespace jounce::long_calls {
namespace {

struct Count {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t begun = 0, ended = 0;
};

// Never destroyed: threads may end after everything else.
Count& count() {
  static Count* all = new Count;
  return *all;
}

}  // namespace

void begin() {
  const std::lock_guard<std::mutex> lock(count().mutex);
  ++count().begun;
}

void end() {
  const std::lock_guard<std::mutex> lock(count().mutex);
  ++count().ended;
  count().changed.notify_all();
}

void wait() {
  std::unique_lock<std::mutex> lock(count().mutex);
  const std::uint64_t before = count().begun;
  count().changed.wait(lock, [before] { return count().ended >= before; });
}

// Locks of threads that are gone may be held.
void forget() { new (&count()) Count; }

}  // namespace jounce::long_calls
