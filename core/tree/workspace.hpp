// Memory for kernels: a kernel's workspace is laid out before it runs, never while it runs.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "jounce/scalar/platform.hpp"

namespace jounce {

// What workspaces depend on besides the tree: the order r of a series and the rows of constraints.
struct Extent {
  int order = -1;
  int rows = 0;

  constexpr Extent(int r = -1, int m = 0) : order(r), rows(m) {}
};

// Hands out aligned pieces of one block. Laid out twice: first without a block, to learn the
// size, then with it.
class Arena {
 public:
  template <class T>
  T* take(std::size_t count) {
    const std::size_t at = used_;
    used_ += (count * sizeof(T) + 63) / 64 * 64;
    return block_ ? reinterpret_cast<T*>(block_ + at) : nullptr;
  }
  std::size_t used() const { return used_; }

  Arena() = default;
  explicit Arena(char* block) : block_(block) {}

 private:
  char* block_ = nullptr;
  std::size_t used_ = 0;
};

// A workspace of any kind; some depend on the order of a series, some on the rows of constraints too.
template <class Work, class Tree>
Work make_work(const Tree& tree, Extent extent, Arena& arena) {
  if constexpr (std::is_constructible_v<Work, const Tree&, Extent, Arena&>) {
    return Work(tree, extent, arena);
  } else if constexpr (std::is_constructible_v<Work, const Tree&, int, Arena&>) {
    return Work(tree, extent.order, arena);
  } else {
    return Work(tree, arena);
  }
}

// A block that grows and is kept, one per thread. Very large blocks are given back at once, so
// that one huge model does not hold its memory forever.
class Workspace {
 public:
  char* reserve(std::size_t bytes) {
    if (bytes > size_) {
      platform::release(block_);
      size_ = 0;
      block_ = static_cast<char*>(platform::allocate((bytes + 4095) / 4096 * 4096));
      if (!block_) throw std::bad_alloc();
      size_ = (bytes + 4095) / 4096 * 4096;
    }
    return block_;
  }
  void trim(std::size_t most) {
    if (size_ > most) {
      platform::release(block_);
      block_ = nullptr;
      size_ = 0;
    }
  }
  void swap(Workspace& other) {
    std::swap(block_, other.block_);
    std::swap(size_, other.size_);
  }
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() { platform::release(block_); }

 private:
  char* block_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace jounce
