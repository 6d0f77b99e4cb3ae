// Inverse, then forward series in extended precision (64 bits of mantissa): what the recursions lose
// themselves, apart from the rounding of forces to doubles between them.
//
// Reads a tree, the order r and states (q; v and its derivatives) from the standard input; prints for
// each order the largest error of the returned motion over the largest motion.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "jounce/scalar/scalar.hpp"

namespace jounce {

struct Long {
  long double x;
  Long() = default;
  Long(double a) : x(a) {}
  explicit Long(long double a) : x(a) {}
  friend Long operator+(Long a, Long b) { return Long(a.x + b.x); }
  friend Long operator-(Long a, Long b) { return Long(a.x - b.x); }
  friend Long operator*(Long a, Long b) { return Long(a.x * b.x); }
  friend Long operator/(Long a, Long b) { return Long(a.x / b.x); }
  friend Long operator-(Long a) { return Long(-a.x); }
  friend bool operator<(Long a, Long b) { return a.x < b.x; }
  friend bool operator<=(Long a, Long b) { return a.x <= b.x; }
  friend bool operator>(Long a, Long b) { return a.x > b.x; }
  Long& operator+=(Long b) { return *this = *this + b; }
  Long& operator-=(Long b) { return *this = *this - b; }
  Long& operator*=(Long b) { return *this = *this * b; }
  friend Long select(bool mask, Long a, Long b) { return mask ? a : b; }
  friend Long sqrt(Long a) { return Long(std::sqrt(a.x)); }
  friend Long value(Long a) { return a; }
  friend void sincos(Long a, Long& sine, Long& cosine) {
    sine.x = std::sin(a.x);
    cosine.x = std::cos(a.x);
  }
};

}  // namespace jounce

#include "jounce/series/series_solve.hpp"

using namespace jounce;

namespace {

template <class T>
std::vector<T> read(std::size_t count) {
  std::vector<T> out(count);
  for (T& x : out) {
    double number;
    if (std::scanf("%la", &number) != 1) std::exit(1);
    x = T(number);
  }
  return out;
}

Tree<double> read_tree() {
  const auto sizes = read<int>(3);  // nodes, bodies, rates
  const int n = sizes[0];
  const auto parent = read<int>(n), kind = read<int>(n);
  const auto placement = read<double>(16 * n), alignment = read<double>(16 * n);
  const auto pitch = read<double>(n), parameters = read<double>(10 * n);
  const auto body_node = read<int>(sizes[1]);
  const auto armature = read<double>(sizes[2]), gravity = read<double>(3);
  return make_tree({n, sizes[1], parent.data(), kind.data(), body_node.data(), placement.data(),
                    alignment.data(), pitch.data(), parameters.data(), armature.data(),
                    gravity.data()});
}

// A workspace in memory of its own.
template <class Work>
struct Room {
  std::vector<char> memory;
  Work work;
  Room(const Tree<double>& tree, int r) : memory(size(tree, r)), work(make(tree, r, memory.data())) {}
  static std::size_t size(const Tree<double>& tree, int r) {
    Arena arena;
    Work work(tree, r, arena);
    return arena.used() + 64;
  }
  static Work make(const Tree<double>& tree, int r, char* block) {
    Arena arena(block + (64 - reinterpret_cast<std::size_t>(block) % 64) % 64);
    return Work(tree, r, arena);
  }
};

}  // namespace

int main() {
  const Tree<double> tree = read_tree();
  const auto numbers = read<int>(2);
  const int r = numbers[0], states = numbers[1], nv = tree.nv;
  Room<SeriesWork<Long>> inverse(tree, r);
  Room<SeriesSolveWork<Long>> solve(tree, r);
  std::vector<Long> tau((r + 1) * nv), back((r + 1) * nv);
  std::vector<long double> error(r + 1, 0.0L), size(r + 1, 0.0L);
  const Long* none = nullptr;
  for (int k = 0; k < states; ++k) {
    auto q = read<Long>(tree.nq);
    const auto motion = read<Long>((r + 2) * nv);
    for (int at : tree.quaternions) {
      Long norm(0.0);
      for (int i = 0; i < 4; ++i) norm += q[at + i] * q[at + i];
      for (int i = 0; i < 4; ++i) q[at + i] = q[at + i] / sqrt(norm);
    }
    inverse_dynamics_series(tree, q.data(), motion.data(), none, tau.data(), inverse.work);
    solve_series(tree, NoneMask{}, q.data(), motion.data(), none, tau.data(), none, back.data(),
                 (Long*)nullptr, solve.work);
    for (int i = 0; i < (r + 1) * nv; ++i) {
      const long double expected = motion[nv + i].x;
      error[i / nv] = std::max(error[i / nv], std::abs(back[i].x - expected));
      size[i / nv] = std::max(size[i / nv], std::abs(expected));
    }
  }
  for (int k = 0; k <= r; ++k) std::printf("%.3Le\n", error[k] / size[k]);
}
