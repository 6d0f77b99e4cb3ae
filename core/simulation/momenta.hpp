// Generalized momenta s = M v instead of rates, and the outer forces that change them.
//
// The six numbers of a free root are not those of its row of M v, but the momentum of its tree along
// the world's axes, about its center of mass:
//   (1) L = R (n - c x f),   P = R f
// with the row (n, f), the rotation R of the node in the world and the center of mass c in its frame.
// Without outer forces these do not change at all. Rotations have rounding errors, which would add up
// in a momentum along the body's axes; here they do not.
#pragma once

#include "jounce/simulation/forces.hpp"
#include "jounce/simulation/mass_solve.hpp"

namespace jounce {

template <class S>
struct MomentaWork {
  struct Row {
    Vec3<S> gravity;
    Motion<S> twist;
    Force<S> F;
    Vec3<S> center;  // first moment of the subtree, of a root the center of mass
    S m;
  };
  ArticulatedWork<S> mass;
  Row* row;
  S* rhs;

  template <class P>
  MomentaWork(const Tree<P>& tree, Arena& arena)
      : mass(tree, arena), row(arena.take<Row>(tree.n)), rhs(arena.take<S>(tree.nv)) {}
};

// Whether (1) is the form of a node. Armature has no momentum in space.
template <class P>
bool has_momentum(const Tree<P>& tree, const Node<P>& node) {
  if (!is_free_root(node)) return false;
  for (int k = node.v; k < node.v + 6; ++k) {
    if (tree.armature[k] != P(0.0)) return false;
  }
  return true;
}

// Centers of mass, at the poses of the workspace.
template <class S, class P>
void find_centers(const Tree<P>& tree, MomentaWork<S>& work) {
  for (int i = 0; i < tree.n; ++i) {
    work.row[i].center = Vec3<S>::zero() + tree.nodes[i].inertia.h;
    work.row[i].m = S(tree.nodes[i].inertia.m);
  }
  for (int i = tree.n - 1; i >= 0; --i) {
    auto& me = work.row[i];
    const int p = tree.nodes[i].parent;
    if (p < 0) {
      me.center = me.center * inverse_mass(me.m);
      continue;
    }
    const Pose<S>& t = work.mass.row[i].in_parent;
    work.row[p].center += t.R * me.center + t.p * me.m;
    work.row[p].m += me.m;
  }
}

// Poses, factors of M and centers of mass at q. Returns a singular node or -1.
template <class S, class P>
int prepare_momenta(const Tree<P>& tree, const S* q, MomentaWork<S>& work) {
  const int singular = factor_mass(tree, q, work.mass);
  find_centers(tree, work);
  return singular;
}

// Equation (1) in place, for a row of momenta or of forces; and back.
template <class S, class P>
void to_world(const Tree<P>& tree, S* s, const MomentaWork<S>& work) {
  for (int i = 0; i < tree.n; ++i) {
    if (!has_momentum(tree, tree.nodes[i])) continue;
    S* own = s + tree.nodes[i].v;
    const Mat3<S>& R = work.mass.row[i].in_parent.R;
    const Vec3<S> f = vector_from(own + 3), n = vector_from(own) - cross(work.row[i].center, f);
    store(R * n, own);
    store(R * f, own + 3);
  }
}
template <class S, class P>
void to_body(const Tree<P>& tree, S* s, const MomentaWork<S>& work) {
  for (int i = 0; i < tree.n; ++i) {
    if (!has_momentum(tree, tree.nodes[i])) continue;
    S* own = s + tree.nodes[i].v;
    const Mat3<S>& R = work.mass.row[i].in_parent.R;
    const Vec3<S> f = transposed(R, vector_from(own + 3)), n = transposed(R, vector_from(own));
    store(n + cross(work.row[i].center, f), own);
    store(f, own + 3);
  }
}

// Projects the wrenches F of all rows on the screws; they become those of subtrees.
template <class S, class P>
void project_inward(const Tree<P>& tree, S* out, MomentaWork<S>& work) {
  for (int i = tree.n - 1; i >= 0; --i) {
    const Node<P>& node = tree.nodes[i];
    const Force<S>& F = work.row[i].F;
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = 0; k < rates(K); ++k) out[node.v + k] = along<K>(node, k, F);
    });
    if (node.parent >= 0) work.row[node.parent].F += to_parent(work.mass.row[i].in_parent, F);
  }
}

// out = M v, at the poses of the workspace.
template <class S, class P>
void generalized_momentum(const Tree<P>& tree, const S* v, S* out, MomentaWork<S>& work) {
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    auto& me = work.row[i];
    const Pose<S>& t = work.mass.row[i].in_parent;
    me.twist = node.parent < 0 ? Motion<S>::zero() : to_child(t, work.row[node.parent].twist);
    with_kind(node.kind, [&](auto kind) {
      me.twist += joint_motion<decltype(kind)::value>(node, v + node.v);
    });
    me.F = node.inertia * me.twist;
  }
  project_inward(tree, out, work);
  for (int k = 0; k < tree.nv; ++k) out[k] += v[k] * tree.armature[k];
}

// out = the generalized forces of gravity, of wrenches and tau, at the poses of the workspace.
template <class S, class P>
void outer_forces(const Tree<P>& tree, const ForcesAt<S>& at, S* out, MomentaWork<S>& work) {
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    auto& me = work.row[i];
    const Mat3<S>& R = work.mass.row[i].in_parent.R;
    me.gravity = node.parent < 0 ? transposed(R, tree.gravity)
                                 : transposed(R, work.row[node.parent].gravity);
    me.F = {cross(node.inertia.h, me.gravity), me.gravity * node.inertia.m};
    if (at.f_ext && node.body >= 0) me.F += external_wrench(node, at.f_ext);
  }
  project_inward(tree, out, work);
  for (int k = 0; k < tree.nv; ++k) out[k] += at.tau[k];
}

// Momenta of rates and rates of momenta, at q.
template <class S, class P>
void momenta_of_rates(const Tree<P>& tree, const S* q, const S* v, S* s, MomentaWork<S>& work) {
  prepare_momenta(tree, q, work);
  generalized_momentum(tree, v, s, work);
  to_world(tree, s, work);
}
// After the preparation.
template <class S, class P>
void rates_of_momenta(const Tree<P>& tree, const S* s, S* v, MomentaWork<S>& work) {
  for (int k = 0; k < tree.nv; ++k) work.rhs[k] = s[k];
  to_body(tree, work.rhs, work);
  solve_mass(tree, NoneMask{}, work.rhs, v, (S*)nullptr, work.mass);
}

// What a method does whose state between steps is (q, momenta): rates enter and leave it.
struct MomentaBetweenSteps {
  template <class S, class P, class Work>
  void enter(const Tree<P>& tree, const S* q, const S* v, S* s, Work& work) const {
    momenta_of_rates(tree, q, v, s, work.momenta);
  }
  template <class S, class P, class Work>
  void leave(const Tree<P>& tree, const S* q, const S* s, S* v, Work& work) const {
    prepare_momenta(tree, q, work.momenta);
    rates_of_momenta(tree, s, v, work.momenta);
  }
};

}  // namespace jounce
