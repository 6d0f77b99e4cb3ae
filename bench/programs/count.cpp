// Additions, multiplications, divisions and roots that a kernel does for one state: the templates of the
// core with a scalar that counts.
//
// Arguments: a model as numbers. Prints a line for each kernel: its name and the operations. Changes of
// sign are none; what a multiplication by a known zero would cost is counted where the kernel does it.
#include <jounce/dynamics/articulated.hpp>
#include <jounce/dynamics/inverse_dynamics.hpp>
#include <jounce/dynamics/inverse_mass_matrix.hpp>
#include <jounce/dynamics/mass_matrix.hpp>
#include <jounce/partials/forward_partials.hpp>
#include <jounce/partials/inverse_partials.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

#include "tree_file.hpp"

namespace jounce {

struct Count {
  static inline long operations = 0;
  double x;

  Count() = default;
  Count(double value) : x(value) {}

  static Count done(double value) {
    ++operations;
    return value;
  }
  friend Count operator+(Count a, Count b) { return done(a.x + b.x); }
  friend Count operator-(Count a, Count b) { return done(a.x - b.x); }
  friend Count operator*(Count a, Count b) { return done(a.x * b.x); }
  friend Count operator/(Count a, Count b) { return done(a.x / b.x); }
  friend Count operator-(Count a) { return -a.x; }
  friend bool operator<(Count a, Count b) { return a.x < b.x; }
  friend bool operator<=(Count a, Count b) { return a.x <= b.x; }
  friend bool operator>(Count a, Count b) { return a.x > b.x; }
  friend bool operator>=(Count a, Count b) { return a.x >= b.x; }
  Count& operator+=(Count b) { return *this = *this + b; }
  Count& operator-=(Count b) { return *this = *this - b; }
  Count& operator*=(Count b) { return *this = *this * b; }
  friend Count select(bool mask, Count a, Count b) { return mask ? a : b; }
  friend Count sqrt(Count a) { return done(std::sqrt(a.x)); }
  friend bool is_zero(Count a) { return a.x == 0.0; }
  friend double value(Count a) { return a.x; }
};

// As many as core/scalar/sincos.hpp does for one angle.
inline void sincos(Count x, Count& sine, Count& cosine) {
  Count::operations += 42;
  sine = std::sin(x.x);
  cosine = std::cos(x.x);
}

}  // namespace jounce

namespace {

using namespace jounce;

// Counts what `run(work)` does, with a workspace of type Work for the tree.
template <class Work, class Run>
void count(const char* name, const Tree<double>& tree, Run run) {
  Arena layout;
  Work sized(tree, layout);
  Workspace memory;
  Arena arena(memory.reserve(layout.used()));
  Work work(tree, arena);
  Count::operations = 0;
  run(work);
  std::printf("%s %ld\n", name, Count::operations);
}

}  // namespace

int main(int, char** words) {
  const TreeFile file(words[1]);
  const Tree<double> tree = make_tree({file.n, file.n_bodies, file.parent.data(), file.kind.data(),
                                       file.body_node.data(), file.placement.data(),
                                       file.alignment.data(), file.pitch.data(), file.parameters.data(),
                                       file.armature.data(), file.gravity.data()});
  using S = Count;
  const int nv = tree.nv;
  std::vector<S> q(tree.nq, 0.5), v(nv, 0.1), x(nv, 0.2), y(nv);  // quaternions of length 1
  std::vector<S> matrices(3 * std::size_t(nv) * nv);
  S *A = matrices.data(), *B = A + nv * nv, *C = B + nv * nv;
  const S* no_wrenches = nullptr;
  count<InverseDynamicsWork<S>>("inverse_dynamics", tree, [&](auto& work) {
    inverse_dynamics(tree, q.data(), v.data(), x.data(), no_wrenches, y.data(), work);
  });
  count<ArticulatedWork<S>>("forward_dynamics", tree, [&](auto& work) {
    forward_dynamics(tree, q.data(), v.data(), x.data(), no_wrenches, y.data(), work);
  });
  count<MassMatrixWork<S>>("mass_matrix", tree,
                           [&](auto& work) { mass_matrix<Fill::upper>(tree, q.data(), A, work); });
  count<InverseMassMatrixWork<S>>("inverse_mass_matrix", tree, [&](auto& work) {
    inverse_mass_matrix<Fill::upper>(tree, q.data(), A, work);
  });
  count<PartialsWork<S>>("inverse_dynamics_derivatives", tree, [&](auto& work) {
    inverse_dynamics_partials(tree, q.data(), v.data(), x.data(), no_wrenches, A, B, C, work);
  });
  count<ForwardPartialsWork<S>>("forward_dynamics_derivatives", tree, [&](auto& work) {
    forward_dynamics_partials(tree, PartialsMethod::automatic, q.data(), v.data(), x.data(), no_wrenches, A,
                              B, C, work);
  });
}
