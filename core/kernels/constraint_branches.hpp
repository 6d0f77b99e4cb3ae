// Dynamics of one state that the world holds, with its branches in lanes (tree/branched_tree.hpp).
//
// The sweeps of forward dynamics run on the branched tree. The rows of contacts are reduced along the few
// nodes that carry them, on the tree as it is: what they need of these nodes is copied out of the lanes, and
// the forces that they leave to accelerate the rates are put back.
#pragma once

#include <optional>

#include "jounce/batch/branches.hpp"
#include "jounce/constraints/dynamics.hpp"
#include "jounce/simulation/accelerations.hpp"

namespace jounce {

struct ContactBranches : BranchDynamics {
  int* place;  // (n) of a node that carries a contact, its node of the branched tree; or -1

  ContactBranches(const Tree<double>& tree, Arena& arena)
      : BranchDynamics(tree.branched->tree, arena), place(arena.take<int>(tree.n)) {}
};

// The workspace of constrained dynamics; of one state, that of its branches as well.
template <class S>
struct ConstrainedForwardWork : ConstrainedWork<S> {
  using ConstrainedWork<S>::ConstrainedWork;
};
template <>
struct ConstrainedForwardWork<double> : ConstrainedWork<double> {
  std::optional<ContactBranches> branches;

  ConstrainedForwardWork(const Tree<double>& tree, Extent extent, Arena& arena)
      : ConstrainedWork<double>(tree, extent, arena) {
    if (tree.branched) branches.emplace(tree, arena);
  }
};

namespace contact_branches {

// The numbers of one lane.
template <class X, class Packs>
JOUNCE_INLINE void take_lane(const Packs& from, int lane, X& to) {
  static_assert(sizeof(Packs) / sizeof(Branches) == sizeof(X) / sizeof(double));
  const auto* numbers = reinterpret_cast<const double*>(&from) + lane;
  auto* own = reinterpret_cast<double*>(&to);
  for (std::size_t k = 0; k < sizeof(X) / sizeof(double); ++k) own[k] = numbers[kBranchLanes * k];
}

// The node of the branched tree that has a rate.
inline int find_place(const BranchedTree& branched, int rate) {
  return node_of_rate(branched.tree, branched.v_place[rate] / kBranchLanes);
}

// What contacts need of a node and its rates.
inline void take_node(const Node<double>& node, const Node<Branches>& from, int lane, int i, int place,
                      ConstrainedForwardWork<double>& work) {
  const ArticulatedWork<Branches>& packs = work.branches->work;
  auto& row = work.factors.row[i];
  take_lane(packs.row[place].in_parent, lane, row.in_parent);
  take_lane(packs.row[place].w, lane, row.w);
  take_lane(packs.row[place].c, lane, row.c);
  for (int k = 0; k < node.nv; ++k) {
    auto& rate = work.factors.rate[node.v + k];
    take_lane(packs.rate[from.v + k].U, lane, rate.U);
    take_lane(packs.rate[from.v + k].inverse_D, lane, rate.inverse_D);
    take_lane(packs.rate[from.v + k].u, lane, rate.u);
  }
}

// The nodes that carry contacts, out of the lanes.
inline void take_carriers(const Tree<double>& tree, const ConstraintTable& table,
                          ConstrainedForwardWork<double>& work) {
  const BranchedTree& branched = *tree.branched;
  int* place = work.branches->place;
  std::fill_n(place, tree.n, -1);
  for (std::ptrdiff_t k = 0; k < table.count; ++k) {
    int i = constraint_at(tree, work.operational.m, table.numbers + k * kConstraintNumbers).first.node;
    const int rate = tree.nodes[i].v, lane = branched.v_place[rate] % kBranchLanes;
    for (int at = find_place(branched, rate); i >= 0 && place[i] < 0; i = tree.nodes[i].parent) {
      take_node(tree.nodes[i], branched.tree.nodes[at], lane, i, at, work);
      place[i] = at;
      at = branched.tree.nodes[at].parent;
    }
  }
}

// Adds what the forces of the rows leave to accelerate a rate, in all lanes that hold it.
inline void apply_in_lanes(const Tree<double>& tree, const double* f, ConstrainedForwardWork<double>& work) {
  const BranchedTree& branched = *tree.branched;
  const OperationalWork<double>& reduced = work.operational;
  for (int i = 0; i < tree.n; ++i) {
    if (work.branches->place[i] < 0) continue;
    const Node<double>& node = tree.nodes[i];
    const Node<Branches>& at = branched.tree.nodes[work.branches->place[i]];
    const int lane = branched.v_place[node.v] % kBranchLanes;
    for (int k = 0; k < node.nv; ++k) {
      const double* z = reduced.Z + (node.v + k) * reduced.stride;
      double u = 0.0;
      for (int r = reduced.begin[node.v + k]; r < reduced.end[node.v + k]; ++r) u += z[r] * f[r];
      auto* lanes_of_u = reinterpret_cast<double*>(&work.branches->work.rate[at.v + k].u);
      for (int step = 0; step < kBranchLanes; ++step) {
        const auto* same = reinterpret_cast<const double*>(&at.sharing.same[step]);
        lanes_of_u[(lane + step) % kBranchLanes] += same[lane] * u;
      }
    }
  }
}

}  // namespace contact_branches

// As constrained_dynamics without external wrenches. False if there is something else than contacts, or if
// the state is refused: then it has to run on the tree as it is.
inline bool held_in_branches(const Tree<double>& tree, const ConstraintTable& table, const double* q,
                             const double* v, const double* tau, const double* w, double* a, double* f,
                             double* rank, ConstrainedForwardWork<double>& work) {
  if (!work.branches || !are_contacts(tree, table, work.operational.m)) return false;
  const BranchedTree& branched = *tree.branched;
  ContactBranches& packs = *work.branches;
  const Branches* none = nullptr;
  packs.take(tree, q, v, tau);
  articulated_outward(branched.tree, packs.q, packs.v, none, packs.work);
  if (articulated_inward(branched.tree, none, packs.tau, NoneMask{}, packs.work) >= 0) return false;
  contact_branches::take_carriers(tree, table, work);
  reduce_contacts(tree, table, v, work.factors, work.path, work.operational);
  solve_forces(w, (const double*)work.operational.acceleration, f, rank, work);
  contact_branches::apply_in_lanes(tree, f, work);
  articulated_solve(branched.tree, branched.tree.gravity, none, packs.tau, NoneMask{}, packs.a,
                    (Branches*)nullptr, packs.work);
  collect(branched, packs.a, 1, a);
  return std::all_of(a, a + tree.nv, [](double x) { return std::isfinite(x); });
}

}  // namespace jounce
