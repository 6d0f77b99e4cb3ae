// Calls of other libraries that a thread of its own makes while the main thread waits, see jounce/_core/long_calls.py.
//
// Their locks and threads survive no fork. To wait here runs no Python on the forking thread, so that no signal handler
// can end it or fork within.
#pragma once

namespace jounce::long_calls {

void begin();
void end();

// Until all that began before this have ended. The interpreter must not be locked.
void wait();

// The child of a fork has none.
void forget();

}  // namespace jounce::long_calls
