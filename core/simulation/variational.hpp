// A variational integrator: discrete Euler-Lagrange equations on the group, solved to rounding by a
// quasi-Newton method whose inverse Jacobian is the articulated-body recursion (Lee, Liu, Park,
// Srinivasa 2016).
//
// The discrete Lagrangian is that of Moser and Veselov (1991): over a step h the mass points x of all
// bodies go straight to x', and the potential U is taken at both ends,
//   (1) L = sum m |x' - x|^2 / (2 h) - h (U(q) + U(q')) / 2
// With the displacement of a body seen from where it was, a quaternion (e, c) and a translation p, its
// momentum at the start times h is, of mass m, first moment k, inertia I,
//   (2) n = k x p + 2 c I e + 2 e x I e,   f = m p + 2 c e x k + 2 e x (e x k)
// and that at the end is the negative of (2) for the inverse displacement. They are the same vector in
// space, so the total momentum is kept. With generalized momenta s = M v and forces F that act for half
// of the step at each end,
//   (3) s  + h F(q) / 2  = screws^T (momenta at the start)   determines the displacements xi,
//   (4) s' - h F(q') / 2 = screws^T (momenta at the end)     gives the next momenta.
// For the momentum of a free root, as momenta.hpp has it, (4) is s' = s + h (F(q) + F(q')) / 2.
// In (3), d/dxi of the right side is M / h + O(1), so xi += M^-1 (defect) converges for short steps.
// The armature has the rate of the joint's displacement along its middle. Everything is computed from
// small displacements, so that no digits are lost to short steps.
#pragma once

#include <limits>

#include "jounce/simulation/momenta.hpp"

namespace jounce {

// A rigid displacement: a turn as a quaternion (e, c), then a translation.
template <class S>
struct Displacement {
  Vec3<S> e;
  S c;
  Vec3<S> p;

  static JOUNCE_INLINE Displacement none() { return {Vec3<S>::zero(), S(1.0), Vec3<S>::zero()}; }
  // What the turn adds to x.
  template <class T>
  JOUNCE_INLINE Vec3<S> turn(const Vec3<T>& x) const {
    const Vec3<S> y = cross(e, x);
    return (y * c + cross(e, y)) * 2.0;
  }
};

template <class S>
JOUNCE_INLINE Displacement<S> operator*(const Displacement<S>& a, const Displacement<S>& b) {
  return {a.e * b.c + b.e * a.c + cross(a.e, b.e), a.c * b.c - dot(a.e, b.e),
          a.p + b.p + a.turn(b.p)};
}
template <class S>
JOUNCE_INLINE Displacement<S> inverse(const Displacement<S>& d) {
  const Displacement<S> back{-d.e, d.c, Vec3<S>::zero()};
  return {back.e, back.c, -(d.p + back.turn(d.p))};
}
// A displacement of the parent, seen from the child.
template <class S>
JOUNCE_INLINE Displacement<S> to_child(const Pose<S>& t, const Displacement<S>& d) {
  return {transposed(t.R, d.e), d.c, transposed(t.R, d.p + d.turn(t.p))};
}

// Equation (2).
template <class S, class P>
JOUNCE_INLINE Force<S> start_momentum(const RigidInertia<P>& j, const Displacement<S>& d) {
  const Vec3<S> y = j.I * d.e;
  return {cross(j.h, d.p) + (y * d.c + cross(d.e, y)) * 2.0, d.p * j.m + d.turn(j.h)};
}
template <class S, class P>
JOUNCE_INLINE Force<S> end_momentum(const RigidInertia<P>& j, const Displacement<S>& d) {
  return start_momentum(j, inverse(d)) * -1.0;
}

// What a joint does when its coordinates move by xi (rates.hpp, equation 2), in the child's frame.
template <class S, class P>
JOUNCE_INLINE Displacement<S> joint_displacement(const Node<P>& node, const S* q, const S* xi) {
  Displacement<S> d = Displacement<S>::none();
  if (is_group(node.kind)) {
    S turn[4];
    quaternion_exp(vector_from(xi), turn);
    d.e = vector_from(turn);
    d.c = turn[3];
    if (node.kind == Kind::free) d.p = transposed(rotation(q), vector_from(xi + 3));
    return d;
  }
  if (rotates(node.kind)) sincos(xi[0] * 0.5, d.e.z, d.c);
  if (node.kind == Kind::prismatic) d.p.z = xi[0];
  if (node.kind == Kind::helical) d.p.z = xi[0] * node.pitch;
  return d;
}

template <class S>
struct VariationalWork {
  MomentaWork<S> momenta;
  Displacement<S>* d;  // (n)
  S *xi, *goal, *defect, *force;

  template <class P>
  VariationalWork(const Tree<P>& tree, Arena& arena)
      : momenta(tree, arena), d(arena.take<Displacement<S>>(tree.n)) {
    for (S** x : {&xi, &goal, &defect, &force}) *x = arena.take<S>(tree.nv);
  }
};

// Displacements of all nodes by xi, at the poses of the start.
template <class S, class P>
void displace(const Tree<P>& tree, const S* q, VariationalWork<S>& work) {
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    const Displacement<S> own = joint_displacement(node, q + node.q, work.xi + node.v);
    const Pose<S>& t = work.momenta.mass.row[i].in_parent;
    work.d[i] = node.parent < 0 ? own : to_child(t, work.d[node.parent]) * own;
  }
}

