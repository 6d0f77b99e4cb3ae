"""Motions of single states at an error of 1e-12: Taylor, DOP853 in the core, SciPy's, heyoka.

Each contender takes the loosest of many tolerances that leads to the error asked for: 1e-12
relative to 1 + |x|, or ten times the effect of one ulp in the initial state where that is larger.
The reference is the Taylor method at its tightest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

import jounce as jc
from bench import planar_chain, robots
from bench.report import Report, Steps
from bench.timing import Call, Effort, Timing, measure

TOLERANCES = tuple(float(10 ** (-9 - k / 8)) for k in range(41))
"""From 1e-9 to 1e-14, so close that none loses much by what lies between them."""
TIGHT = {"rtol": 1e-15, "atol": 1e-15}


class Motion(NamedTuple):
    """A robot, its state at the start, and how long it moves."""

    name: str
    model: jc.Model
    q: Any
    v: Any
    time: float

    def ours(self, method: str, **options: float) -> Any:
        """Return the state at the end by jounce."""
        given = self.model, self.q, self.v, [0.0, self.time], None, method
        end = jc.simulate(*given, dense=False, **options)
        return end.q[-1], end.v[-1]

    def scipy(self, tolerance: float) -> Any:
        """Return the state at the end by SciPy's DOP853 on `jc.forward_dynamics`."""
        model, nq, zero = self.model, self.model.nq, np.zeros(self.model.nv)

        def slope(_: float, x: Any) -> Any:
            q, v = jc.normalize(model, x[:nq]), x[nq:]
            rates = jc.coordinate_rates(model, q, v)
            return np.concatenate([rates, jc.forward_dynamics(model, q, v, zero)])

        first = np.concatenate([self.q, self.v])
        options = {"rtol": max(tolerance, 2.3e-14), "atol": tolerance}  # the least it takes
        end = solve_ivp(slope, (0.0, self.time), first, "DOP853", **options).y[:, -1]
        return jc.normalize(model, end[:nq]), end[nq:]

    def error(self, got: Any, exact: Any) -> float:
        """Return the error relative to 1 + |x|."""
        dq = np.abs(jc.difference(self.model, exact[0], got[0])).max()
        dv = np.abs(got[1] - exact[1]).max()
        return float(max(dq, dv) / (1 + max(np.abs(x).max() for x in exact)))


def tumbling() -> jc.Model:
    """A free body with three different moments of inertia and its center beside the origin."""
    builder = jc.ModelBuilder()
    moments = np.diag([0.2, 0.35, 0.5])
    builder.add_body("body", joint="free", mass=1.3, com=(0.1, -0.05, 0.2), inertia=moments)
    return builder.build()


def motions() -> Iterator[Motion]:
    """The four of the table."""
    drone, chain = jc.models.aerial_manipulator(), jc.models.chain(7)
    yield _random("aerial manipulator, 5 s", drone, 5.0)
    yield Motion("chain of 7 near rest, 2 s", chain, np.full(7, 0.05), np.zeros(7), 2.0)
    yield _random("Panda, 0.5 s", robots.load("Panda").model, 0.5)
    yield _random("tumbling body, 10 s", tumbling(), 10.0, 2.0)


def _random(name: str, model: jc.Model, length: float, speed: float = 0.5) -> Motion:
    q = jc.random_configuration(model, np.random.default_rng(3))
    return Motion(
        name, model, q, speed * np.random.default_rng(4).standard_normal(model.nv), length
    )


def loosest(motion: Motion, run: Callable[[float], Any]) -> tuple[float, float]:
    """Return the first tolerance that gives the error asked for, and that error."""
    exact = motion.ours("taylor", **TIGHT)
    moved = motion._replace(v=np.nextafter(motion.v, np.inf)).ours("taylor", **TIGHT)
    allowed = max(1e-12, 10 * motion.error(moved, exact))
    for tolerance in TOLERANCES:
        error = motion.error(run(tolerance), exact)
        if error <= allowed:
            return tolerance, error
    raise AssertionError(f"{motion.name}: no tolerance leads to an error of {allowed:.1e}")


