"""An arm with elastic joints: feedback linearization by the second-order inverse series.

Between motor and link of each joint sits a spring, as harmonic drives and torque sensors make one:

    M(q) a + b(q, v) = tau,   tau = K (theta - q),   J theta'' + tau = u

with the motors' angles theta and inertias J, and the torques u of the motors. The motion of the
links is what the motors do twice removed: u takes the second time derivative of tau,

    u = J (a + K^-1 tau'') + tau,

that is, `jc.inverse_dynamics_series` of order 2. Where the links are going, accelerations and
jerk, is known from the springs without differentiating a measurement: tau and tau' = K (theta' -
v) go through `jc.forward_dynamics_series`. So four numbers per joint can be controlled exactly
(Spong 1987; De Luca, Siciliano, Zollo 2005), and the robot follows the reference as if it were
four integrators.

Computed torque takes the springs for rigid. The example lets both follow the same fast motion for
several stiffnesses: the softer the springs, the more the rigid controller is off and vibrates; the
other does not care.

Run: ``python examples/elastic_joints.py [--quick] [--out DIR]``; needs matplotlib. The quick form
has fewer stiffnesses.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import jounce as jc

Array = npt.NDArray[np.float64]

DURATION, SETTLE = 1.0, 0.5  # s: the motion, then rest
DT = 1e-3
START, GOAL = np.array([0.0, 0.4, -0.8]), np.array([1.2, -0.5, 0.9])
MOTOR_INERTIA = np.array([0.3, 0.3, 0.1])  # kg m^2, behind the gear
STIFFNESS = np.array([1.0, 1.0, 0.5])  # times those below
STIFFNESSES = (500.0, 1000.0, 2000.0, 5000.0, 20000.0)  # N m / rad
POLE = 30.0  # 1/s: where errors decay
DISTURBED = 0.02  # rad: how far the arm is from its reference at the start


def build_arm() -> jc.Model:
    """Three links: a turning base, a shoulder and an elbow."""
    builder = jc.ModelBuilder(name="elastic arm")
    axes = ((0, 0, 1), (0, 1, 0), (0, 1, 0))
    parent, offset = None, (0.0, 0.0, 0.3)
    for i, (axis, mass, length) in enumerate(
        zip(axes, (3.0, 4.0, 3.0), (0.1, 0.4, 0.4), strict=True)
    ):
        builder.add_body(
            f"link{i + 1}",
            parent,
            joint="revolute",
            axis=axis,
            placement=offset,
            mass=mass,
            com=(length / 2, 0, 0),
            inertia=(0.01, 0.01 + mass * length**2 / 12, 0.01 + mass * length**2 / 12),
        )
        parent, offset = f"link{i + 1}", (length, 0.0, 0.0)
    return builder.build()


SMOOTH = [
    np.polynomial.Polynomial([0, 0, 0, 0, 0, 126, -420, 540, -315, 70]).deriv(k) for k in range(5)
]
"""From 0 to 1, at rest to order four at both ends, with its derivatives."""


def reference(t: float) -> Array:
    """Coordinates and four derivatives, (5, n)."""
    at = min(t / DURATION, 1.0)
    rows = [s(at) / DURATION**k for k, s in enumerate(SMOOTH)]
    out: Array = np.multiply.outer(rows, GOAL - START)
    out[0] += START
    return out


class State(NamedTuple):
    """Angles and rates of links and motors."""

    q: Array
    v: Array
    theta: Array
    omega: Array


class Robot(NamedTuple):
    """The arm with its springs."""

    model: jc.Model
    K: Array
    J: Array

    def rate(self, x: State, u: Array) -> State:
        """Time derivative of the state."""
        spring = self.K * (x.theta - x.q)
        a = jc.forward_dynamics(self.model, x.q, x.v, spring)
        return State(x.v, a, x.omega, (u - spring) / self.J)

    def step(self, x: State, control: Callable[[State, float], Array], t: float) -> State:
        """Kutta's classical step; the control acts continuously."""
        dt = DT

        def rate(y: State, at: float) -> State:
            return self.rate(y, control(y, at))

        k1 = rate(x, t)
        k2 = rate(_moved(x, k1, dt / 2), t + dt / 2)
        k3 = rate(_moved(x, k2, dt / 2), t + dt / 2)
        k4 = rate(_moved(x, k3, dt), t + dt)
        parts = zip(x, k1, k2, k3, k4, strict=True)
        return State(*(y + dt / 6 * (a + 2 * b + 2 * c + d) for y, a, b, c, d in parts))

    def at_rest(self, q: Array) -> State:
        """Standing still, the springs carrying the weight."""
        rest = np.zeros_like(q)
        return State(q, rest, q + jc.gravity_forces(self.model, q) / self.K, rest)


