"""Talos on two feet beside Pinocchio's constrained dynamics: one state, batches, derivatives.

Each foot is a contact of six rows, or a point. The faster of ``pin.constraintDynamics`` and
``pin.lcaba`` counts; both are checked to give what ours give.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

import jounce as jc
from bench import robots
from bench.report import Report, Steps
from bench.timing import Call, Effort, measure
from jounce.constraints.dynamics import _forward, _local

FEET = {
    "Talos": ("left_sole_link", "right_sole_link"),
    "HyQ": ("lf_foot", "rf_foot", "lh_foot", "rh_foot"),
}


class Standing:
    """A robot on its feet in both libraries: six rows a foot, or three."""

    def __init__(self, robot: robots.Robot, six: bool, count: int) -> None:
        self.robot, model = robot, robot.model
        kind = jc.Weld if six else jc.Point
        self.constraints = jc.Constraints(model, [kind(name) for name in FEET[robot.name]])
        rng = np.random.default_rng(0)
        self.q = jc.random_configuration(model, rng, count)
        v, self.tau = rng.standard_normal((2, count, model.nv))
        self.v = jc.project_velocity(model, self.q, v, self.constraints)
        self.pin_q = robot.there.to_q(self.q)
        self.pin_v = robot.there.to_v(self.q, self.v)
        self.pin_tau = robot.there.to_tau(self.q, self.tau)
        self.models = pin.StdVec_RigidConstraintModel()
        for name in FEET[robot.name]:
            frame = robot.pin_model.frames[robot.pin_model.getFrameId(name)]
            contact = pin.ContactType.CONTACT_6D if six else pin.ContactType.CONTACT_3D
            axes = pin.ReferenceFrame.LOCAL
            self.models.append(
                pin.RigidConstraintModel(
                    contact, robot.pin_model, frame.parentJoint, frame.placement, axes
                )
            )
        self.datas = pin.StdVec_RigidConstraintData()
        self.datas.extend([contact.createData() for contact in self.models])
        self.settings = pin.ProximalSettings(1e-12, 0.0, 1)
        pin.initConstraintDynamics(robot.pin_model, robot.data, self.models, self.datas)
        # lcaba needs an order of elimination, without which it returns zeros, and mu > 0
        self.local_data = robot.pin_model.createData()
        self.local_datas = pin.StdVec_RigidConstraintData()
        self.local_datas.extend([contact.createData() for contact in self.models])
        self.local_settings = pin.ProximalSettings(1e-12, 1e-9, 1)
        pin.computeJointMinimalOrdering(robot.pin_model, self.local_data, self.models)

    def ours(self, k: int | slice) -> tuple[Any, ...]:
        """Arguments of our functions for some states."""
        return self.robot.model, self.q[k], self.v[k], self.tau[k], self.constraints

    def theirs(self, k: int) -> tuple[Any, ...]:
        """Arguments of Pinocchio's for one state."""
        state = (self.pin_q[k], self.pin_v[k], self.pin_tau[k])
        rest = (self.models, self.datas, self.settings)
        return self.robot.pin_model, self.robot.data, *state, *rest

    def local(self, k: int) -> tuple[Any, ...]:
        """Arguments of ``pin.lcaba`` for one state."""
        state = (self.pin_q[k], self.pin_v[k], self.pin_tau[k])
        rest = (self.models, self.local_datas, self.local_settings)
        return self.robot.pin_model, self.local_data, *state, *rest

    def loop(self) -> Any:
        """All states, one by one, as a user of Pinocchio writes it."""
        out = np.empty((len(self.q), self.robot.model.nv))
        for k in range(len(out)):
            out[k] = pin.constraintDynamics(*self.theirs(k))
        return out

    def local_loop(self) -> Any:
        """The same with ``pin.lcaba``."""
        out = np.empty((len(self.q), self.robot.model.nv))
        for k in range(len(out)):
            out[k] = pin.lcaba(*self.local(k))
        return out

    def their_derivatives(self) -> Any:
        """Of the first state."""
        pin.constraintDynamics(*self.theirs(0))
        model, data = self.robot.pin_model, self.robot.data
        return pin.computeConstraintDynamicsDerivatives(model, data, self.models, self.datas)


