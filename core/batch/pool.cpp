#include "jounce/batch/pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace jounce {
namespace {

using Clock = std::chrono::steady_clock;
// Threads that wait for each other look this long before they sleep: waking one takes tens of
// microseconds, as long as a small batch, and batches come in rows.
constexpr std::chrono::microseconds kLook(1000);

// Whether `ready` became true while looking.
template <class Ready>
bool look_for(Ready&& ready) {
  for (const auto start = Clock::now(); Clock::now() - start < kLook;) {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      platform::relax();
    }
  }
  return false;
}

std::atomic<unsigned> forks{0};

// A thread that leaves signals to those of the program.
template <class Function>
std::thread make_thread(Function&& function) {
  const platform::SignalsElsewhere none;
  return std::thread(std::forward<Function>(function));
}

class Pool {
 public:
  // False if another call is using the pool.
  bool run(int helpers, const std::function<void(bool)>& job) {
    if (busy_.exchange(true)) return false;
    const unsigned born = forks;
    {
      std::lock_guard<std::mutex> lock(state_);
      helpers = grow(helpers);
      job_ = &job;
      wanted_ = helpers;
      looks_ = helpers < hardware_threads();  // each thread has a core
      ++round_;
    }
    start_.notify_all();
    job(true);
    if (forks != born) return true;  // a child: it has no threads to wait for, and perhaps their locks
    {  // nothing is left to begin: a thread that found no core so far is not waited for
      std::lock_guard<std::mutex> lock(state_);
      job_ = nullptr;
    }
    if (looks_) look_for([this] { return running_ == 0; });
    std::unique_lock<std::mutex> lock(state_);
    done_.wait(lock, [this] { return running_ == 0; });
    lock.unlock();
    busy_ = false;
    return true;
  }

 private:
  // Makes threads until there are `wanted`, or as many as the system allows; returns how many.
  int grow(int wanted) {
    try {
      for (; threads_ < wanted; ++threads_) {
        make_thread([this, index = threads_] { serve(index); }).detach();
      }
    } catch (const std::system_error&) {
    }
    return std::min(threads_, wanted);
  }

  void serve(int index) {
    unsigned long seen = 0;
    for (;;) {
      const std::function<void(bool)>* job;
      if (looks_) look_for([&] { return round_ != seen; });
      {
        std::unique_lock<std::mutex> lock(state_);
        start_.wait(lock, [&] { return round_ != seen && index < wanted_; });
        seen = round_;
        if (!job_) continue;  // the others have done it all
        job = job_;
        ++running_;
      }
      (*job)(false);
      std::lock_guard<std::mutex> lock(state_);
      if (--running_ == 0) done_.notify_one();
    }
  }

  // Not a mutex: a signal handler may call from the thread that uses the pool.
  std::atomic<bool> busy_{false};
  std::mutex state_;
  std::condition_variable start_, done_;
  int threads_ = 0;
  const std::function<void(bool)>* job_ = nullptr;
  int wanted_ = 0;
  std::atomic<int> running_{0};
  std::atomic<unsigned long> round_{0};
  std::atomic<bool> looks_{false};
};

// Never destroyed: its threads wait until the process ends. A child of a fork has none of the
// threads, so it forgets the pool and makes its own.
Pool* pool = nullptr;
std::once_flag watching;
std::mutex making;

Pool& the_pool() {
  std::call_once(watching, [] {
    platform::watch_forks([] { making.lock(); }, [] { making.unlock(); },
                          [] { pool = nullptr; ++forks; making.unlock(); });
  });
  std::lock_guard<std::mutex> lock(making);
  if (!pool) pool = new Pool;
  return *pool;
}

}  // namespace

void run_parallel(int helpers, const std::function<void(bool)>& job) {
  if (helpers <= 0) return job(true);
  if (the_pool().run(helpers, job)) return;
  const unsigned born = forks;
  auto threads = std::make_unique<std::vector<std::thread>>();
  try {
    threads->reserve(helpers);
    for (int i = 0; i < helpers; ++i) threads->push_back(make_thread([&job] { job(false); }));
  } catch (const std::exception&) {  // as many as the system allows
  }
  job(true);
  if (forks != born) return (void)threads.release();  // a child, which has none of them
  for (std::thread& thread : *threads) thread.join();
}

unsigned fork_count() { return forks; }

int hardware_threads() { return platform::usable_cores(); }

}  // namespace jounce
