#include "jounce/batch/schedule.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <new>

#include "jounce/batch/pool.hpp"
#include "jounce/batch/transfer.hpp"
#include "jounce/scalar/pause.hpp"

namespace jounce {
namespace {

constexpr std::size_t kKeptBytes = std::size_t(64) << 20;
// About what the caches of a core hold.
constexpr std::size_t kPackBytes = std::size_t(5) << 19;  // 2.5 MB
// Work of one state that takes some ten microseconds.
constexpr std::ptrdiff_t kLongCall = 1000;
// Work of the groups that a thread takes at once: about a millisecond.
constexpr std::ptrdiff_t kPiece = 20000;
constexpr std::chrono::milliseconds kWatchPeriod(30);

using Clock = std::chrono::steady_clock;

Workspace& thread_workspace() {
  thread_local Workspace workspace;
  return workspace;
}

// Numbers that a state reads and writes, and the nodes it visits: how long it takes, roughly.
std::ptrdiff_t work_per_state(const Signature& s, const Call& call) {
  std::ptrdiff_t work = call.tree->n + 1;
  for (int k = 0; k < s.inputs.count; ++k) work += call.in_size[k] / 8;
  for (int k = 0; k < s.outputs.count; ++k) work += call.out_size[k] / 8;
  const std::ptrdiff_t passes = std::max<std::ptrdiff_t>({call.times, call.records, 0});
  work += 8 * passes * (call.tree->n + 1);
  return call.order > 0 ? work * (1 + call.order / 8) : work;
}

// Whether constraints make a state take longer than that tells.
bool is_heavy(const Signature& s, const Call& call) {
  return call.rows > 0 && work_per_state(s, call) > kLongCall;
}

// Whether the states of a batch run at once.
bool is_one_pack(const Kernel& kernel, const Call& call) {
  const Packs packs = kernel.signature->packs;
  return call.states > 1 && call.states <= kernel.lanes && (packs == Packs::always || packs == Packs::only);
}

// States of a batch that a thread computes at once, a pack or a single one, and in what workspace.
struct Group {
  std::ptrdiff_t states = 1;
  std::size_t bytes;

  Group(const Kernel& kernel, const Model& model, Extent extent, bool is_batch)
      : bytes(model.workspace(kernel, extent, false)) {
    if (!is_batch || kernel.signature->packs == Packs::never) return;
    const std::size_t wide = model.workspace(kernel, extent, true);
    if (kernel.signature->packs != Packs::while_small || wide <= kPackBytes) states = kernel.lanes;
    if (states > 1 && wide > bytes) bytes = wide;
  }
};

// While it lives, recursions ask on this thread.
class Pausing {
 public:
  Pausing(Pause& place, Pause by) : place_(place), before_(place) { place = by; }
  ~Pausing() { place_ = before_; }
  Pausing(const Pausing&) = delete;
  Pausing& operator=(const Pausing&) = delete;

 private:
  Pause& place_;
  Pause before_;
};

// Threads take several groups at a time.
class BatchRun {
 public:
  BatchRun(const Kernel& kernel, const Model& model, const Call& call) : kernel_(kernel), call_(call) {
    const Group group(kernel, model, call.extent(), call.states > 1);
    group_ = group.states;
    bytes_ = group.bytes;
    groups_ = (call.states + group_ - 1) / group_;
    at_once_ = std::max<std::ptrdiff_t>(1, kPiece / (work_per_state(*kernel.signature, call) * group_));
    lowest_failure_ = groups_;
  }

  Outcome run(int threads, const Watch& watch) {
    const std::ptrdiff_t enough = (groups_ + at_once_ - 1) / at_once_;
    helpers_ = int(threads < enough ? threads : enough) - 1;
    if (threads > 1) at_once_ = std::clamp<std::ptrdiff_t>(groups_ / (32 * threads), 1, at_once_);
    pieces_ = (groups_ + at_once_ - 1) / at_once_;
    born_ = fork_count();
    run_parallel(helpers_, [&](bool caller) { work(caller, caller ? watch : Watch{}); });
    if (status_ == Outcome::done && failure_.kind != Failure::none) status_ = Outcome::failed;
    return {status_, failure_};
  }

  // Whether this is a child of a fork that the watch made: what other threads had begun is not done.
  bool is_orphan() const { return helpers_ > 0 && fork_count() != born_; }

 private:
  // Whether to stop, asked between pieces of work and by kernels that work on one state for long. Who
  // is asked may run a kernel on this thread, so the workspace in use is put aside, and nobody is asked by that.
  struct Asking {
    BatchRun& run;
    const Watch& watch;
    Clock::time_point asked;

