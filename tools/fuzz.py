"""Mutated models, calls and pickles for some time: every refusal must be one that is documented.

    python tools/fuzz.py --seconds 60 --seed 0

Calls of all public functions with arguments of wrong shapes, types and values; models from pickles
whose parts were changed; text of a model file that was changed. What comes back must be finite
numbers or an exception of `jounce.errors`. A crash ends the process, and with it the run.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import inspect
import pickle
import time
import warnings
from typing import Any

import numpy as np

import jounce as jc

MODELS = [
    jc.models.chain(3),
    jc.models.random_tree(6, 1),
    jc.models.mixed_tree(),
    jc.models.aerial_manipulator(),
    jc.ModelBuilder().build(),
]
URDF = """<robot name="r"><link name="base"/><link name="arm"><inertial><origin xyz="0 0 0.1"/>
<mass value="1.5"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.05"/>
</inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="5" velocity="2"/></joint></robot>"""
NUMBERS = (0.0, -0.0, 1.0, -1.0, 1e-300, 5e-324, 1e154, 1e200, 1e308, np.inf, -np.inf, np.nan, 7.0)
THINGS: tuple[Any, ...] = (
    None,
    True,
    -1,
    2**70,
    "x",
    b"x",
    (),
    [],
    {},
    object(),
    1j,
    np.zeros(0),
    np.zeros((0, 3)),
    np.array("x"),
    np.array([None]),
    [[1], [1, 2]],
    np.ma.array([1.0, 2.0], mask=[0, 1]),
    np.datetime64("2020-01-01"),
    slice(2),
)


class Fuzz:
    """Random calls, and counts of what came of them."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.counts: collections.Counter[str] = collections.Counter()
        self.wrong: list[str] = []
        self.functions = [
            (name, inspect.signature(getattr(jc, name)).parameters)
            for name in jc.__all__
            if callable(getattr(jc, name))
            and not isinstance(getattr(jc, name), type)
            and "model" in inspect.signature(getattr(jc, name)).parameters
        ]

    def pick(self, things: Any) -> Any:
        return things[int(self.rng.integers(len(things)))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def argument(self, name: str, model: jc.Model) -> Any:
        """A value that fits, most of the time."""
        lead = self.pick([(), (), (1,), (3,), (9,), (2, 1), (0,)])
        if name in ("q", "q0", "q1"):
            return jc.random_configuration(model, self.rng, lead)
        if name == "body":
            return self.pick([*model.frames, 0, -1, model.n_bodies, "no such", 1.5])
        if name == "f_ext":
            return self.rng.standard_normal((*lead, model.n_bodies, 6))
        if name == "prescribed":
            return self.rng.random(model.nv) < 0.5
        if name == "motion":
            return self.rng.standard_normal((*lead, int(self.rng.integers(2, 5)), model.nv))
        values = {
            "dt": 0.01,
            "order": int(self.rng.integers(-1, 4)),
            "threads": self.pick([0, 1, 2, 3, -1, 2.0]),
            "twist": self.pick([*jc.errors.REPRESENTATIONS, "LOCAL", "x"]),
            "s": 0.5,
            "rng": 3,
        }
        if name in values:
            return values[name]
        return self.rng.standard_normal((*lead, model.nv))

    def damaged(self, value: Any) -> Any:
        """The value with something changed."""
        if not isinstance(value, np.ndarray) or self.chance(0.2):
            return self.pick(THINGS)
        value = np.array(value)
        kind = int(self.rng.integers(6))
        if kind == 0 and value.size and value.dtype == float:
            value.reshape(-1)[int(self.rng.integers(value.size))] = self.pick(NUMBERS)
        elif kind == 1:
            value = value.astype(self.pick(["f4", ">f8", "i4", "?", "c16", "O", "f2"]))
        elif kind == 2 and value.ndim:
            value = value[..., : int(self.rng.integers(value.shape[-1] + 1))]
        elif kind == 3:
            value = value[None]
        elif kind == 4 and value.dtype == float:
            value = value * 10.0 ** int(self.rng.integers(-320, 309))
        elif value.ndim:
            value = np.repeat(value, 2, axis=-1)[..., ::2]
        return value

    def call(self) -> None:
        """One call of a public function, with arguments of which some are damaged."""
        name, parameters = self.pick(self.functions)
        model = self.pick(MODELS)
        given = {}
        for key, parameter in parameters.items():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                continue
            if parameter.default is not parameter.empty and self.chance(0.7):
                continue
            value = model if key == "model" else self.argument(key, model)
            given[key] = self.damaged(value) if self.chance(0.15) else value
        self.run(f"{name}({', '.join(given)})", lambda: getattr(jc, name)(**given))

    def model(self) -> None:
        """A model of changed parts, built or unpickled, and dynamics with it."""
        kind, (name, gravity, bodies, frames, *others) = self.pick(MODELS).__reduce__()
        bodies, frames = list(bodies), dict(frames)
        for _ in range(int(self.rng.integers(1, 3))):
            if bodies and self.chance(0.8):
                k = int(self.rng.integers(len(bodies)))
                field = self.pick(bodies[k]._fields)
                value = getattr(bodies[k], field)
                bodies[k] = bodies[k]._replace(**{field: self.damaged(value)})
            elif frames:
                key = self.pick(list(frames))
                field = self.pick(("body", "placement"))
                value = getattr(frames[key], field)
                frames[key] = frames[key]._replace(**{field: self.damaged(value)})
        data = (
            pickle.dumps((name, gravity, tuple(bodies), frames, *others))
            if all(type(b).__module__.startswith("jounce") for b in bodies)
            and not self.unpicklable(bodies, frames)
            else None
        )
        if data is None:
            return

        def use() -> Any:
            made = kind(*pickle.loads(data))
            q = jc.random_configuration(made, 0)
            return jc.inverse_dynamics(made, q, np.ones(made.nv), np.ones(made.nv))

        self.run("model", use)

    @staticmethod
    def unpicklable(*parts: Any) -> bool:
        try:
            pickle.dumps(parts)
        except Exception:
            return True
        return False

    def file(self) -> None:
        """Text of a model file with some characters changed."""
        text = list(URDF)
        for _ in range(int(self.rng.integers(1, 4))):
            at = int(self.rng.integers(len(text)))
            change = int(self.rng.integers(3))
            if change == 0:
                text[at] = self.pick('<>"/ =0e-.x\x00é')
            elif change == 1:
                del text[at]
            else:
                text[at:at] = text[at : at + int(self.rng.integers(30))]
        whole = "".join(text)
        self.run("file", lambda: jc.inverse_dynamics(jc.load_urdf(whole), [0.1], [1.0], [1.0]))

    def run(self, what: str, job: Any) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = job()
        except jc.Error as error:
            self.counts[f"refused: {type(error).__name__}"] += 1
            return
        except Exception as error:
            self.counts["wrong"] += 1
            self.wrong.append(f"{what}: {type(error).__name__}: {error!s:.300}")
            return
        for x in result if isinstance(result, tuple) else (result,):
            if isinstance(x, np.ndarray) and x.dtype == float and not np.isfinite(x).all():
                self.counts["wrong"] += 1
                self.wrong.append(f"{what}: a result that is not finite")
                return
        self.counts["done"] += 1


def main() -> int:
    """Run for some time; the exit code says whether everything was as documented."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--rounds", type=int, default=0, help="instead of a time")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    faulthandler.enable()
    fuzz = Fuzz(options.seed)
    end, rounds = time.monotonic() + options.seconds, 0
    while rounds < options.rounds or (not options.rounds and time.monotonic() < end):
        rounds += 1
        (fuzz.call, fuzz.call, fuzz.call, fuzz.model, fuzz.file)[rounds % 5]()
        if len(fuzz.wrong) >= 20:
            break
    print(f"seed {options.seed}: {rounds} rounds")
    for key, count in sorted(fuzz.counts.items()):
        print(f"  {count:8d} {key}")
    for text in fuzz.wrong:
        print("WRONG", text)
    return 1 if fuzz.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
