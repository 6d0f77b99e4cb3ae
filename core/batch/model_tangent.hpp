// A model that changes along a direction: its numbers as duals, in the workspace of a call.
//
// A direction has for each node the twist of its placement T and the rotation vector of its alignment,
// both along the node's axes (T moves as T exp(e x)), the change of its pitch and of its inertia, along
// the node's axes too; for each rate the changes of armature, stiffness and damping; the change of
// gravity; and the twist of the frame that a function is asked for.
#pragma once

#include <atomic>
#include <memory>
#include <new>
#include <vector>

#include "jounce/batch/call.hpp"
#include "jounce/scalar/dual.hpp"
#include "jounce/tree/workspace.hpp"

namespace jounce {
namespace detail {

// t exp(e x), or, without a twist, t itself.
template <class S>
JOUNCE_INLINE Pose<Dual<S>> moving(const Pose<double>& t, const Motion<S>* x) {
  const auto seed = [](const Vec3<double>& a, const Vec3<S>& d) {
    return Vec3<Dual<S>>{{S(a.x), d.x}, {S(a.y), d.y}, {S(a.z), d.z}};
  };
  if (!x) {
    const Vec3<S> o = Vec3<S>::zero();
    return {{seed(t.R.x, o), seed(t.R.y, o), seed(t.R.z, o)}, seed(t.p, o)};
  }
  const Mat3<S> turn = t.R * hat(x->w);
  return {{seed(t.R.x, turn.x), seed(t.R.y, turn.y), seed(t.R.z, turn.z)}, seed(t.p, t.R * x->v)};
}

template <class S>
JOUNCE_INLINE Motion<S> motion_at(const S* x) {
  return {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
}

}  // namespace detail

template <class S>
struct ModelTangent {
  using D = Dual<S>;
  Node<D>* nodes;
  D *armature, *stiffness, *damping, *friction, *springref;

  ModelTangent(const Tree<double>& tree, Arena& arena)
      : nodes(arena.take<Node<D>>(tree.n)), springref(arena.take<D>(tree.nq)) {
    for (D** x : {&armature, &stiffness, &damping, &friction}) *x = arena.take<D>(tree.nv);
  }

  // `direction` may be null.
  JOUNCE_SHARED Tree<D> seed(const Tree<double>& tree, const S* direction) {
    for (int i = 0; i < tree.n; ++i) {
      seed_node(tree.nodes[i], direction ? direction + kNodeTangent * i : nullptr, nodes[i]);
    }
    const S* rates = direction ? direction + kNodeTangent * tree.n : nullptr;
    const S* none = nullptr;
    seed_rates(tree.nv, tree.armature.data(), rates, armature);
    seed_rates(tree.nv, tree.stiffness.data(), rates ? rates + tree.nv : none, stiffness);
    seed_rates(tree.nv, tree.damping.data(), rates ? rates + 2 * tree.nv : none, damping);
    seed_rates(tree.nv, tree.friction.data(), none, friction);
    seed_rates(tree.nq, tree.springref.data(), none, springref);
    D gravity[3];
    const double g[] = {tree.gravity.x, tree.gravity.y, tree.gravity.z};
    seed_rates(3, g, rates ? rates + kRateTangents * tree.nv : none, gravity);
    return assembled(tree, {gravity[0], gravity[1], gravity[2]});
  }

 private:
  static void seed_rates(int n, const double* x, const S* d, D* to) {
    for (int k = 0; k < n; ++k) to[k] = {S(x[k]), d ? d[k] : S(0.0)};
  }

  static void seed_node(const Node<double>& from, const S* d, Node<D>& to) {
    to.parent = from.parent, to.kind = from.kind;
    to.q = from.q, to.v = from.v, to.nv = from.nv;
    to.angle = from.angle, to.group = from.group, to.moving = from.moving;
    to.body = from.body, to.end = from.end, to.v_end = from.v_end, to.depth = from.depth;
    to.recenter = from.recenter;
    to.turn = d ? Turn::other : from.turn;
    const Motion<S> placed = d ? detail::motion_at(d) : Motion<S>::zero();
    const Motion<S> aligned{d ? Vec3<S>{d[6], d[7], d[8]} : Vec3<S>::zero(), Vec3<S>::zero()};
    to.placement = detail::moving(from.placement, d ? &placed : nullptr);
    to.alignment = detail::moving(from.alignment, d ? &aligned : nullptr);
    to.pitch = {S(from.pitch), d ? d[9] : S(0.0)};
    const RigidInertia<double>& j = from.inertia;
    const double own[] = {j.m, j.h.x, j.h.y, j.h.z, j.I.xx, j.I.xy, j.I.yy, j.I.xz, j.I.yz, j.I.zz};
    D x[10];
    seed_rates(10, own, d ? d + 10 : nullptr, x);
    to.inertia = {x[0], {x[1], x[2], x[3]}, {x[4], x[5], x[6], x[7], x[8], x[9]}};
  }

