// Pose, twist, acceleration and Jacobian of one frame, and the Jacobian's rate, by a walk from the
// frame to the root: only the ancestors are visited.
//
// With T the pose of the frame in an ancestor j, the column of a screw s of j is Ad(T)^-1 s; it
// is constant but for the motion of the frame relative to j, whose twist V_j is collected on the
// way, so its derivative is -ad(V_j) column (mueller, eq. 12 and 14).
#pragma once

#include <algorithm>

#include "jounce/kinematics/representation.hpp"
#include "jounce/tree/joint.hpp"

namespace jounce {

// A frame fixed to a node (-1: to the world), with its pose in the node's frame.
template <class P = double>
struct FrameAt {
  int node = -1;
  Pose<P> pose{Mat3<P>::identity(), Vec3<P>::zero()};
};

template <class S>
struct FrameWork {
  Angles<S> angles;

  template <class P>
  FrameWork(const Tree<P>& tree, Arena& arena) : angles(tree, arena) {}
};

// With room for the Jacobian, which its rate needs.
template <class S>
struct JacobianRateWork : FrameWork<S> {
  S* J;

  template <class P>
  JacobianRateWork(const Tree<P>& tree, Arena& arena)
      : FrameWork<S>(tree, arena), J(arena.take<S>(6 * std::size_t(tree.nv))) {}
};

template <class S, class P>
JOUNCE_INLINE Pose<S> widened(const Pose<P>& t) {
  const Vec3<S> o = Vec3<S>::zero();
  return {{o + t.R.x, o + t.R.y, o + t.R.z}, o + t.p};
}

// Calls visit(node, T) for each ancestor below `stop`, the nearest first; T is the frame's pose in the
// node. Returns the frame's pose in `stop` (-1: the world).
template <class S, class P, class F, class Visit>
JOUNCE_INLINE Pose<S> walk_to_ancestor(const Tree<P>& tree, const FrameAt<F>& frame, int stop, const S* q,
                                       const Angles<S>& angles, Visit&& visit) {
  Pose<S> T = widened<S>(frame.pose);
  for (int i = frame.node; i != stop; i = tree.nodes[i].parent) {
    const Node<P>& node = tree.nodes[i];
    visit(node, T);
    T = joint_pose(node, q, angles.sine, angles.cosine) * T;
  }
  return T;
}

// The same for all ancestors; returns the frame's pose in the world.
template <class S, class P, class Visit>
JOUNCE_INLINE Pose<S> walk_to_root(const Tree<P>& tree, const FrameAt<P>& frame, const S* q,
                                   FrameWork<S>& work, Visit&& visit) {
  work.angles.compute(tree, q);
  return walk_to_ancestor(tree, frame, -1, q, work.angles, visit);
}

template <class S, class P>
JOUNCE_INLINE Motion<S> screw(const Node<P>& node, int k) {
  Motion<S> s = Motion<S>::zero();
  with_kind(node.kind, [&](auto kind) { add_rate<decltype(kind)::value>(node, k, S(1.0), s); });
  return s;
}

template <class S, class P>
void frame_pose(const Tree<P>& tree, const FrameAt<P>& frame, const S* q, S* pose,
                FrameWork<S>& work) {
  store(walk_to_root(tree, frame, q, work, [](const auto&, const auto&) {}), pose);
}

// The derivatives of the pose's entries along dq, which may be null: R hat(w) and R v with the twist (w, v) that it
// gives the frame. With the angles that are in the workspace.
template <class D>
void frame_pose_directions(const Tree<double>& tree, const FrameAt<double>& frame, const double* q, const D* dq, D* out,
                           const FrameWork<double>& work) {
  Motion<D> twist = Motion<D>::zero();
  const Pose<double> world =
      walk_to_ancestor(tree, frame, -1, q, work.angles, [&](const Node<double>& node, const Pose<double>& T) {
        with_kind(node.kind, [&](auto kind) {
          if (dq) twist += to_child(T, joint_motion<decltype(kind)::value>(node, dq + node.v));
        });
      });
  const Mat3<double>& R = world.R;
  const Vec3<D>& w = twist.w;
  const Mat3<D> dR{R.y * w.z - R.z * w.y, R.z * w.x - R.x * w.z, R.x * w.y - R.y * w.x};
  store(Pose<D>{dR, R * twist.v}, out);
  out[15] = D(0.0);
}

template <class S, class P>
void frame_twist(const Tree<P>& tree, const FrameAt<P>& frame, Representation representation,
                 const S* q, const S* v, S* out, FrameWork<S>& work) {
  Motion<S> twist = Motion<S>::zero();
  const Pose<S> world =
      walk_to_root(tree, frame, q, work, [&](const Node<P>& node, const Pose<S>& T) {
        with_kind(node.kind, [&](auto kind) {
          twist += to_child(T, joint_motion<decltype(kind)::value>(node, v + node.v));
        });
      });
  store(represented(representation, world, twist), out);
}

// The derivative of the twist's components: J a + dJ v. Without a, which may be null, the latter.
template <class S, class P>
void frame_acceleration(const Tree<P>& tree, const FrameAt<P>& frame, Representation representation,
                        const S* q, const S* v, const S* a, S* out, FrameWork<S>& work) {
  Motion<S> twist = Motion<S>::zero(), acceleration = twist;
  const Pose<S> world =
      walk_to_root(tree, frame, q, work, [&](const Node<P>& node, const Pose<S>& T) {
        with_kind(node.kind, [&](auto kind) {
          constexpr Kind K = decltype(kind)::value;
          const Motion<S> joint = to_child(T, joint_motion<K>(node, v + node.v));
          acceleration += bracket(joint, twist);  // of what is nearer to the frame
          if (a) acceleration += to_child(T, joint_motion<K>(node, a + node.v));
          twist += joint;
        });
      });
  store(represented_rate(representation, world, twist, twist, acceleration), out);
}

// A wrench at the frame, in a representation there, as one on the body that carries it, in and about
// that body's frame.
template <class S, class P>
void frame_wrench(const Tree<P>& tree, const FrameAt<P>& frame, Representation representation, const S* q,
                  const S* x, S* out, FrameWork<S>& work) {
  const Pose<S> world = walk_to_root(tree, frame, q, work, [](const auto&, const auto&) {});
  Force<S> own = to_parent(frame.pose, body_wrench(representation, world, force_from(x)));
  if (frame.node >= 0) own = to_parent(tree.nodes[frame.node].alignment, own);
  store(Motion<S>{own.n, own.f}, out);
}

// J and dJ are 6 x nv, row-major; dJ needs v, and may be null.
template <class S, class P>
void jacobian(const Tree<P>& tree, const FrameAt<P>& frame, Representation representation, const S* q,
              const S* v, S* J, S* dJ, FrameWork<S>& work) {
  const int nv = tree.nv;
  std::fill_n(J, 6 * std::size_t(nv), S(0.0));
  if (dJ) std::fill_n(dJ, 6 * std::size_t(nv), S(0.0));
  Motion<S> twist = Motion<S>::zero();
  const Pose<S> world = walk_to_root(tree, frame, q, work, [&](const Node<P>& node,
                                                               const Pose<S>& T) {
    const Motion<S> before = twist;
    for (int k = 0; k < node.nv; ++k) {
      const Motion<S> column = to_child(T, screw<S>(node, k));
      store(column, J + node.v + k, nv);
      if (!dJ) continue;
      const Motion<S> rate = bracket(column, before);  // -ad(before) column
      store(rate, dJ + node.v + k, nv);
      twist.w += column.w * v[node.v + k];
      twist.v += column.v * v[node.v + k];
    }
  });
  for (int i = frame.node; i >= 0; i = tree.nodes[i].parent) {
    for (int k = tree.nodes[i].v; k < tree.nodes[i].v + tree.nodes[i].nv; ++k) {
      const auto column = [&](const S* m) {
        return Motion<S>{{m[k], m[nv + k], m[2 * nv + k]}, {m[3 * nv + k], m[4 * nv + k], m[5 * nv + k]}};
      };
      const Motion<S> c = column(J);
      if (dJ) {
        store(represented_rate(representation, world, twist, c, column(dJ)), dJ + k, nv);
      }
      store(represented(representation, world, c), J + k, nv);
    }
  }
}

}  // namespace jounce