    static bool stopped(void* self) { return static_cast<Asking*>(self)->asks(); }
    bool asks() {
      if (run.stop_.load(std::memory_order_relaxed)) return true;
      if (!watch.stop || Clock::now() - asked < kWatchPeriod) return false;
      const Pausing nobody(run.kernel_.pause_place(), Pause{});
      Workspace aside;
      aside.swap(thread_workspace());
      const bool stops = watch.stop(watch.data);
      aside.swap(thread_workspace());
      if (stops) run.halt(Outcome::stopped);
      asked = Clock::now();
      return stops;
    }
  };

  // What one thread does.
  void work(bool caller, const Watch& watch) {
    Asking asking{*this, watch, Clock::now()};
    Call call = call_;
    call.stopped = Asking::stopped;
    call.stop_data = &asking;
    const bool is_long = at_once_ == 1 || is_heavy(*kernel_.signature, call_);  // a millisecond for each group
    const Pausing while_here(kernel_.pause_place(), is_long ? Pause{Asking::stopped, &asking} : Pause{});
    try {
      char* block = thread_workspace().reserve(bytes_);
      while (take(caller, call, block)) {
        if (asking.asks() || is_orphan()) return;
      }
      thread_workspace().trim(kKeptBytes);
    } catch (const std::bad_alloc&) {
      halt(Outcome::no_memory);
    } catch (const Abandoned&) {  // why is known
    }
  }

  void halt(Outcome::Status why) {
    Outcome::Status none = Outcome::done;
    status_.compare_exchange_strong(none, why);
    stop_ = true;
  }

  // Computes the next piece of groups; false when there is none. The calling thread goes forward
  // from the first, the others backward from the last: so each writes to the memory that it wrote
  // to in the call before. A failure ends its piece and all above it.
  bool take(bool caller, const Call& call, char* block) {
    if (taken_.fetch_add(1) >= pieces_ || stop_.load(std::memory_order_relaxed)) return false;
    const std::ptrdiff_t piece = caller ? front_++ : pieces_ - 1 - back_.fetch_add(1);
    const std::ptrdiff_t last = (piece + 1) * at_once_;
    for (std::ptrdiff_t g = piece * at_once_; g < last && g < lowest_failure_; ++g) {
      if (stop_.load(std::memory_order_relaxed)) return false;
      const std::ptrdiff_t state = g * group_;
      const std::ptrdiff_t left = call_.states - state;
      const Failure bad = kernel_.run(call, state, int(left < group_ ? left : group_), block);
      if (bad.kind == Failure::none) continue;
      std::lock_guard<std::mutex> lock(failing_);
      if (g < lowest_failure_) {
        lowest_failure_ = g;
        failure_ = bad;
      }
    }
    JOUNCE_STORES_ARE_SEEN();
    return true;
  }

