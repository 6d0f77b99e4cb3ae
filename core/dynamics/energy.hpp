// Energies and the center of mass.
#pragma once

#include "jounce/kinematics/bodies.hpp"

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

// Total mass and first moment in the world.
template <class S, class P>
JOUNCE_INLINE S first_moment(const Tree<P>& tree, const BodiesWork<S>& work, Vec3<S>& h) {
  S m(0.0);
  h = Vec3<S>::zero();
  for (int i = 0; i < tree.n; ++i) {
    const RigidInertia<P>& own = tree.nodes[i].inertia;
    const Pose<S>& world = work.row[i].world;
    m += S(own.m);
    h += world.R * own.h + world.p * own.m;
  }
  return m;
}

template <class S, class P>
void potential_energy(const Tree<P>& tree, const S* q, S* out, BodiesWork<S>& work) {
  Vec3<S> h;
  bodies_outward(tree, q, (const S*)nullptr, (const S*)nullptr, work);
  first_moment(tree, work, h);
  out[0] = -dot(h, tree.gravity);
}

// Zero for a massless robot.
template <class S, class P>
void center_of_mass(const Tree<P>& tree, const S* q, S* out, BodiesWork<S>& work) {
  Vec3<S> h;
  bodies_outward(tree, q, (const S*)nullptr, (const S*)nullptr, work);
  const S m = first_moment(tree, work, h);
  store(h * inverse_mass(m), out);
}

}  // namespace jounce
