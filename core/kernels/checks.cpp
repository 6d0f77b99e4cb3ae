// Checks of arguments, for functions that are not kernels themselves.
#include "jounce/batch/states.hpp"
#include "jounce/kernels/list.hpp"

namespace jounce {
namespace {

// That the arguments of a state are finite and their quaternions of unit length.
struct CheckState {
  static constexpr Signature signature{.name = "check_state",
                                       .inputs = {configuration("q"),
                                                  {"v", shapes::v, optional},
                                                  {"a", shapes::v, optional},
                                                  {"tau", shapes::v, optional},
                                                  {"f_ext", shapes::six_vectors, optional}},
                                       .outputs = {{"checked", shapes::scalar}},
                                       .internal = true};
  template <class S>
  using Work = NoWork<S>;
  template <class S, class X>
  static void run(const X& x, Work<S>&) {
    *x.out("checked") = S(0.0);
  }
};

}  // namespace

KernelList check_kernels(Plain) { return {kernel_of<CheckState>}; }

}  // namespace jounce
