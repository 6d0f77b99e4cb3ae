// The tree of elementary joints, immutable after construction.
//
// Frames: node i carries the frame of its joint on the child side, turned so that a 1-DoF joint
// acts about and along z. It differs from the public frame of the body by a constant pose,
// `alignment`: x_public = alignment x_node. Nodes are numbered depth first.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "jounce/spatial/spatial.hpp"
#include "jounce/tree/sharing.hpp"

namespace jounce {

enum class Kind : int { revolute = 0, prismatic = 1, helical = 2, spherical = 3, free = 4 };

constexpr int coordinates(Kind k) { return k == Kind::spherical ? 4 : k == Kind::free ? 7 : 1; }
constexpr int rates(Kind k) { return k == Kind::spherical ? 3 : k == Kind::free ? 6 : 1; }
// By an angle; on a group, with a quaternion.
constexpr bool turns(Kind k) { return k == Kind::revolute || k == Kind::helical; }
constexpr bool is_group(Kind k) { return k == Kind::spherical || k == Kind::free; }
// Whether its screws have an angular and a linear part, that is, whether its origin moves in the
// parent; whether that is along one axis; and whether screw i is a mere translation.
constexpr bool rotates(Kind k) { return k != Kind::prismatic; }
constexpr bool moves(Kind k) { return k != Kind::revolute && k != Kind::spherical; }
constexpr bool advances(Kind k) { return k == Kind::prismatic || k == Kind::helical; }
constexpr bool slides(Kind k, int i) { return k == Kind::prismatic || (k == Kind::free && i >= 3); }

// How a joint's frame is turned to that of its body: not at all, by a quarter that takes z to x or to y, or in
// another way, which may move the origin.
enum class Turn : unsigned char { none, to_x, to_y, other };

template <class P>
struct Node {
  int parent;   // -1: the world
  Kind kind;
  int q, v;     // first coordinate, first rate
  int nv;       // number of rates
  int angle;    // position among the nodes that turn by an angle, or -1
  int group;    // position among the nodes with a quaternion, or -1
  int moving;   // position among the nodes whose origin moves in the parent, or -1
  int body;     // public body, or -1 for a massless intermediate node
  int end;      // the subtree is the nodes i ... end-1
  int v_end;    // its rates are v ... v_end-1
  int depth;
  int recenter;         // root whose tree has its reference point here, or -1, see base_frame.hpp
  Turn turn;            // of the alignment
  Pose<P> placement;    // joint frame in the parent's frame, at zero
  P pitch;
  RigidInertia<P> inertia;
  Pose<P> alignment;
  [[no_unique_address]] Sharing<P> sharing;  // if branches fill lanes, see branched_tree.hpp

