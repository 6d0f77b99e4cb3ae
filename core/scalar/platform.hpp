// What differs between compilers and systems, all of it here. GCC 12 and Clang 14 compile the rest, on
// Windows Clang with the interface of MSVC (clang-cl).
#pragma once

#include <cstddef>
#include <cstdlib>

#if defined(_WIN32)
#include <malloc.h>

#include <thread>
#else
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#endif
#if defined(__GLIBCXX__) && !defined(_WIN32)
#include <cxxabi.h>
#endif

#if !defined(__GNUC__) && !defined(__clang__)
#error "packs are vectors of GCC and Clang; on Windows, compile with clang-cl"
#endif

// What is inlined. JOUNCE_ALWAYS_INLINE is for the algebra of numbers and vectors, JOUNCE_INLINE for all else
// that is small or runs once in a recursion, JOUNCE_INLINED for lambdas, after their parameters. In code for
// dual numbers (see batch/passes.hpp), the compiler decides on the latter two; where it is not speed that counts
// (JOUNCE_INLINE_LESS: second derivatives, sanitizers, coverage), on all.
#define JOUNCE_FORCED __attribute__((always_inline))
#ifdef JOUNCE_INLINE_LESS
#define JOUNCE_ALWAYS_INLINE inline
#else
#define JOUNCE_ALWAYS_INLINE inline JOUNCE_FORCED
#endif
#if defined(JOUNCE_DUALS) || defined(JOUNCE_INLINE_LESS)
#define JOUNCE_INLINED
#else
#define JOUNCE_INLINED JOUNCE_FORCED
#endif
#define JOUNCE_INLINE inline JOUNCE_INLINED

// Code that many kernels share, compiled once.
#define JOUNCE_SHARED __attribute__((noinline))

// A type of vectors: its name, its numbers, its size in bytes.
#define JOUNCE_VECTOR(name, number, bytes) typedef number name __attribute__((vector_size(bytes)))
// The same where only its numbers are aligned.
#define JOUNCE_LOOSE_VECTOR(name, number, bytes) \
  typedef number name __attribute__((vector_size(bytes), aligned(sizeof(number))))

// Entries of two vectors, those of the second numbered after those of the first.
#define JOUNCE_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

// Of registers of x86, with two, four or eight numbers: their signs as bits; those that bits or signs choose to memory.
#define JOUNCE_SIGNS_2(x) __builtin_ia32_movmskpd(x)
#define JOUNCE_SIGNS_4(x) __builtin_ia32_movmskpd256(x)
#define JOUNCE_LOAD_CHOSEN_4(from, signs) __builtin_ia32_maskloadpd256(from, signs)
#define JOUNCE_LOAD_CHOSEN_8(from, others, bits) __builtin_ia32_loadupd512_mask(from, others, bits)
#define JOUNCE_STORE_CHOSEN_4(to, x, signs) __builtin_ia32_maskstorepd256(to, signs, x)
#define JOUNCE_STORE_CHOSEN_8(to, x, bits) __builtin_ia32_storeupd512_mask(to, x, bits)

// Stores a register at an address that is a multiple of its size, past the caches; lets other threads see what was.
#if defined(__clang__)
#define JOUNCE_STORE_PAST_CACHES(to, x) __builtin_nontemporal_store(x, to)
#elif defined(__SSE2__)
#define JOUNCE_STORE_PAST_CACHES(to, x) jounce::platform::store_past_caches(to, x)
#else
#define JOUNCE_STORE_PAST_CACHES(to, x) (*(to) = (x))
#endif
#if defined(__SSE2__)
#define JOUNCE_STORES_ARE_SEEN() __builtin_ia32_sfence()
#else
#define JOUNCE_STORES_ARE_SEEN() (void)0
#endif

// Functions of the library that its users call.
#if defined(_WIN32)
#define JOUNCE_EXPORT __declspec(dllexport)
#else
#define JOUNCE_EXPORT __attribute__((visibility("default")))
#endif

