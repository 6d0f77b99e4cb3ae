// The accelerations that forces give a robot on its way. One state by itself has its branches in the lanes of a
// register, where it has several alike (tree/branched_tree.hpp).
#pragma once

#include <optional>

#include "jounce/dynamics/articulated.hpp"
#include "jounce/simulation/forces.hpp"
#include "jounce/tree/branched_tree.hpp"

namespace jounce {

// Returns a singular node or -1.
template <class S, class P>
JOUNCE_INLINE int accelerations(const Tree<P>& tree, const S* q, const S* v, const ForcesAt<S>& at, S* a,
                                ArticulatedWork<S>& work) {
  if (!at.prescribed) return forward_dynamics(tree, q, v, at.tau, at.f_ext, a, work);
  return hybrid_dynamics(tree, at.prescribed, q, v, at.a, at.tau, at.f_ext, a, (S*)nullptr, work);
}

// Forward dynamics of one state with its branches in lanes.
struct BranchDynamics {
  ArticulatedWork<Branches> work;
  Branches *q, *v, *tau, *a;

  BranchDynamics(const Tree<Branches>& tree, Arena& arena) : work(tree, arena), q(arena.take<Branches>(tree.nq)) {
    for (Branches** x : {&v, &tau, &a}) *x = arena.take<Branches>(tree.nv);
  }
  // The state and the forces, as each lane needs them.
  void take(const Tree<double>& tree, const double* own_q, const double* own_v, const double* own_tau) {
    const BranchedTree& branched = *tree.branched;
    spread(branched.q, own_q, tree.nq, 1, q);
    spread(branched.v, own_v, tree.nv, 1, v);
    spread(branched.v, own_tau, tree.nv, 1, tau);
  }
  int run(const Tree<double>& tree, const double* own_q, const double* own_v, const double* own_tau, double* own_a) {
    const BranchedTree& branched = *tree.branched;
    take(tree, own_q, own_v, own_tau);
    const int singular = forward_dynamics(branched.tree, q, v, tau, (const Branches*)nullptr, a, work);
    collect(branched, a, 1, own_a);
    return singular;
  }
};

// The workspace of accelerations; of one state, that of its branches as well.
template <class S>
struct AccelerationWork : ArticulatedWork<S> {
  using ArticulatedWork<S>::ArticulatedWork;
};
template <>
struct AccelerationWork<double> : ArticulatedWork<double> {
  std::optional<BranchDynamics> branches;

  AccelerationWork(const Tree<double>& tree, Arena& arena) : ArticulatedWork<double>(tree, arena) {
    if (tree.branched) branches.emplace(tree.branched->tree, arena);
  }
};

// The same of a state that is `alone`, not one of a batch, all of which are to be computed alike. What is refused
// with its branches in lanes runs on the tree as it is, which knows the node.
template <class S, class P>
JOUNCE_INLINE int accelerations(const Tree<P>& tree, const S* q, const S* v, const ForcesAt<S>& at, S* a, bool alone,
                                AccelerationWork<S>& work) {
  if constexpr (std::is_same_v<S, double>) {
    const bool in_lanes = alone && work.branches && !at.prescribed && !at.f_ext;
    if (in_lanes && work.branches->run(tree, q, v, at.tau, a) < 0) return -1;
  }
  return accelerations(tree, q, v, at, a, static_cast<ArticulatedWork<S>&>(work));
}

}  // namespace jounce
