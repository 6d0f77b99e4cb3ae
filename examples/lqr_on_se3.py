"""LQR on SE(3): an aerial manipulator recovers from attitude errors where Euler angles fail.

Three controllers track a reference of the robot of Ali et al. (2026), a fully actuated flying base
with two arms. All are time-varying LQRs, tau = tau_ref(t) - K(t) e, within the same limits of the
actuators, with the same weights and the same exact linearization along the reference
(`jc.linearize_step`, all knots in one call). They differ in the coordinates of the error e alone:

- group: the logarithm of the relative pose, ``jc.difference(model, q_ref, q)``, and body twists;
- Euler: roll, pitch, yaw and position, and the rates of these, as in Lagrange's equations;
- Euler, body rates: the same angles, but body twists, which hides a part of the singularity.

Every run starts with the base turned by up to 179 degrees from the reference, about several axes.
One reference is level (the circle of the paper), the other nose up: its pitch swings through 90
degrees, where Euler angles are singular. All runs of a reference are one batch.

Run: ``python examples/lqr_on_se3.py [--quick] [--out DIR]``; needs matplotlib. The quick form has
fewer initial errors and reaches the same conclusions in a few seconds.
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
from jounce import lie, trajectories

Array = npt.NDArray[np.float64]

DT = 0.01  # s, between knots; the control is held for that long
DURATION = 5.0  # s
AXES = {
    "x (roll)": (1, 0, 0),
    "y (pitch)": (0, 1, 0),
    "z (yaw)": (0, 0, 1),
    "x+y": (1, 1, 0),
    "y+z": (0, 1, 1),
    "x+y+z": (1, 1, 1),
}
LIMITS = np.repeat([15.0, 80.0, 4.0], [3, 3, 6])  # N m and N on the base, N m in the arms
STATE_WEIGHTS = np.repeat([100.0, 30.0, 30.0, 2.0, 6.0, 2.0], [3, 3, 6, 3, 3, 6])
INPUT_WEIGHTS = np.repeat([1.0, 0.1, 3.0], [3, 3, 6])
LOST = 100.0  # rad/s or m/s: a run this fast does not come back and is stopped
LEFT_OVER = np.deg2rad(1.0), 0.05  # rad, m: what a recovered run may be off at the end
COLORS = {"group": "C0", "Euler": "C3", "Euler, body rates": "C1"}


class Reference(NamedTuple):
    """States at the knots and the force that is held between them."""

    q: Array
    """(N+1, nq)."""
    v: Array
    """(N+1, nv)."""
    tau: Array
    """(N, nv)."""


def level(model: jc.Model) -> trajectories.RobotTrajectory:
    """The base flies a circle, its pitch stays 0, the arms swing."""
    return trajectories.aerial_manipulator_reference(model, DURATION)


def nose_up(model: jc.Model) -> trajectories.RobotTrajectory:
    """The base hovers and its pitch swings between 80 and 100 degrees, the arms swing as well."""
    pitch = trajectories.Sinusoid(np.deg2rad(-10), 2 * np.pi / 2.5, np.pi / 2, offset=np.pi / 2)
    base = trajectories.axis_angle([0, 1, 0], pitch)
    return trajectories.RobotTrajectory(model, {**level(model).curves, "root_joint": base})


def at_knots(model: jc.Model, trajectory: trajectories.RobotTrajectory) -> Reference:
    """Sample a trajectory; the force of the middle is the best one to hold over a step."""
    t = np.arange(round(DURATION / DT) + 1) * DT
    states, middle = trajectory.evaluate(t), trajectory.evaluate(t[:-1] + DT / 2)
    return Reference(states.q, states.v, jc.inverse_dynamics(model, middle.q, middle.v, middle.a))


class Coordinates(NamedTuple):
    """How a controller measures errors: e = T (delta q, delta v) to first order."""

    error: Callable[[jc.Model, Array, Array, Array, Array], Array]
    """model, q_ref, v_ref, q, v to (..., 2 nv)."""
    jacobian: Callable[[Array, Array], Array]
    """q_ref, v_ref to T (..., 2 nv, 2 nv)."""


def group_error(model: jc.Model, q_ref: Array, v_ref: Array, q: Array, v: Array) -> Array:
    """The logarithm: these are the coordinates of `jc.linearize_step`, so that T = 1."""
    return np.concatenate([jc.difference(model, q_ref, q), v - v_ref], axis=-1)


def euler_error(model: jc.Model, q_ref: Array, v_ref: Array, q: Array, v: Array) -> Array:
    """Differences of roll, pitch, yaw, position, angles of the arms, and of their rates."""
    rates = euler_rates(q, v) - euler_rates(q_ref, v_ref)
    return np.concatenate([chart_error(q_ref, q), rates], axis=-1)


def euler_error_body_rates(
    model: jc.Model, q_ref: Array, v_ref: Array, q: Array, v: Array
) -> Array:
    """As `euler_error`, with differences of v instead of the rates of the coordinates."""
    return np.concatenate([chart_error(q_ref, q), v - v_ref], axis=-1)


def chart_error(q_ref: Array, q: Array) -> Array:
    """Differences of the coordinates; those of angles are wrapped to half a turn."""
    turned = roll_pitch_yaw(q) - roll_pitch_yaw(q_ref)
    wrapped = (turned + np.pi) % (2 * np.pi) - np.pi
    return np.concatenate([wrapped, q[..., 4:] - q_ref[..., 4:]], axis=-1)


def roll_pitch_yaw(q: Array) -> Array:
    """The angles (..., 3) of R = Rz(yaw) Ry(pitch) Rx(roll), pitch within 90 degrees."""
    R = lie.quat_to_matrix(q[..., :4])
    pitch = np.arcsin(np.clip(-R[..., 2, 0], -1, 1))
    roll, yaw = np.arctan2(R[..., 2, 1], R[..., 2, 2]), np.arctan2(R[..., 1, 0], R[..., 0, 0])
    return np.stack([roll, pitch, yaw], axis=-1)


def euler_map(q: Array) -> Array:
    """The matrix E (..., nv, nv) of d/dt (rpy, position, angles) = E v; 1/cos(pitch) in it."""
    roll, pitch, _ = np.moveaxis(roll_pitch_yaw(q), -1, 0)
    sin, cos = np.sin(roll), np.cos(roll)
    E = np.zeros((*q.shape[:-1], q.shape[-1] - 1, q.shape[-1] - 1))
    E[..., :, :] = np.eye(q.shape[-1] - 1)
    E[..., 0, 1:3] = np.stack([sin, cos], axis=-1) * np.tan(pitch)[..., None]
    E[..., 1, 1:3] = np.stack([cos, -sin], axis=-1)
    E[..., 2, 1:3] = np.stack([sin, cos], axis=-1) / np.cos(pitch)[..., None]
    E[..., 3:6, 3:6] = lie.quat_to_matrix(q[..., :4])
    return E


def euler_rates(q: Array, v: Array) -> Array:
    """Rates of roll, pitch, yaw, position and of the angles of the arms."""
    return (euler_map(q) @ v[..., None])[..., 0]


def euler_jacobian(q: Array, v: Array) -> Array:
    """T of `euler_error`: the rates E(q) v change with q as well."""
    E, nv = euler_map(q), v.shape[-1]
    T = euler_jacobian_body_rates(q, v)
    T[..., nv:, nv:] = E
    pitch = roll_pitch_yaw(q)[..., 1]
    _, pitch_rate, yaw_rate = np.moveaxis(euler_rates(q, v)[..., :3], -1, 0)
    by_rpy = np.zeros((*v.shape[:-1], 3, 3))  # of the rates of roll, pitch, yaw
    by_rpy[..., 0, 0] = np.tan(pitch) * pitch_rate
    by_rpy[..., 0, 1] = yaw_rate / np.cos(pitch)
    by_rpy[..., 1, 0] = -np.cos(pitch) * yaw_rate
    by_rpy[..., 2, 0] = pitch_rate / np.cos(pitch)
    by_rpy[..., 2, 1] = np.tan(pitch) * yaw_rate
    T[..., nv : nv + 3, :3] = by_rpy @ E[..., :3, :3]
    T[..., nv + 3 : nv + 6, :3] = -E[..., 3:6, 3:6] @ lie.hat(v[..., 3:6])
    return T


def euler_jacobian_body_rates(q: Array, v: Array) -> Array:
    """T of `euler_error_body_rates`."""
    nv = v.shape[-1]
    T = np.zeros((*v.shape[:-1], 2 * nv, 2 * nv))
    T[..., :nv, :nv] = euler_map(q)
    T[..., nv:, nv:] = np.eye(nv)
    return T


def identity(q: Array, v: Array) -> Array:
    """T of `group_error`."""
    return np.broadcast_to(np.eye(2 * v.shape[-1]), (*v.shape[:-1], *2 * (2 * v.shape[-1],)))


CONTROLLERS = {
    "group": Coordinates(group_error, identity),
    "Euler": Coordinates(euler_error, euler_jacobian),
    "Euler, body rates": Coordinates(euler_error_body_rates, euler_jacobian_body_rates),
}


def gains(model: jc.Model, reference: Reference, coordinates: Coordinates) -> Array:
    """Gains K (N, nv, 2 nv) of the time-varying LQR, by the Riccati recursion from the end."""
    q, v, tau = reference
    step = jc.linearize_step(model, q[:-1], v[:-1], tau, DT, method="midpoint")
    T = coordinates.jacobian(q, v)
    A, B = T[1:] @ step.A @ np.linalg.inv(T[:-1]), T[1:] @ step.B
    Q, R = np.diag(STATE_WEIGHTS), np.diag(INPUT_WEIGHTS)
    P, K = Q, np.zeros((len(A), model.nv, 2 * model.nv))
    # The last knot comes many times: the cost to go beyond the end is that of an endless stay.
    for k in [len(A) - 1] * 300 + list(reversed(range(len(A)))):
        PB = P @ B[k]
        K[k] = np.linalg.solve(R + B[k].T @ PB, PB.T @ A[k])
        P = Q + A[k].T @ P @ (A[k] - B[k] @ K[k])
        P = (P + P.T) / 2
    return K


def simulate_step(model: jc.Model, q: Array, v: Array, tau: Array) -> tuple[Array, Array]:
    """One step on the group, of order 4 (commutator-free; Celledoni, Marthinsen, Owren 2003)."""

    def moved(x: tuple[Array, Array], *terms: tuple[float, Array]) -> tuple[Array, Array]:
        slope = DT * np.sum([weight * k for weight, k in terms], axis=0)
        return jc.integrate(model, x[0], slope[0]), x[1] + slope[1]

    def slope(x: tuple[Array, Array]) -> Array:
        return np.stack([x[1], jc.forward_dynamics(model, *x, tau)])

    start = q, v
    k1 = slope(start)
    second = moved(start, (1 / 2, k1))
    k2 = slope(second)
    k3 = slope(moved(start, (1 / 2, k2)))
    k4 = slope(moved(second, (-1 / 2, k1), (1.0, k3)))
    half = moved(start, (1 / 4, k1), (1 / 6, k2), (1 / 6, k3), (-1 / 12, k4))
    return moved(half, (-1 / 12, k1), (1 / 6, k2), (1 / 6, k3), (1 / 4, k4))


class Runs(NamedTuple):
    """What came out of the runs from a batch of initial errors."""

    angle: Array
    """(N+1, ...) angle between the base and its reference, rad; NaN once a run is lost."""
    recovered: npt.NDArray[np.bool_]
    """(...)."""


def simulate(model: jc.Model, reference: Reference, name: str, errors: Array) -> Runs:
    """Run a controller from the reference turned by `errors` (..., 3), rotation vectors."""
    coordinates = CONTROLLERS[name]
    K = gains(model, reference, coordinates)
    turned = np.concatenate([errors, np.zeros((*errors.shape[:-1], model.nv - 3))], axis=-1)
    q = jc.integrate(model, reference.q[0], turned)
    v = np.broadcast_to(reference.v[0], turned.shape)
    alive, angle = np.ones(turned.shape[:-1], bool), [np.linalg.norm(errors, axis=-1)]
    for k, held in enumerate(reference.tau):
        e = coordinates.error(model, reference.q[k], reference.v[k], q, v)
        tau = np.clip(held - e @ K[k].T, -LIMITS, LIMITS)
        q_next, v_next = simulate_step(model, q, v, tau)
        alive &= np.abs(v_next).max(axis=-1) < LOST
        q, v = np.where(alive[..., None], q_next, q), np.where(alive[..., None], v_next, 0.0)
        off = jc.difference(model, reference.q[k + 1], q)
        angle.append(np.where(alive, np.linalg.norm(off[..., :3], axis=-1), np.nan))
    near = np.linalg.norm(off[..., 3:6], axis=-1) < LEFT_OVER[1]
    return Runs(np.array(angle), alive & near & (np.nan_to_num(angle[-1], nan=9.0) < LEFT_OVER[0]))


class Sweep(NamedTuple):
    """Runs of all controllers on one reference, from errors (axis, sign, angle)."""

    angles: Array
    """(m,) rad."""
    runs: dict[str, Runs]

    def reach(self, name: str) -> Array:
        """For each axis the largest angle up to which all runs recovered, either way, deg."""
        all_before = np.logical_and.accumulate(self.runs[name].recovered.all(axis=1), axis=-1)
        reach: Array = np.where(all_before, np.rad2deg(self.angles), 0.0).max(axis=-1)
        return reach


def sweep(model: jc.Model, trajectory: trajectories.RobotTrajectory, angles: Array) -> Sweep:
    """Start all controllers from all errors."""
    axes = np.array(list(AXES.values()), float)
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    errors = np.stack([axes, -axes], axis=1)[:, :, None] * angles[:, None]
    reference = at_knots(model, trajectory)
    runs = {}
    for name in CONTROLLERS:
        print(f"  {name}: {errors[..., 0].size} runs of {reference.tau.shape[0]} steps", flush=True)
        runs[name] = simulate(model, reference, name, errors)
    return Sweep(angles, runs)


def table(sweeps: dict[str, Sweep]) -> str:
    """Largest angles recovered, by axis."""
    width = max(map(len, CONTROLLERS)) + 2
    lines = ["Largest initial error up to which every run recovers, degrees", ""]
    for reference, result in sweeps.items():
        lines.append(f"{reference:<12}" + "".join(f"{name:>{width}}" for name in CONTROLLERS))
        columns = [result.reach(name) for name in CONTROLLERS]
        for axis, *reach in zip(AXES, *columns, strict=True):
            lines.append(f"  {axis:<10}" + "".join(f"{angle:>{width}.0f}" for angle in reach))
        share = [result.runs[name].recovered.mean() for name in CONTROLLERS]
        lines.append("  of all runs " + "".join(f"{x:>{width}.1%}" for x in share)[2:])
        lines.append("")
    return "\n".join(lines)


def figure(sweeps: dict[str, Sweep]) -> Any:
    """Errors over time (left) and how far each controller recovers (right)."""
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    drawn, panels = pyplot.subplots(len(sweeps), 2, figsize=(12.5, 7.6), layout="constrained")
    for (name, result), (left, right) in zip(sweeps.items(), panels, strict=True):
        draw_errors(left, name, result)
        draw_reach(right, name, result)
    handles, labels = right.get_legend_handles_labels()
    drawn.legend(handles, labels, frameon=False, loc="outside lower center", ncols=3)
    return drawn


def draw_errors(panel: Any, title: str, result: Sweep) -> None:
    """Attitude errors over time, from errors about x+y; a cross where one is lost."""
    row = list(AXES).index("x+y")
    chosen = np.unique([np.abs(result.angles - a).argmin() for a in np.deg2rad([20, 90, 179])])
    for name, runs in result.runs.items():
        lines = np.rad2deg(runs.angle[:, row, 0, chosen])
        t = np.arange(len(lines)) * DT
        front = name == "group"
        style = {"color": COLORS[name], "lw": 2.0 if front else 1.1, "zorder": 3 if front else 2}
        panel.plot(t, lines, **style, label=[name] + ["_"] * (len(chosen) - 1))
        for line in lines.T[np.isnan(lines[-1])]:
            end = np.isnan(line).argmax() - 1
            panel.plot(t[end], line[end], "x", ms=9, mew=2, clip_on=False, **style)
    panel.set(
        title=f"{title.capitalize()} reference: initial errors about x+y",
        xlabel="time (s)",
        ylabel="attitude error (deg)",
        xlim=(0, DURATION),
        ylim=(0, 182),
        yticks=range(0, 181, 30),
    )
    panel.grid(alpha=0.25, linewidth=0.6)


def draw_reach(panel: Any, title: str, result: Sweep) -> None:
    """Bars up to the angle where a controller first fails."""
    place, height = np.arange(len(AXES)), 0.26
    for i, name in enumerate(CONTROLLERS):
        y = place + (i - 1) * height
        reach = result.reach(name)
        panel.barh(y, reach, 0.9 * height, color=COLORS[name], label=name)
        for axis, angle in enumerate(reach):
            panel.text(angle + 2, y[axis], f"{angle:.0f}", va="center", fontsize="small")
    panel.set(
        title=f"{title.capitalize()} reference: all errors recovered up to",
        xlabel="initial attitude error (deg)",
        xlim=(0, 195),
        xticks=range(0, 181, 30),
        yticks=place,
        yticklabels=list(AXES),
    )
    panel.invert_yaxis()
    panel.spines[["top", "right"]].set_visible(False)


def run(quick: bool = False) -> dict[str, Sweep]:
    """Compute both sweeps."""
    model = jc.models.aerial_manipulator()
    angles = np.deg2rad([5, 20, 60, 90, 120, 150, 179] if quick else [*range(5, 180, 5), 179])
    sweeps = {}
    for name, trajectory in (("level", level), ("nose up", nose_up)):
        print(f"{name} reference", flush=True)
        sweeps[name] = sweep(model, trajectory(model), angles)
    return sweeps


def main(arguments: Sequence[str] | None = None) -> dict[str, Sweep]:
    """Compute, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="for the figure")
    parser.add_argument("--quick", action="store_true", help="fewer initial errors")
    options = parser.parse_args(arguments)
    begin = time.perf_counter()
    sweeps = run(options.quick)
    print(table(sweeps))
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "lqr_on_se3.png"
    figure(sweeps).savefig(path, dpi=110)
    print(f"wrote {path}  ({time.perf_counter() - begin:.1f} s)")
    return sweeps


if __name__ == "__main__":
    main()
