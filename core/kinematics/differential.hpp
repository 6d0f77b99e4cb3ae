// How q exp(u) changes with q and u, joint by joint, in left-trivialized tangent spaces:
//   delta (q exp(u)) = Ad(exp(-u)) delta q + dexp(-u) delta u,
// with the right-trivialized dexp. For 1-DoF joints both are 1.
#pragma once

#include "jounce/lie/group.hpp"
#include "jounce/spatial/spatial.hpp"
#include "jounce/tree/tree.hpp"

namespace jounce {

// Writes the n x n matrix of a map (n = 3: of its angular half) to columns of six rows `step` apart.
inline void store_block(const BlockMap& map, int n, int step, double* to) {
  const Vec3<double> o = Vec3<double>::zero();
  const Vec3<double> d[] = {map.D.x, map.D.y, map.D.z}, l[] = {map.L.x, map.L.y, map.L.z};
  for (int k = 0; k < n; ++k) {
    const Vec3<double>&up = k < 3 ? d[k] : o, &low = n == 3 ? o : k < 3 ? l[k] : d[k - 3];
    store(Motion<double>{up, low}, to + k, step);
  }
}

// by_q and by_dv are 6 x nv, row-major: the block of a joint with n rates stands in the first n rows of
// its columns, the rest is zero.
inline void integrate_blocks(const Tree<double>& tree, const double* dv, double* by_q,
                             double* by_dv) {
  const Vec3<double> o = Vec3<double>::zero();
  for (const Node<double>& node : tree.nodes) {
    const double* u = dv + node.v;
    if (node.nv == 1) {
      const Motion<double> x{{1.0, 0.0, 0.0}, o};
      store(x, by_q + node.v, tree.nv);
      store(x, by_dv + node.v, tree.nv);
      continue;
    }
    const Vec3<double> w{-u[0], -u[1], -u[2]};
    const Vec3<double> v = node.kind == Kind::free ? Vec3<double>{-u[3], -u[4], -u[5]} : o;
    const BlockMap dexp = right_dexp(w, v);
    store_block(dexp, node.nv, tree.nv, by_dv + node.v);
    store_block(adjoint_of_exp(w, v, dexp), node.nv, tree.nv, by_q + node.v);
  }
}

}  // namespace jounce
