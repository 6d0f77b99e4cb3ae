#include "pool.hpp"

#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace jounce {
namespace {

class Pool {
 public:
  // False if another call is using the pool.
  bool run(int helpers, const std::function<void(bool)>& job) {
    std::unique_lock<std::mutex> only(use_, std::try_to_lock);
    if (!only) return false;
    {
      std::lock_guard<std::mutex> lock(state_);
      while (int(threads_.size()) < helpers) {
        const int index = int(threads_.size());
        threads_.emplace_back([this, index] { serve(index); });
        threads_.back().detach();
      }
      job_ = &job;
      wanted_ = pending_ = helpers;
      ++round_;
    }
    start_.notify_all();
    job(true);
    std::unique_lock<std::mutex> lock(state_);
    done_.wait(lock, [this] { return pending_ == 0; });
    job_ = nullptr;
    return true;
  }

 private:
  void serve(int index) {
    unsigned long seen = 0;
    for (;;) {
      const std::function<void(bool)>* job;
      {
        std::unique_lock<std::mutex> lock(state_);
        start_.wait(lock, [&] { return round_ != seen && job_ && index < wanted_; });
        seen = round_;
        job = job_;
      }
      (*job)(false);
      std::lock_guard<std::mutex> lock(state_);
      if (--pending_ == 0) done_.notify_one();
    }
  }

  std::mutex use_, state_;
  std::condition_variable start_, done_;
  std::vector<std::thread> threads_;
  const std::function<void(bool)>* job_ = nullptr;
  int wanted_ = 0, pending_ = 0;
  unsigned long round_ = 0;
};

// Never destroyed: its threads wait until the process ends. A child of a fork has none of the
// threads, so it forgets the pool and makes its own.
Pool* pool = nullptr;
std::once_flag watch_forks;
std::mutex making;

Pool& the_pool() {
  std::call_once(watch_forks, [] {
    pthread_atfork([] { making.lock(); }, [] { making.unlock(); },
                   [] { pool = nullptr; making.unlock(); });
  });
  std::lock_guard<std::mutex> lock(making);
  if (!pool) pool = new Pool;
  return *pool;
}

}  // namespace

void run_parallel(int helpers, const std::function<void(bool)>& job) {
  if (helpers <= 0) return job(true);
  if (the_pool().run(helpers, job)) return;
  std::vector<std::thread> threads;
  for (int i = 0; i < helpers; ++i) threads.emplace_back([&job] { job(false); });
  job(true);
  for (std::thread& thread : threads) thread.join();
}

int hardware_threads() {
  const unsigned n = std::thread::hardware_concurrency();
  return n ? int(n) : 1;
}

}  // namespace jounce
