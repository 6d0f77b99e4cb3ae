// Forces of constraints: the least-norm solution of K f = b with the symmetric K = J M^-1 J^T.
//
// If all pivots of K = L D L^T are well above rounding errors, f follows by substitution. Otherwise rows
// depend on each other: with Cholesky's factor of the largest pivots, K = L L^T, L = Q R of full rank,
//   (1) f = K^+ b = Q R^-T R^-1 Q^T b
// is the shortest of all f that bring K f nearest to b. A pivot counts as zero below kDependent times
// what it is made of.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "jounce/scalar/dual.hpp"
#include "jounce/scalar/pack.hpp"
#include "jounce/scalar/pause.hpp"
#include "jounce/tree/workspace.hpp"

namespace jounce {

constexpr double kDependent = 1e-11;

// Few rows, which most robots have, take less than asking does.
constexpr int kRowsBetweenPauses = 32;

// How far rows of matrices of m columns are apart: those of doubles are worked on a register at a time,
// also from a column in the middle, so that what lies beyond them is there to be overwritten.
template <class S>
constexpr std::size_t row_stride(int m) {
  constexpr std::size_t width = lanes<Wide>;
  return std::is_same_v<S, double> ? (m + 2 * width - 2) / width * width : m;
}

template <class S>
struct RowSolveWork {
  int m;
  S* L;       // (m, stride) rows are columns of L, from the diagonal on
  S* pivot;   // (m) inverse
  // of one state, where rows depend on each other
  double *K, *Q, *R;  // (m, m) each; Q column by column
  double *x, *scale;
  int* order;
  bool chosen = false;  // whether these were used
  S rank;               // of dual numbers, which have the forces of some independent rows instead

  RowSolveWork(int rows, Arena& arena) : m(rows) {
    const std::size_t square = std::size_t(m) * m;
    L = arena.take<S>(m * row_stride<S>(m));
    pivot = arena.take<S>(m);
    K = arena.take<double>(square);
    Q = arena.take<double>(square);
    R = arena.take<double>(square);
    x = arena.take<double>(2 * std::size_t(m));
    scale = arena.take<double>(m);
    order = arena.take<int>(m);
  }
};

// to[j] -= x from[j] for begin <= j < end; for doubles, for some j around these as well.
template <class S>
JOUNCE_INLINE void subtract_multiple(const S& x, const S* from, int begin, int end, S* to) {
  if constexpr (std::is_same_v<S, double>) {
    constexpr int width = lanes<Wide>;
    for (int j = begin / width * width; j < end; j += width) {
      (Wide::load(to + j) - Wide::load(from + j) * x).store(to + j);
    }
  } else {
    for (int j = begin; j < end; ++j) to[j] -= from[j] * x;
  }
}

// L D L^T of the upper half of K, whose rows are `stride` apart. Returns whether all pivots of all states
// are well above zero.
template <class S>
bool factor_rows(const S* K, std::size_t stride, const S* scale, RowSolveWork<S>& work) {
  const int m = work.m;
  const std::size_t own = row_stride<S>(m);
  S* L = work.L;
  bool independent = true;
  if constexpr (is_dual<S>) work.rank = S(0.0);
  for (int i = 0; i < m; ++i) std::copy(K + i * stride + i, K + i * stride + m, L + i * own + i);
  for (int i = 0; i < m; ++i) {
    if (i % kRowsBetweenPauses == kRowsBetweenPauses - 1) pause();
    S* row = L + i * own;
    const S pivot = row[i];
    const auto above = value(pivot) > value(scale[i] * kDependent);
    if (!all(above)) independent = false;
    if constexpr (is_dual<S>) {  // a row that depends on those before it gets no force; NaN stays NaN
      const auto below = value(pivot) <= value(scale[i] * kDependent);
      work.pivot[i] = select(below, S(0.0), S(1.0) / select(below, S(1.0), pivot));
      work.rank += select(above, S(1.0), S(0.0));
    } else {
      work.pivot[i] = S(1.0) / pivot;
    }
    for (int k = i + 1; k < m; ++k) subtract_multiple<S>(row[k] * work.pivot[i], row, k, m, L + k * own);
    for (int k = i + 1; k < m; ++k) row[k] *= work.pivot[i];
  }
  return independent;
}

template <class S>
void substitute_rows(const RowSolveWork<S>& work, S* b) {
  const int m = work.m;
  const std::size_t own = row_stride<S>(m);
  for (int i = 0; i < m; ++i) {
    const S* row = work.L + i * own;
    for (int k = i + 1; k < m; ++k) b[k] -= row[k] * b[i];
  }
  for (int i = 0; i < m; ++i) b[i] *= work.pivot[i];
  for (int i = m; i-- > 0;) {
    for (int k = 0; k < i; ++k) b[k] -= work.L[k * own + i] * b[i];
  }
}

// Cholesky's factor of the largest pivots, its columns in Q. Returns the rank.
template <class S>
int choose_rows(RowSolveWork<S>& work) {
  const int m = work.m;
  double *K = work.K, *scale = work.scale;
  std::fill_n(work.order, m, 0);  // 1 where a row is chosen
  int rank = 0;
  for (; rank < m; ++rank) {
    pause();
    int best = -1;
    double most = kDependent;
    for (int i = 0; i < m; ++i) {
      const double relative = scale[i] > 0.0 ? K[i * m + i] / scale[i] : 0.0;
      if (!work.order[i] && relative > most) best = i, most = relative;
    }
    if (best < 0) break;
    work.order[best] = 1;
    double* column = work.Q + std::size_t(rank) * m;
    const double root = std::sqrt(K[best * m + best]);
    for (int i = 0; i < m; ++i) column[i] = work.order[i] && i != best ? 0.0 : K[i * m + best] / root;
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < m; ++j) K[i * m + j] -= column[i] * column[j];
    }
  }
  return rank;
}

