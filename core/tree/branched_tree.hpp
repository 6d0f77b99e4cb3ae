// Branches of one state in the lanes of a register: legs, arms, rotors.
//
// A branched tree has fewer nodes than the robot. Each holds, in every lane, a node of the robot, all of
// one kind; the recursions run on it as they are, with packs for the numbers of state and model. A lane
// that has run out of nodes holds one without inertia, whose rates have an infinite armature. Several
// lanes hold the same node above the place where branches part (sharing.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "jounce/tree/tree.hpp"

namespace jounce {

constexpr int kBranchLanes = lanes<Wide> < 4 ? lanes<Wide> : 4;
using Branches = Pack<kBranchLanes>;

// For each coordinate or rate of a branched tree, where each lane has it from; or the node of each lane.
using FromLanes = std::array<int, kBranchLanes>;

// Where a node of the robot is in a branched tree.
struct PlaceOfNode {
  int node, lane;
};

struct BranchedTree {
  Tree<Branches> tree;  // of the arrays that follow
  std::vector<Node<Branches>> nodes;
  std::vector<Branches> armature;
  std::vector<int> angle_q, quaternions;
  std::vector<FromLanes> q, v;
  std::vector<int> v_place;  // for each rate of the robot, its position among all lanes of all rates
  std::vector<PlaceOfNode> place;  // for each node of the robot

  explicit BranchedTree(const Tree<double>& robot);
  BranchedTree(const BranchedTree&) = delete;
};

namespace detail {

class BranchBuilder {
 public:
  BranchBuilder(const Tree<double>& robot, BranchedTree& to)
      : robot_(robot), to_(to), left_(robot.n + 1), size_(robot.n, 1), leaves_(robot.n, 0) {
    for (int i = robot.n - 1; i >= 0; --i) {
      const int p = robot.nodes[i].parent;
      leaves_[i] = std::max(leaves_[i], 1);
      left_[p < 0 ? robot.n : p].push_back(i);
      if (p >= 0) size_[p] += size_[i], leaves_[p] += leaves_[i];
    }
    for (auto& some : left_) {
      std::stable_sort(some.begin(), some.end(), [&](int a, int b) { return size_[a] > size_[b]; });
    }
    FromLanes world;
    world.fill(robot.n);
    add_nodes(world);
  }

 private:
  // Depth first, without recursion: trees may be deeper than a thread's stack. `begun` are the nodes from a root to
  // the last one, with what their lanes hold; a node goes when none of those has children left.
  void add_nodes(const FromLanes& world) {
    std::vector<std::pair<int, FromLanes>> begun{{-1, world}};
    while (!begun.empty()) {
      const auto [parent, above] = begun.back();
      const int like = largest_child(above);
      if (like < 0) {
        begun.pop_back();
        continue;
      }
      FromLanes held;
      held.fill(-1);
      for (int lane = 0; lane < kBranchLanes; ++lane) {
        if (above[lane] >= 0 && first_lane(above, lane) == lane) share_out(above, lane, like, held);
      }
      add_node(parent, held);
      begun.emplace_back(int(to_.nodes.size()) - 1, held);
    }
  }

  static int first_lane(const FromLanes& held, int lane) {
    return int(std::find(held.begin(), held.end(), held[lane]) - held.begin());
  }

  // The largest of the children that are left, or -1.
  int largest_child(const FromLanes& above) const {
    int largest = -1;
    for (int node : above) {
      if (node < 0 || left_[node].empty()) continue;
      const int child = left_[node].front();
      if (largest < 0 || size_[child] > size_[largest]) largest = child;
    }
    return largest;
  }

  // Gives children of the node above lane `first`, of the kind of `like`, to the lanes that hold it. One
  // that branches again gets several lanes, if there are enough.
  void share_out(const FromLanes& above, int first, int like, FromLanes& held) {
    const auto lanes_left = std::count(above.begin(), above.end(), above[first]);
    std::vector<int> chosen, count;
    auto& some = left_[above[first]];
    for (auto at = some.begin(); at != some.end() && std::ptrdiff_t(chosen.size()) < lanes_left;) {
      const bool fits = robot_.nodes[*at].kind == robot_.nodes[like].kind;
      if (fits) chosen.push_back(*at);
      at = fits ? some.erase(at) : at + 1;
    }
    count.assign(chosen.size(), 1);
    for (auto more = lanes_left - std::ptrdiff_t(chosen.size()); more > 0; --more) {
      int most = -1;
      for (int k = 0; k < int(chosen.size()); ++k) {
        if (leaves_[chosen[k]] <= count[k]) continue;
        if (most < 0 || size_[chosen[k]] * count[most] > size_[chosen[most]] * count[k]) most = k;
      }
      if (most < 0) break;
      ++count[most];
    }
    int lane = first;
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      for (int i = 0; i < count[k]; ++i, ++lane) held[lane] = chosen[k];
    }
  }

