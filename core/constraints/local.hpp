// Constraints whose paths do not overlap, eliminated at the common ancestors of their frames, in O(n + m)
// (Sathya and Carpentier, "Constrained articulated body dynamics algorithms").
//
// Let A be the last common ancestor of the two frames of some constraints. The accelerations of their
// rows depend on the joints below it alone. With the articulated inertias of these, by equation (1) of
// operational.hpp up to A, where the wrenches E of the rows arrive,
//   (1) acceleration = E^T x + L f + l,   L = Z D^-1 Z^T
// with the acceleration x of A, and l without x and f. Rows shall have the accelerations w, so
//   (2) f = L^+ (w - l - E^T x),   J += E L^+ E^T,   F0 -= E L^+ (w - l)
// for the articulated inertia J and bias wrench F0 of A, and nobody above it sees the constraints any more.
// Where rows depend on each other, E must vanish for what L^+ leaves out, else they hold A itself.
#pragma once

#include "jounce/constraints/dynamics.hpp"

namespace jounce {

constexpr int kMostLocal = 24;  // rows that meet at one node

struct LocalWork {
  int m;  // of all rows
  ArticulatedWork<double> factors;
  RowsWork<double> rows;
  RowSolveWork<double> solve;
  double *Z;                // (nv, kMostLocal)
  double *a, *wanted;       // (nv); (m)
  Force<double>* E;         // (m)
  Force<double>* G;         // (m) L^+ E^T
  double *f0, *x, *spare;   // (m) L^+ (w - l); (6 kMostLocal) each
  int *column;              // (m) place of a row among those that meet
  int *first, *next;        // (n + 1) and (m) records by common ancestor, the world last
  double *K, *scale;        // of the rows that meet
  int *path, *owner;        // (depth); (n)
  Mat3<double>* world;      // (n) rotations, and angular velocities
  Vec3<double>* spin;
  int rank;
  bool is_local;

  template <class P>
  LocalWork(const Tree<P>& tree, Extent extent, Arena& arena)
      : m(extent.rows), factors(tree, arena), rows(tree, arena), solve(kMostLocal, arena), rank(0), is_local(true) {
    Z = arena.take<double>(std::size_t(tree.nv) * kMostLocal);
    a = arena.take<double>(tree.nv);
    wanted = arena.take<double>(m);
    E = arena.take<Force<double>>(m);
    G = arena.take<Force<double>>(m);
    f0 = arena.take<double>(m);
    x = arena.take<double>(6 * kMostLocal);
    spare = arena.take<double>(6 * kMostLocal);
    column = arena.take<int>(m);
    first = arena.take<int>(tree.n + 1);
    next = arena.take<int>(m);
    K = arena.take<double>(kMostLocal * kMostLocal);
    scale = arena.take<double>(kMostLocal);
    path = arena.take<int>(tree.depth);
    owner = arena.take<int>(tree.n);
    world = arena.take<Mat3<double>>(tree.n);
    spin = arena.take<Vec3<double>>(tree.n);
  }
};

// What the call brings.
struct LocalCall {
  const Tree<double>& tree;
  const ConstraintTable& table;
  const double *q, *v;

