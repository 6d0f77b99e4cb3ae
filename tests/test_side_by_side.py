"""Robots side by side in one model do not know of each other: an oracle for every function."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import jounce as jc
from jounce import _core

EPS = np.finfo(float).eps
ORDER = 2
PAIRS = {
    "arm, floating": (["revolute", "prismatic"], ["free", "revolute", "spherical"]),
    "floating, floating": (["free", "revolute"], ["free", "helical", "revolute", "free"]),
    "ball, floating": (["spherical", "revolute"], ["free", "universal", "revolute"]),
    "floating, arm": (["free", "revolute", "revolute"], ["planar", "revolute"]),
}
LONG = ["free", *["revolute"] * 80]
"""So long that forward dynamics is differentiated by solves instead of products."""


def signature(name):
    return _core.signature(name)


def public_without_options():
    for name in _core.kernel_names():
        known = signature(name)
        if not known["internal"] and not known["options"]:
            yield name


def belongs_to_the_whole(name):
    return name.startswith(("center_of_mass", "centroidal"))


NAMES = [name for name in public_without_options() if not belongs_to_the_whole(name)]


def add_robot(builder, name, kinds):
    rng = np.random.default_rng(len(kinds))
    parent = None
    for k, kind in enumerate(kinds):
        body = {"mass": 1.0 + k % 3, "com": 0.1 * rng.standard_normal(3)}
        axes = {} if kind in ("free", "spherical") else {"axis": rng.standard_normal(3)}
        if kind == "helical":
            axes["pitch"] = 0.1
        at = 0.3 * rng.standard_normal(3)
        builder.add_body(f"{name}{k}", parent, kind, at, inertia=(0.3, 0.4, 0.5), **body, **axes)
        parent = f"{name}{k}"


def side_by_side(pair):
    """Each robot alone, and both in one model."""
    both, alone = jc.ModelBuilder(), []
    for name, kinds in zip("ab", pair, strict=True):
        one = jc.ModelBuilder()
        add_robot(one, name, kinds)
        add_robot(both, name, kinds)
        alone.append(one.build())
    return alone, both.build()


def sizes(model):
    return {"nq": model.nq, "nv": model.nv, "n_bodies": model.n_bodies}


def part(alone, robot, axis):
    """What belongs to a robot along an axis of an array of both."""
    name, _, times = axis
    if name not in sizes(alone[0]):
        return slice(None)
    ends = np.cumsum([0, *(times * sizes(model)[name] for model in alone)])
    return slice(ends[robot], ends[robot + 1])


def values(name, x, alone, rng, lead):
    """An argument for each robot alone."""
    for model in alone:
        if x[:1] == "q":
            yield jc.random_configuration(model, rng, lead)
        else:
            counts = sizes(model) | {"number": 0, "order": ORDER}
            dims = signature(name)["input_dims"][x]
            own = [more + times * counts[axis] for axis, more, times in dims]
            yield rng.standard_normal((*lead, *own))


def joined(name, x, parts):
    dims = signature(name)["input_dims"][x]
    axes = [
        k - len(dims) for k, (axis, _, _) in enumerate(dims) if axis in ("nq", "nv", "n_bodies")
    ]
    return np.concatenate(list(parts), axis=axes[0]) if axes else parts[0]


def outputs(found):
    return found if isinstance(found, tuple) else (found,)


def close(ours, expected, terms):
    """To rounding times the condition of mass matrices, hundreds, which series square."""
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e5 * EPS * terms)


def check(name, pair, lead):
    """Blocks on the diagonal are those of each alone, others zero; what has no blocks is a sum."""
    (alone, both), rng = side_by_side(pair), np.random.default_rng(7)
    known = signature(name)
    given = [list(values(name, x, alone, rng, lead)) for x in known["inputs"]]
    if name == "interpolate":
        given[-1] = [given[-1][0]] * 2
    function = getattr(jc, name)
    together = outputs(
        function(both, *(joined(name, x, y) for x, y in zip(known["inputs"], given, strict=True)))
    )
    apart = [outputs(function(model, *(x[k] for x in given))) for k, model in enumerate(alone)]
    for array, dims, *own in zip(together, known["output_dims"].values(), *apart, strict=True):
        terms = 1.0 + max(np.abs(x).max(initial=0.0) for x in own)
        places = [k for k, axis in enumerate(dims) if axis[0] in sizes(both)]
        if not places:
            close(array, sum(own), terms)
            continue
        for robots in itertools.product((0, 1), repeat=len(places)):
            at = [slice(None)] * len(dims)
            for k, robot in zip(places, robots, strict=True):
                at[k] = part(alone, robot, dims[k])
            block = array[(..., *at)]
            expected = own[robots[0]] if len(set(robots)) == 1 else np.zeros_like(block)
            close(block, expected, terms)


@pytest.mark.parametrize("lead", [(), (9,)], ids=str)
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("name", NAMES)
def test_a_robot_does_not_feel_the_one_beside_it(name, pair, lead):
    check(name, pair, lead)


@pytest.mark.parametrize(
    "name", ["forward_dynamics_derivatives", "inverse_mass_matrix_derivatives"]
)
def test_long_robots_do_not_feel_each_other(name):
    check(name, (["revolute", *LONG[1:]], LONG), ())