  // Several nodes of one kind as one.
  void add_node(int parent, const FromLanes& held) {
    const int some = *std::max_element(held.begin(), held.end());
    const Node<double>& like = robot_.nodes[some];
    Node<Branches> node{};
    node.parent = parent, node.kind = like.kind, node.nv = like.nv, node.body = -1;
    node.depth = parent < 0 ? 0 : to_.nodes[parent].depth + 1;
    to_.tree.depth = std::max(to_.tree.depth, node.depth + 1);
    node.q = int(to_.q.size()), node.v = int(to_.v.size());
    node.angle = turns(like.kind) ? int(to_.angle_q.size()) : -1;
    node.group = is_group(like.kind) ? int(to_.quaternions.size()) : -1;
    node.moving = moves(like.kind) ? to_.tree.n_moving++ : -1;
    if (node.angle >= 0) to_.angle_q.push_back(node.q);
    if (node.group >= 0) to_.quaternions.push_back(node.q);
    to_.q.resize(to_.q.size() + coordinates(like.kind));
    to_.v.resize(to_.v.size() + like.nv);
    to_.armature.resize(to_.v.size());
    for (int lane = 0; lane < kBranchLanes; ++lane) fill_lane(lane, held, some, node);
    to_.nodes.push_back(node);
  }

  // What one lane holds. If that is nothing, its numbers of the state are those of `some`.
  void fill_lane(int lane, const FromLanes& held, int some, Node<Branches>& node) {
    const bool idle = held[lane] < 0, owns = !idle && first_lane(held, lane) == lane;
    const Node<double>& from = robot_.nodes[idle ? some : held[lane]];
    if (owns) to_.place[held[lane]] = {int(to_.nodes.size()), lane};
    const Pose<double> nowhere{Mat3<double>::identity(), Vec3<double>::zero()};
    set(lane, idle ? nowhere : from.placement, node.placement);
    set(lane, owns ? from.inertia : RigidInertia<double>{}, node.inertia);
    set(lane, from.pitch, node.pitch);
    set(lane, owns ? 1.0 : 0.0, node.sharing.owned);
    for (int step = 0; step < kBranchLanes; ++step) {
      const bool same = step == 0 || (!idle && held[(lane + step) % kBranchLanes] == held[lane]);
      set(lane, same ? 1.0 : 0.0, node.sharing.same[step]);
      if (same && step > 0) node.sharing.is_shared = true;
    }
    for (int k = 0; k < coordinates(node.kind); ++k) to_.q[node.q + k][lane] = from.q + k;
    for (int k = 0; k < node.nv; ++k) {
      to_.v[node.v + k][lane] = from.v + k;
      const double unmoved = std::numeric_limits<double>::infinity();
      set(lane, idle ? unmoved : robot_.armature[from.v + k], to_.armature[node.v + k]);
      if (owns) to_.v_place[from.v + k] = kBranchLanes * (node.v + k) + lane;
    }
  }

  // The numbers of x as one lane of a structure of packs.
  template <class X, class Packs>
  static void set(int lane, const X& x, Packs& to) {
    static_assert(sizeof(Packs) / sizeof(Branches) == sizeof(X) / sizeof(double));
    const auto* numbers = reinterpret_cast<const double*>(&x);
    auto* packs = reinterpret_cast<Branches*>(&to);
    for (std::size_t k = 0; k < sizeof(X) / sizeof(double); ++k) set_lane(packs[k], lane, numbers[k]);
  }

  const Tree<double>& robot_;
  BranchedTree& to_;
  std::vector<std::vector<int>> left_;  // children that are not yet in, the largest first; then of the world
  std::vector<int> size_, leaves_;      // of subtrees
};

}  // namespace detail

inline BranchedTree::BranchedTree(const Tree<double>& robot) : v_place(robot.nv), place(robot.n) {
  detail::BranchBuilder(robot, *this);
  tree.n = int(nodes.size());
  tree.nq = int(q.size());
  tree.nv = int(v.size());
  tree.nodes = nodes;
  tree.armature = armature;
  tree.angle_q = angle_q;
  tree.quaternions = quaternions;
  tree.gravity = {Branches(robot.gravity.x), Branches(robot.gravity.y), Branches(robot.gravity.z)};
}

// Rows of coordinates or of rates, as each lane needs them; a row of x has n numbers.
JOUNCE_SHARED inline void spread(const std::vector<FromLanes>& from, const double* x, std::ptrdiff_t n,
                                 std::ptrdiff_t rows, Branches* to) {
  for (std::ptrdiff_t r = 0; r < rows; ++r, x += n) {
    for (const FromLanes& places : from) {
      typename Branches::Values numbers;
      for (int lane = 0; lane < kBranchLanes; ++lane) numbers[lane] = x[places[lane]];
      *to++ = Branches(numbers);
    }
  }
}

// Rows of rates out of the lanes.
JOUNCE_SHARED inline void collect(const BranchedTree& branched, const Branches* from, std::ptrdiff_t rows,
                                  double* to) {
  for (std::ptrdiff_t r = 0; r < rows; ++r, from += branched.tree.nv) {
    const auto* numbers = reinterpret_cast<const double*>(from);
    for (int place : branched.v_place) *to++ = numbers[place];
  }
}

// The tree with its branches in lanes beside it, if that makes it much shorter.
inline Tree<double> with_branches(Tree<double> robot) {
  constexpr double kWorth = 1.6;
  auto branched = std::make_shared<const BranchedTree>(robot);
  if (robot.n > kWorth * branched->tree.n) robot.branched = std::move(branched);
  return robot;
}

}  // namespace jounce