  constexpr bool aligned() const { return turn == Turn::none; }
};

// Whether a node floats in the world.
template <class P>
constexpr bool is_free_root(const Node<P>& node) {
  return node.parent < 0 && node.kind == Kind::free;
}

constexpr int kMostRelated = 1024;  // rates up to which `related` is kept
constexpr int related_words(int nv) { return (nv + 63) / 64; }

// A tree of doubles owns its arrays; one of other scalars is made for a call, in its workspace.
template <class P, class T>
using Row = std::conditional_t<std::is_same_v<P, double>, std::vector<T>, std::span<const T>>;

struct BranchedTree;
class StillModel;

template <class P = double>
struct Tree {
  int n = 0, nq = 0, nv = 0, n_bodies = 0, depth = 0;
  int n_moving = 0;
  std::ptrdiff_t n_blocks = 0;   // pairs of a body and a rate before it
  int heaviest = 0;              // root of the tree with the largest mass
  Row<P, Node<P>> nodes;
  Row<P, P> armature;       // (nv)
  Row<P, P> stiffness, damping, friction;  // (nv) of the joints, see dynamics/passive.hpp
  Row<P, P> springref;      // (nq) where the springs rest
  Row<P, int> angle_q;      // coordinates that are angles
  Row<P, int> quaternions;  // first coordinate of each quaternion
  Row<P, int> body_node;    // (n_bodies)
  Row<P, int> bodies;       // in the order of their nodes, then zeros to fill a register
  Row<P, int> bodies_before;  // (n + 1) how many of these are before each node
  bool bodies_in_order = true;  // they are numbered in that order
  // (nv, then zeros to fill a register) of each rate: its node, and how much it turns and slides along which axis
  Row<P, int> rate_node, rate_axis;
  Row<P, P> turning, sliding;
  // (nv) for each rate, which rates belong to its node, its ancestors and its subtree, as bits
  Row<P, std::uint64_t> related;
  double mean_related = 0;       // how many these are in the mean
  bool sparse = false;           // these are few: most entries of M are zero
  Vec3<P> gravity;               // acceleration of gravity in the world
  std::shared_ptr<const BranchedTree> branched;  // branches in lanes, or null
  std::shared_ptr<StillModel> still;             // as dual numbers, see batch/model_tangent.hpp; or null
};

// Arrays as the Python side holds them, row-major, in public frames.
struct TreeData {
  int n, n_bodies;
  const int *parent, *kind, *body_node;
  const double *placement, *alignment, *pitch, *parameters, *armature, *gravity;
  // Null for zeros, that is, for the neutral configuration.
  const double *stiffness = nullptr, *springref = nullptr, *damping = nullptr, *friction = nullptr;
};

namespace detail {
inline bool same(const Vec3<double>& a, const Vec3<double>& b) {
  return a.x == b.x && a.y == b.y && a.z == b.z;
}
inline bool same(const Mat3<double>& a, const Mat3<double>& b) {
  return same(a.x, b.x) && same(a.y, b.y) && same(a.z, b.z);
}
inline bool is_identity(const Pose<double>& t) {
  return same(t.R, Mat3<double>::identity()) && same(t.p, Vec3<double>::zero());
}
inline Turn turn_of(const Pose<double>& alignment) {
  if (is_identity(alignment)) return Turn::none;
  if (!same(alignment.p, Vec3<double>::zero())) return Turn::other;
  if (same(alignment.R, {{0.0, 0.0, -1.0}, {0.0, 1.0, 0.0}, {1.0, 0.0, 0.0}})) return Turn::to_x;
  if (same(alignment.R, {{1.0, 0.0, 0.0}, {0.0, 0.0, -1.0}, {0.0, 1.0, 0.0}})) return Turn::to_y;
  return Turn::other;
}
// The inertia in the frame `to`, which is given in the inertia's own frame.
inline RigidInertia<double> seen_from(const Pose<double>& to, const double* parameters) {
  const RigidInertia<double> j = shifted(-to.p, inertia_from(parameters));
  const Mat3<double> r = transpose(to.R);
  return {j.m, r * j.h, rotated(r, j.I)};
}
}  // namespace detail

inline void mark(std::uint64_t* bits, int k) { bits[k / 64] |= std::uint64_t(1) << k % 64; }

inline std::vector<std::uint64_t> related_rates(const std::vector<Node<double>>& nodes, int nv) {
  const int words = related_words(nv);
  std::vector<std::uint64_t> related(std::size_t(nv) * words, 0);
  for (const Node<double>& node : nodes) {
    for (int i = node.v; i < node.v + node.nv; ++i) {
      for (int j = node.v; j < node.v_end; ++j) {
        mark(&related[std::size_t(i) * words], j);
        mark(&related[std::size_t(j) * words], i);
      }
    }
  }
  return related;
}

namespace detail {

// Node i of a tree whose nodes before it are there.
inline Node<double> make_node(const TreeData& data, int i, const Tree<double>& t) {
  const int p = data.parent[i], kind = data.kind[i];
  if (p < -1 || p >= i || kind < 0 || kind > 4) throw std::invalid_argument("not a tree");
  Node<double> node{};
  node.parent = p;
  node.kind = Kind(kind);
  node.q = t.nq;
  node.v = t.nv;
  node.nv = rates(node.kind);
  node.angle = turns(node.kind) ? int(t.angle_q.size()) : -1;
  node.group = is_group(node.kind) ? int(t.quaternions.size()) : -1;
  node.moving = moves(node.kind) ? t.n_moving : -1;
  node.body = -1;
  node.recenter = -1;
  node.depth = p < 0 ? 0 : t.nodes[p].depth + 1;
  node.end = i + 1;
  node.v_end = t.nv + node.nv;
  node.pitch = data.pitch[i];
  node.alignment = pose_from(data.alignment + 16 * i);
  node.turn = turn_of(node.alignment);
  const Pose<double> given = pose_from(data.placement + 16 * i);
  const Pose<double> own = given * node.alignment;
  node.placement = p < 0 ? own : inverse(t.nodes[p].alignment) * own;
  if (p >= 0 && same(given.R, Mat3<double>::identity()) &&
      same(node.alignment.R, t.nodes[p].alignment.R)) {
    node.placement.R = Mat3<double>::identity();  // parallel axes stay so to the last bit
  }
  node.inertia = seen_from(node.alignment, data.parameters + 10 * i);
  return node;
}

inline void append(const Node<double>& node, Tree<double>& t) {
  if (node.angle >= 0) t.angle_q.push_back(t.nq);
  if (node.group >= 0) t.quaternions.push_back(t.nq);
  if (node.moving >= 0) ++t.n_moving;
  if (node.depth + 1 > t.depth) t.depth = node.depth + 1;
  t.nq += coordinates(node.kind);
  t.nv += node.nv;
  t.nodes.push_back(node);
}

// Where subtrees end. Depth first means that a parent is an ancestor of the previous node, or that
// node, or the world.
inline void find_subtrees(std::vector<Node<double>>& nodes) {
  for (int i = int(nodes.size()) - 1; i >= 0; --i) {
    const int p = nodes[i].parent;
    if (p < 0) continue;
    if (nodes[i].end > nodes[p].end) nodes[p].end = nodes[i].end;
    if (nodes[i].v_end > nodes[p].v_end) nodes[p].v_end = nodes[i].v_end;
  }
  for (int i = 1; i < int(nodes.size()); ++i) {
    const int p = nodes[i].parent;
    if (p >= 0 && (nodes[p].end < i + 1 || (p != i - 1 && nodes[i - 1].parent < p))) {
      throw std::invalid_argument("not depth first");
    }
  }
}

// Massless nodes that lead from a root to the first body (slides of a planar base) may carry it far
// away, so the reference point is where they end.
inline void find_reference_points(std::vector<Node<double>>& nodes) {
  const int n = int(nodes.size());
  for (int i = 0; i < n; i = nodes[i].end) {
    int at = i;
    while (nodes[at].inertia.m == 0.0 && at + 1 < n && nodes[at + 1].parent == at &&
           nodes[at + 1].end == nodes[at].end) {
      ++at;
    }
    nodes[at].recenter = i;
  }
}

constexpr int kMostLanes = 8;

// Screws of the rates, for those who compute many of them at once.
inline void find_screws(Tree<double>& t) {
  const std::size_t room = (t.nv + kMostLanes - 1) / kMostLanes * kMostLanes;
  t.rate_node.assign(room, 0);
  t.rate_axis.assign(room, 2);
  t.turning.assign(room, 0.0);
  t.sliding.assign(room, 0.0);
  for (int i = 0; i < t.n; ++i) {
    const Node<double>& node = t.nodes[i];
    for (int k = 0; k < node.nv; ++k) {
      const int r = node.v + k;
      t.rate_node[r] = i;
      if (is_group(node.kind)) t.rate_axis[r] = k % 3;
      t.turning[r] = slides(node.kind, k) ? 0.0 : 1.0;
      t.sliding[r] = slides(node.kind, k) ? 1.0 : node.kind == Kind::helical ? node.pitch : 0.0;
    }
  }
}

inline void find_bodies(Tree<double>& t) {
  for (const Node<double>& node : t.nodes) {
    t.bodies_before.push_back(int(t.bodies.size()));
    if (node.body < 0) continue;
    t.bodies_in_order = t.bodies_in_order && node.body == int(t.bodies.size());
    t.bodies.push_back(node.body);
  }
  t.bodies_before.push_back(int(t.bodies.size()));
  t.bodies.resize(t.bodies.size() + kMostLanes, 0);
}

inline std::vector<double> numbers_or_zeros(const double* numbers, int count) {
  return numbers ? std::vector<double>(numbers, numbers + count) : std::vector<double>(count, 0.0);
}

// With unit quaternions; one without a length is the identity.
inline std::vector<double> rest_position(const double* q, const Tree<double>& t) {
  std::vector<double> rest = numbers_or_zeros(q, t.nq);
  for (int start : t.quaternions) {
    double* x = rest.data() + start;
    const double norm = quaternion_norm(x);
    for (int k = 0; k < 4; ++k) x[k] = norm > 0.0 ? x[k] / norm : k == 3 ? 1.0 : 0.0;
  }
  return rest;
}

inline std::ptrdiff_t count_blocks(const std::vector<Node<double>>& nodes) {
  std::ptrdiff_t count = 0;
  std::vector<std::ptrdiff_t> before(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    before[i] = nodes[i].nv + (nodes[i].parent < 0 ? 0 : before[nodes[i].parent]);
    if (nodes[i].body >= 0) count += before[i];
  }
  return count;
}

inline int heaviest_root(const std::vector<Node<double>>& nodes) {
  int heaviest = 0;
  double most = 0.0;
  for (int i = 0; i < int(nodes.size()); i = nodes[i].end) {
    double mass = 0.0;
    for (int j = i; j < nodes[i].end; ++j) mass += nodes[j].inertia.m;
    if (mass > most) heaviest = i, most = mass;
  }
  return heaviest;
}

}  // namespace detail

inline Tree<double> make_tree(const TreeData& data) {
  if (data.n_bodies > data.n) throw std::invalid_argument("there are more bodies than nodes");
  Tree<double> t;
  t.n = data.n;
  t.n_bodies = data.n_bodies;
  t.nodes.reserve(data.n);
  t.body_node.assign(data.body_node, data.body_node + data.n_bodies);
  t.gravity = {data.gravity[0], data.gravity[1], data.gravity[2]};
  for (int i = 0; i < data.n; ++i) detail::append(detail::make_node(data, i, t), t);
  detail::find_subtrees(t.nodes);
  detail::find_reference_points(t.nodes);
  detail::find_screws(t);
  t.heaviest = detail::heaviest_root(t.nodes);
  for (int b = 0; b < data.n_bodies; ++b) {
    const int i = t.body_node[b];
    if (i < 0 || i >= data.n) throw std::invalid_argument("a body has no node");
    t.nodes[i].body = b;
  }
  detail::find_bodies(t);
  t.armature.assign(data.armature, data.armature + t.nv);
  t.stiffness = detail::numbers_or_zeros(data.stiffness, t.nv);
  t.damping = detail::numbers_or_zeros(data.damping, t.nv);
  t.friction = detail::numbers_or_zeros(data.friction, t.nv);
  t.springref = detail::rest_position(data.springref, t);
  if (t.nv <= kMostRelated) t.related = related_rates(t.nodes, t.nv);
  for (const Node<double>& node : t.nodes) {  // pairs within the node once, below it twice
    t.mean_related += node.nv * (2.0 * (node.v_end - node.v) - node.nv) / t.nv;
  }
  t.sparse = 8 * t.mean_related < t.nv;
  t.n_blocks = detail::count_blocks(t.nodes);
  return t;
}

}  // namespace jounce
