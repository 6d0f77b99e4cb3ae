// Recursions that take long for one state ask now and then whether to go on.
#pragma once

#include <cstddef>

#include "jounce/scalar/platform.hpp"

namespace jounce {

// Thrown where nobody waits for the result any more; batch/schedule.cpp catches it.
struct JOUNCE_EXPORT Abandoned {};

// Whom to ask; nobody, where states take short.
struct Pause {
  bool (*stops)(void* self) = nullptr;
  void* self = nullptr;
};

// Whom recursions ask on this thread. Each library of an instruction set has a place of its own.
inline thread_local Pause pause_here;
inline Pause& pause_place() { return pause_here; }

// Numbers that are read or written between two pauses: some milliseconds.
inline constexpr std::ptrdiff_t kBetweenPauses = std::ptrdiff_t(1) << 20;

// Called in outer loops: costs nanoseconds where nobody is to be asked.
inline void pause() {
  if (pause_here.stops && pause_here.stops(pause_here.self)) throw Abandoned{};
}

}  // namespace jounce
