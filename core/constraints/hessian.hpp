// Second derivatives of the rows of constraints, by nested dual numbers, contracted to those of
//   (1) phi(q, v) = weights . (J(q) a + J'(q, v) v) + force . J(q) u
// with weights, force, a and u held fixed; of stabilized rows, what stabilizes them is part of the
// accelerations. Derivatives by q are those at 0 of phi(integrate(q, eps), v): the symmetric part of moving
// along one rate and then along another. Each record is differentiated along the rates it depends on.
#pragma once

#include "jounce/constraints/derivatives.hpp"

namespace jounce {

// Of one state, (nv, nv) each; the first index of dqdv is that of q.
struct RowHessian {
  double *dqdq, *dqdv, *dvdv;
};

// The outer tangent is along one rate, the inner ones along as many as a register holds.
struct RowHessianWork : RowDuals<Dual<Dual<Wide>>> {
  D* u;               // (nv)
  const double* given;  // (nq) coordinates

  template <class P>
  RowHessianWork(const Tree<P>& tree, Extent extent, Arena& arena)
      : RowDuals<D>(tree, extent, arena), u(arena.take<D>(tree.nv)), given(nullptr) {}
};

namespace row_hessian {

// What the rates of one node do to its coordinates, where these move along another one, or along none.
inline void tangent_of(const Node<double>& node, const double* q, int rate, const double* moving,
                       Dual<double>* tangent) {
  Dual<double> x[7], e[6];
  for (int k = 0; k < coordinates(node.kind); ++k) x[k] = {q[node.q + k], moving ? moving[k] : 0.0};
  for (int k = 0; k < 6; ++k) e[k] = k == rate - node.v ? 1.0 : 0.0;
  joint_coordinate_rates(node, x, e, tangent);
}

// Coordinates along the outer direction, times a sign.
inline void seed_outer(const Tree<double>& tree, const RateDirection& along, double sign, RowHessianWork& work) {
  const Node<double>& node = tree.nodes[along.node];
  Dual<double> tangent[7];
  tangent_of(node, work.given, along.rate, nullptr, tangent);
  for (int k = 0; k < coordinates(node.kind); ++k) work.q[node.q + k].d.x = Wide(sign * tangent[k].x);
  if (node.angle < 0) return;
  auto &sine = work.rows.angles.sine[node.angle], &cosine = work.rows.angles.cosine[node.angle];
  sine.d.x = cosine.x.x * sign;
  cosine.d.x = sine.x.x * -sign;
}

// Coordinates along an inner direction in one lane, likewise; `outer` is null if they do not move there.
inline void seed_inner(const Tree<double>& tree, const RateDirection& along, int at, const RateDirection* outer,
                       double sign, RowHessianWork& work) {
  const Node<double>& node = tree.nodes[along.node];
  const bool both = outer && outer->node == along.node;
  Dual<double> first[7], tangent[7];
  double moving[7] = {};
  if (both) {
    tangent_of(node, work.given, outer->rate, nullptr, first);
    for (int k = 0; k < coordinates(node.kind); ++k) moving[k] = first[k].x;
  }
  tangent_of(node, work.given, along.rate, moving, tangent);
  for (int k = 0; k < coordinates(node.kind); ++k) {
    set_lane(work.q[node.q + k].x.d, at, sign * tangent[k].x);
    set_lane(work.q[node.q + k].d.d, at, sign * tangent[k].d);
  }
  if (node.angle < 0) return;
  auto &sine = work.rows.angles.sine[node.angle], &cosine = work.rows.angles.cosine[node.angle];
  const double s = lane(sine.x.x, at), c = lane(cosine.x.x, at);
  set_lane(sine.x.d, at, sign * c);
  set_lane(cosine.x.d, at, -sign * s);
  set_lane(sine.d.d, at, both ? -sign * s : 0.0);
  set_lane(cosine.d.d, at, both ? -sign * c : 0.0);
}

// Adds what the mixed tangents of some rows are, times factors, to a row of a matrix.
inline void add_mixed(const Constraint& c, int rows, const double* factor, const RowHessianWork::D* x,
                      const RateDirection* along, int count, double* out) {
  for (int i = c.row; i < c.row + rows; ++i) {
    for (int k = 0; k < count; ++k) out[along[k].rate] += factor[i] * lane(x[i].d.d, k);
  }
}

// What phi of (1) has of one record: rows of its factors.
struct Factors {
  const double *weights, *force;
};

// One record along the rate `outer` of q, and then along those of q and of v.
inline void along_coordinates(const Tree<double>& tree, const Constraint& c, int rows, const Factors& by,
                              const RateDirection& outer, int rates, const RowHessian& out, RowHessianWork& work) {
  const std::size_t row = std::size_t(outer.rate) * tree.nv;
  seed_outer(tree, outer, 1.0, work);
  for (int from = 0; from < rates; from += lanes<Wide>) {
    const RateDirection* along = work.direction + from;
    const int count = std::min(rates - from, lanes<Wide>);
    for (int k = 0; k < count; ++k) seed_inner(tree, along[k], k, &outer, 1.0, work);
    evaluate(tree, c, false, work);
    add_mixed(c, rows, by.weights, work.acceleration, along, count, out.dqdq + row);
    std::swap(work.u, work.v);
    evaluate(tree, c, false, work);
    add_mixed(c, rows, by.force, work.velocity, along, count, out.dqdq + row);
    std::swap(work.u, work.v);
    for (int k = 0; k < count; ++k) {
      seed_inner(tree, along[k], k, &outer, 0.0, work);
      set_lane(work.v[along[k].rate].x.d, k, 1.0);
    }
    evaluate(tree, c, false, work);
    add_mixed(c, rows, by.weights, work.acceleration, along, count, out.dqdv + row);
    for (int k = 0; k < count; ++k) set_lane(work.v[along[k].rate].x.d, k, 0.0);
  }
  seed_outer(tree, outer, 0.0, work);
}

// The same along the rate `outer` of v, and then along those of v.
inline void along_rates(const Tree<double>& tree, const Constraint& c, int rows, const Factors& by,
                        const RateDirection& outer, int rates, const RowHessian& out, RowHessianWork& work) {
  work.v[outer.rate].d.x = Wide(1.0);
  for (int from = 0; from < rates; from += lanes<Wide>) {
    const RateDirection* along = work.direction + from;
    const int count = std::min(rates - from, lanes<Wide>);
    for (int k = 0; k < count; ++k) set_lane(work.v[along[k].rate].x.d, k, 1.0);
    evaluate(tree, c, false, work);
    add_mixed(c, rows, by.weights, work.acceleration, along, count, out.dvdv + std::size_t(outer.rate) * tree.nv);
    for (int k = 0; k < count; ++k) set_lane(work.v[along[k].rate].x.d, k, 0.0);
  }
  work.v[outer.rate].d.x = Wide(0.0);
}

}  // namespace row_hessian

template <class Table>
void row_hessian_of(const Tree<double>& tree, const Table& table, int m, const double* q, const double* v,
                    const double* a, const double* u, const double* weights, const double* force,
                    const RowHessian& out, RowHessianWork& work) {
  using namespace row_hessian;
  const std::size_t nv = tree.nv;
  for (double* x : {out.dqdq, out.dqdv, out.dvdv}) std::fill_n(x, nv * nv, 0.0);
  work.given = q;
  for (int k = 0; k < tree.nq; ++k) work.q[k] = q[k];
  for (std::size_t k = 0; k < nv; ++k) work.v[k] = v[k], work.a[k] = a[k], work.u[k] = u[k];
  std::fill_n(work.force, m, RowHessianWork::D(0.0));
  work.rows.angles.compute(tree, work.q);
  for_records(tree, table, m, work.direction, [&](const Constraint& c, int rows, int rates) {
    for (int k = 0; k < rates; ++k) {
      pause();
      along_coordinates(tree, c, rows, {weights, force}, work.direction[k], rates, out, work);
      along_rates(tree, c, rows, {weights, force}, work.direction[k], rates, out, work);
    }
  });
  for (std::size_t i = 0; i < nv; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      double &x = out.dqdq[i * nv + j], &y = out.dqdq[j * nv + i];
      x = y = 0.5 * (x + y);
    }
  }
}

}  // namespace jounce
