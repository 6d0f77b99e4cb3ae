"""Second derivatives in trajectory optimization: Newton's method against iLQR.

A double pendulum swings up: from hanging to standing in 1.1 seconds, with as little effort as
possible. Both methods start from the same torques, have the same line search and damping, and end
in the same optimum; they differ in what they know of the dynamics. Both linearize all knots in one
call of
`jc.linearize_step` and run the Riccati recursion. iLQR stops there, as Gauss and Newton do: it
knows the curvature of the cost, not that of the dynamics. Full differential dynamic programming
adds the second derivatives of each step, weighted by what a change of the next state costs: one
more call, `jc.linearize_step(..., weights=...)`, gives them all. The weights are the derivatives
of the cost by the states of the current path, so that the steps are those of Newton's method on
all torques at once (Dunn and Bertsekas 1989), at a cost that is linear in the number of knots.

Near the solution Newton's method doubles the number of right digits in each iteration, while iLQR
gains a constant factor: many iterations for few digits, wherever the solution bends the dynamics.
An iteration takes longer with second derivatives, so the table tells the whole time as well. With
more time to swing there are many local optima, and which one is found says nothing of a method.

Run: ``python examples/ddp_arm.py [--quick] [--out DIR]``; needs matplotlib. The quick form has
half the knots and reaches the same conclusions in a few seconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import jounce as jc

Array = npt.NDArray[np.float64]

DURATION = 1.1  # s
KNOTS = 100
GOAL = np.array([np.pi, 0.0])  # standing; q = 0 hangs
END_POSITION, END_RATES, EFFORT = 100.0, 10.0, 0.05  # weights
STEP_LENGTHS = np.exp2(-np.arange(12.0))
METHOD = "midpoint"


def build_pendulum() -> jc.Model:
    """Two links that hang down at q = 0 and turn about y."""
    builder = jc.ModelBuilder(name="double pendulum")
    parent, offset = None, (0.0, 0.0, 0.0)
    for name, mass, length in (("upper", 1.5, 0.6), ("lower", 1.0, 0.5)):
        builder.add_body(
            name,
            parent,
            joint="revolute",
            axis=(0, 1, 0),
            placement=offset,
            mass=mass,
            com=(0, 0, -length / 2),
            inertia=(mass * length**2 / 12, mass * length**2 / 12, 1e-3),
        )
        parent, offset = name, (0.0, 0.0, -length)
    return builder.build()


class Motion(NamedTuple):
    """States (..., N+1, n) and torques (..., N, n)."""

    q: Array
    v: Array
    u: Array

    @property
    def dt(self) -> float:
        """Time between two knots, s."""
        return DURATION / self.u.shape[-2]


def cost(path: Motion) -> Array:
    """Half the weighted squares of the miss at the end and of the torques on the way."""
    miss = END_POSITION * ((path.q[..., -1, :] - GOAL) ** 2).sum(-1)
    miss = miss + END_RATES * (path.v[..., -1, :] ** 2).sum(-1)
    total: Array = (miss + path.dt * EFFORT * (path.u**2).sum((-2, -1))) / 2
    return total


class Policy(NamedTuple):
    """Changes of the torques, u + alpha k + K (delta q, delta v), and the descent they promise."""

    k: Array
    K: Array
    slope: float
    """Derivative of the cost by alpha."""


def rolled_out(model: jc.Model, path: Motion, policy: Policy, alpha: Array) -> Motion:
    """Run the policy with all step lengths alpha (m,) at once."""
    q, v = (np.repeat(x[:1], len(alpha), axis=0) for x in (path.q, path.v))
    qs, vs, us = [q], [v], []
    for i in range(len(path.u)):
        dx = np.concatenate([q - path.q[i], v - path.v[i]], axis=-1)
        u = path.u[i] + alpha[:, None] * policy.k[i] + dx @ policy.K[i].T
        q, v = jc.step(model, q, v, u, path.dt, method=METHOD)
        v = np.clip(v, -1e3, 1e3)  # or a long step may end in numbers too large
        qs.append(q)
        vs.append(v)
        us.append(u)
    return Motion(*(np.stack(x, axis=1) for x in (qs, vs, us)))


class Quadratic(NamedTuple):
    """A path's dynamics: derivatives of each step, and Hessians, or zeros without them."""

    A: Array
    B: Array
    H: Array


