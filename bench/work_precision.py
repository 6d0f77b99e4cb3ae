"""The figure of docs/simulation.md: how long a motion takes by how exact it is.

``python -m bench.work_precision docs/work-precision.svg``, on an idle machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from bench.motions import TIGHT, Motion, motions

TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14)
STEPS = (100, 200, 400, 800, 1600, 3200, 6400)
REPEATS = 9


def best_time(call: Callable[[], Any]) -> float:
    """Return the least of several times, s."""
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def curve(motion: Motion, method: str, exact: Any) -> tuple[list[float], list[float]]:
    """Return errors and times of a method."""
    errors, times = [], []

    def calls() -> list[Callable[[], Any]]:
        if method == "SciPy's DOP853":
            return [lambda x=x: motion.scipy(x) for x in TOLERANCES]  # type: ignore[misc]
        if method == "rkmk4":
            return [lambda n=n: motion.ours(method, dt=motion.time / n) for n in STEPS]  # type: ignore[misc]
        return [lambda x=x: motion.ours(method, rtol=x, atol=x) for x in TOLERANCES]  # type: ignore[misc]

    for call in calls():
        error = motion.error(call(), exact)
        if error > 0.0:
            errors.append(error)
            times.append(1e3 * best_time(call))
    return errors, times


def main(path: str) -> None:
    """Draw all motions."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9, 7), sharex=True, layout="constrained")
    for motion, place in zip(motions(), axes.ravel(), strict=True):
        exact = motion.ours("taylor", **TIGHT)
        for method in ("taylor", "dop853", "dopri5", "rkmk4", "SciPy's DOP853"):
            place.loglog(*curve(motion, method, exact), ".-", label=method)
        place.set_title(motion.name)
        place.grid(alpha=0.3)
    axes[0, 0].invert_xaxis()
    axes[0, 0].legend()
    figure.supxlabel("error at the end, relative to 1 + |x|")
    figure.supylabel("time, ms")
    figure.savefig(path)


if __name__ == "__main__":
    main(sys.argv[1])
