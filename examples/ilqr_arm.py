"""iLQR on exact derivatives: a 7-joint arm lifts a load that it cannot hold out straight.

The load has to go from low in front of the arm to above it, in two seconds, with torques within
their limits. Straight interpolation between two configurations breaks the limits. Iterative LQR
(Gauss-Newton DDP with box constraints; Tassa, Mansard, Todorov 2014) finds torques that do not:

- the dynamics of all knots are linearized in one call of `jc.linearize_step`;
- the cost of the end uses the exact Jacobian of the load, `jc.jacobian`;
- all step lengths of the line search are rolled out together, as a batch.

The second table compares the time for the derivatives of forward dynamics at all knots with finite
differences, and with Pinocchio if it is installed.

Run: ``python examples/ilqr_arm.py [--quick] [--out DIR]``; needs matplotlib. The quick form has
half the knots and reaches the same conclusions in a few seconds.
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
Derivatives = Callable[[jc.Model, Array, Array, Array], Array]

DURATION = 2.0  # s
KNOTS = 100
START = np.array([0.0, 2.3, 0.0, -0.4, 0.0, 2.2, 0.0])
GOAL = np.array([0.15, 0.0, 1.1])  # m, of the load
UPRIGHT = np.array([0.0, 0.0, 0.0, -0.2, 0.0, 1.6, 0.0])  # has its load near the goal
END_POSITION, END_RATES, RATES, EFFORT = 2e4, 1e2, 0.05, 0.5  # weights
STEP_LENGTHS = np.exp2(-np.arange(8.0))
RATE_LIMIT = 50.0  # rad/s: a path that reaches it is refused


class Link(NamedTuple):
    """A link behind a revolute joint about its z axis."""

    rpy: tuple[float, float, float]
    offset: tuple[float, float, float]
    mass: float
    com: tuple[float, float, float]
    inertia: tuple[float, float, float]
    limit: float
    """N m."""


H = np.pi / 2
LINKS = (
    Link((0, 0, 0), (0, 0, 0.333), 4.0, (0, -0.03, -0.12), (0.06, 0.05, 0.02), 87),
    Link((-H, 0, 0), (0, 0, 0), 3.5, (0, -0.07, 0.03), (0.03, 0.01, 0.03), 87),
    Link((H, 0, 0), (0, -0.316, 0), 3.2, (0.03, 0.03, -0.07), (0.03, 0.03, 0.01), 87),
    Link((H, 0, 0), (0.0825, 0, 0), 3.0, (-0.05, 0.08, 0.02), (0.02, 0.015, 0.03), 87),
    Link((-H, 0, 0), (-0.0825, 0.384, 0), 2.5, (0, 0.04, -0.12), (0.035, 0.03, 0.01), 25),
    Link((H, 0, 0), (0, 0, 0), 1.5, (0.06, -0.02, -0.01), (0.003, 0.005, 0.006), 25),
    Link((H, 0, 0), (0.088, 0, 0), 0.8, (0.01, 0.01, 0.08), (0.002, 0.002, 0.001), 25),
)
LIMITS = np.array([link.limit for link in LINKS])
ARMATURE = 0.1  # kg m^2, of the rotor behind its gear
LOAD_MASS, LOAD_INERTIA, LOAD_OFFSET = 8.0, (0.02, 0.02, 0.02), (0.0, 0.0, 0.15)


def placement(link: Link) -> Array:
    """Pose of a link's frame in its parent's."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = lie.rpy_to_matrix(link.rpy), link.offset
    return T


def build_arm() -> jc.Model:
    """An arm of about the size of a Franka Panda, with a load in its hand."""
    builder = jc.ModelBuilder(name="arm7")
    for i, link in enumerate(LINKS, 1):
        builder.add_body(
            f"link{i}",
            f"link{i - 1}" if i > 1 else None,
            joint="revolute",
            joint_name=f"joint{i}",
            axis=(0, 0, 1),
            armature=ARMATURE,
            placement=placement(link),
            mass=link.mass,
            com=link.com,
            inertia=link.inertia,
        )
    hand = f"link{len(LINKS)}"
    builder.add_body("load", hand, placement=LOAD_OFFSET, mass=LOAD_MASS, inertia=LOAD_INERTIA)
    return builder.build()


