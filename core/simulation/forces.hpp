// Forces on a robot during a step: rows of controls, constant in it or linear from its start to its
// end, and what answers to the state.
//
// A servo at each rate has eight numbers: gains kp, kd, the least and the largest force; where its joint
// is limited, the stiffness k and damping d of the stops. With u that leads from the reference to q,
//   (1) tau = clip(row - kp u - kd v, least, most)
//   (2) beyond a limit by x: tau -= max(0, k x + d x') against it, never pulling back
// Passive forces of the joints come beside them. Of a prescribed rate, the row holds the acceleration.
#pragma once

#include "jounce/dynamics/passive.hpp"
#include "jounce/simulation/rates.hpp"
#include "jounce/tree/workspace.hpp"

namespace jounce {

template <class S>
struct ForcesAt {
  const S *tau, *f_ext;  // the wrenches may be null
  const S* a;            // of prescribed rates
  const unsigned char* prescribed;  // null: none is
};

// A row of controls: the generalized forces, then external wrenches and reference coordinates if
// there are some.
struct ControlRow {
  int nv, wrenches, references;  // how many numbers
  int size() const { return nv + wrenches + references; }
};

template <class P>
ControlRow control_row(const Tree<P>& tree, bool with_wrenches, bool with_references) {
  return {tree.nv, with_wrenches ? 6 * tree.n_bodies : 0, with_references ? tree.nq : 0};
}
template <class P>
int most_controls(const Tree<P>& tree) {
  return tree.nv + 6 * tree.n_bodies + tree.nq;
}

// Rows of the servos' numbers, (8, nv).
enum ServoRow { kServoP, kServoD, kServoLeast, kServoMost, kStopLower, kStopUpper, kStopK, kStopD };
constexpr int kServoRows = 8;

template <class S>
JOUNCE_INLINE S clipped(const S& x, const S& least, const S& most) {
  return select(x < least, least, select(x > most, most, x));
}

// Equation (2) for one rate: the force of the stops.
template <class S>
JOUNCE_INLINE S stop_force(const S& q, const S& v, const S& lower, const S& upper, const S& k,
                           const S& d) {
  const S zero(0.0), over = q - upper, under = lower - q;
  const S down = k * over + d * v, up = k * under - d * v;
  return select(under > zero, select(up > zero, up, zero), zero) -
         select(over > zero, select(down > zero, down, zero), zero);
}

// What leads from a reference to q at one joint.
template <class S, class P>
JOUNCE_INLINE void deflect(const Node<P>& node, const S* reference, const S* q, S* u) {
  if (node.nv == 1) {
    u[0] = q[0] - reference[0];
    return;
  }
  const Deflection<S> d = group_deflection(node, reference, q);
  store(d.w, u);
  if (node.nv == 6) store(d.x, u + 3);
}

// A row of controls between two, at a time from 0 to 1: references along straight lines of the group.
template <class S, class P>
void controls_between(const Tree<P>& tree, const ControlRow& row, const S* now, const S* next, double time,
                      S* to) {
  const int numbers = row.nv + row.wrenches;
  for (int k = 0; k < numbers; ++k) to[k] = now[k] + (next[k] - now[k]) * time;
  if (!row.references) return;
  for (const Node<P>& node : tree.nodes) {
    const S *from = now + numbers + node.q, *end = next + numbers + node.q;
    S u[6];
    deflect(node, from, end, u);
    for (int k = 3; node.kind == Kind::free && k < 6; ++k) u[k] = end[k + 1] - from[k + 1];
    for (int k = 0; k < node.nv; ++k) u[k] *= time;
    move_coordinates(node, from, u, to + numbers + node.q);
  }
}

// Forces held over a step: those of its first row, or linear between that and the next.
template <class S>
struct HeldForces {
  S *now, *next, *between, *total;  // rows of controls; forces
  ControlRow row;
  bool linear;
  const unsigned char* prescribed = nullptr;
  const S* servo = nullptr;  // (8, nv)
  bool passive = false;

  template <class P>
  ForcesAt<S> operator()(const Tree<P>& tree, double time, const S* q, const S* v) const {
    const S* x = now;
    if (linear && time != 0.0) {
      controls_between(tree, row, now, next, time, between);
      x = between;
    }
    const S* f_ext = row.wrenches ? x + row.nv : nullptr;
    if (!answers()) return {x, f_ext, x, prescribed};
    if (passive) {
      passive_forces(tree, q, v, total);
    } else {
      for (int k = 0; k < row.nv; ++k) total[k] = S(0.0);
    }
    if (servo) {
      add_servos(tree, x, q, v);
    } else {
      for (int k = 0; k < row.nv; ++k) total[k] += x[k];
    }
    return {total, f_ext, x, prescribed};
  }
  bool answers() const { return servo || passive; }  // to the state

  // What the servo of rate i of a node asks for, before it is clipped, with the row x.
  template <class P>
  S wanted(const Node<P>& node, int i, const S* x, const S* q, const S* v) const {
    S u[6] = {S(0.0), S(0.0), S(0.0), S(0.0), S(0.0), S(0.0)};
    if (row.references) deflect(node, x + row.nv + row.wrenches + node.q, q + node.q, u);
    return wanted(node.v + i, u[i], x, v);
  }

 private:
  S wanted(int k, const S& u, const S* x, const S* v) const {
    return x[k] - servo[kServoP * row.nv + k] * u - servo[kServoD * row.nv + k] * v[k];
  }
  // Equations (1) and (2).
  template <class P>
  void add_servos(const Tree<P>& tree, const S* x, const S* q, const S* v) const {
    const int nv = row.nv;
    for (const Node<P>& node : tree.nodes) {
      S u[6] = {S(0.0), S(0.0), S(0.0), S(0.0), S(0.0), S(0.0)};
      if (row.references) deflect(node, x + nv + row.wrenches + node.q, q + node.q, u);
      for (int i = 0; i < node.nv; ++i) {
        const S* of = servo + node.v + i;
        const int k = node.v + i;
        total[k] += clipped(wanted(k, u[i], x, v), of[kServoLeast * nv], of[kServoMost * nv]);
        if (node.nv > 1) continue;
        total[k] += stop_force(q[node.q], v[k], of[kStopLower * nv], of[kStopUpper * nv],
                               of[kStopK * nv], of[kStopD * nv]);
      }
    }
  }
};

// Rows of a step: from the first to those that follow it, if forces are linear.
template <class S, class Tape>
void load_controls(const Tape& tape, std::ptrdiff_t t, const HeldForces<S>& forces) {
  const ControlRow& row = forces.row;
  for (const bool second : {false, true}) {
    if (second && !forces.linear) break;
    S* to = second ? forces.next : forces.now;
    tape.load_forces(t + second, to);
    if (row.wrenches) tape.load_wrenches(t + second, to + row.nv);
    if (row.references) tape.load_references(t + second, to + row.nv + row.wrenches);
  }
}

// Rows of controls and what is computed of them.
template <class S>
struct ControlWork {
  S *now, *next, *between, *total;

  template <class P>
  ControlWork(const Tree<P>& tree, Arena& arena) {
    for (S** x : {&now, &next, &between}) *x = arena.take<S>(most_controls(tree));
    total = arena.take<S>(tree.nv);
  }
};

}  // namespace jounce