// Adds the armature times the displacement of the joints along their middle.
template <class S, class P>
void add_armature(const Tree<P>& tree, const S* q, const S* xi, S* out) {
  for (const Node<P>& node : tree.nodes) {
    const int straight = node.kind == Kind::free ? 3 : node.nv;
    for (int k = node.v; k < node.v + straight; ++k) out[k] += xi[k] * tree.armature[k];
    if (node.kind != Kind::free) continue;
    const P* armature = tree.armature.data() + node.v + 3;
    const Vec3<S> u = transposed(rotation(q + node.q), vector_from(xi + node.v + 3));
    S turn[4], middle[3];
    quaternion_exp(vector_from(xi + node.v) * -0.5, turn);
    const Displacement<S> half{vector_from(turn), turn[3], Vec3<S>::zero()};
    store(u + half.turn(u), middle);
    for (int k = 0; k < 3; ++k) out[node.v + 3 + k] += middle[k] * armature[k];
  }
}

template <class S>
JOUNCE_INLINE S squared_norm(const S* x, int n) {
  S sum(0.0);
  for (int k = 0; k < n; ++k) sum += x[k] * x[k];
  return sum;
}

constexpr int kMostIterations = 100;

// Solves (3) for xi, until the changes no longer fall. Returns zero, or NaN where they do not become
// small: the step is too long.
template <class S, class P>
S solve_displacements(const Tree<P>& tree, const S* q, VariationalWork<S>& work) {
  const int nv = tree.nv;
  for (int k = 0; k < nv; ++k) {
    work.xi[k] = S(0.0);
    work.defect[k] = work.goal[k];  // at xi = 0 there is no momentum
  }
  constexpr double rough = 1e-20, fine = 1e-31;  // squared, relative
  S before(0.0), excess(0.0);
  for (int round = 0; round < kMostIterations; ++round) {
    solve_mass(tree, NoneMask{}, work.defect, work.defect, (S*)nullptr, work.momenta.mass);
    to_parent_axes(tree, q, work.defect, work.defect);
    for (int k = 0; k < nv; ++k) work.xi[k] += work.defect[k];
    const S moved = squared_norm(work.defect, nv), size = squared_norm(work.xi, nv);
    // a lane that is not a number is done: it fails by itself
    const auto falls = (moved > size * rough) | (moved * 4.0 < before);
    if (!any((moved > size * fine) & falls)) return S(0.0);
    before = moved;
    excess = moved - size * rough;
    displace(tree, q, work);
    for (int i = 0; i < tree.n; ++i) {
      work.momenta.row[i].F = start_momentum(tree.nodes[i].inertia, work.d[i]);
    }
    project_inward(tree, work.defect, work.momenta);
    add_armature(tree, q, work.xi, work.defect);
    for (int k = 0; k < nv; ++k) work.defect[k] = work.goal[k] - work.defect[k];
  }
  return select(excess > S(0.0), S(std::numeric_limits<double>::quiet_NaN()), S(0.0));
}

struct VariationalStepper : MomentaBetweenSteps {
  template <class S>
  using Work = VariationalWork<S>;

  template <class S, class P>
  int step(const Tree<P>& tree, std::ptrdiff_t, const S& h, const HeldForces<S>& forces, S* q,
           S* s, Work<S>& work) const {
    const int nv = tree.nv, singular = prepare_momenta(tree, q, work.momenta);
    const S half = h * 0.5;
    push(tree, forces(tree, 0.0, q, (const S*)nullptr), half, s, work);
    for (int k = 0; k < nv; ++k) work.goal[k] = s[k] * h;  // (3)
    to_body(tree, work.goal, work.momenta);
    const S unsolved = solve_displacements(tree, q, work);
    displace(tree, q, work);
    for (int k = 0; k < nv; ++k) work.goal[k] = S(0.0);
    add_armature(tree, q, work.xi, work.goal);
    move_coordinates(tree, q, work.xi, q);
    place(tree, q, work.momenta);
    for (int i = 0; i < tree.n; ++i) {
      work.momenta.row[i].F = end_momentum(tree.nodes[i].inertia, work.d[i]);
    }
    project_inward(tree, work.defect, work.momenta);
    const S over_h = S(1.0) / h;
    for (const Node<P>& node : tree.nodes) {
      if (has_momentum(tree, node)) continue;  // its momentum is that of the start
      for (int k = node.v; k < node.v + node.nv; ++k) {
        s[k] = (work.goal[k] + work.defect[k]) * over_h;
      }
    }
    push(tree, forces(tree, 1.0, q, (const S*)nullptr), half, s, work);  // (4)
    for (int k = 0; k < nv; ++k) s[k] += unsolved;
    return singular;
  }

 private:
  // The impulse of the outer forces for some time.
  template <class S, class P>
  static void push(const Tree<P>& tree, const ForcesAt<S>& at, const S& time, S* s, Work<S>& work) {
    outer_forces(tree, at, work.force, work.momenta);
    to_world(tree, work.force, work.momenta);
    for (int k = 0; k < tree.nv; ++k) s[k] += work.force[k] * time;
  }
  // The poses and centers of mass at q.
  template <class S, class P>
  static void place(const Tree<P>& tree, const S* q, MomentaWork<S>& work) {
    auto& angles = work.mass.angles;
    angles.compute(tree, q);
    for (int i = 0; i < tree.n; ++i) {
      work.mass.row[i].in_parent = joint_pose(tree.nodes[i], q, angles.sine, angles.cosine);
    }
    find_centers(tree, work);
  }
};

}  // namespace jounce