def expanded(model: jc.Model, path: Motion, second: bool) -> Quadratic:
    """Derivatives of all steps: one call for the first ones, another for the second ones."""
    knots = model, path.q[:-1], path.v[:-1], path.u, path.dt
    step = jc.linearize_step(*knots, method=METHOD)
    n, m = 2 * model.nv, 3 * model.nv
    if not second:
        return Quadratic(step.A, step.B, np.zeros((len(path.u), m, m)))
    weights = np.empty((len(path.u), n))
    weights[-1] = end_slope(path)
    for i in range(len(path.u) - 1, 0, -1):
        weights[i - 1] = step.A[i].T @ weights[i]
    H = jc.linearize_step(*knots, method=METHOD, weights=weights).H
    return Quadratic(step.A, step.B, H)


def end_slope(path: Motion) -> Array:
    """Derivative of the cost by the last state."""
    return np.concatenate([END_POSITION * (path.q[-1] - GOAL), END_RATES * path.v[-1]])


def backward(path: Motion, d: Quadratic, damping: float) -> Policy | None:
    """The policy that minimizes the quadratic model of the cost; None where it has no minimum."""
    N, nv = path.u.shape
    n = 2 * nv
    g, V = end_slope(path), np.diag(np.repeat([END_POSITION, END_RATES], nv))
    k, K, slope = np.zeros((N, nv)), np.zeros((N, nv, n)), 0.0
    effort = path.dt * EFFORT
    for i in reversed(range(N)):
        A, B, H = d.A[i], d.B[i], d.H[i]
        gu = effort * path.u[i] + B.T @ g
        Quu = (effort + damping) * np.eye(nv) + B.T @ V @ B + H[n:, n:]
        if np.linalg.eigvalsh(Quu)[0] <= 0:
            return None
        Qux = B.T @ V @ A + H[n:, :n]
        Qxx = A.T @ V @ A + H[:n, :n]
        k[i], K[i] = -np.linalg.solve(Quu, gu), -np.linalg.solve(Quu, Qux)
        slope += gu @ k[i]
        g = A.T @ g + K[i].T @ gu
        V = Qxx + K[i].T @ Qux
        V = (V + V.T) / 2
        g = g + (Qux + Quu @ K[i]).T @ k[i]
    return Policy(k, K, float(slope))


class Solution(NamedTuple):
    """The last path, and how it was reached."""

    path: Motion
    costs: list[float]
    slopes: list[float]
    """Of the cost along each step: zero at the solution."""
    seconds: list[float]
    """From the start to each of these costs."""


def solve(
    model: jc.Model, second: bool, knots: int, most: int = 400, tolerance: float = 1e-13
) -> Solution:
    """Iterate until the cost promises to fall by less than `tolerance`, relative."""
    start = np.zeros((knots + 1, model.nv))
    rng = np.random.default_rng(0)
    u = 0.1 * rng.standard_normal((knots, model.nv))
    none = Policy(np.zeros_like(u), np.zeros((knots, model.nv, 2 * model.nv)), 0.0)
    path = Motion(*(x[0] for x in rolled_out(model, Motion(start, start, u), none, np.ones(1))))
    costs, slopes, seconds, damping = [float(cost(path))], [], [0.0], 1e-3
    begin = time.perf_counter()
    while len(costs) <= most and damping < 1e8:
        d = expanded(model, path, second)
        policy = backward(path, d, damping)
        if policy is None:  # far from a minimum: without second derivatives it has one
            policy = backward(path, d._replace(H=np.zeros_like(d.H)), damping)
            assert policy is not None
        slopes.append(policy.slope)
        if -policy.slope < tolerance * costs[-1]:
            break
        tried = rolled_out(model, path, policy, STEP_LENGTHS)
        results = cost(tried)
        best = int(np.argmin(results))
        if results[best] < costs[-1]:
            path = Motion(*(x[best] for x in tried))
            damping *= 0.2 if best < 2 else 5.0  # short steps say that the model is poor
            damping = damping if damping > 1e-9 else 0.0
        else:
            damping = max(10 * damping, 1e-6)
        costs.append(float(min(results[best], costs[-1])))
        seconds.append(time.perf_counter() - begin)
    return Solution(path, costs, slopes, seconds)