  const Kernel& kernel_;
  const Call& call_;
  std::ptrdiff_t group_ = 1, groups_, at_once_, pieces_ = 0;
  std::size_t bytes_;
  unsigned born_ = 0;
  int helpers_ = 0;
  std::ptrdiff_t front_ = 0;
  std::atomic<std::ptrdiff_t> back_{0}, taken_{0}, lowest_failure_{0};
  std::atomic<bool> stop_{false};
  std::atomic<Outcome::Status> status_{Outcome::done};
  std::mutex failing_;
  Failure failure_;
};

// Calls visit(state, k, x) for input k of the states of a pack, until it returns true.
template <class Visit>
bool visit_inputs(const Kernel& kernel, const Call& call, std::ptrdiff_t first, Visit&& visit) {
  for (std::ptrdiff_t i = first; i < call.states && i < first + kernel.lanes; ++i) {
    for (int k = 0; k < kernel.signature->inputs.count; ++k) {
      if (call.in[k] && visit(i, k, call.in[k] + i * call.in_step[k])) return true;
    }
  }
  return false;
}

Failure not_finite(const Kernel& kernel, const Call& call, Failure failure) {
  visit_inputs(kernel, call, failure.state, [&](std::ptrdiff_t state, int k, const double* x) {
    for (std::ptrdiff_t j = 0; j < call.in_size[k]; ++j) {
      if (std::isfinite(x[j]) || !is_read(kernel.signature->inputs[k].reads, call, j)) continue;
      failure = {failure.kind, state, -1, k, j};
      return true;
    }
    return false;
  });
  return failure;
}

Failure bad_quaternion(const Kernel& kernel, const Call& call, Failure failure) {
  visit_inputs(kernel, call, failure.state, [&](std::ptrdiff_t state, int k, const double* q) {
    const Holds holds = kernel.signature->inputs[k].holds;
    if (!is_configuration(holds)) return false;
    for (int i = 0; i < call.tree->n; ++i) {
      const Node<double>& node = call.tree->nodes[i];
      if (!is_group(node.kind)) continue;
      const double* x = q + node.q;
      const bool zero = x[0] == 0.0 && x[1] == 0.0 && x[2] == 0.0 && x[3] == 0.0;
      if (holds == Holds::directions ? !zero : batch::is_unit(quaternion_norm(x))) continue;
      failure = {failure.kind, state, i, k, node.q};
      return true;
    }
    return false;
  });
  return failure;
}

Failure not_positive(const Kernel& kernel, const Call& call, Failure failure) {
  visit_inputs(kernel, call, failure.state, [&](std::ptrdiff_t state, int k, const double* x) {
    if (kernel.signature->inputs[k].holds != Holds::positive) return false;
    for (std::ptrdiff_t j = 0; j < call.in_size[k]; ++j) {
      if (x[j] > 0.0) continue;
      failure = {failure.kind, state, -1, k, j};
      return true;
    }
    return false;
  });
  return failure;
}

Failure refused_state(const Kernel& kernel, const Model& model, const Call& call, Failure failure) {
  char* block = thread_workspace().reserve(model.workspace(kernel, call.extent(), false));
  Failure other;
  for (std::ptrdiff_t i = failure.state; i < call.states && i < failure.state + kernel.lanes; ++i) {
    const Failure one = kernel.run(call, i, 1, block);
    if (one.kind == failure.kind) return one;
    if (other.kind == Failure::none) other = one;
  }
  return other.kind == Failure::none ? failure : other;
}

}  // namespace

bool is_short(const Kernel& kernel, const Call& call) {
  if (call.states != 1 && !is_one_pack(kernel, call)) return false;
  return call.states * work_per_state(*kernel.signature, call) < kLongCall;
}

bool runs_alone(const Kernel& kernel, const Model& model, const Call& call) {
  try {
    char* block = thread_workspace().reserve(model.workspace(kernel, call.extent(), false));
    return kernel.run(call, 0, 1, block).kind == Failure::none;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

double workspace_bytes(const Kernel& kernel, const Model& model, Extent extent, double states, int threads) {
  const Group group(kernel, model, extent, states > 1.0);
  const double groups = std::ceil(states / double(group.states));
  return double(group.bytes) * std::min(groups, double(threads));
}

Outcome run_short(const Kernel& kernel, const Model& model, const Call& call) {
  try {
    std::size_t bytes = model.workspace(kernel, call.extent(), false);
    if (call.states > 1) bytes = std::max(bytes, model.workspace(kernel, call.extent(), true));
    // Made in place: to copy it would wait until all results are written.
    Outcome outcome{Outcome::done, kernel.run(call, 0, int(call.states), thread_workspace().reserve(bytes))};
    if (outcome.failure.kind != Failure::none) outcome.status = Outcome::failed;
    return outcome;
  } catch (const std::bad_alloc&) {
    return {Outcome::no_memory, {}};
  }
}

Outcome run_batch(const Kernel& kernel, const Model& model, const Call& call, int threads,
                  const Watch& watch) {
  if (call.states == 0) return {};
  if (is_short(kernel, call)) return run_short(kernel, model, call);
  for (;; threads = 1) {
    BatchRun batch(kernel, model, call);
    const Outcome outcome = batch.run(threads, watch);
    if (outcome.status == Outcome::stopped || !batch.is_orphan()) return outcome;
  }
}

void fill(double* first, std::ptrdiff_t count, double value, int threads) {
  constexpr std::ptrdiff_t piece = std::ptrdiff_t(1) << 18;
  const std::ptrdiff_t pieces = (count + piece - 1) / piece;
  std::atomic<std::ptrdiff_t> next{0};
  run_parallel(int(std::min<std::ptrdiff_t>(threads, pieces)) - 1, [&](bool) {
    for (std::ptrdiff_t k; (k = next++) < pieces;) {
      std::fill_n(first + k * piece, std::min(piece, count - k * piece), value);
    }
  });
}

Failure pinpointed(const Kernel& kernel, const Model& model, const Call& call, Failure failure) {
  switch (failure.kind) {
    case Failure::not_finite: return not_finite(kernel, call, failure);
    case Failure::quaternion: return bad_quaternion(kernel, call, failure);
    case Failure::not_positive: return not_positive(kernel, call, failure);
    case Failure::singular:
    case Failure::demand: return refused_state(kernel, model, call, failure);
    default: return failure;
  }
}

}  // namespace jounce
