// The center of mass, its Jacobian, the rate of that, and the derivatives of its velocity: of the whole
// robot, or of what one body carries.
//
// Nodes are resolved along the axes of their root, each about its own origin (base_frame.hpp). Of the
// mass M that counts, let a joint move the part m, with the first moment h and the linear momentum f.
// A screw s = (w, u) of the joint gives the column
//   (1) J = (m u - h x w) / M.
// With the twist V of the node, the screw changes by V x s and the first moment by f:
//   (2) J' = (m u' - h x w' - f x w) / M,  (w', u') = V x s.
// If q moves along s, the part moves as one body with its momentum, but what the twist V_p of the
// node's parent gives to it does not move along: the velocity of the center of mass changes by
//   (3) (w x f - m u* + h x w*) / M,  (w*, u*) = s x V_p.
// Where only the masses of a subtree count, the same holds for its joints and for those before it.
#pragma once

#include "jounce/kinematics/base_frame.hpp"
#include "jounce/kinematics/bodies.hpp"
#include "jounce/spatial/columns.hpp"

namespace jounce {

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

// Zero for a massless robot.
template <class S, class P>
void center_of_mass(const Tree<P>& tree, const S* q, S* out, BodiesWork<S>& work) {
  Vec3<S> h;
  bodies_outward(tree, q, (const S*)nullptr, (const S*)nullptr, work);
  const S m = first_moment(tree, work, h);
  store(h * inverse_mass(m), out);
}

// Mass and first moment.
template <class S>
struct PointMass {
  S m;
  Vec3<S> h;

  JOUNCE_INLINE PointMass& operator+=(const PointMass& b) {
    m += b.m; h += b.h;
    return *this;
  }
  // Linear momentum of a motion about the same point.
  JOUNCE_INLINE Vec3<S> operator*(const Motion<S>& x) const { return x.v * m - cross(h, x.w); }
};
template <class S>
JOUNCE_INLINE PointMass<S> shifted(const Vec3<S>& d, const PointMass<S>& x) {
  return {x.m, x.h + d * x.m};
}

template <class S>
struct CenterOfMassWork {
  BasePoses<S> base;
  PointMass<S>* mass;             // that the joint of a node moves
  Motion<S>* twist = nullptr;     // with rates
  Vec3<S>* momentum = nullptr;    // of that mass, with rates

  template <class P>
  CenterOfMassWork(const Tree<P>& tree, Arena& arena)
      : base(tree, arena), mass(arena.take<PointMass<S>>(tree.n)) {}
};

template <class S>
struct CenterOfMassRateWork : CenterOfMassWork<S> {
  template <class P>
  CenterOfMassRateWork(const Tree<P>& tree, Arena& arena) : CenterOfMassWork<S>(tree, arena) {
    this->twist = arena.take<Motion<S>>(tree.n);
    this->momentum = arena.take<Vec3<S>>(tree.n);
  }
};

namespace center_of_mass_detail {

// Fills the workspace; the masses of the nodes first ... end-1 count. v may be null.
template <class S, class P>
JOUNCE_INLINE void moved_masses(const Tree<P>& tree, int first, int end, const S* q, const S* v,
                                CenterOfMassWork<S>& work) {
  base_poses(tree, q, work.base, [&](int i, const Triad<S>& R) JOUNCE_INLINED {
    const RigidInertia<P>& own = tree.nodes[i].inertia;
    const bool counts = i >= first && i < end;
    work.mass[i] = {S(0.0), Vec3<S>::zero()};
    if (counts) work.mass[i] = {S(own.m), vector<S>(R * own.h)};
  });
  if (v) {
    base_frame_twists(tree, v, work.base, work.twist);
    for (int i = 0; i < tree.n; ++i) work.momentum[i] = work.mass[i] * work.twist[i];
    for (int i = tree.n - 1; i >= 0; --i) {
      if (tree.nodes[i].parent >= 0) work.momentum[tree.nodes[i].parent] += work.momentum[i];
    }
  }
  sum_subtrees(tree, work.base.in_root, work.mass);
}

}  // namespace center_of_mass_detail

// J, its rate along v and the derivative of J v by q, 3 x nv each, row-major, along the world's axes;
// all may be null, the latter two need v. `node` carries what counts, -1: everything does.
template <class S, class P>
void center_of_mass_motion(const Tree<P>& tree, int node, const S* q, const S* v, S* J, S* rate,
                           S* by_q, CenterOfMassWork<S>& work) {
  const int first = node < 0 ? 0 : node, end = node < 0 ? tree.n : tree.nodes[node].end;
  center_of_mass_detail::moved_masses(tree, first, end, q, v, work);
  S total(0.0);
  for (int i = first; i < end; ++i) total += S(tree.nodes[i].inertia.m);
  const S share = inverse_mass(total);
  for (int root = 0; root < tree.n; root = tree.nodes[root].end) {
    const Mat3<S> world = base_frame_in_world(tree, root, q, work.base).R;
    const auto put = [&](S* to, int k, const Vec3<S>& x) {
      if (to) store(world * (x * share), to + k, tree.nv);
    };
    for_summed(tree, root, [&](int i, int at) JOUNCE_INLINED {
      const Node<P>& own = tree.nodes[i];
      const PointMass<S>& mass = work.mass[i];
      const Vec3<S> d = work.base.in_root[at].p - work.base.in_root[i].p;
      Motion<S> V, V_p;
      Vec3<S> f;
      if (v) {
        V = moved(work.twist[i], d);
        V_p = parent_twist(tree, i, at, work.base, work.twist);
        f = work.momentum[i];
      }
      with_kind(own.kind, [&](auto kind) {
        constexpr Kind K = decltype(kind)::value;
        for (int k = 0; k < rates(K); ++k) {
          const Motion<S> s = moved(base_frame_screw<K>(own, k, work.base.in_root[i].R), d);
          put(J, own.v + k, mass * s);                                                  // (1)
          if (rate) put(rate, own.v + k, mass * bracket(V, s) - cross(f, s.w));         // (2)
          if (by_q) put(by_q, own.v + k, cross(s.w, f) - mass * bracket(s, V_p));       // (3)
        }
      });
    });
  }
}

// centers: (n_bodies, 3), of what each body carries, itself included; where that has no mass, the
// origin of the body.
template <class S, class P>
void subtree_centers_of_mass(const Tree<P>& tree, const S* q, S* centers, CenterOfMassWork<S>& work) {
  center_of_mass_detail::moved_masses(tree, 0, tree.n, q, (const S*)nullptr, work);
  for (int root = 0; root < tree.n; root = tree.nodes[root].end) {
    const Pose<S> world = base_frame_in_world(tree, root, q, work.base);
    for_summed(tree, root, [&](int i, int at) JOUNCE_INLINED {
      const Node<P>& node = tree.nodes[i];
      if (node.body < 0) return;
      const PointMass<S>& mass = work.mass[i];
      const Vec3<S> center = work.base.in_root[at].p + mass.h * inverse_mass(mass.m);
      const Vec3<S> origin = (work.base.in_root[i] * inverse(node.alignment)).p;
      const auto has_mass = value(mass.m) > value(S(0.0));
      const Vec3<S> c{select(has_mass, center.x, origin.x), select(has_mass, center.y, origin.y),
                      select(has_mass, center.z, origin.z)};
      store(world.R * c + world.p, centers + 3 * node.body);
    });
  }
}

}  // namespace jounce