def contenders(motion: Motion) -> dict[str, tuple[Call, float, float]]:
    """Return each method with its tolerance and error."""
    found = {}
    for method in ("taylor", "dop853", "scipy"):

        def run(tolerance: float, method: str = method) -> Any:
            if method == "scipy":
                return motion.scipy(tolerance)
            return motion.ours(method, rtol=tolerance, atol=tolerance)

        tolerance, error = loosest(motion, run)
        found[method] = Call(run, (tolerance,)), tolerance, error
    return found


def single_states(report: Report, effort: Effort, step: Steps) -> None:
    """Measure the four motions."""
    columns = "motion", "Taylor, us", "DOP853", "times", "SciPy", "times Taylor", "times DOP853"
    table = report.table("Motions of single states, error below 1e-12", *columns)
    ratios = []
    for motion in list(motions())[: effort.pick(4, 4, 1)]:
        step(motion.name)
        found = contenders(motion)
        times = measure({name: call for name, (call, _, _) in found.items()}, effort)
        report.keep(f"motion/{motion.name}", times)
        for name, (_, tolerance, error) in found.items():
            report.numbers[f"motion/{motion.name}/{name}"] = {"rtol": tolerance, "error": error}
        best: dict[str, float] = {name: 1e6 * timing.best for name, timing in times.items()}
        own = best["dop853"] / best["taylor"]
        ratios.append(own)
        over = [best["scipy"] / best[name] for name in ("taylor", "dop853")]
        table.add(motion.name, best["taylor"], best["dop853"], own, best["scipy"], *over)
        report.target(f"{motion.name}: Taylor beside SciPy", ">= 20", over[0])
        report.target(f"{motion.name}: DOP853 beside SciPy", ">= 8", over[1])
        report.target(f"{motion.name}: Taylor beside DOP853", ">= 1", own)
        if "tumbling" in motion.name:
            report.target(f"{motion.name}: Taylor beside DOP853", ">= 5", own)
    mean = float(np.exp(np.mean(np.log(ratios))))
    report.target("motions: Taylor beside DOP853, geometric mean", ">= 1.5", mean)


def planar_chains(report: Report, effort: Effort, step: Steps) -> None:
    """Measure planar chains beside heyoka, which compiles each model."""
    try:
        import heyoka as hy  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return
    columns = "links", "jounce, us", "heyoka", "times", "heyoka compiles, s"
    table = report.table("Planar chains for 2 s by Taylor steps at 1e-14", *columns)
    for count in effort.pick((2, 3, 5, 7), (2, 3, 5), (2,)):
        step(f"planar chain of {count}")
        names = list(hy.make_vars(*(f"{x}{k}" for x in "pw" for k in range(count))))
        phi, rate = names[:count], names[count:]
        turns = planar_chain.accelerations(phi, rate, hy.sin, hy.cos)
        system = [*zip(phi, rate, strict=True), *zip(rate, turns, strict=True)]
        first = np.concatenate([np.linspace(0.2, 0.5, count), np.zeros(count)])
        begin = time.perf_counter()
        integrator = hy.taylor_adaptive(system, first, tol=1e-14)
        compiling = time.perf_counter() - begin
        model = planar_chain.model(count)
        joints = np.diff(first[:count], prepend=0.0)
        motion = Motion("", model, joints, np.zeros(count), 2.0)

        def theirs(integrator: Any = integrator, first: Any = first) -> Any:
            integrator.time = 0.0
            integrator.state[:] = first
            integrator.propagate_until(2.0)
            return integrator.state.copy()

        options = {"rtol": 1e-14, "atol": 1e-14}
        ours = np.cumsum(motion.ours("taylor", **options)[0])
        robots.check("planar chain of heyoka", ours, theirs()[:count], 1e-9)
        calls = {"jounce": Call(motion.ours, ("taylor",), options), "heyoka": Call(theirs)}
        times: dict[str, Timing] = measure(calls, effort)
        report.keep(f"planar chain/{count}", times)
        best = {name: 1e6 * timing.best for name, timing in times.items()}
        table.add(count, best["jounce"], best["heyoka"], best["heyoka"] / best["jounce"], compiling)
