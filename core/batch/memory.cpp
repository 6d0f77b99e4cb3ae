#include "jounce/batch/memory.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <utility>

namespace jounce::memory {
namespace {

// Sizes are rounded up to eight classes for each power of two, so that similar results share blocks.
constexpr int kPerOctave = 8, kClasses = 64 * kPerOctave;

struct SizeClass {
  int at;
  std::size_t bytes;

  explicit SizeClass(std::size_t wanted) {
    const std::size_t least = std::max(wanted, kLeast);
    const int octave = std::bit_width(least) - 1;
    const std::size_t step = (std::size_t(1) << octave) / kPerOctave;
    const std::size_t steps = (least + step - 1) / step;  // 8 to 16
    at = octave * kPerOctave + int(steps) - kPerOctave;
    bytes = steps * step;
  }
};

// In front of the bytes of a block: what NumPy says of its size when it returns it may have changed.
struct alignas(64) Header {
  std::size_t bytes;
  std::size_t taken = 0;  // of all blocks together, when this one was
  std::size_t since = 0;  // how much that grew since it was taken before
};

Header* header_of(void* block) { return static_cast<Header*>(block) - 1; }

class Store {
 public:
  void* take(std::size_t bytes) {
    if (bytes > SIZE_MAX / 4) return nullptr;
    const SizeClass size(bytes);
    std::size_t taken;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      std::deque<Waiting>& blocks = waiting_[size.at];
      if (!blocks.empty()) {  // the one that came last: the caches know it best
        void* block = blocks.back().block;
        blocks.pop_back();
        kept_ -= size.bytes;
        taken_ += size.bytes;
        header_of(block)->since = taken_ - std::exchange(header_of(block)->taken, taken_);
        return block;
      }
      taken_ += size.bytes;
      taken = taken_;
    }
    void* fresh = platform::allocate(sizeof(Header) + size.bytes);
    if (!fresh) return nullptr;
    platform::prefer_large_pages(fresh, sizeof(Header) + size.bytes);
    return new (fresh) Header{size.bytes, taken} + 1;
  }

  void give(void* block) {
    const SizeClass size(header_of(block)->bytes);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (size.bytes > limit_ / 4) return platform::release(header_of(block));
    make_room(size.bytes);
    try {
      waiting_[size.at].push_back({block, ++count_});
      kept_ += size.bytes;
    } catch (const std::bad_alloc&) {
      platform::release(header_of(block));
    }
  }

  void set_limit(std::size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    limit_ = bytes;
    make_room(0);
  }

  void clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (kept_ > 0) release_oldest();
  }

  std::size_t limit() const { return limit_.load(std::memory_order_relaxed); }

  std::size_t kept() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return kept_;
  }

  std::mutex& mutex() { return mutex_; }

 private:
  struct Waiting {
    void* block;
    std::uint64_t since;
  };

  void make_room(std::size_t bytes) {
    while (kept_ > 0 && kept_ + bytes > limit_) release_oldest();
  }

  void release_oldest() {
    std::deque<Waiting>* oldest = nullptr;
    for (std::deque<Waiting>& blocks : waiting_) {
      if (blocks.empty()) continue;
      if (!oldest || blocks.front().since < oldest->front().since) oldest = &blocks;
    }
    Header* header = header_of(oldest->front().block);
    oldest->pop_front();
    kept_ -= header->bytes;
    platform::release(header);
  }

  std::mutex mutex_;
  std::deque<Waiting> waiting_[kClasses];
  std::size_t kept_ = 0, taken_ = 0;
  std::atomic<std::size_t> limit_{kUsualLimit};  // which small calls ask for, without the lock
  std::uint64_t count_ = 0;
};

// Never destroyed: arrays may die after everything else. A fork finds it unlocked.
Store& store() {
  static Store* all = [] {
    platform::watch_forks([] { store().mutex().lock(); }, [] { store().mutex().unlock(); },
                          [] { store().mutex().unlock(); });
    return new Store;
  }();
  return *all;
}

}  // namespace

void* take(std::size_t bytes) { return store().take(bytes); }

void* resize(void* block, std::size_t bytes) {
  if (!block) return take(bytes);
  const std::size_t before = header_of(block)->bytes;
  void* other = take(bytes);
  if (!other) return nullptr;
  std::memcpy(other, block, std::min(before, bytes));
  give(block);
  return other;
}

std::size_t taken_since(void* block) { return header_of(block)->since; }

void give(void* block) {
  if (block) store().give(block);
}

void set_limit(std::size_t bytes) { store().set_limit(bytes); }
std::size_t limit() { return store().limit(); }
std::size_t kept() { return store().kept(); }
void clear() { store().clear(); }

}  // namespace jounce::memory
