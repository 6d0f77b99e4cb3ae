// Wrenches that bodies get through their joints: what the backward pass of inverse dynamics carries.
#pragma once

#include "jounce/dynamics/inverse_dynamics.hpp"

namespace jounce {

template <class S>
struct JointWrenchesWork : InverseDynamicsWork<S> {
  S* tau;

  template <class P>
  JointWrenchesWork(const Tree<P>& tree, Arena& arena)
      : InverseDynamicsWork<S>(tree, arena), tau(arena.take<S>(tree.nv)) {}
};

// wrenches: (n_bodies, 6), each in and about the public frame of its body; f_ext may be null.
template <class S, class P>
void joint_wrenches(const Tree<P>& tree, const S* q, const S* v, const S* a, const S* f_ext,
                    S* wrenches, JointWrenchesWork<S>& work) {
  inverse_dynamics(tree, q, v, a, f_ext, work.tau, work);
  for (int b = 0; b < tree.n_bodies; ++b) {
    const int i = tree.body_node[b];
    const Force<S> x = to_parent(tree.nodes[i].alignment, work.row[i].f);
    store(Motion<S>{x.n, x.f}, wrenches + 6 * b);
  }
}

}  // namespace jounce