class Motion(NamedTuple):
    """States (..., N+1, n) and torques in units of their limits (..., N, n)."""

    q: Array
    v: Array
    u: Array

    @property
    def dt(self) -> float:
        """Time between two knots, s."""
        return DURATION / self.u.shape[-2]


class Policy(NamedTuple):
    """Changes of the torques, u + alpha k + K (delta q, delta v)."""

    k: Array
    K: Array


def cost(model: jc.Model, path: Motion) -> Array:
    """Half the weighted squares of: position and rates at the end; rates, torques on the way."""
    off = jc.body_pose(model, path.q[..., -1, :], "load")[..., :3, 3] - GOAL
    end = END_POSITION * (off**2).sum(-1) + END_RATES * (path.v[..., -1, :] ** 2).sum(-1)
    way = RATES * (path.v[..., :-1, :] ** 2).sum((-2, -1)) + EFFORT * (path.u**2).sum((-2, -1))
    slow = (np.abs(path.v) < RATE_LIMIT).all((-2, -1))
    return np.where(slow, (end + path.dt * way) / 2, np.inf)


def rolled_out(model: jc.Model, path: Motion, policy: Policy, alpha: Array) -> Motion:
    """Run the policy with all step lengths alpha (m,) at once, by semi-implicit Euler steps."""
    q, v = (np.repeat(x[:1], len(alpha), axis=0) for x in (path.q, path.v))
    qs, vs, us = [q], [v], []
    for i in range(len(path.u)):
        dx = np.concatenate([jc.difference(model, path.q[i], q), v - path.v[i]], axis=-1)
        u = path.u[i] + alpha[:, None] * policy.k[i] + dx @ policy.K[i].T
        u = np.clip(u, -1, 1)
        v = v + path.dt * jc.forward_dynamics(model, q, v, u * LIMITS)
        v = np.clip(v, -RATE_LIMIT, RATE_LIMIT)  # or a long step may end in numbers too large
        q = jc.integrate(model, q, path.dt * v)
        qs.append(q)
        vs.append(v)
        us.append(u)
    return Motion(*(np.stack(x, axis=1) for x in (qs, vs, us)))


