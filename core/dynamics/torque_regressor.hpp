// Torques as a linear map of the inertial parameters, see torque_blocks.hpp. The matrix is written row by row.
#pragma once

#include "jounce/dynamics/torque_regressor_packs.hpp"
#include "jounce/dynamics/torque_regressor_single.hpp"

namespace jounce {

template <class S>
using TorqueRegressorWork =
    std::conditional_t<std::is_same_v<S, Wide>, regressor::PacksWork<S>, regressor::SingleWork<S>>;

// Y: (nv, 10 n_bodies), with tau = Y pi + armature a.
template <class S, class P, class Out, class Work>
void torque_regressor(const Tree<P>& tree, const S* q, const S* v, const S* a, Out&& out, Work& work) {
  regressor::move_bodies(tree, q, v, a, work);
  const int* const before = tree.bodies_before.data();
  std::size_t done = 0;  // numbers that are written
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    regressor::put_rows(tree, i, work, out, [&](int k) JOUNCE_INLINED {  // before row k
      const std::size_t begin = (node.v + k) * out.step, next = begin + out.step;
      out.clear(done, tree.bodies_in_order ? begin + kParameters * before[i] : next);
      done = tree.bodies_in_order ? begin + kParameters * before[node.end] : next;
    });
  }
  out.clear(done, tree.nv * out.step);
}

}  // namespace jounce
