// Files of kernels that can be differentiated are compiled three times: for numbers and packs, where whatever
// is marked so is inlined; for dual numbers (JOUNCE_DUALS), where the compiler decides; and for dual numbers of
// dual numbers (JOUNCE_SECONDS), where it is told to make little code. Dual numbers make code that is several
// times larger; inlining all of it takes four times as long to compile and gains little.
#pragma once

namespace jounce {

struct Plain {};
struct Duals {};
struct Seconds {};
#if defined(JOUNCE_SECONDS)
using Pass = Seconds;
#elif defined(JOUNCE_DUALS)
using Pass = Duals;
#else
using Pass = Plain;
#endif

template <class T>
inline constexpr bool is_pass = false;
template <>
inline constexpr bool is_pass<Pass> = true;
constexpr bool kPlain = is_pass<Plain>, kDuals = is_pass<Duals>, kSeconds = is_pass<Seconds>;

}  // namespace jounce