def run(effort: Effort, step: Steps) -> Report:
    """Measure robots on their feet."""
    report = Report("constraints")
    columns = "robot, contacts", "what", "jounce, us", "Pinocchio", "times"
    table = report.table("Constrained dynamics, per state, one thread", *columns)
    count = effort.pick(1024, 256, 4)
    for name, six in effort.pick(
        (("Talos", True), ("HyQ", False)), (("Talos", True),), (("HyQ", False),)
    ):
        standing = Standing(robots.load(name), six, count)
        label = f"{name}, {'6D' if six else 'points'}"
        found = jc.constrained_dynamics(*standing.ours(slice(None))).a
        there = standing.robot.there.to_a(standing.q, standing.v, found)
        robots.check(f"constrained dynamics of {label}", there, standing.loop(), 1e-6)
        # a regularized solve with few iterations: in some states three digits are right
        robots.check(f"lcaba of {label}", there, standing.local_loop(), 1e-3)
        for what, calls, times in _comparisons(standing, count):
            step(f"{label}, {what}")
            measured = measure(calls, effort)
            report.keep(f"constraints/{label}/{what}", measured)
            each = {key: 1e6 * timing.best / times for key, timing in measured.items()}
            best = min(value for key, value in each.items() if key != "jounce")
            table.add(label, what, each["jounce"], best, best / each["jounce"])
            promise = ">= 6" if what == "batch" else ">= 2"
            report.target(f"{label}, {what}", promise, best / each["jounce"])
    _loops(report, effort, step)
    _ways(report, effort, step)
    _series(report, effort, step)
    _rollouts(report, effort, step)
    return report


def _loops(report: Report, effort: Effort, step: Steps) -> None:
    """A chain of four-bars, each on the rod of the one before: time by their number."""
    table = report.table("Loops in a row, one state", "loops", "rows", "us", "us per loop")
    each = {}
    for count in effort.pick((10, 25, 50, 100), (10, 25, 50), (2, 8)):
        step(f"{count} loops in a row")
        c = chain_of_loops(count)
        model, still = c.model, np.zeros(c.model.nv)
        measured = measure(
            {"jounce": Call(jc.constrained_dynamics, (model, np.zeros(model.nq), still, still, c))},
            effort,
        )
        report.keep(f"constraints/loops/{count}", measured)
        each[count] = 1e6 * measured["jounce"].best / count
        table.add(count, c.size, each[count] * count, each[count])
    first, last = min(each), max(each)
    report.target("loops in a row, growth per loop", "<= 1.5", each[last] / each[first])


def _ways(report: Report, effort: Effort, step: Steps) -> None:
    """Ways to the same accelerations, by the number of rows: what chooses between them."""
    table = report.table(
        "Loops in a row by three ways, one state, us", "rows", "together", "loop by loop", "dense"
    )
    for count in effort.pick((1, 3, 5, 6, 8, 12, 25), (3, 6, 12), (2,)):
        step(f"{count} loops by three ways")
        points = chain_of_loops(count)
        model, still = points.model, np.zeros(points.model.nv)
        plane = ("rx", "ry", "rz", "y")  # rows in the plane alone are independent
        c = jc.Constraints(model, [jc.Loop(*x.frame_names, free=plane) for x in points.items])
        state = model, np.zeros(model.nq), still, still
        kernel = (*state, np.zeros(c.size), c.table)
        calls = {
            "together": Call(_forward, kernel),
            "loop by loop": Call(_local, kernel),
            "dense": Call(dense, (*state, c)),
        }
        a = dense(*state, c)
        for name in ("together", "loop by loop"):
            robots.check(f"{count} loops, {name}", calls[name]()[0], a, 1e-9)
        measured = measure(calls, effort)
        report.keep(f"constraints/ways/{count}", measured)
        table.add(c.size, *(1e6 * timing.best for timing in measured.values()))


def dense(model: jc.Model, q: Any, v: Any, tau: Any, c: jc.Constraints) -> Any:
    """Accelerations by one system of nv + m equations, as a user writes it with NumPy."""
    n, J = model.nv, c.jacobian(q)
    K = np.zeros((n + c.size, n + c.size))
    K[:n, :n], K[:n, n:], K[n:, :n] = jc.mass_matrix(model, q), -J.T, J
    right = np.concatenate([tau - jc.bias_forces(model, q, v), -c.bias(q, v)])
    return np.linalg.solve(K, right)[:n]


