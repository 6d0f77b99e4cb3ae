// Runs the kernels on dual numbers and compares tangents with the analytic partial derivatives.
// Prints the largest relative difference of each comparison.
#include <cstdio>
#include <random>
#include <vector>

#include "../../core/dynamics/articulated.hpp"
#include "../../core/partials/forward_partials.hpp"
#include "../../core/scalar/dual.hpp"
#include "../../core/series/series_solve.hpp"

using namespace jounce;
using D = Dual<double>;

namespace {

std::mt19937 generator(7);
double uniform() { return std::uniform_real_distribution<double>(-1, 1)(generator); }

// Every elementary joint, in two branches.
Tree<double> make_robot() {
  const int n = 6, parent[] = {-1, 0, 1, 0, 3, 4}, kind[] = {4, 0, 3, 1, 2, 0};
  const int body_node[] = {0, 1, 2, 3, 4, 5};
  std::vector<double> placement, alignment, pitch, parameters, armature(13, 0.1);
  for (int i = 0; i < n; ++i) {
    const double s = 0.6, c = 0.8, x = uniform(), y = uniform(), z = uniform();
    placement.insert(placement.end(), {c, -s, 0, x, s, c, 0, y, 0, 0, 1, z, 0, 0, 0, 1});
    alignment.insert(alignment.end(), {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
    pitch.push_back(kind[i] == 2 ? 0.3 : 0.0);
    parameters.insert(parameters.end(), {1, 0.1, 0.2, -0.1, 1, 0.1, 1.2, 0, 0.1, 0.9});
  }
  const double gravity[] = {0.5, 0, -9.81};
  return make_tree({n, n, parent, kind, body_node, placement.data(), alignment.data(), pitch.data(),
                    parameters.data(), armature.data(), gravity});
}

template <class Work, class... Order>
struct Room {
  std::vector<char> memory;
  Work work;
  Room(const Tree<double>& tree, Order... order)
      : memory(size(tree, order...)), work(make(tree, order..., memory.data())) {}
  static std::size_t size(const Tree<double>& tree, Order... order) {
    Arena arena;
    Work work(tree, order..., arena);
    return arena.used() + 64;
  }
  static Work make(const Tree<double>& tree, Order... order, char* block) {
    Arena arena(block + (64 - reinterpret_cast<std::size_t>(block) % 64) % 64);
    return Work(tree, order..., arena);
  }
};

double largest = 0.0, size = 0.0;
void compare(double a, double b) {
  largest = std::max(largest, std::abs(a - b));
  size = std::max(size, std::abs(b));
}
void report(const char* name) {
  std::printf("%s %.3e\n", name, largest / size);
  largest = size = 0.0;
}

std::vector<D> duals(const std::vector<double>& x, int seed) {
  std::vector<D> y;
  for (std::size_t i = 0; i < x.size(); ++i) y.push_back(D(x[i], int(i) == seed ? 1.0 : 0.0));
  return y;
}

}  // namespace

int main() {
  const Tree<double> tree = make_robot();
  const int nv = tree.nv, r = 2;
  std::vector<double> q(tree.nq), v(nv), a(nv), motion((r + 2) * nv), dq(nv * nv), dv(nv * nv), M(nv * nv);
  for (double& x : q) x = uniform();
  for (int at : tree.quaternions) {
    q[at] = q[at + 1] = q[at + 2] = 0.1;
    q[at + 3] = std::sqrt(0.97);
  }
  for (double& x : motion) x = uniform();
  for (int i = 0; i < nv; ++i) v[i] = motion[i], a[i] = motion[nv + i];
  Room<PartialsWork<double>> partials(tree);
  inverse_dynamics_partials(tree, q.data(), v.data(), a.data(), (const double*)nullptr, dq.data(),
                            dv.data(), M.data(), partials.work);
  Room<InverseDynamicsWork<D>> inverse(tree);
  Room<ArticulatedWork<D>> forward(tree);
  Room<SeriesWork<D>, int> series(tree, r);
  Room<SeriesSolveWork<D>, int> solve(tree, r);
  const std::vector<D> q0 = duals(q, -1);
  std::vector<D> tau(nv), back(nv), tau_series((r + 1) * nv), back_series((r + 1) * nv);
  const D* none = nullptr;
  for (int j = 0; j < nv; ++j) {
    const auto vj = duals(v, j), aj = duals(a, -1);
    inverse_dynamics(tree, q0.data(), vj.data(), aj.data(), none, tau.data(), inverse.work);
    for (int i = 0; i < nv; ++i) compare(tau[i].d, dv[i * nv + j]);
  }
  report("inverse_dv");
  for (int j = 0; j < nv; ++j) {  // forward after inverse: the tangent of a returns
    const auto vj = duals(v, j), aj = duals(a, j);
    inverse_dynamics(tree, q0.data(), vj.data(), aj.data(), none, tau.data(), inverse.work);
    forward_dynamics(tree, q0.data(), vj.data(), tau.data(), none, back.data(), forward.work);
    for (int i = 0; i < nv; ++i) compare(back[i].d, i == j ? 1.0 : 0.0);
  }
  report("forward_inverse");
  for (int j = 0; j < (r + 2) * nv; ++j) {
    const auto m = duals(motion, j);
    inverse_dynamics_series(tree, q0.data(), m.data(), none, tau_series.data(), series.work);
    if (j < nv) {
      for (int i = 0; i < nv; ++i) compare(tau_series[i].d, dv[i * nv + j]);
    }
    if (j >= (r + 1) * nv) {  // the highest derivative enters through the mass matrix
      for (int i = 0; i < nv; ++i) compare(tau_series[r * nv + i].d, M[i * nv + j - (r + 1) * nv]);
    }
    solve_series(tree, NoneMask{}, q0.data(), m.data(), none, tau_series.data(), none,
                 back_series.data(), (D*)nullptr, solve.work);
    for (int i = 0; i < (r + 1) * nv; ++i) compare(back_series[i].d, m[nv + i].d);
  }
  report("series");
  return 0;
}
