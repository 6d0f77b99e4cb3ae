// Energies, center of mass and momentum.
//
// Momentum, mass and first moment are summed inward in body frames, so that what does not depend
// on the world's origin (energy, centroidal momentum) does not lose digits far from it.
#pragma once

#include "../kinematics/bodies.hpp"

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
  const Vec3<S> c = h * (S(1.0) / select(value(m) > value(S(0.0)), m, S(1.0)));
  out[0] = c.x; out[1] = c.y; out[2] = c.z;
}

template <class S>
struct MomentumWork {
  BodiesWork<S> bodies;
  Force<S>* momentum;  // of the subtree, about the node's origin
  Vec3<S>* h;          // first moment of the subtree
  S* m;                // mass of the subtree
  Pose<S>* pose;

  template <class P>
  MomentumWork(const Tree<P>& tree, Arena& arena)
      : bodies(tree, arena),
        momentum(arena.take<Force<S>>(tree.n)),
        h(arena.take<Vec3<S>>(tree.n)),
        m(arena.take<S>(tree.n)),
        pose(arena.take<Pose<S>>(tree.n)) {}
};

// Momentum (angular, linear) along the world's axes, about the world's origin or, if `centroidal`,
// about the center of mass.
template <class S, class P>
void momentum(const Tree<P>& tree, bool centroidal, const S* q, const S* v, S* out,
              MomentumWork<S>& work) {
  bodies_outward(tree, q, v, (const S*)nullptr, work.bodies);
  for (int i = 0; i < tree.n; ++i) {
    const RigidInertia<P>& own = tree.nodes[i].inertia;
    work.pose[i] = joint_pose(tree.nodes[i], q, work.bodies.angles.sine, work.bodies.angles.cosine);
    work.momentum[i] = own * work.bodies.row[i].twist;
    work.h[i] = Vec3<S>::zero() + own.h;
    work.m[i] = S(own.m);
  }
  for (int i = tree.n - 1; i >= 0; --i) {
    const int p = tree.nodes[i].parent;
    if (p < 0) continue;
    work.momentum[p] += to_parent(work.pose[i], work.momentum[i]);
    work.h[p] += work.pose[i].R * work.h[i] + work.pose[i].p * work.m[i];
    work.m[p] += work.m[i];
  }
  // All roots, about the origin of the first one.
  Force<S> total = Force<S>::zero();
  Vec3<S> h = Vec3<S>::zero(), origin = Vec3<S>::zero();
  S m(0.0);
  for (int i = 0; i < tree.n; i = tree.nodes[i].end) {
    Pose<S> at = work.pose[i];
    if (i == 0) origin = at.p;
    at.p -= origin;
    total += to_parent(at, work.momentum[i]);
    h += at.R * work.h[i] + at.p * work.m[i];
    m += work.m[i];
  }
  const Vec3<S> com = h * (S(1.0) / select(value(m) > value(S(0.0)), m, S(1.0)));
  const Vec3<S> n = total.n + cross(centroidal ? -com : origin, total.f);
  store(Motion<S>{n, total.f}, out);
}

}  // namespace jounce