def _series(report: Report, effort: Effort, step: Steps) -> None:
    """Time derivatives under constraints, beside those of the free robot."""
    table = report.table(
        "Series of Talos on two feet, one state", "order", "constrained, us", "free", "times"
    )
    standing = Standing(robots.load("Talos"), True, 1)
    model, q, v, tau, c = standing.ours(0)
    for order in effort.pick((0, 4, 8, 16), (4,), (1,)):
        step(f"series of order {order}")
        forces = np.zeros((order + 1, model.nv))
        forces[0] = tau
        calls = {
            "jounce": Call(jc.constrained_dynamics_series, (model, q, v, forces, c)),
            "free": Call(jc.forward_dynamics_series, (model, q, v, forces)),
        }
        measured = measure(calls, effort)
        report.keep(f"constraints/series/{order}", measured)
        held, free = (1e6 * measured[name].best for name in ("jounce", "free"))
        table.add(order, held, free, held / free)


def _rollouts(report: Report, effort: Effort, step: Steps) -> None:
    """Talos on two feet in rollouts, with and without projection, beside the free robot."""
    table = report.table(
        "Rollouts of Talos, per state and step, one thread",
        "method",
        "projected, us",
        "held",
        "free",
    )
    standing = Standing(robots.load("Talos"), True, 1)
    model, q, v, _, c = standing.ours(0)
    count, length = effort.pick((256, 50), (64, 20), (4, 2))
    tau = np.random.default_rng(0).standard_normal((count, length, model.nv))
    for method in ("semi_implicit_euler", "rkmk4"):
        step(f"rollout by {method}")
        given, options = (model, q, 0.1 * v, tau, 1e-3), {"method": method}
        held = {**options, "constraints": c.at(q)}
        calls = {
            "jounce": Call(jc.rollout, given, held),
            "held": Call(jc.rollout, given, {**held, "projection": False}),
            "free": Call(jc.rollout, given, options),
        }
        measured = measure(calls, effort)
        report.keep(f"constraints/rollout/{method}", measured)
        each = [1e6 * x.best / count / length for x in measured.values()]
        table.add(method, *each)


def chain_of_loops(count: int) -> jc.Constraints:
    """Four-bars on top of each other."""
    build = jc.ModelBuilder()
    body = {"mass": 1.0, "com": (0.1, 0.02, 0.3), "inertia": (0.1, 0.12, 0.05)}
    items, carrier = [], None
    for k in range(count):
        build.add_body(f"crank{k}", carrier, "revolute", axis=(0, 1, 0), **body)
        build.add_body(f"rod{k}", f"crank{k}", "revolute", (0, 0, 0.6), axis=(0, 1, 0), **body)
        build.add_body(f"rocker{k}", carrier, "revolute", (0.5, 0, 0), axis=(0, 1, 0), **body)
        build.add_frame(f"rod end{k}", f"rod{k}", (0.5, 0, 0))
        build.add_frame(f"rocker end{k}", f"rocker{k}", (0, 0, 0.6))
        items.append(jc.Point(f"rod end{k}", f"rocker end{k}"))
        carrier = f"rod{k}"
    return jc.Constraints(build.build(), items)


def _comparisons(standing: Standing, count: int) -> Any:
    """What is compared, the contenders, and the states of one call."""
    one = {
        "jounce": Call(jc.constrained_dynamics, standing.ours(0)),
        "constraintDynamics": Call(pin.constraintDynamics, standing.theirs(0)),
        "lcaba": Call(pin.lcaba, standing.local(0)),
    }
    batch = {
        "jounce": Call(jc.constrained_dynamics, standing.ours(slice(None))),
        "loop": Call(standing.loop),
        "lcaba loop": Call(standing.local_loop),
    }
    derivatives = {
        "jounce": Call(jc.constrained_dynamics_derivatives, standing.ours(0)),
        "pinocchio": Call(standing.their_derivatives),
    }
    return ("one state", one, 1), ("batch", batch, count), ("derivatives", derivatives, 1)
