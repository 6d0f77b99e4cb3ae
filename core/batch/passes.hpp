// Files of kernels that can be differentiated are compiled twice: for numbers and packs, where whatever is
// marked so is inlined, and for dual numbers (JOUNCE_DUALS), where the compiler decides. Dual numbers make
// code that is several times larger; inlining all of it takes four times as long to compile and gains
// little.
#pragma once

namespace jounce {

struct Plain {};
struct Duals {};
#ifdef JOUNCE_DUALS
using Pass = Duals;
constexpr bool kDuals = true;
#else
using Pass = Plain;
constexpr bool kDuals = false;
#endif

}  // namespace jounce