// L = Q R by Gram and Schmidt, twice.
template <class S>
void orthogonalize(int rank, RowSolveWork<S>& work) {
  const int m = work.m;
  std::fill_n(work.R, std::size_t(m) * m, 0.0);
  for (int k = 0; k < rank; ++k) {
    pause();
    double* q = work.Q + std::size_t(k) * m;
    for (int pass = 0; pass < 2; ++pass) {
      for (int j = 0; j < k; ++j) {
        const double* p = work.Q + std::size_t(j) * m;
        double sum = 0.0;
        for (int i = 0; i < m; ++i) sum += p[i] * q[i];
        for (int i = 0; i < m; ++i) q[i] -= sum * p[i];
        work.R[j * m + k] += sum;
      }
    }
    double square = 0.0;
    for (int i = 0; i < m; ++i) square += q[i] * q[i];
    const double length = std::sqrt(square);
    work.R[k * m + k] = length;
    for (int i = 0; i < m; ++i) q[i] /= length;
  }
}

// Equation (1) for one right-hand side, in place.
template <class S>
void least_norm(int rank, const RowSolveWork<S>& work, double* b) {
  const int m = work.m;
  double* x = work.x;
  for (int k = 0; k < rank; ++k) {
    x[k] = 0.0;
    for (int i = 0; i < m; ++i) x[k] += work.Q[std::size_t(k) * m + i] * b[i];
  }
  for (int k = rank - 1; k >= 0; --k) {  // R y = x
    for (int j = k + 1; j < rank; ++j) x[k] -= work.R[k * m + j] * x[j];
    x[k] /= work.R[k * m + k];
  }
  for (int k = 0; k < rank; ++k) {  // R^T z = y
    for (int j = 0; j < k; ++j) x[k] -= work.R[j * m + k] * x[j];
    x[k] /= work.R[k * m + k];
  }
  for (int i = 0; i < m; ++i) {
    b[i] = 0.0;
    for (int k = 0; k < rank; ++k) b[i] += work.Q[std::size_t(k) * m + i] * x[k];
  }
}