  JOUNCE_INLINE Constraint record(int k, int m) const {
    return constraint_at(tree, m, table.numbers + k * std::ptrdiff_t(kConstraintNumbers));
  }
};

namespace local {

constexpr int kNobody = -2;
constexpr double kInternal = 1e-9;  // of the largest wrench

// Marks the nodes below a common ancestor as those of its constraints; false if another one has them.
inline bool claim(const Tree<double>& tree, int node_index, int stop, int* owner) {
  for (int i = node_index; i != stop; i = tree.nodes[i].parent) {
    if (owner[i] != kNobody && owner[i] != stop) return false;
    owner[i] = stop;
  }
  return true;
}

// Lists the records at their common ancestors; false if there are couplings, or paths that overlap.
inline bool sort_records(const LocalCall& call, LocalWork& work) {
  std::fill_n(work.first, call.tree.n + 1, -1);
  std::fill_n(work.owner, call.tree.n, kNobody);
  if (call.table.count > work.m) return false;
  for (int k = int(call.table.count) - 1; k >= 0; --k) {
    const Constraint c = call.record(k, work.m);
    if (c.kind == Constraint::coupling || !c.selected) return false;
    if (!claim(call.tree, c.first.node, c.common, work.owner)) return false;
    if (!claim(call.tree, c.second.node, c.common, work.owner)) return false;
    int& head = work.first[c.common < 0 ? call.tree.n : c.common];
    work.next[k] = head;
    head = k;
  }
  return true;
}

JOUNCE_INLINE int count_rows(const Constraint& c) {
  int count = 0;
  for (int k = 0; k < kMostRows; ++k) count += c.selects(k);
  return count;
}

// Accelerations of the rates below the common ancestor, if that does not accelerate.
inline void path_accelerations(const LocalCall& call, int node_index, int stop, LocalWork& work) {
  int count = 0;
  for (int i = node_index; i != stop; i = call.tree.nodes[i].parent) work.path[count++] = i;
  Motion<double> x = Motion<double>::zero();
  if (stop < 0) x.v = -call.tree.gravity;
  while (count-- > 0) {
    const int i = work.path[count];
    const Node<double>& node = call.tree.nodes[i];
    const auto& me = work.factors.row[i];
    x = to_child(me.in_parent, x);
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = 0; k < rates(K); ++k) {
        const double y = work.factors.rate[node.v + k].acceleration(x);
        work.a[node.v + k] = y;
        add_rate<K>(node, k, y, x);
      }
    });
    x += me.c;
  }
}

// Equation (1) of operational.hpp from a node to the common ancestor; returns what arrives there.
inline Force<double> reduce_to(const LocalCall& call, int node_index, int stop, Force<double> F, double reach,
                               int column, LocalWork& work) {
  double levers = squared(F.f) * reach;
  for (int i = node_index; i != stop; i = call.tree.nodes[i].parent) {
    const Node<double>& node = call.tree.nodes[i];
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = rates(K) - 1; k >= 0; --k) {
        const auto& rate = work.factors.rate[node.v + k];
        const double z = along<K>(node, k, F);
        const double size = slides(K, k) ? squared(F.f) : squared(F.n) + levers;
        work.Z[std::size_t(node.v + k) * kMostLocal + column] = z;
        work.scale[column] += size * rate.inverse_D;
        F -= rate.U * (z * rate.inverse_D);
      }
    });
    levers += squared(F.f) * squared(work.factors.row[i].in_parent.p);
    F = to_parent(work.factors.row[i].in_parent, F);
  }
  return F;
}

// Adds rows [from, to) of Z D^-1 Z^T along their path to K, (m, m).
inline void add_inertia(const LocalCall& call, int node_index, int stop, int from, int to, int m,
                        LocalWork& work) {
  for (int i = node_index; i != stop; i = call.tree.nodes[i].parent) {
    const Node<double>& node = call.tree.nodes[i];
    for (int r = node.v; r < node.v + node.nv; ++r) {
      const double* z = work.Z + std::size_t(r) * kMostLocal;
      for (int a = from; a < to; ++a) {
        const double scaled = z[a] * work.factors.rate[r].inverse_D;
        for (int b = 0; b < m; ++b) work.K[a * m + b] += scaled * z[b];
      }
    }
  }
}

inline void clear_path(const LocalCall& call, int node_index, int stop, LocalWork& work) {
  for (int i = node_index; i != stop; i = call.tree.nodes[i].parent) {
    const Node<double>& node = call.tree.nodes[i];
    std::fill_n(work.Z + std::size_t(node.v) * kMostLocal, std::size_t(node.nv) * kMostLocal, 0.0);
  }
}

// Equation (1) for one record, whose rows get the columns from `from` on; wanted becomes w - l.
inline void measure(const LocalCall& call, const Constraint& c, int from, LocalWork& work) {
  path_accelerations(call, c.first.node, c.common, work);
  path_accelerations(call, c.second.node, c.common, work);
  ConstraintRow<double> row[kMostRows];
  const Relative<double> A = relative_motion(call.tree, c, call.q, call.v, work.a, work.rows);
  const int count = rows_of(c, A, false, row);
  const double reach = own_reach(c) + squared(c.first.pose.p);
  const double reach_second = own_reach(c) + squared(A.pose.p) + squared(c.second.pose.p);
  for (int i = 0; i < count; ++i) {
    const int at = c.row + i, column = from + i;
    const Force<double>& W = row[i].wrench;
    double acceleration = dot(W, A.acceleration) + row[i].bias;
    if (c.is_stabilized()) acceleration += stabilization(c, dot(W, A.twist), row[i].residual);
    work.wanted[at] -= acceleration;
    work.column[at] = column;
    work.scale[column] = 0.0;
    work.E[at] = reduce_to(call, c.first.node, c.common, to_parent(c.first.pose, W), reach, column, work);
    if (c.second.node == c.common && c.common < 0) continue;
    const Force<double> opposite = to_parent(c.second.pose, to_parent(A.pose, W)) * -1.0;
    work.E[at] += reduce_to(call, c.second.node, c.common, opposite, reach_second, column, work);
  }
}

