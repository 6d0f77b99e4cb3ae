// Memory of results that died, kept for those to come. A system hands out new memory page by page, and
// clears each: that takes longer than to fill a page that is there already.
#pragma once

#include <cstddef>

#include "jounce/scalar/platform.hpp"

namespace jounce::memory {

// Smaller blocks come from the system fast enough.
constexpr std::size_t kLeast = std::size_t(1) << 16;
constexpr std::size_t kUsualLimit = std::size_t(256) << 20;

// A block of that many bytes, aligned to 64, its contents unknown; null if there is none.
JOUNCE_EXPORT void* take(std::size_t bytes);

// How many bytes were taken since a block was taken before, with its own: what the caches may have forgotten. 0 if it
// never was: then its pages are new.
JOUNCE_EXPORT std::size_t taken_since(void* block);

// The same block with another size; the bytes that both have are kept.
JOUNCE_EXPORT void* resize(void* block, std::size_t bytes);

// Returns a block, from any thread; null is fine.
JOUNCE_EXPORT void give(void* block);

// How many bytes may wait here at most; gives what is too much back to the system. Blocks larger than a
// quarter of the limit never wait.
JOUNCE_EXPORT void set_limit(std::size_t bytes);
JOUNCE_EXPORT std::size_t limit();

// Bytes that wait now, and none of them any more.
JOUNCE_EXPORT std::size_t kept();
JOUNCE_EXPORT void clear();

}  // namespace jounce::memory