def box_newton(H: Array, g: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Minimize x H x / 2 + g x within bounds by projected Newton steps; return x, free rows."""
    x = np.clip(np.zeros_like(g), lower, upper)
    free = np.ones(len(g), bool)
    for _ in range(10):
        slope = g + H @ x
        free = ~((x <= lower) & (slope > 0) | (x >= upper) & (slope < 0))
        if not free.any() or np.abs(slope[free]).max() < 1e-9:
            break
        step = np.zeros_like(g)
        step[free] = -np.linalg.solve(H[np.ix_(free, free)], slope[free])
        x = np.clip(x + step, lower, upper)
    return x, free


def backward(model: jc.Model, path: Motion, damping: float) -> Policy:
    """The policy that minimizes the quadratic model of the cost, from the last knot to the first.

    Uses first derivatives of the dynamics only (Gauss-Newton); `damping` shortens the steps.
    """
    q, v, u = path
    nv, N, dt = model.nv, len(u), path.dt
    knots = model, q[:-1], v[:-1], u * LIMITS, dt
    step = jc.linearize_step(*knots, method="semi_implicit_euler")  # all of them in one call
    A, B = step.A, step.B * LIMITS
    J = jc.jacobian(model, q[-1], "load", twist="hybrid")[3:]
    off = jc.body_pose(model, q[-1], "load")[:3, 3] - GOAL
    g = np.concatenate([END_POSITION * J.T @ off, END_RATES * v[-1]])  # of the cost to go
    H = np.diag(np.repeat([0.0, END_RATES], nv))
    H[:nv, :nv] = END_POSITION * J.T @ J
    Q = np.diag(np.repeat([0.0, dt * RATES], nv))
    policy = Policy(np.zeros((N, nv)), np.zeros((N, nv, 2 * nv)))
    for i in reversed(range(N)):
        HB = H @ B[i]
        Hu, Hux = B[i].T @ HB + dt * EFFORT * np.eye(nv), HB.T @ A[i]
        gu = B[i].T @ g + dt * EFFORT * u[i]
        damped = Hu + damping * np.eye(nv)
        k, free = box_newton(damped, gu, -1 - u[i], 1 - u[i])
        K = np.zeros((nv, 2 * nv))  # a torque at its limit stays there
        K[free] = -np.linalg.solve(damped[np.ix_(free, free)], Hux[free])
        g = A[i].T @ g + dt * RATES * np.r_[np.zeros(nv), v[i]] + K.T @ (Hu @ k + gu) + Hux.T @ k
        H = Q + A[i].T @ H @ A[i] + K.T @ Hu @ K + K.T @ Hux + Hux.T @ K
        H = (H + H.T) / 2
        policy.k[i], policy.K[i] = k, K
    return policy


class Solution(NamedTuple):
    """The last path, and how it was reached."""

    path: Motion
    costs: list[float]
    seconds: list[float]
    """Of each iteration."""
    converged: bool


def solve(
    model: jc.Model, knots: int = KNOTS, most: int = 300, tolerance: float = 1e-5
) -> Solution:
    """Iterate until a step lowers the cost by less than `tolerance`, relative, or none does."""
    nv = model.nv
    hold = np.tile(jc.gravity_forces(model, START) / LIMITS, (knots, 1))
    start = Motion(np.tile(START, (knots + 1, 1)), np.zeros((knots + 1, nv)), hold)
    none = Policy(np.zeros((knots, nv)), np.zeros((knots, nv, 2 * nv)))
    path = Motion(*(x[0] for x in rolled_out(model, start, none, np.ones(1))))
    costs, damping, converged = [float(cost(model, path))], 1e-3, False
    seconds: list[float] = []
    while len(seconds) < most and not converged and damping < 1e6:
        begin = time.perf_counter()
        tried = rolled_out(model, path, backward(model, path, damping), STEP_LENGTHS)
        results = cost(model, tried)
        best = int(np.argmin(results))
        if results[best] < costs[-1]:
            path = Motion(*(x[best] for x in tried))
            converged = bool(costs[-1] - results[best] < tolerance * costs[-1])
            damping = max(damping / 3, 1e-8)
        else:
            damping *= 10
        costs.append(float(min(results[best], costs[-1])))
        seconds.append(time.perf_counter() - begin)
    return Solution(path, costs, seconds, converged)


def interpolated(model: jc.Model, knots: int = KNOTS) -> Motion:
    """What planning without the dynamics gives: minimum jerk from start to upright."""
    t = np.linspace(0, DURATION, knots + 1)
    plan = trajectories.RobotTrajectory.between(model, START, UPRIGHT, DURATION)
    sample = plan.evaluate(t)
    tau = jc.inverse_dynamics(model, sample.q, sample.v, sample.a)
    return Motion(sample.q, sample.v, tau[:-1] / LIMITS)


def by_jounce(model: jc.Model, q: Array, v: Array, tau: Array) -> Array:
    """Derivatives (N, nv, 3 nv) of forward dynamics by q, v, tau: one call."""
    return np.concatenate(jc.forward_dynamics_derivatives(model, q, v, tau), axis=-1)


def by_differences(model: jc.Model, q: Array, v: Array, tau: Array) -> Array:
    """The same by central differences, all evaluations in one call; joint angles are numbers."""
    x = np.concatenate([q, v, tau], axis=-1)
    h = 1e-6
    step = h * np.eye(x.shape[-1])
    shifted = x[:, None, None] + np.stack([step, -step])  # (N, 2, 3 nv, 3 nv)
    a = jc.forward_dynamics(model, *np.split(shifted, 3, axis=-1))
    return np.swapaxes((a[:, 0] - a[:, 1]) / (2 * h), -1, -2)


def by_pinocchio() -> Derivatives:
    """The same by Pinocchio, a call for each knot; raises ImportError if it is missing."""
    import pinocchio as pin

    robot, parent = pin.Model(), 0
    for i, link in enumerate(LINKS, 1):
        T = pin.SE3(placement(link))
        parent = robot.addJoint(parent, pin.JointModelRZ(), T, f"joint{i}")
        inertia = pin.Inertia(link.mass, np.array(link.com, float), np.diag(link.inertia))
        robot.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    load = pin.Inertia(LOAD_MASS, np.zeros(3), np.diag(LOAD_INERTIA))
    robot.appendBodyToJoint(parent, load, pin.SE3(np.eye(3), np.array(LOAD_OFFSET)))
    robot.armature = np.full(robot.nv, ARMATURE)
    data = robot.createData()

    def derivatives(model: jc.Model, q: Array, v: Array, tau: Array) -> Array:
        out = np.empty((len(q), robot.nv, 3 * robot.nv))
        for row, *state in zip(out, q, v, tau, strict=True):
            pin.computeABADerivatives(robot, data, *state)
            row[:] = np.hstack([data.ddq_dq, data.ddq_dv, data.Minv])
        return out

    return derivatives


class Timing(NamedTuple):
    """How long a method takes for all knots, and how far it is from jounce's result."""

    seconds: float
    error: float
    """Relative to the largest entry."""


def timings(model: jc.Model, path: Motion, repeats: int) -> dict[str, Timing]:
    """Best times of the derivatives at all knots of a path."""
    methods: dict[str, Derivatives] = {
        "jounce": by_jounce,
        "finite differences": by_differences,
    }
    try:
        methods["Pinocchio"] = by_pinocchio()
    except ImportError:
        print("Pinocchio is not installed, so it is not compared")
    state = path.q[:-1], path.v[:-1], path.u * LIMITS
    exact, out = by_jounce(model, *state), {}
    for name, method in methods.items():
        seconds = []
        for _ in range(repeats):
            begin = time.perf_counter()
            result = method(model, *state)
            seconds.append(time.perf_counter() - begin)
        out[name] = Timing(min(seconds), float(np.abs(result - exact).max() / np.abs(exact).max()))
    return out


class Result(NamedTuple):
    """What the example found."""

    model: jc.Model
    solution: Solution
    straight: Motion
    timings: dict[str, Timing]

    @property
    def miss(self) -> float:
        """Distance of the load from its goal at the end, m."""
        T = jc.body_pose(self.model, self.solution.path.q[-1], "load")
        return float(np.linalg.norm(T[:3, 3] - GOAL))


def table(result: Result) -> str:
    """What iLQR found, and the time of the derivatives."""
    path, costs, seconds, _ = result.solution
    reached = "converged" if result.solution.converged else "stopped"
    lines = [
        f"iLQR {reached} after {len(seconds)} iterations of {1e3 * np.median(seconds):.1f} ms: "
        f"cost {costs[0]:.0f} to {costs[-1]:.3f}",
        f"  load misses its goal by {1e3 * result.miss:.2f} mm, "
        f"largest rate at the end {np.abs(path.v[-1]).max():.4f} rad/s",
        f"  largest torque: {np.abs(path.u).max():.0%} of its limit; "
        f"{np.abs(result.straight.u).max():.0%} if the joints are interpolated",
        "",
        f"derivatives of forward dynamics at {len(path.u)} knots       µs   per jounce   error",
    ]
    fastest = result.timings["jounce"].seconds
    for name, (duration, error) in result.timings.items():
        ratio = duration / fastest
        lines.append(f"  {name:<44} {1e6 * duration:8.0f} {ratio:10.1f} x {error:8.0e}")
    return "\n".join(lines)


def figure(result: Result) -> Any:
    """The motion, the torques and the convergence."""
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    drawn, panels = pyplot.subplots(1, 3, figsize=(15, 4.9), layout="constrained")
    draw_motion(panels[0], result)
    draw_torques(panels[1], result)
    draw_costs(panels[2], result.solution)
    for panel in panels:
        panel.grid(alpha=0.25, linewidth=0.6)
    return drawn


def draw_motion(panel: Any, result: Result) -> None:
    """The arm from the side at several times, dark ones last, and the way of the load."""
    from matplotlib import pyplot

    path = result.solution.path
    q, t = path.q, np.arange(len(path.q)) * path.dt
    load = jc.body_pose(result.model, q, "load")[:, :3, 3]
    joints = jc.body_poses(result.model, q)[:, :, :3, 3]
    base = np.zeros((len(q), 1, 3))
    points = np.concatenate([base, joints, load[:, None]], axis=1)
    shown = np.linspace(0, len(q) - 1, 9).round().astype(int)
    shades = pyplot.get_cmap("viridis_r")(np.linspace(0.05, 1, len(shown)))
    for i, color in zip(shown, shades, strict=True):
        panel.plot(points[i, :, 0], points[i, :, 2], "-", color=color, lw=2, alpha=0.75)
        panel.plot(*points[i, -1, [0, 2]], "o", color=color, ms=9)
        panel.annotate(f"{t[i]:.2g}", points[i, -1, [0, 2]], (7, 5), textcoords="offset points")
    panel.plot(load[:, 0], load[:, 2], "k:", lw=1)
    panel.plot(GOAL[0], GOAL[2], "r*", ms=16, zorder=5, label="goal of the load")
    panel.set(title="Side view; times in s at the load", xlabel="x (m)", ylabel="z (m)")
    panel.set_aspect("equal", "datalim")
    panel.legend(frameon=False, loc="upper left")


def draw_torques(panel: Any, result: Result) -> None:
    """The three largest torques, and those of interpolation."""
    t = np.arange(len(result.straight.u)) * result.straight.dt
    own, straight = result.solution.path.u, result.straight.u
    for color, joint in zip(("C0", "C1", "C2"), (1, 3, 5), strict=True):
        panel.step(t, own[:, joint], color=color, where="post", label=f"joint {joint + 1}, iLQR")
        label = f"joint {joint + 1}, interpolated"
        panel.plot(t, straight[:, joint], "--", color=color, lw=1.1, label=label)
    panel.axhspan(1, 2, color="0.9", zorder=0)
    panel.axhspan(-2, -1, color="0.9", zorder=0)
    most = 1.1 * max(np.abs(straight).max(), 1.0)
    panel.set(title="Torque, in units of its limit", xlabel="time (s)", ylim=(-most, most))
    panel.legend(frameon=False, fontsize="small", ncols=2, loc="upper left")


def draw_costs(panel: Any, solution: Solution) -> None:
    """Cost by iteration."""
    panel.semilogy(solution.costs, ".-", lw=1.2)
    panel.set(
        title=f"Convergence, {1e3 * np.median(solution.seconds):.0f} ms per iteration",
        xlabel="iteration",
        ylabel="cost",
    )


def run(quick: bool = False) -> Result:
    """Solve and measure."""
    model = build_arm()
    knots = KNOTS // 2 if quick else KNOTS
    solution, straight = solve(model, knots), interpolated(model, knots)
    return Result(model, solution, straight, timings(model, solution.path, 5 if quick else 30))


def main(arguments: Sequence[str] | None = None) -> Result:
    """Solve, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="for the figure")
    parser.add_argument("--quick", action="store_true", help="half the knots, fewer timings")
    options = parser.parse_args(arguments)
    begin = time.perf_counter()
    print("iLQR looks for a way to lift the load", flush=True)
    result = run(options.quick)
    print(table(result))
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "ilqr_arm.png"
    figure(result).savefig(path, dpi=110)
    print(f"wrote {path}  ({time.perf_counter() - begin:.1f} s)")
    return result


if __name__ == "__main__":
    main()