// The rows of one state of a pack, where they depend on each other. Returns the rank.
template <class S>
int solve_dependent(const S* K, std::size_t stride, const S* scale, int state, S* b, RowSolveWork<S>& work) {
  const int m = work.m;
  double sum = 0.0;
  for (int i = 0; i < m; ++i) {
    work.scale[i] = lane(scale[i], state);
    for (int j = i; j < m; ++j) work.K[i * m + j] = work.K[j * m + i] = lane(K[i * stride + j], state);
    sum += work.scale[i] + work.K[i * m + i];
  }
  if (!std::isfinite(sum)) {  // what overflows is no dependent row
    for (int i = 0; i < m; ++i) set_lane(b[i], state, std::numeric_limits<double>::quiet_NaN());
    return m;
  }
  const int rank = choose_rows(work);
  orthogonalize(rank, work);
  double* right = work.x + m;
  for (int i = 0; i < m; ++i) right[i] = lane(b[i], state);
  least_norm(rank, work, right);
  for (int i = 0; i < m; ++i) set_lane(b[i], state, right[i]);
  return rank;
}

// K f = b in place, K by its upper half, with rows `stride` apart; the rank goes to `rank`.
template <class S>
void solve_rows(const S* K, std::size_t stride, const S* scale, S* b, S* rank, RowSolveWork<S>& work) {
  work.chosen = !factor_rows(K, stride, scale, work) && !is_dual<S>;
  if (!work.chosen) {
    substitute_rows(work, b);
    if constexpr (is_dual<S>) {
      *rank = work.rank;
    } else {
      *rank = S(double(work.m));
    }
    return;
  }
  if constexpr (!is_dual<S>) {
    for (int state = 0; state < lanes<S>; ++state) {
      set_lane(*rank, state, double(solve_dependent(K, stride, scale, state, b, work)));
    }
  }
}

// The same for the rows of a matrix B, (m, columns), after solve_rows of one state; `spare` has its size.
inline void solve_columns(int rank, std::size_t columns, double* B, double* spare,
                          const RowSolveWork<double>& work) {
  const int m = work.m;
  const auto row = [columns](double* x, int i) { return x + i * columns; };
  const auto subtract = [columns](double factor, const double* x, double* y) {
    for (std::size_t c = 0; c < columns; ++c) y[c] -= factor * x[c];
  };
  const auto scale = [columns](double factor, double* y) {
    for (std::size_t c = 0; c < columns; ++c) y[c] *= factor;
  };
  if (rank == m && !work.chosen) {
    const std::size_t own = row_stride<double>(m);
    for (int i = 0; i < m; ++i) {
      pause();
      for (int k = 0; k < i; ++k) subtract(work.L[k * own + i], row(B, k), row(B, i));
    }
    for (int i = m - 1; i >= 0; --i) {
      pause();
      scale(work.pivot[i], row(B, i));
      for (int k = i + 1; k < m; ++k) subtract(work.L[i * own + k], row(B, k), row(B, i));
    }
    return;
  }
  for (int k = 0; k < rank; ++k) {  // as in least_norm
    pause();
    std::fill_n(row(spare, k), columns, 0.0);
    for (int i = 0; i < m; ++i) subtract(-work.Q[k * m + i], row(B, i), row(spare, k));
  }
  for (int k = rank - 1; k >= 0; --k) {
    pause();
    for (int j = k + 1; j < rank; ++j) subtract(work.R[k * m + j], row(spare, j), row(spare, k));
    scale(1.0 / work.R[k * m + k], row(spare, k));
  }
  for (int k = 0; k < rank; ++k) {
    pause();
    for (int j = 0; j < k; ++j) subtract(work.R[j * m + k], row(spare, j), row(spare, k));
    scale(1.0 / work.R[k * m + k], row(spare, k));
  }
  std::fill_n(B, m * columns, 0.0);
  for (int i = 0; i < m; ++i) {
    pause();
    for (int k = 0; k < rank; ++k) subtract(-work.Q[k * m + i], row(spare, k), row(B, i));
  }
}

}  // namespace jounce
