"""Trajectory optimization of an arm in CasADi: exact derivatives against finite differences.

An arm of four links hangs down and has to stand up within two seconds, with motors that cannot hold
it stretched out: it has to fold and swing. Positions, rates and accelerations at the knots are the
variables of a nonlinear program, the trapezoidal rule ties them together, and the torques, which
are limited and whose squares are the cost, are inverse dynamics at each knot. IPOPT solves it with

- exact derivatives of both orders: the Hessian of the Lagrangian is that of inverse dynamics,
  contracted with the multipliers by `jc.inverse_dynamics_hessian`;
- exact first derivatives, and what quasi-Newton updates (limited-memory BFGS) make of the second;
- finite differences, as CasADi takes them of a function that it knows nothing about, and the same
  updates. Second derivatives by differences of differences are not worth trying.

Run: ``python examples/trajectory_casadi.py [--quick] [--out DIR]``; needs casadi and matplotlib.
The quick form has half the knots. With a C compiler the exact functions run without Python.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import numpy.typing as npt

import jounce as jc
from jounce.interop import casadi as jca

Array = npt.NDArray[np.float64]

DURATION, KNOTS = 2.0, 40
LIMIT = 12.0  # N m; stretched out, the first joint would need 39
GOAL = np.array([np.pi, 0.0, 0.0, 0.0])  # standing; q = 0 hangs
MOST = 300
"""Iterations that IPOPT may take; a third in the quick form."""


class Solution(NamedTuple):
    """What IPOPT found, and what it took."""

    q: Array
    v: Array
    tau: Array
    """(knots + 1, joints) each."""
    cost: float
    solved: bool
    iterations: int
    seconds: float
    """In functions and solver."""
    defect: float
    """Largest violation of dynamics or limits, from the exact torques at the knots."""


class Result(NamedTuple):
    """Solutions by kind of derivatives."""

    model: jc.Model
    solutions: dict[str, Solution]


class Unknown(ca.Callback):
    """Inverse dynamics as a black box: CasADi differentiates it by finite differences."""

    def __init__(self, model: jc.Model) -> None:
        ca.Callback.__init__(self)
        self.model = model
        self.construct("inverse_dynamics", {"enable_fd": True})

    def get_n_in(self) -> int:
        """q, v, a."""
        return 3

    def get_sparsity_in(self, k: int) -> ca.Sparsity:
        """A column."""
        return ca.Sparsity.dense(self.model.nv, 1)

    def get_sparsity_out(self, k: int) -> ca.Sparsity:
        """A column."""
        return ca.Sparsity.dense(self.model.nv, 1)

    def has_eval_buffer(self) -> bool:
        """Faster than matrices of CasADi."""
        return True

    def eval_buffer(self, arg: Any, res: Any) -> int:
        """The same numbers as the exact function, on the memory of CasADi."""
        q, v, a = (np.frombuffer(x) for x in arg)
        np.frombuffer(res[0])[:] = jc.inverse_dynamics(self.model, q, v, a)
        return 0


def dynamics(model: jc.Model, exact: bool) -> Any:
    """Inverse dynamics for CasADi, compiled where that can be."""
    if not exact:
        return Unknown(model)
    try:
        return jca.function("inverse_dynamics", model, compiled=True)
    except jc.MissingExtraError:
        return jca.function("inverse_dynamics", model)


def guess(model: jc.Model, knots: int) -> tuple[Array, Array, Array]:
    """A straight way in the joints, with a fold."""
    s = np.linspace(0.0, 1.0, knots + 1)[:, None]
    fold = np.array([0.0, 0.3, 0.3, 0.3])
    q = s * GOAL + np.sin(np.pi * s) * fold
    v = (GOAL + np.pi * np.cos(np.pi * s) * fold) / DURATION
    return q, v, np.zeros_like(q)


def solve(model: jc.Model, knots: int, most: int, exact: bool, newton: bool) -> Solution:
    """Let IPOPT solve it with one kind of derivatives."""
    n, h = model.nv, DURATION / knots
    function, opti = dynamics(model, exact), ca.Opti()
    q, v, a = (opti.variable(n, knots + 1) for _ in range(3))
    torques = [function(q[:, k], v[:, k], a[:, k]) for k in range(knots + 1)]
    tau = ca.horzcat(*torques)
    opti.minimize(h * ca.sumsqr(tau) + 1e-3 * h * ca.sumsqr(a))
    opti.subject_to(ca.vec(q[:, 1:] - q[:, :-1] - h / 2 * (v[:, 1:] + v[:, :-1])) == 0)
    opti.subject_to(ca.vec(v[:, 1:] - v[:, :-1] - h / 2 * (a[:, 1:] + a[:, :-1])) == 0)
    opti.subject_to(opti.bounded(-LIMIT, ca.vec(tau), LIMIT))
    for matrix, first, last in ((q, np.zeros(n), GOAL), (v, np.zeros(n), np.zeros(n))):
        opti.subject_to(matrix[:, 0] == first)
        opti.subject_to(matrix[:, -1] == last)
    for variable, start in zip((q, v, a), guess(model, knots), strict=True):
        opti.set_initial(variable, start.T)
    updates = {} if newton else {"hessian_approximation": "limited-memory"}
    quiet = {"print_level": 0, "sb": "yes", "max_iter": most, "tol": 1e-7, **updates}
    opti.solver("ipopt", {"print_time": False}, quiet)
    begin = time.perf_counter()
    with contextlib.suppress(RuntimeError):  # too many iterations: what it has is looked at anyway
        opti.solve()
    seconds = time.perf_counter() - begin
    return _looked_at(model, opti, (q, v, a), seconds)


def _looked_at(model: jc.Model, opti: Any, variables: Any, seconds: float) -> Solution:
    """The solution, judged by exact torques."""
    q, v, a = (np.array(opti.debug.value(x)).T for x in variables)
    tau, stats, h = jc.inverse_dynamics(model, q, v, a), opti.stats(), DURATION / (len(q) - 1)
    steps = [np.diff(x, axis=0) - h / 2 * (y[1:] + y[:-1]) for x, y in ((q, v), (v, a))]
    excess = np.maximum(np.abs(tau) - LIMIT, 0.0)
    defect = max(np.abs(part).max() for part in (*steps, excess, q[-1] - GOAL, v[-1]))
    solved = bool(stats["success"])
    cost = float(h * (tau**2).sum())
    return Solution(q, v, tau, cost, solved, int(stats["iter_count"]), seconds, float(defect))


WAYS = {"exact": (True, True), "exact, BFGS": (True, False), "differences, BFGS": (False, False)}


def run(knots: int, most: int) -> Result:
    """Solve in all ways."""
    model = jc.models.chain(4)
    return Result(model, {name: solve(model, knots, most, *way) for name, way in WAYS.items()})


def figure(result: Result) -> Any:
    """The arm from the side as it stands up, the torques, and the work of the solver."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    best = result.solutions["exact"]
    fig, (arm, torques, work) = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    shown = np.linspace(0, len(best.q) - 1, 9).astype(int)
    names = [*result.model.body_names]
    for color, k in zip(
        plt.get_cmap("viridis")(np.linspace(0, 0.9, len(shown))), shown, strict=True
    ):
        poses = np.array([jc.body_pose(result.model, best.q[k], name) for name in names])
        tip = poses[-1] @ [0.0, 0.0, -0.5, 1.0]
        points = np.vstack([poses[:, :3, 3], tip[:3]])
        arm.plot(points[:, 0], points[:, 2], "o-", color=color, markersize=3)
    limits = {"xlim": (-1.3, 1.3), "aspect": "equal"}
    arm.set(title="from the side", xlabel="x, m", ylabel="z, m", **limits)
    t = np.linspace(0.0, DURATION, len(best.tau))
    for k, line in enumerate(best.tau.T):
        torques.plot(t, line, label=f"joint {k + 1}")
    torques.axhline(LIMIT, color="gray", linestyle=":")
    torques.axhline(-LIMIT, color="gray", linestyle=":")
    torques.set(title="torques", xlabel="time, s", ylabel="N m")
    torques.legend(fontsize=8)
    bars = [solution.iterations for solution in result.solutions.values()]
    drawn = work.bar(list(result.solutions), bars, color=["C0", "C2", "C3"])
    labels = [
        f"{s.seconds:.2f} s" + ("" if s.solved else ", not done") for s in result.solutions.values()
    ]
    work.bar_label(drawn, labels, fontsize=8)
    work.set(title="iterations of IPOPT, time")
    return fig


def main(arguments: Sequence[str] | None = None) -> Result:
    """Solve, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="for the figure")
    parser.add_argument("--quick", action="store_true", help="half the knots")
    options = parser.parse_args(arguments)
    size = (KNOTS // 2, MOST // 3) if options.quick else (KNOTS, MOST)
    result = run(*size)
    print(f"{'derivatives':20} {'solved':>7} {'iterations':>11} {'s':>7} {'cost':>9} {'defect':>9}")
    for name, s in result.solutions.items():
        print(
            f"{name:20} {s.solved!s:>7} {s.iterations:11d} {s.seconds:7.2f} {s.cost:9.3f} "
            f"{s.defect:9.1e}"
        )
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "trajectory_casadi.png"
    figure(result).savefig(path, dpi=110)
    print(f"wrote {path}")
    return result


if __name__ == "__main__":
    main()