def _moved(x: State, d: State, dt: float) -> State:
    return State(*(y + dt * z for y, z in zip(x, d, strict=True)))


Controller = Callable[[Robot, State, Array], Array]


def rigid(robot: Robot, x: State, wanted: Array) -> Array:
    """Computed torque by the motors' angles, as if links and motors were one body."""
    a = wanted[2] + 2 * POLE * (wanted[1] - x.omega) + POLE**2 * (wanted[0] - x.theta)
    return jc.inverse_dynamics(robot.model, x.theta, x.omega, a) + robot.J * a


def linearizing(robot: Robot, x: State, wanted: Array) -> Array:
    """Feedback linearization: errors decay like (d/dt + POLE)^4 e = 0."""
    spring = robot.K * (x.theta - x.q)
    forces = np.stack([spring, robot.K * (x.omega - x.v)])
    a, jerk = jc.forward_dynamics_series(robot.model, x.q, x.v, forces)  # no differences taken
    e = wanted[:4] - np.stack([x.q, x.v, a, jerk])
    gains = POLE ** np.array([4, 3, 2, 1]) * np.array([1, 4, 6, 4])
    snap = wanted[4] + gains @ e
    tau = jc.inverse_dynamics_series(robot.model, x.q, np.stack([x.v, a, jerk, snap]))
    result: Array = robot.J * (a + tau[2] / robot.K) + spring
    return result


CONTROLLERS: dict[str, Controller] = {"rigid": rigid, "linearizing": linearizing}


class Run(NamedTuple):
    """A controlled motion."""

    t: Array
    error: Array
    """(times, n) of the links, rad; NaN after the robot has gone astray."""
    u: Array

    @property
    def worst(self) -> float:
        """Largest error after the first half second, rad; inf if it went astray."""
        late = self.error[self.t > 0.5]
        return float("inf") if np.isnan(late).any() else float(np.abs(late).max())


def run(robot: Robot, controller: Controller) -> Run:
    """Follow the reference from a disturbed start."""
    x = robot.at_rest(START + DISTURBED)
    steps = round((DURATION + SETTLE) / DT)
    error = np.full((steps, len(START)), np.nan)
    u = np.full_like(error, np.nan)

    def control(y: State, t: float) -> Array:
        return controller(robot, y, reference(t))

    for i in range(steps):
        error[i], u[i] = x.q - reference(i * DT)[0], control(x, i * DT)
        if np.abs(error[i]).max() > 1.0:
            break
        x = robot.step(x, control, i * DT)
    return Run(np.arange(steps) * DT, error, u)


Result = dict[float, dict[str, Run]]


def table(result: Result) -> str:
    """Largest errors after the first half second."""
    lines = [
        "stiffness   largest error of a joint after 0.5 s, mrad",
        "  N m/rad        rigid  linearizing",
    ]
    for stiffness, runs in result.items():
        errors = "".join(f"{_shown(runs[name].worst):>13}" for name in CONTROLLERS)
        lines.append(f"{stiffness:9.0f}{errors}")
    return "\n".join(lines)


def _shown(error: float) -> str:
    return "unstable" if np.isinf(error) else f"{1e3 * error:.3g}"


def figure(result: Result) -> Any:
    """Errors of both controllers in time."""
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    drawn, panels = pyplot.subplots(1, 2, figsize=(12, 4.8), layout="constrained", sharey=True)
    for panel, name in zip(panels, CONTROLLERS, strict=True):
        for stiffness, runs in result.items():
            worst = np.abs(runs[name].error).max(axis=1)
            panel.semilogy(runs[name].t, worst, label=f"{stiffness:.0f} N m/rad")
        panel.set(title=name, xlabel="t in s", ylabel="largest error in rad", ylim=(1e-9, 1))
        panel.grid(alpha=0.25, linewidth=0.6)
        panel.legend()
    return drawn


def main(arguments: Sequence[str] | None = None) -> Result:
    """Run both controllers for all stiffnesses; print the table, save the figure."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0], allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="for the figure")
    parser.add_argument("--quick", action="store_true", help="fewer stiffnesses")
    options = parser.parse_args(arguments)
    begin = time.perf_counter()
    model = build_arm()
    result: Result = {}
    for stiffness in STIFFNESSES[1::2] if options.quick else STIFFNESSES:
        print(f"springs of {stiffness:g} N m/rad", flush=True)
        robot = Robot(model, stiffness * STIFFNESS, MOTOR_INERTIA)
        result[stiffness] = {name: run(robot, c) for name, c in CONTROLLERS.items()}
    print(table(result))
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "elastic_joints.png"
    figure(result).savefig(path, dpi=110)
    print(f"wrote {path}  ({time.perf_counter() - begin:.1f} s)")
    return result


if __name__ == "__main__":
    main()