// Calls visit(record) for those that meet at a node, -1 for the world.
template <class Visit>
JOUNCE_INLINE void for_meeting(const LocalCall& call, int node, const LocalWork& work, Visit&& visit) {
  for (int k = work.first[node < 0 ? call.tree.n : node]; k >= 0; k = work.next[k]) visit(call.record(k, work.m));
}

// L of the rows that meet at a node, factored. Returns how many there are, or -1 if they are too many.
inline int gather(const LocalCall& call, int node, LocalWork& work) {
  int total = 0;
  for_meeting(call, node, work, [&](const Constraint& c) {
    total += count_rows(c);
    clear_path(call, c.first.node, c.common, work);
    clear_path(call, c.second.node, c.common, work);
  });
  if (total == 0 || total > kMostLocal) return total == 0 ? 0 : -1;
  int from = 0;
  for_meeting(call, node, work, [&](const Constraint& c) {
    measure(call, c, from, work);
    from += count_rows(c);
  });
  std::fill_n(work.K, total * total, 0.0);
  from = 0;
  for_meeting(call, node, work, [&](const Constraint& c) {
    const int to = from + count_rows(c);
    add_inertia(call, c.first.node, c.common, from, to, total, work);
    add_inertia(call, c.second.node, c.common, from, to, total, work);
    from = to;
  });
  return total;
}

// Whether rows that depend on each other leave nothing to hold their ancestor: (1 - Q Q^T) E^T = 0.
inline bool is_internal(const LocalCall& call, int node, int rank, LocalWork& work) {
  const int m = work.solve.m;
  double *left = work.x, most = 1.0;
  for_meeting(call, node, work, [&](const Constraint& c) {
    for (int at = c.row; at < c.row + count_rows(c); ++at) {
      store(work.E[at].n, left + 6 * work.column[at]);
      store(work.E[at].f, left + 6 * work.column[at] + 3);
    }
  });
  for (int i = 0; i < 6 * m; ++i) most = std::max(most, std::abs(left[i]));
  for (int k = 0; k < rank; ++k) {
    const double* column = work.solve.Q + k * m;
    for (int d = 0; d < 6; ++d) {
      double sum = 0.0;
      for (int i = 0; i < m; ++i) sum += column[i] * left[6 * i + d];
      for (int i = 0; i < m; ++i) left[6 * i + d] -= sum * column[i];
    }
  }
  return std::all_of(left, left + 6 * m, [most](double x) { return std::abs(x) < kInternal * most; });
}

// Equation (2) at a node.
inline void eliminate(const LocalCall& call, int node, ArticulatedInertia<double>* J, Force<double>* F0,
                      LocalWork& work) {
  const int m = gather(call, node, work);
  if (m == 0) return;
  if (m < 0) {
    work.is_local = false;
    return;
  }
  RowSolveWork<double>& solve = work.solve;
  solve.m = m;
  double* right = work.x;  // E^T, and w - l
  double rhs[kMostLocal], rank = 0.0;
  for_meeting(call, node, work, [&](const Constraint& c) {
    for (int at = c.row; at < c.row + count_rows(c); ++at) {
      const int i = work.column[at];
      store(work.E[at].n, right + 6 * i);
      store(work.E[at].f, right + 6 * i + 3);
      rhs[i] = work.wanted[at];
    }
  });
  solve_rows(work.K, m, work.scale, rhs, &rank, solve);
  work.rank += int(rank);
  solve_columns(int(rank), 6, right, work.spare, solve);
  for_meeting(call, node, work, [&](const Constraint& c) {
    for (int at = c.row; at < c.row + count_rows(c); ++at) {
      const double* g = right + 6 * work.column[at];
      work.G[at] = {{g[0], g[1], g[2]}, {g[3], g[4], g[5]}};
      work.f0[at] = rhs[work.column[at]];
      if (node < 0) continue;
      J->eliminate(work.E[at], work.G[at] * -1.0);
      *F0 -= work.E[at] * work.f0[at];
    }
  });
  if (int(rank) < m && node >= 0 && !is_internal(call, node, int(rank), work)) work.is_local = false;
}