class Result(NamedTuple):
    """What the example found."""

    model: jc.Model
    solutions: dict[str, Solution]

    @property
    def least(self) -> float:
        """The cost that both methods reach."""
        return min(s.costs[-1] for s in self.solutions.values())

    def iterations(self, name: str, within: float) -> int | None:
        """How many it takes until the cost is the least to `within`, relative, if it ever is."""
        costs = np.array(self.solutions[name].costs)
        right = np.flatnonzero(costs - self.least <= within * self.least)
        return int(right[0]) if len(right) else None


def table(result: Result) -> str:
    """Iterations and time until the cost has so many right digits."""
    digits = 1e-3, 1e-6, 1e-10
    lines = ["               cost   iterations and ms until it is right to              ms per"]
    lines.append(f"{'':21}{''.join(f'{x:>17.0e}' for x in digits)}    iteration")
    for name, s in result.solutions.items():
        line = f"  {name:<7}{s.costs[-1]:12.9f}"
        for within in digits:
            count = result.iterations(name, within)
            known = "never" if count is None else f"{count:8d}{1e3 * s.seconds[count]:9.1f}"
            line += f"{known:>17}"
        lines.append(f"{line}{1e3 * s.seconds[-1] / max(len(s.costs) - 1, 1):13.2f}")
    return "\n".join(lines)


def figure(result: Result) -> Any:
    """The swing, the torques, and how the cost converges."""
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    drawn, panels = pyplot.subplots(1, 3, figsize=(15, 4.8), layout="constrained")
    path = result.solutions["DDP"].path
    t = np.arange(len(path.q)) * path.dt
    panels[0].plot(t, path.q, label=["shoulder", "elbow"])
    panels[0].set(title="Swing up", xlabel="t in s", ylabel="angle in rad")
    panels[1].step(t[:-1], path.u, where="post", label=["shoulder", "elbow"])
    panels[1].set(title="Torques", xlabel="t in s", ylabel="N m")
    for name, s in result.solutions.items():
        excess = np.array(s.costs) / result.least - 1
        panels[2].semilogy(np.maximum(excess, 1e-16), ".-", label=name)
    panels[2].set(title="Cost above the least one", xlabel="iteration", ylim=(1e-16, None))
    for panel in panels:
        panel.grid(alpha=0.25, linewidth=0.6)
        panel.legend()
    return drawn


def main(arguments: Sequence[str] | None = None) -> Result:
    """Solve with both methods; print the table, save the figure."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0], allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="for the figure")
    parser.add_argument("--quick", action="store_true", help="half the knots")
    options = parser.parse_args(arguments)
    begin = time.perf_counter()
    print("a pendulum swings up, once with iLQR and once with DDP", flush=True)
    model, knots = build_pendulum(), KNOTS // 2 if options.quick else KNOTS
    methods = {"iLQR": False, "DDP": True}
    result = Result(model, {name: solve(model, x, knots) for name, x in methods.items()})
    print(table(result))
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "ddp_arm.png"
    figure(result).savefig(path, dpi=110)
    print(f"wrote {path}  ({time.perf_counter() - begin:.1f} s)")
    return result


if __name__ == "__main__":
    main()