  Tree<D> assembled(const Tree<double>& tree, const Vec3<D>& gravity) const {
    const std::size_t n = tree.n, nv = tree.nv, nq = tree.nq;
    Tree<D> t;
    t.n = tree.n, t.nq = tree.nq, t.nv = tree.nv, t.n_bodies = tree.n_bodies, t.depth = tree.depth;
    t.n_moving = tree.n_moving, t.n_blocks = tree.n_blocks, t.heaviest = tree.heaviest;
    t.nodes = {nodes, n};
    t.armature = {armature, nv}, t.stiffness = {stiffness, nv};
    t.damping = {damping, nv}, t.friction = {friction, nv}, t.springref = {springref, nq};
    t.angle_q = tree.angle_q, t.quaternions = tree.quaternions, t.body_node = tree.body_node;
    t.bodies = tree.bodies, t.bodies_before = tree.bodies_before, t.bodies_in_order = tree.bodies_in_order;
    t.related = tree.related, t.mean_related = tree.mean_related, t.sparse = tree.sparse;
    t.gravity = gravity;
    return t;
  }
};

// A model that stays as it is, in the same form, for calls in which the state alone moves. It is made when
// it is first asked for, and kept with the tree; once for each width of packs, since the kernels that ask may
// be compiled for several.
class StillModel {
 public:
  StillModel() = default;
  StillModel(const StillModel&) = delete;
  StillModel& operator=(const StillModel&) = delete;
  ~StillModel() {
    for (const auto& kept : kept_) delete kept.load();
  }

  // Null if memory is short. Of several threads that make it at a time, one's stays.
  JOUNCE_SHARED const Tree<Dual<Wide>>* of(const Tree<double>& tree) {
    std::atomic<const Kept*>& kept = kept_[lanes<Wide> / 4];
    const Kept* known = kept.load(std::memory_order_acquire);
    if (known) return &static_cast<const Made*>(known)->tree;
    try {
      auto own = std::make_unique<const Made>(tree);
      const Kept* first = kept.compare_exchange_strong(known, own.get()) ? own.release() : known;
      return &static_cast<const Made*>(first)->tree;
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

 private:
  // Who deletes it need not know the width.
  struct Kept {
    virtual ~Kept() = default;
  };
  // With arrays of its own, since the tree may go elsewhere.
  struct Made : Kept {
    Workspace block;
    std::vector<int> angle_q, quaternions, body_node, bodies, bodies_before;
    std::vector<std::uint64_t> related;
    Tree<Dual<Wide>> tree;

    explicit Made(const Tree<double>& from)
        : angle_q(from.angle_q),
          quaternions(from.quaternions),
          body_node(from.body_node),
          bodies(from.bodies),
          bodies_before(from.bodies_before),
          related(from.related) {
      Arena size;
      ModelTangent<Wide>(from, size);
      Arena arena(block.reserve(size.used()));
      tree = ModelTangent<Wide>(from, arena).seed(from, nullptr);
      tree.angle_q = angle_q, tree.quaternions = quaternions, tree.body_node = body_node;
      tree.bodies = bodies, tree.bodies_before = bodies_before, tree.related = related;
    }
  };

  std::atomic<const Kept*> kept_[3] = {};  // of 2, 4 and 8 lanes
};

// Those of very large models would take much memory, several KB for each node.
inline Tree<double> with_still_model(Tree<double> tree) {
  constexpr int kMostNodes = 1000;
  tree.still = tree.n <= kMostNodes ? std::make_shared<StillModel>() : nullptr;
  return tree;
}

// The options of a call; the frame moves with its node's alignment, and by itself.
template <class S>
JOUNCE_SHARED Options<Dual<S>> seeded(const Options<>& from, const Tree<double>& tree, const S* direction) {
  Options<Dual<S>> to;
  to.prescribed = from.prescribed;
  to.representation = from.representation, to.source = from.source, to.method = from.method;
  to.tableau = from.tableau, to.every = from.every, to.hold = from.hold;
  to.frame.node = from.frame.node;
  Motion<S> own = Motion<S>::zero();
  if (direction) {
    own = detail::motion_at(direction + tangent_size(tree.n, tree.nv) - 6);
    if (from.frame.node >= 0) {
      const S* d = direction + kNodeTangent * from.frame.node + 6;
      const Motion<S> aligned = to_child(from.frame.pose, Motion<S>{{d[0], d[1], d[2]}, Vec3<S>::zero()});
      own.w = own.w - aligned.w;
      own.v = own.v - aligned.v;
    }
  }
  to.frame.pose = detail::moving(from.frame.pose, direction ? &own : nullptr);
  return to;
}

// Compiled once, in model_tangent.cpp.
extern template struct ModelTangent<Wide>;
extern template Options<Dual<Wide>> seeded(const Options<>&, const Tree<double>&, const Wide*);

}  // namespace jounce