// The sweep inward, with eliminations on the way.
struct Elimination : BiasReduction<double, double, NoneMask> {
  using Base = BiasReduction<double, double, NoneMask>;
  const LocalCall& call;
  LocalWork& work;

  Elimination(const LocalCall& given, const double* tau, LocalWork& own)
      : Base(given.tree, NoneMask{}, nullptr, tau, own.factors.row), call(given), work(own) {}

  bool enter(int i, Base::Row& me) {
    if (work.is_local) eliminate(call, i, &me.J, &me.F0, work);
    return Base::enter(i, me);
  }
};

// Forces of the constraints that meet at a node with the acceleration x, and what they do below it.
inline void release(const LocalCall& call, int node, const Motion<double>& x, double* f, LocalWork& work) {
  for_meeting(call, node, work, [&](const Constraint& c) {
    const int count = count_rows(c);
    for (int at = c.row; at < c.row + count; ++at) {
      f[at] = work.f0[at] - (node < 0 ? 0.0 : dot(work.G[at], x));
    }
    for (int side : {c.first.node, c.second.node}) {
      for (int i = side; i != c.common; i = call.tree.nodes[i].parent) {
        const Node<double>& below = call.tree.nodes[i];
        for (int r = below.v; r < below.v + below.nv; ++r) {
          const double* z = work.Z + std::size_t(r) * kMostLocal;
          for (int at = c.row; at < c.row + count; ++at) work.factors.rate[r].u += z[work.column[at]] * f[at];
        }
      }
    }
  });
}

inline void solve_outward(const LocalCall& call, double* a, double* f, LocalWork& work) {
  release(call, -1, Motion<double>::zero(), f, work);
  for (int i = 0; i < call.tree.n; ++i) {
    const Node<double>& node = call.tree.nodes[i];
    auto& me = work.factors.row[i];
    me.x = {Vec3<double>::zero(), -transposed(me.in_parent.R, call.tree.gravity)};
    if (node.parent >= 0) me.x = to_child(me.in_parent, work.factors.row[node.parent].x);
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = 0; k < rates(K); ++k) {
        const double y = work.factors.rate[node.v + k].acceleration(me.x);
        a[node.v + k] = y;
        add_rate<K>(node, k, y, me.x);
      }
    });
    me.x += me.c;
    release(call, i, me.x, f, work);
  }
}

}  // namespace local

// As constrained_dynamics; the rank is -1 if constraints cannot be eliminated where their frames meet.
// Returns a singular node or -1.
inline int local_dynamics(const Tree<double>& tree, const ConstraintTable& table, const double* q,
                          const double* v, const double* tau, const double* w, const double* f_ext,
                          double* a, double* f, double* rank, LocalWork& work) {
  const LocalCall call{tree, table, q, v};
  work.rank = 0;
  work.is_local = local::sort_records(call, work);
  std::fill_n(a, tree.nv, 0.0);
  std::fill_n(f, work.m, 0.0);
  *rank = -1.0;
  if (!work.is_local) return -1;
  std::copy_n(w, work.m, work.wanted);
  articulated_outward(tree, q, v, f_ext, work.factors);
  work.rows.angles = work.factors.angles;
  for (int i = 0; i < tree.n; ++i) {
    const int parent = tree.nodes[i].parent;
    const Mat3<double>& R = work.factors.row[i].in_parent.R;
    work.world[i] = parent < 0 ? R : work.world[parent] * R;
    work.spin[i] = work.factors.row[i].w;
  }
  work.rows.world = work.world;
  work.rows.spin = work.spin;
  int singular = -1;
  local::Elimination visitor(call, tau, work);
  factor_inward<double>(tree, NoneMask{}, NodeAxes{}, work.factors.row, work.factors.rate, singular, visitor);
  if (singular >= 0) return singular;
  if (work.is_local) local::eliminate(call, -1, nullptr, nullptr, work);
  if (!work.is_local) return -1;
  *rank = work.rank;
  local::solve_outward(call, a, f, work);
  return -1;
}

}  // namespace jounce
