// Forces on a robot during a step: constant, or linear from the start to the end of it.
#pragma once

#include "jounce/tree/tree.hpp"

namespace jounce {

template <class S>
struct ForcesAt {
  const S *tau, *f_ext;  // the wrenches may be null
};

// A row of controls: the generalized forces, then the external wrenches if there are some.
struct ControlRow {
  int nv, wrenches;  // how many numbers
  int size() const { return nv + wrenches; }
};

template <class P>
ControlRow control_row(const Tree<P>& tree, bool with_wrenches) {
  return {tree.nv, with_wrenches ? 6 * tree.n_bodies : 0};
}

// Forces held over a step: those of its first row, or linear between that and the next.
template <class S>
struct HeldForces {
  S *now, *next, *between;  // rows of controls
  ControlRow row;
  bool linear;

  ForcesAt<S> operator()(double time, const S*, const S*) const {
    const S* x = now;
    if (linear && time != 0.0) {
      for (int k = 0; k < row.size(); ++k) between[k] = now[k] + (next[k] - now[k]) * time;
      x = between;
    }
    return {x, row.wrenches ? x + row.nv : nullptr};
  }
};

}  // namespace jounce
