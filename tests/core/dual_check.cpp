// Runs the kernels on dual numbers and compares tangents with the analytic partial derivatives
// and with each other.
// Prints the largest relative difference of each comparison.
#include <cstdio>
#include <random>
#include <tuple>
#include <vector>

#include "jounce/dynamics/articulated.hpp"
#include "jounce/partials/forward_partials.hpp"
#include "jounce/scalar/dual.hpp"
#include "jounce/series/jacobian_series.hpp"
#include "jounce/series/series_solve.hpp"

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

// Coordinates that move along rate `seed`: a quaternion x by x (e, 0) / 2, a free origin by R e.
std::vector<D> moved(const Tree<double>& tree, const std::vector<double>& q, int seed) {
  std::vector<D> y = duals(q, -1);
  for (const auto& node : tree.nodes) {
    const int k = seed - node.v;
    if (k < 0 || k >= node.nv) continue;
    D* x = &y[node.q];
    if (node.nv == 1) {
      x[0].d = 1.0;
      continue;
    }
    const Vec3<double> e{k % 3 == 0 ? 1.0 : 0.0, k % 3 == 1 ? 1.0 : 0.0, k % 3 == 2 ? 1.0 : 0.0};
    if (k < 3) {
      const Vec3<double> u{x[0].x, x[1].x, x[2].x}, du = (e * x[3].x + cross(u, e)) * 0.5;
      x[0].d = du.x, x[1].d = du.y, x[2].d = du.z, x[3].d = -0.5 * dot(u, e);
    } else {
      const Vec3<double> dp = rotation(&q[node.q]) * e;
      x[4].d = dp.x, x[5].d = dp.y, x[6].d = dp.z;
    }
  }
  return y;
}

const D* none = nullptr;
const double* no_wrench = nullptr;

// A state with derivatives of the rates and of forces, rows 0 ... r+1 and 0 ... r.
struct State {
  static constexpr int r = 2;
  Tree<double> tree = make_robot();
  int nv = tree.nv;
  std::vector<double> q, v, a, motion, forces;

  State() : q(tree.nq), motion((r + 2) * nv), forces((r + 1) * nv) {
    for (auto* x : {&q, &motion, &forces}) {
      for (double& y : *x) y = uniform();
    }
    for (int at : tree.quaternions) {
      q[at] = q[at + 1] = q[at + 2] = 0.1;
      q[at + 3] = std::sqrt(0.97);
    }
    v.assign(motion.begin(), motion.begin() + nv);
    a.assign(motion.begin() + nv, motion.begin() + 2 * nv);
  }
};

void compare_inverse(const State& s) {
  const int nv = s.nv;
  std::vector<double> dq(nv * nv), dv(nv * nv), M(nv * nv);
  Room<PartialsWork<double>> partials(s.tree);
  inverse_dynamics_partials(s.tree, s.q.data(), s.v.data(), s.a.data(), no_wrench, dq.data(),
                            dv.data(), M.data(), partials.work);
  Room<InverseDynamicsWork<D>> inverse(s.tree);
  Room<SeriesWork<D>, int> series(s.tree, s.r);
  std::vector<D> tau(nv), tau_series((s.r + 1) * nv);
  const auto run = [&](const char* name, const std::vector<double>& expected, auto inputs) {
    for (int j = 0; j < nv; ++j) {
      const auto [q, motion] = inputs(j);
      const D *x = motion.data(), *v = x, *a = x + nv;
      inverse_dynamics(s.tree, q.data(), v, a, none, tau.data(), inverse.work);
      inverse_dynamics_series(s.tree, q.data(), x, none, tau_series.data(), series.work);
      for (int i = 0; i < nv; ++i) {
        compare(tau[i].d, expected[i * nv + j]);
        compare(tau_series[i].d, expected[i * nv + j]);
      }
    }
    report(name);
  };
  const auto q0 = duals(s.q, -1), motion0 = duals(s.motion, -1);
  run("inverse_dq", dq, [&](int j) { return std::tuple(moved(s.tree, s.q, j), motion0); });
  run("inverse_dv", dv, [&](int j) { return std::tuple(q0, duals(s.motion, j)); });
  run("inverse_da", M, [&](int j) { return std::tuple(q0, duals(s.motion, nv + j)); });
}

