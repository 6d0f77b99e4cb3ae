"""Results of all public functions on fixed seeds, before and after a change.

    python tools/results.py save before.npz      # with the old core
    python tools/results.py save after.npz       # with the new one
    python tools/results.py compare before.npz after.npz

Robots have every joint type. Results are compared bit by bit; those that differ are listed with the
largest difference of a state, in units of the last place of its largest entry.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import jounce as jc

ROBOTS = {
    "chain": lambda: jc.models.chain(6),
    "aerial": jc.models.aerial_manipulator,
    "mixed": jc.models.mixed_tree,
    "all joints": lambda: jc.models.random_tree(12, 1),
    "humanoid": jc.models.humanoid,
}
LEADS: tuple[tuple[int, ...], ...] = ((), (9,))
LEFT_OUT = {"configuration", "inverse_kinematics", "normalize", "random_configuration", "view"}
"""Not functions of states, or searches."""


def arguments(model: jc.Model, lead: tuple[int, ...]) -> dict[str, Any]:
    """A value for every parameter whose name says what it takes."""
    rng = np.random.default_rng(7)
    q, q0, q1 = jc.random_configuration(model, rng, (3, *lead))
    v, v0, dv, a, tau, weights = rng.standard_normal((6, *lead, model.nv))
    last = model.n_bodies - 1
    return {
        **{"model": model, "q": q, "q0": q0, "q1": q1, "v": v, "v0": v0, "dv": 0.1 * dv, "a": a},
        **{"tau": tau, "weights": weights, "body": last, "dt": 0.01, "order": 2},
        "motion": rng.standard_normal((*lead, 3, model.nv)),
        "f_ext": rng.standard_normal((*lead, model.n_bodies, 6)),
        "prescribed": np.arange(model.nv) % 4 == 1,
        "s": rng.uniform(0, 1, lead),
        "constraints": jc.Constraints(model, [jc.Point(last)]),
        "wrenches": {last: rng.standard_normal((*lead, 6))},
    }


def fitted(name: str, chosen: dict[str, Any], required: set[str]) -> dict[str, Any]:
    """The arguments as this function takes them; constraints and weights where they must be."""
    for key in {"constraints", "weights"} - required:
        chosen.pop(key, None)
    if "dynamics_series" in name or name.startswith("rollout"):
        for key in {"a", "tau", "f_ext"} & chosen.keys():
            axis = -3 if key == "f_ext" else -2
            chosen[key] = np.stack([chosen[key], 0.5 * chosen[key]], axis=axis)
    return chosen


def results() -> Iterator[tuple[str, np.ndarray]]:
    """Each array that a public function returns, with the name of the call."""
    for name in sorted(set(jc.__all__) - LEFT_OUT):
        function = getattr(jc, name)
        if not callable(function) or isinstance(function, type):
            continue
        parameters = inspect.signature(function).parameters
        required = {k for k, p in parameters.items() if p.default is inspect.Parameter.empty}
        for robot, make in ROBOTS.items():
            for lead in LEADS:
                known = arguments(make(), lead)
                if "model" not in parameters or not required <= known.keys():
                    continue
                given = fitted(name, {k: known[k] for k in parameters if k in known}, required)
                try:
                    found = function(**given)
                except jc.Error as error:
                    print(f"{name}, {robot}, {lead}: {error}", file=sys.stderr)
                    continue
                for k, part in enumerate(found if isinstance(found, tuple) else (found,)):
                    if isinstance(part, (np.ndarray, np.generic)):
                        yield f"{name}/{k} {robot} {lead}", np.asarray(part)


def ulps(old: np.ndarray, new: np.ndarray) -> float:
    """The largest difference, in units of the last place of the largest entry."""
    scale = max(float(np.abs(old).max(initial=0.0)), np.finfo(float).tiny)
    return float(np.abs(new - old).max(initial=0.0) / (np.finfo(float).eps * scale))


def compare(old: Any, new: Any) -> int:
    """List what differs; 1 if something does."""
    for word, names in (("only before", {*old} - {*new}), ("only after", {*new} - {*old})):
        for name in sorted(names):
            print(f"{word}: {name}")
    both = sorted({*old} & {*new})
    differs = {}
    for name in both:
        x, y = old[name], new[name]
        if x.shape != y.shape:
            differs[name] = np.inf
        elif x.dtype.kind == "f" and x.tobytes() != y.tobytes():
            differs[name] = ulps(x, y)
        elif not np.array_equal(x, y, equal_nan=x.dtype.kind == "f"):
            differs[name] = np.inf
    for name, size in sorted(differs.items(), key=lambda item: -item[1]):
        print(f"{size:10.3g} ulp  {name}")
    print(f"{len(both) - len(differs)} of {len(both)} arrays are equal to the last bit")
    return int(bool(differs))


def main(words: list[str]) -> int:
    """The command line."""
    if len(words) == 2 and words[0] == "save":
        np.savez(words[1], **dict(results()))
        return 0
    if len(words) == 3 and words[0] == "compare":
        with np.load(words[1]) as old, np.load(words[2]) as new:
            return compare(old, new)
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
