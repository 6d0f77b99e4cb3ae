"""The table of `docs/constraints.md`: what motions keep of four-bars and of a welded robot.

`python tools/drift_constrained.py 100 taylor dop853` is that of 100 s with these methods alone.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np

import jounce as jc
from jounce.simulation.methods import METHODS

System = tuple[jc.Model, np.ndarray, np.ndarray, jc.Constraints]


def four_bar() -> System:
    """The mechanism of the example, pushed where it hangs: it swings by some 0.6 rad."""
    return _four_bar([1.4, -1.0, 1.8], 3.0)


def whirling() -> System:
    """The same, pushed where it stands: it falls, and turns at up to 20 rad/s from then on."""
    return _four_bar([-1.2, 0.8, -1.7], 2.0)


def _four_bar(near: list[float], speed: float) -> System:
    path = Path(__file__).parent.parent / "examples" / "four_bar.py"
    spec = importlib.util.spec_from_file_location("four_bar", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.four_bar()
    loop = jc.Constraints(model, [jc.Point("rod end", "rocker end", target=np.zeros(3))])
    q = jc.project(model, near, loop)
    return model, q, jc.project_velocity(model, q, [speed, 0.0, 0.0], loop), loop


def welded() -> System:
    """The robot of ali, Sec. 7, with the last body of one arm welded to the world."""
    model = jc.models.aerial_manipulator()
    q = jc.integrate(model, jc.neutral(model), 0.1 * np.arange(model.nv))
    weld = jc.Constraints(model, [jc.Weld("B4")]).at(q)
    return model, q, jc.project_velocity(model, q, np.full(model.nv, 0.2), weld), weld


def drift(system: System, seconds: float, method: str, **options: Any) -> tuple[float, float]:
    """Largest residual, in rad and m, and largest change of the energy, relative to its range."""
    model, q, v, c = system
    times = np.linspace(0.0, seconds, int(10 * seconds) + 1)
    got = jc.simulate(model, q, v, times, None, method, constraints=c, **options)
    size = np.abs(got.kinetic_energy).max() + np.ptp(got.potential_energy)
    change = float(np.abs(got.energy - got.energy[0]).max() / size)
    return float(np.abs(c.residual(got.q)).max()), change


def rows() -> list[tuple[str, str, dict[str, Any]]]:
    """Methods, what they are called in the table, and their options."""
    fine: dict[str, Any] = {"rtol": 1e-15, "atol": 1e-15}
    found = [("taylor", '`"taylor"`, order 20, 1e-15', {**fine, "order": 20})]
    found += [(x, f'`"{x}"`, 1e-9', {"rtol": 1e-9, "atol": 1e-9}) for x in ("dop853", "dopri5")]
    found += [(x, f'`"{x}"`, 5 ms', {"dt": 5e-3}) for x in METHODS]
    return found


SYSTEMS = {"four-bar": four_bar, "whirling four-bar": whirling, "welded robot": welded}


def main(seconds: float, methods: list[str]) -> None:
    """Print the table."""
    ways = [f"{name}, {way}" for name in SYSTEMS for way in ("free", "projected")]
    print("| method | " + " | ".join(ways) + " |")
    print("| --- |" + " --- |" * len(ways))
    for method, title, options in rows():
        if methods and method not in methods:
            continue
        cells = []
        for system in (make() for make in SYSTEMS.values()):
            for projection in (False, True):
                try:
                    far, energy = drift(system, seconds, method, projection=projection, **options)
                    cells.append(f"{far:.1e}, {energy:.1e}")
                except jc.Error as error:
                    cells.append(type(error).__name__)
        print(f"| {title} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 100.0, sys.argv[2:])