void compare_forward(const State& s) {
  const int nv = s.nv;
  std::vector<double> dq(nv * nv), dv(nv * nv), N(nv * nv);
  Room<ForwardPartialsWork<double>> partials(s.tree);
  forward_dynamics_partials(s.tree, PartialsMethod::automatic, s.q.data(), s.v.data(),
                            s.forces.data(), no_wrench, dq.data(), dv.data(), N.data(),
                            partials.work);
  Room<ArticulatedWork<D>> forward(s.tree);
  Room<SeriesSolveWork<D>, int> solve(s.tree, s.r);
  std::vector<D> a(nv), acc((s.r + 1) * nv);
  const auto run = [&](const char* name, const std::vector<double>& expected, auto inputs) {
    for (int j = 0; j < nv; ++j) {
      const auto [q, v, tau] = inputs(j);
      forward_dynamics(s.tree, q.data(), v.data(), tau.data(), none, a.data(), forward.work);
      solve_series(s.tree, NoneMask{}, q.data(), v.data(), none, tau.data(), none, acc.data(),
                   (D*)nullptr, solve.work);
      for (int i = 0; i < nv; ++i) {
        compare(a[i].d, expected[i * nv + j]);
        compare(acc[i].d, expected[i * nv + j]);
      }
    }
    report(name);
  };
  const auto q0 = duals(s.q, -1), v0 = duals(s.v, -1), tau0 = duals(s.forces, -1);
  run("forward_dq", dq, [&](int j) { return std::tuple(moved(s.tree, s.q, j), v0, tau0); });
  run("forward_dv", dv, [&](int j) { return std::tuple(q0, duals(s.v, j), tau0); });
  run("forward_dtau", N, [&](int j) { return std::tuple(q0, v0, duals(s.forces, j)); });
}

// Forward after inverse series: the tangents of all derivatives of the motion return.
void compare_series(const State& s) {
  const int nv = s.nv, r = s.r;
  Room<SeriesWork<D>, int> inverse(s.tree, r);
  Room<SeriesSolveWork<D>, int> solve(s.tree, r);
  std::vector<D> tau((r + 1) * nv), back((r + 1) * nv);
  const std::vector<D> q0 = duals(s.q, -1);
  for (int j = 0; j < (r + 2) * nv; ++j) {
    const auto motion = duals(s.motion, j);
    inverse_dynamics_series(s.tree, q0.data(), motion.data(), none, tau.data(), inverse.work);
    solve_series(s.tree, NoneMask{}, q0.data(), motion.data(), none, tau.data(), none, back.data(),
                 (D*)nullptr, solve.work);
    for (int i = 0; i < (r + 1) * nv; ++i) compare(back[i].d, motion[nv + i].d);
  }
  report("series");
}

// Poses and twists of a frame: their tangents are the columns of its Jacobian.
void compare_motion(const State& s) {
  const int nv = s.nv, r = s.r;
  const FrameAt<> frame{s.tree.n - 1, {Mat3<double>::identity(), {0.1, -0.2, 0.3}}};
  Room<MotionSeriesWork<double>, int> plain(s.tree, r);
  Room<MotionSeriesWork<D>, int> dual(s.tree, r);
  std::vector<double> J((r + 3) * 6 * nv);
  std::vector<D> poses((r + 3) * 16), twists((r + 2) * 6);
  const auto hybrid = Representation::hybrid;
  jacobian_series(s.tree, frame, hybrid, s.q.data(), s.motion.data(), J.data(), plain.work);
  const std::vector<D> q0 = duals(s.q, -1), m0 = duals(s.motion, -1);
  for (int j = 0; j < nv; ++j) {
    pose_series(s.tree, frame, moved(s.tree, s.q, j).data(), m0.data(), poses.data(), dual.work);
    for (int i = 0; i < 3; ++i) compare(poses[4 * i + 3].d, J[(3 + i) * nv + j]);
    const auto m = duals(s.motion, (r + 1) * nv + j);  // the highest derivative
    twist_series(s.tree, frame, hybrid, q0.data(), m.data(), twists.data(), dual.work);
    for (int i = 0; i < 6; ++i) compare(twists[(r + 1) * 6 + i].d, J[i * nv + j]);
  }
  report("motion_series");
}

}  // namespace

int main() {
  const State state;
  compare_inverse(state);
  compare_forward(state);
  compare_series(state);
  compare_motion(state);
}
