// A Taylor step under constraints, in more digits than its state is stored with.
//
// Without a projection, what rounding leaves of a row's acceleration adds up twice on the way to its residual:
// sums with compensation keep what the state lacks, but rates of 50 rad/s have accelerations whose last digit
// is 1e-13 rad/s^2. So the state with what it lacks, the series (constraints/series_solve.hpp), and their
// sums (taylor.hpp) are all of extended precision.
#pragma once

#include "jounce/constraints/series_solve.hpp"
#include "jounce/simulation/taylor.hpp"

namespace jounce {

struct ConstrainedTaylorWork {
  TaylorWork<Extended> taylor;
  ConstrainedSeriesWork<Extended> constrained;
  Extended *a, *tau, *w, *force, *f_ext;
  Extended rank;

  // `extent.order` is that of the forces, one less than that of the rates.
  template <class P>
  ConstrainedTaylorWork(const Tree<P>& tree, Extent extent, Arena& arena)
      : taylor(tree, extent.order + 1, arena), constrained(tree, extent, arena) {
    const std::size_t orders = extent.order + 1;
    for (Extended** x : {&a, &tau}) *x = arena.take<Extended>(orders * tree.nv);
    w = arena.take<Extended>((orders + 1) * extent.rows);
    force = arena.take<Extended>(orders * extent.rows);
    f_ext = arena.take<Extended>(orders * 6 * tree.n_bodies);
  }
};

// Derivatives of what acts: forces, and the rates that rows shall have; f_ext may be null.
struct SeriesInputs {
  const double *tau, *w, *f_ext;
};

// The series of the motion from work.taylor.q and .s on, in work.taylor. Returns a singular node or -1.
template <class P>
int constrained_taylor_series(const Tree<P>& tree, const ConstraintTable& table, const SeriesInputs& in,
                              ConstrainedTaylorWork& work) {
  TaylorWork<Extended>& taylor = work.taylor;
  const std::size_t orders = taylor.order, nv = tree.nv;
  std::copy_n(in.tau, orders * nv, work.tau);
  std::copy_n(in.w, (orders + 1) * work.constrained.rows.m, work.w);
  if (in.f_ext) std::copy_n(in.f_ext, orders * 6 * tree.n_bodies, work.f_ext);
  to_body_axes(tree, taylor.q, taylor.s, taylor.v);
  const Extended* nothing = nullptr;
  Extended* no_forces = nullptr;
  const int singular = constrained_series(tree, table, NoneMask{}, (const Extended*)taylor.q,
                                          (const Extended*)taylor.v, nothing, (const Extended*)work.tau,
                                          (const Extended*)work.w, in.f_ext ? work.f_ext : nothing, work.a,
                                          no_forces, work.force, &work.rank, work.constrained);
  const SeriesWork<Extended>& series = work.constrained.solve.series;
  std::copy_n(series.rate, (orders + 1) * nv, taylor.rates());
  taylor::coordinate_series(tree, series, taylor);
  return singular;
}

}  // namespace jounce