namespace jounce::platform {

// Memory at an address that is a multiple of 64, as is the size; null if there is none.
inline void* allocate(std::size_t bytes) {
#if defined(_WIN32)
  return _aligned_malloc(bytes, 64);
#else
  return std::aligned_alloc(64, bytes);
#endif
}

inline void release(void* block) {
#if defined(_WIN32)
  _aligned_free(block);
#else
  std::free(block);
#endif
}

// Asks the system for few large pages instead of many small ones, where that pays and it can.
inline void prefer_large_pages(void* block, std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::size_t page = 4096, enough = std::size_t(4) << 20;
  if (bytes < enough) return;
  const std::size_t skip = (page - reinterpret_cast<std::size_t>(block) % page) % page;
  madvise(static_cast<char*>(block) + skip, (bytes - skip) / page * page, MADV_HUGEPAGE);
#else
  (void)block, (void)bytes;
#endif
}

#if defined(__SSE2__) && !defined(__clang__)
JOUNCE_VECTOR(Two, double, 16);
JOUNCE_ALWAYS_INLINE void store_past_caches(Two* to, Two x) { __builtin_ia32_movntpd(reinterpret_cast<double*>(to), x); }
#if defined(__AVX__)
JOUNCE_VECTOR(Four, double, 32);
JOUNCE_ALWAYS_INLINE void store_past_caches(Four* to, Four x) {
  __builtin_ia32_movntpd256(reinterpret_cast<double*>(to), x);
}
#endif
#if defined(__AVX512F__)
JOUNCE_VECTOR(Eight, double, 64);
JOUNCE_ALWAYS_INLINE void store_past_caches(Eight* to, Eight x) {
  __builtin_ia32_movntpd512(reinterpret_cast<double*>(to), x);
}
#endif
#endif

// Lets the core's other thread go on while this one looks for something to change.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Cores that this process may use, at least one.
inline int usable_cores() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
#if defined(_WIN32)
  const long n = std::thread::hardware_concurrency();
#else
  const long n = sysconf(_SC_NPROCESSORS_ONLN);
#endif
  return n > 0 ? int(n) : 1;
}

// Before a fork, and after it in the parent and in the child.
inline void watch_forks(void (*before)(), void (*parent)(), void (*child)()) {
#if defined(_WIN32)
  (void)before, (void)parent, (void)child;
#else
  pthread_atfork(before, parent, child);
#endif
}

// While it lives, signals go to other threads, also those of threads that are made meanwhile.
class SignalsElsewhere {
 public:
#if defined(_WIN32)
  SignalsElsewhere() {}
#else
  SignalsElsewhere() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsElsewhere() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
#endif
  SignalsElsewhere(const SignalsElsewhere&) = delete;
  SignalsElsewhere& operator=(const SignalsElsewhere&) = delete;

 private:
#if !defined(_WIN32)
  sigset_t before_;
#endif
};

// While it lives, the signals of timers wait, whatever thread they come to: their handlers are replaced
// by one that takes a note. For one thread at a time.
class TimersWait {
 public:
#if defined(_WIN32)
  TimersWait() {}
#else
  TimersWait() {
    for (int k = 0; k < 3; ++k) {
      sigaction(kTimers[k], nullptr, &before_[k]);
      if (!is_handled(before_[k])) continue;
      struct sigaction note = before_[k];
      note.sa_flags &= ~SA_SIGINFO;
      note.sa_handler = take_note;
      sigaction(kTimers[k], &note, nullptr);
    }
  }
  ~TimersWait() {
    for (int k = 0; k < 3; ++k) {
      struct sigaction now;
      sigaction(kTimers[k], nullptr, &now);
      const bool ours = !(now.sa_flags & SA_SIGINFO) && now.sa_handler == take_note;
      if (!ours) continue;  // set anew in the meantime
      sigaction(kTimers[k], &before_[k], nullptr);
      if (noted_[k]) {
        noted_[k] = 0;
        ::raise(kTimers[k]);
      }
    }
  }
#endif
  TimersWait(const TimersWait&) = delete;
  TimersWait& operator=(const TimersWait&) = delete;

 private:
#if !defined(_WIN32)
  static constexpr int kTimers[] = {SIGALRM, SIGVTALRM, SIGPROF};
  static inline volatile sig_atomic_t noted_[3] = {};

  static bool is_handled(const struct sigaction& x) {
    return (x.sa_flags & SA_SIGINFO) || (x.sa_handler != SIG_DFL && x.sa_handler != SIG_IGN);
  }
  static void take_note(int signal) {
    for (int k = 0; k < 3; ++k) noted_[k] = noted_[k] || kTimers[k] == signal;
  }

  struct sigaction before_[3];
#endif
};

// Calls what may end the thread, as an exception that no destructor should see: then it stays here
// until the process is gone.
template <class Function>
inline void stay_if_ended(Function&& function) {
#if defined(__GLIBCXX__) && !defined(_WIN32)
  try {
    function();
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
#else
  function();
#endif
}

}  // namespace jounce::platform
