// Bodies that the world holds, by poses or points: feet on the ground.
//
// With the acceleration x of the node of the frame, that of its origin less gravity g, the angular velocity w
// and the velocity u of that origin, all along the node's axes, rows with the wrenches F have
//   pose    (1) acceleration = F . x + F.f . (g - w x u)
//   point   (2) acceleration = F . x + F.f . (g + w x (w x p)),   p that of the frame in the node
// F . x comes from the sweep that reduces the rows, see operational.hpp: neither the accelerations of the
// free robot nor the poses of frames are needed.
#pragma once

#include "jounce/constraints/operational.hpp"

namespace jounce {

JOUNCE_INLINE bool is_contact(const Constraint& c) {
  const bool simple = c.kind == Constraint::pose || c.kind == Constraint::point;
  return simple && c.first.node >= 0 && c.second.node < 0 && c.selected && !c.is_stabilized();
}

template <class P>
bool are_contacts(const Tree<P>& tree, const ConstraintTable& table, int m) {
  for (std::ptrdiff_t k = 0; k < table.count; ++k) {
    if (!is_contact(constraint_at(tree, m, table.numbers + k * kConstraintNumbers))) return false;
  }
  return true;
}

// A node's way to the root.
template <class P>
JOUNCE_INLINE int find_ancestors(const Tree<P>& tree, int node, int* path) {
  int count = 0;
  for (int i = node; i >= 0; i = tree.nodes[i].parent) path[count++] = i;
  return count;
}

// g - w x u of equation (1), for the first node of a path.
template <class S, class P>
Vec3<S> turning_of_pose(const Tree<P>& tree, const S* v, const ArticulatedWork<S>& factors, const int* path,
                        int count) {
  Vec3<S> u = Vec3<S>::zero(), g{S(tree.gravity.x), S(tree.gravity.y), S(tree.gravity.z)};
  while (count-- > 0) {
    const Node<P>& node = tree.nodes[path[count]];
    const auto& me = factors.row[path[count]];
    g = transposed(me.in_parent.R, g);
    if (node.parent >= 0) u = transposed(me.in_parent.R, u + cross(factors.row[node.parent].w, me.in_parent.p));
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      if constexpr (moves(K)) u += joint_motion<K>(node, v + node.v).v;
    });
  }
  return g - cross(factors.row[path[0]].w, u);
}

// The rotation of the first node of a path in the world.
template <class S>
Mat3<S> rotation_in_world(const ArticulatedWork<S>& factors, const int* path, int count) {
  Mat3<S> R = factors.row[path[--count]].in_parent.R;
  while (count-- > 0) R = R * factors.row[path[count]].in_parent.R;
  return R;
}

// Wrenches of the rows on the node of the first frame; returns how many.
template <class S>
int contact_wrenches(const Constraint& c, const Mat3<S>& world, Force<S>* F) {
  const Vec3<double>& p = c.first.pose.p;
  int count = 0;
  for (int k = 0; k < 6; ++k) {
    if (!c.selects(k)) continue;
    if (c.kind == Constraint::point) {
      const Vec3<S> f = transposed(world, unit<S>(k));
      F[count++] = {cross(p, f), f};
    } else {
      const Vec3<S> axis = widened<S>(c.first.pose).R * unit<S>(k % 3), zero = Vec3<S>::zero();
      F[count++] = k < 3 ? Force<S>{axis, zero} : Force<S>{cross(p, axis), axis};
    }
  }
  return count;
}

// Equation (1) of operational.hpp, and the accelerations (1) and (2) into work.acceleration. The sweep
// inward of forward dynamics must have been made, of the nodes that carry contacts.
template <class S, class P>
void reduce_contacts(const Tree<P>& tree, const ConstraintTable& table, const S* v,
                     const ArticulatedWork<S>& factors, int* path, OperationalWork<S>& work) {
  clear(tree, work);
  for (std::ptrdiff_t k = 0; k < table.count; ++k) {
    const Constraint c = constraint_at(tree, work.m, table.numbers + k * kConstraintNumbers);
    const bool is_point = c.kind == Constraint::point;
    const int node = c.first.node, count = find_ancestors(tree, node, path);
    const Vec3<S>& w = factors.row[node].w;
    Force<S> F[kMostRows];
    Mat3<S> world = Mat3<S>::identity();
    Vec3<S> turning;
    if (is_point) {
      world = rotation_in_world(factors, path, count);
      turning = transposed(world, tree.gravity) + cross(w, cross(w, c.first.pose.p));
    } else {
      turning = turning_of_pose(tree, v, factors, path, count);
    }
    const int rows = contact_wrenches(c, world, F);
    for (int i = 0; i < rows; ++i) work.acceleration[c.row + i] += dot(F[i].f, turning);
    reduce_moving(tree, factors, node, F, S(squared(c.first.pose.p)), c.row, rows, work);
  }
  operational_inertia(tree, factors, work);
}

}  // namespace jounce
