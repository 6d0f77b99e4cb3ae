"""The papers' own recursions in NumPy, timed and counted beside the core: docs/formulations.md.

Times of NumPy code say how a formulation suits NumPy; the counts say how much arithmetic it needs,
whatever the language: multiplications and additions without those by zeros and ones, see
`bench.counting`. Every table of the page is one of those printed here.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import jounce as jc
from bench import robots
from bench.counting import count
from bench.formulations import (
    Method,
    State,
    forward,
    forward_partials,
    forward_series,
    inverse,
    inverse_partials,
    inverse_series,
    random_state,
)
from bench.report import Report, Steps
from bench.timing import Effort, measure
from jounce.papers import mueller

Array = npt.NDArray[np.float64]


def run(effort: Effort, step: Steps) -> Report:
    """Run all parts."""
    report = Report("papers")
    for branches, bodies in effort.pick(((2, 3), (5, 20)), ((2, 3),), ((2, 3),)):
        state = random_state(jc.models.aerial_manipulator(branches, bodies), 0)
        label = f"aerial manipulator, N = {state.model.n_bodies}"
        for what, methods in (
            ("Inverse dynamics", inverse(state)),
            ("Forward dynamics", forward(state)),
            ("Partials of inverse dynamics", inverse_partials(state)),
            ("Partials of forward dynamics", forward_partials(state)),
        ):
            show(report, effort, step, f"{what}, {label}", methods)
    for r in effort.pick(range(6), (0, 2, 5), (1,)):
        state = random_state(jc.models.aerial_manipulator(), r)
        show(report, effort, step, f"Inverse series, r = {r}, N = 7", inverse_series(state))
        show(report, effort, step, f"Forward series, r = {r}, N = 7", forward_series(state))
    counts_per_body(report, step)
    counts_of_series(report, effort, step)
    accuracy_by_distance(report, effort, step)
    screw_operations(report)
    return report


def show(report: Report, effort: Effort, step: Steps, title: str, methods: list[Method]) -> None:
    """Check all methods against the first, which is the core if it has it; time and count."""
    table = report.table(
        title, "method", "us", "over the first", "multiplications", "additions", "other"
    )
    step(title)
    expected = np.asarray(methods[0].convert(methods[0].call()))
    for method in methods[1:]:
        result = method.convert(method.call())
        robots.check(f"{title}: {method.name}", result, expected, 1e-8)
    timings = measure({method.name: method.call for method in methods}, effort)
    report.keep(title, timings)
    for method in methods:
        best = timings[method.name].best
        cells: list[object] = ["", "", ""]
        if not method.name.startswith("core"):
            found = vars(count(method.call.function, *method.call.args))
            report.numbers[f"counts/{title}/{method.name}"] = found
            cells = list(found.values())
        table.add(method.name, 1e6 * best, best / timings[methods[0].name].best, *cells)


def operations(method: Method) -> int:
    """Multiplications and additions of one call."""
    found = count(method.call.function, *method.call.args)
    return found.multiplications + found.additions


def general_frames() -> jc.Model:
    """A free base with six revolute joints through their frames, which are not aligned."""
    model = jc.models.random_tree(7, 4, ("revolute",), first="free")
    return model.replace(armature=np.zeros(model.nv))


def counts_per_body(report: Report, step: Steps) -> None:
    """Inverse dynamics on robots with and without aligned frames."""
    step("Operations per body")
    columns = {
        "aerial manipulator, N = 7": jc.models.aerial_manipulator(),
        "mixed_tree, N = 10": jc.models.mixed_tree(),
        "6 revolute joints on a free base, general frames": general_frames(),
    }
    table = report.table("Multiplications and additions per body", "method", *columns)
    found: dict[str, list[int]] = {}
    for model in columns.values():
        for method in _bodies_of(model):
            found.setdefault(method.name, []).append(round(operations(method) / model.n_bodies))
    for name, numbers in found.items():
        table.add(name, *numbers)
        report.numbers[f"operations per body/{name}"] = dict(zip(columns, numbers, strict=True))


def _bodies_of(model: jc.Model) -> list[Method]:
    """The four representations, kim's recursion and the series of order 0."""
    methods = inverse(random_state(model, 0), taylor=False)
    return [m for m in methods if m.name.startswith(("mueller", "kim"))]


def counts_of_series(report: Report, effort: Effort, step: Steps) -> None:
    """Series against repeated differentiation where frames are not aligned."""
    step("Operations of series")
    model = general_frames()
    orders = effort.pick(range(6), (0, 5), (0, 1))
    names = [method.name for method in inverse_series(random_state(model, 0))[1:]]
    table = report.table(
        "Multiplications and additions of the inverse series, general frames", "order", *names
    )
    for r in orders:
        methods = inverse_series(random_state(model, r))
        expected = np.asarray(methods[0].convert(methods[0].call()))
        for method in methods[1:]:
            robots.check(method.name, method.convert(method.call()), expected, 1e-8)
        numbers = [operations(method) for method in methods[1:]]
        table.add(r, *numbers)
        report.numbers[f"operations of series, general frames/{r}"] = dict(
            zip(names, numbers, strict=True)
        )


def accuracy_by_distance(report: Report, effort: Effort, step: Steps) -> None:
    """Largest relative difference to the core with the base away from the world's origin."""
    step("Accuracy far from the origin")
    model = jc.models.aerial_manipulator()
    distances = effort.pick((0, 1, 10, 100, 1000), (0, 1, 1000), (0, 1000))
    worst: dict[str, list[float]] = {}
    for k, distance in enumerate(distances):
        for seed in range(effort.pick(20, 5, 1)):
            state = _moved_away(model, seed, distance)
            for what, methods in (("inverse", inverse(state)), ("forward", forward(state))):
                expected = np.asarray(methods[0].convert(methods[0].call()))
                for method in methods[1:]:
                    difference = np.abs(method.convert(method.call()) - expected).max()
                    row = worst.setdefault(f"{what}: {method.name}", [0.0] * len(distances))
                    row[k] = max(row[k], float(difference / np.abs(expected).max()))
    table = report.table(
        "Largest relative difference to the core, base at a distance from the world's origin",
        *("method", *(f"{distance} m" for distance in distances)),
    )
    for name, row in worst.items():
        table.add(name, *(f"{error:.0e}" for error in row))
        report.numbers[f"accuracy by distance/{name}"] = dict(zip(distances, row, strict=True))


def _moved_away(model: jc.Model, seed: int, distance: float) -> State:
    """A random state with the base at a distance, in a random direction."""
    state = random_state(model, 0, seed)
    q = state.q.copy()
    q[4:7] *= distance / np.linalg.norm(q[4:7])
    return State(model, q, state.motion, jc.inverse_dynamics_series(model, q, state.motion))


def screw_operations(report: Report) -> None:
    """Operations on screws, as mueller counts them in Sec. 4."""
    table = report.table(
        "Screw operations of the recursive Newton-Euler algorithms (mueller, Sec. 4), N = 7",
        *("representation", *mueller.OperationCounts._fields),
    )
    for twist in ("body", "spatial", "hybrid"):
        counts = mueller.operation_counts(jc.models.aerial_manipulator(), twist)
        table.add(twist, *counts)
