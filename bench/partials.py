"""Partial derivatives of inverse and forward dynamics, against Pinocchio.

Pinocchio's functions return views of its workspace, which the next call overwrites, where ours
return fresh arrays. In single calls the plain call counts, which is in its favor; the same with
copies of the three matrices is shown beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

import jounce as jc
from bench import centers, isa, robots
from bench.report import Report, Steps
from bench.robots import Robot, States
from bench.timing import Call, Effort, Ratio, geometric_mean, measure, ratio
from jounce._core import raw

BRANCHINGS = (1, 2, 5)
PRODUCT_RATES = 125
"""As in core/partials/forward_partials.hpp."""


@dataclass(frozen=True)
class Function:
    """Derivatives in both libraries."""

    name: str
    ours: str
    """Name in jounce."""
    theirs: Callable[..., Any]
    inputs: str
    asked: tuple[float, float]
    """How many times faster than Pinocchio: one call; a batch, than a loop over it."""

    def contenders(self, robot: Robot, state: States) -> dict[str, Call]:
        """One call of each, for one state or a batch (there with a loop that keeps results)."""
        theirs = (robot.pin_model, robot.data, *state.theirs(self.inputs))
        calls = {"jounce": Call(getattr(jc, self.ours), (robot.model, *state.ours(self.inputs)))}
        if state.q.ndim > 1:
            return {**calls, "pinocchio": Call(self._loop, theirs)}
        calls["pinocchio"] = Call(self.theirs, theirs)
        calls["pinocchio, copied"] = Call(self._copied, theirs)
        return calls

    def _copied(self, *arguments: Any) -> list[Any]:
        return [matrix.copy() for matrix in self.theirs(*arguments)]

    def _loop(self, model: Any, data: Any, q: Any, v: Any, x: Any) -> tuple[Any, ...]:
        function, shape = self.theirs, (len(q), model.nv, model.nv)
        d_q, d_v, d_x = np.empty(shape), np.empty(shape), np.empty(shape)
        for i in range(len(q)):
            d_q[i], d_v[i], d_x[i] = function(model, data, q[i], v[i], x[i])
        return d_q, d_v, d_x

    def check(self, robot: Robot, state: States, calls: dict[str, Call]) -> None:
        """Compare the three matrices; all joints have constant axes, so matrices just convert."""
        for name, ours, theirs in zip("qvx", calls["jounce"](), calls["pinocchio"](), strict=True):
            converted = robot.there.to_matrix(state.q, ours)
            if name == "x":
                theirs = np.triu(theirs) + np.triu(theirs, 1).swapaxes(-1, -2)
            robots.check(f"{self.name} by {name}, {robot.name}", converted, theirs, 1e-6)


FUNCTIONS = (
    Function(
        "inverse dynamics",
        "inverse_dynamics_derivatives",
        pin.computeRNEADerivatives,
        "q v a",
        (2.9, 6.5),
    ),
    Function(
        "forward dynamics",
        "forward_dynamics_derivatives",
        pin.computeABADerivatives,
        "q v tau",
        (2.5, 6.5),
    ),
)


def run(effort: Effort, step: Steps) -> Report:
    """Run all parts."""
    report = Report("partials")
    beside_pinocchio(report, effort, step)
    isa.add_rows(report, effort, step)
    centers.add_rows(report, effort, step)
    curves(report, effort, step)
    cross_over(report, effort, step)
    return report


def beside_pinocchio(report: Report, effort: Effort, step: Steps) -> None:
    """The parts that are run again at another instruction set."""
    on_robots(report, effort, step, 1)
    on_robots(report, effort, step, effort.pick(1024, 1024, 8))


def on_robots(report: Report, effort: Effort, step: Steps, size: int) -> None:
    """One call, or a batch beside a Python loop over Pinocchio, on real robots."""
    names = robots.names(effort)
    part = "one call" if size == 1 else f"batch of {size}"
    theirs = "Pinocchio's time" if size == 1 else "the time of a Python loop over Pinocchio"
    table = report.table(
        f"Partial derivatives, {part}: {theirs} over ours",
        *("function", *names, "geometric mean"),
        note="In brackets: 10% to 90% of the block-by-block ratios. Below: us per state, ours / "
        "Pinocchio's.",
    )
    for function in FUNCTIONS:
        ratios: list[Ratio] = []
        copied: list[Ratio] = []
        times = []
        for name in names:
            step(f"partials, {part}: {function.name}, {name}")
            robot = robots.load(name)
            state = robots.states(robot, size)
            state = state.first() if size == 1 else state
            calls = function.contenders(robot, state)
            function.check(robot, state, calls)
            timings = measure(calls, effort, effort.seconds * (1 if size == 1 else 3))
            report.keep(f"{part}/{function.name}/{name}", timings)
            ratios.append(ratio(timings["pinocchio"], timings["jounce"]))
            if size == 1:
                copied.append(ratio(timings["pinocchio, copied"], timings["jounce"]))
            each = [1e6 * timings[key].best / size for key in ("jounce", "pinocchio")]
            times.append(f"{each[0]:.2f} / {each[1]:.2f}")
        mean = geometric_mean(r.value for r in ratios)
        table.add(function.name, *ratios, mean)
        if copied:
            table.add("  copied", *copied, geometric_mean(r.value for r in copied))
        table.add("", *times, "")
        name = f"partials of {function.name}, {part}"
        report.target(f"{name}: geometric mean", f">= {function.asked[size > 1]:g}", mean)
        if size == 1:
            report.target(f"{name}: slowest robot", ">= 1", min(r.value for r in ratios))


def curves(report: Report, effort: Effort, step: Steps) -> None:
    """Ratio against the number of bodies, as in singh, Fig. 4 and Fig. 6."""
    sizes = effort.pick((2, 5, 10, 20, 50, 100, 200, 500), (2, 10, 50, 200), (2, 5))
    table = report.table(
        "Partial derivatives, one call on chains and trees: Pinocchio's time over ours",
        *("function", "branching", *(f"N = {n}" for n in sizes)),
    )
    found: dict[str, dict[str, Any]] = {}
    for function in FUNCTIONS:
        for branching in BRANCHINGS:
            ratios: dict[str, list[float]] = {"": [], ", copied": []}
            for n in sizes:
                step(f"partials of {function.name}: branching {branching}, N = {n}")
                robot = robots.twin(jc.models.tree(n, branching))
                state = robots.states(robot)
                calls = function.contenders(robot, state)
                if n <= 20:
                    function.check(robot, state, calls)
                timings = measure(calls, effort, effort.seconds / 2)
                report.keep(f"curves/{function.name}, branching {branching}/{n}", timings)
                for kind, values in ratios.items():
                    values.append(ratio(timings[f"pinocchio{kind}"], timings["jounce"]).value)
            for kind, values in ratios.items():
                table.add(f"{function.name}{kind}", branching, *values)
                found.setdefault(function.name, {})[f"{branching}{kind}"] = values
    report.numbers["curves"] = {"sizes": list(sizes), "ratios": found}


def cross_over(report: Report, effort: Effort, step: Steps) -> None:
    """Where solves with the articulated factors overtake products with M^-1 (singh, Table III).

    Both are methods of one kernel, which differ in how they apply M^-1 to the partials of inverse
    dynamics.
    """
    sizes = effort.pick((10, 20, 50, 100, 200, 400), (10, 50, 200), (5, 10))
    table = report.table(
        "Partials of forward dynamics, one call: solves' time (AZA) over products' (DMM)",
        *("branching", *(f"N = {n}" for n in sizes), "cross-over N"),
        note=f"Products are used while a rate is related to at most {PRODUCT_RATES} others in the "
        "mean: in chains N, in trees far fewer.",
    )
    kernel = raw("forward_dynamics_derivatives_by")
    found: dict[str, Any] = {}
    for branching in BRANCHINGS:
        ratios = []
        for n in sizes:
            step(f"products and solves: branching {branching}, N = {n}")
            model = jc.models.tree(n, branching)
            rng = np.random.default_rng(n)
            state = (jc.random_configuration(model, rng), *rng.standard_normal((2, model.nv)))
            calls = {
                name: Call(kernel, (model, *state, method))
                for name, method in (("products", 1), ("solves", 2))
            }
            timings = measure(calls, effort, effort.seconds / 2)
            report.keep(f"cross-over, branching {branching}/{n}", timings)
            ratios.append(ratio(timings["solves"], timings["products"]).value)
        at = crossing(sizes, ratios)
        table.add(branching, *ratios, f"{at:.0f}" if at else f"above {sizes[-1]}")
        found[str(branching)] = {"ratios": ratios, "cross-over": at}
    report.numbers["cross-over"] = {"sizes": list(sizes), "by branching": found}


def crossing(sizes: tuple[int, ...], ratios: list[float]) -> float | None:
    """The size where the ratio falls to 1, interpolated between logarithms; None if it does not."""
    for k in range(1, len(sizes)):
        before, after = np.log(ratios[k - 1]), np.log(ratios[k])
        if before > 0 >= after:
            part = before / (before - after)
            return float(sizes[k - 1] * (sizes[k] / sizes[k - 1]) ** part)
    return None


def figures(report: Report, stem: Path) -> None:
    """Save the ratio curves beside the numbers; dashed with copies of Pinocchio's results."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    sizes, found = report.numbers["curves"]["sizes"], report.numbers["curves"]["ratios"]
    figure, axes = plt.subplots(1, len(found), figsize=(5 * len(found), 4), squeeze=False)
    for axis, (name, ratios) in zip(axes[0], found.items(), strict=True):
        for branching, values in ratios.items():
            copied = "copied" in branching
            style = {"color": f"C{BRANCHINGS.index(int(branching.split(',')[0]))}"}
            label = None if copied else f"branching {branching}"
            axis.semilogx(sizes, values, "--" if copied else "o-", label=label, **style)
        axis.axhline(1.0, color="gray", linewidth=0.8)
        axis.set(title=f"Partials of {name}", xlabel="bodies N", ylabel="Pinocchio / jounce")
        axis.set_ylim(bottom=0)
        axis.legend()
    figure.tight_layout()
    figure.savefig(f"{stem}_partials.png", dpi=150)
    plt.close(figure)
