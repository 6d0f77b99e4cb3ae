// Energies.
#pragma once

#include "jounce/kinematics/center_of_mass.hpp"

namespace jounce {

template <class S, class P>
void kinetic_energy(const Tree<P>& tree, const S* q, const S* v, S* out, BodiesWork<S>& work) {
  bodies_outward(tree, q, v, (const S*)nullptr, work);
  S twice(0.0);
  for (int i = 0; i < tree.n; ++i) {
    const Motion<S>& twist = work.row[i].twist;
    twice += dot(tree.nodes[i].inertia * twist, twist);
  }
  for (int k = 0; k < tree.nv; ++k) twice += v[k] * v[k] * tree.armature[k];
  out[0] = twice * 0.5;
}

template <class S, class P>
void potential_energy(const Tree<P>& tree, const S* q, S* out, BodiesWork<S>& work) {
  Vec3<S> h;
  bodies_outward(tree, q, (const S*)nullptr, (const S*)nullptr, work);
  first_moment(tree, work, h);
  out[0] = -dot(h, tree.gravity);
}

}  // namespace jounce
