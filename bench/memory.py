"""Memory that one call takes: ``python -m bench.memory FUNCTION BRANCHES BODIES ORDER STATES``.

Prints, in bytes, how far the peak of resident memory rises during the first call of a new process,
and how much of that are the results. A process per measurement: the core keeps its workspace.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bench import child


def workspace(function: str, branches: int, bodies: int, order: int, states: int) -> int | None:
    """Bytes of workspace of one call on one thread, or None where the system does not tell."""
    numbers = [str(x) for x in (branches, bodies, order, states)]
    printed = child.run("-m", "bench.memory", function, *numbers)
    peak, results = (int(x) for x in printed.split())
    return max(peak - results, 0) if peak > 0 else None


def _resident(field: str) -> int:
    """A line of /proc/self/status, in bytes."""
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith(field + ":"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    return 0


def _main(function: str, *numbers: str) -> None:
    import numpy as np

    import jounce as jc

    branches, bodies, order, states = map(int, numbers)
    model, small = (
        jc.models.aerial_manipulator(branches, bodies),
        jc.models.aerial_manipulator(1, 1),
    )
    rng, call = np.random.default_rng(0), getattr(jc, function)

    def arguments(robot: jc.Model, r: int) -> list[np.ndarray]:
        q = jc.random_configuration(robot, rng, states)
        rates = rng.standard_normal((states, r + 2, robot.nv))
        if function == "inverse_dynamics_series":
            return [q, rates]
        return [q, np.ascontiguousarray(rates[:, 0]), np.ascontiguousarray(rates[:, 1:])]

    inputs = arguments(model, order)
    call(small, *arguments(small, 0))
    before = _resident("VmHWM")
    # The peak of a process never falls: fill what lies between resident and peak.
    filler = np.ones(max(before - _resident("VmRSS"), 0) // 8)
    result = call(model, *inputs)
    print(_resident("VmHWM") - before, result.nbytes if filler is not None else 0)


if __name__ == "__main__":
    _main(*sys.argv[1:])
