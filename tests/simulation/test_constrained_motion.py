"""Motions under constraints: on their manifold, with the right energy, and equal by all methods."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import jounce as jc

EPS = np.finfo(float).eps
TIMES = np.linspace(0.0, 0.4, 5)
METHODS = {
    "taylor": ({"rtol": 1e-14, "atol": 1e-14}, 1e-10),
    "dop853": ({"rtol": 1e-11, "atol": 1e-11}, 1e-8),
    "dopri5": ({"rtol": 1e-9, "atol": 1e-9}, 1e-6),
    "rkmk4": ({"dt": 2e-3}, 1e-5),
    "cf4": ({"dt": 2e-3}, 1e-5),
    "semi_implicit_euler": ({"dt": 1e-3}, 5e-2),
}


def pendulum(length=0.7):
    """A ball that slides along the world's axes; a rod makes it a pendulum."""
    builder = jc.ModelBuilder()
    for k, axis in enumerate(np.eye(3)):
        mass = 2.0 if k == 2 else 0.0
        parent = None if k == 0 else f"slider{k - 1}"
        builder.add_body(f"slider{k}", parent, "prismatic", axis=axis, mass=mass)
    model = builder.build()
    q = length * np.array([np.sin(1.0), 0.0, -np.cos(1.0)])
    return model, q, np.zeros(3), jc.Constraints(model, [jc.Distance("slider2")])


def welded():
    model = jc.models.aerial_manipulator()
    q = jc.integrate(model, jc.neutral(model), 0.1 * np.arange(model.nv))
    c = jc.Constraints(model, [jc.Weld("B4")])
    return model, q, jc.project_velocity(model, q, np.full(model.nv, 0.2), c), c


def rolling():
    """A ball that rolls on a plane: rows that hold rates only."""
    builder = jc.ModelBuilder()
    model = builder.add_body("ball", joint="free", mass=1.0, inertia=0.1 * np.eye(3)).build()
    q = jc.neutral(model)
    q[6] = 0.5
    c = jc.Constraints(model, [jc.Rolling("ball", 0.5)])
    return model, q, jc.project_velocity(model, q, [0.3, 2.0, 0.5, 0, 0, 0], c), c


SYSTEMS = {"pendulum": pendulum, "welded": welded, "rolling": rolling}


@pytest.fixture(scope="module", params=SYSTEMS)
def system(request):
    model, q, v, c = SYSTEMS[request.param]()
    fine = {"rtol": 1e-14, "atol": 1e-14, "order": 22}
    return model, q, v, c, jc.simulate(model, q, v, TIMES, None, "taylor", constraints=c, **fine)


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("projection", [True, False])
def test_methods_agree_and_stay_on_the_manifold(system, method, projection):
    model, q, v, c, exact = system
    options, allowed = METHODS[method]
    options = {**options, "constraints": c, "projection": projection}
    got = jc.simulate(model, q, v, TIMES, None, method, **options)
    assert np.abs(jc.difference(model, exact.q, got.q)).max() < allowed
    held = c.at(q)
    limit = 64 * EPS if projection else allowed
    residual = np.where(c.holonomic, held.residual(got.q), 0.0)
    assert np.abs(residual).max() < limit
    speed = 1 + np.abs(got.v).max()
    assert np.abs(c.velocity(got.q, got.v)).max() < (1e3 * EPS if projection else allowed) * speed
    assert np.abs(got.energy - got.energy[0]).max() < 10 * allowed * (1 + np.abs(got.energy[0]))


def test_a_rod_makes_a_pendulum():
    """The same motion as that of a hinge, which needs no constraint."""
    model, q, v, c = pendulum()
    builder = jc.ModelBuilder()
    builder.add_body("bob", joint="revolute", axis=(0, 1, 0), mass=2, com=(0, 0, -0.7))
    hinge = jc.simulate(builder.build(), [-1.0], [0.0], TIMES, rtol=1e-12, atol=1e-12)
    got = jc.simulate(model, q, v, TIMES, None, "taylor", constraints=c, rtol=1e-14, atol=1e-14)
    expected = 0.7 * np.stack([-np.sin(hinge.q[:, 0]), 0 * TIMES, -np.cos(hinge.q[:, 0])], -1)
    np.testing.assert_allclose(got.q, expected, rtol=0, atol=1e-10)


def test_without_constraints_nothing_changes():
    model, q, v, _ = welded()
    none = jc.Constraints(model, [])
    for method in ("dop853", "taylor"):
        got = jc.simulate(model, q, v, TIMES, None, method, constraints=none)
        alone = jc.simulate(model, q, v, TIMES, None, method)
        np.testing.assert_allclose(got.q, alone.q, rtol=0, atol=1e-7)


@pytest.mark.parametrize("method", ["dop853", "rkmk4", "taylor"])
def test_states_of_a_batch_hold_what_they_hold_at_the_start(method):
    model, q, v, c = pendulum()
    options = {"dt": 5e-3} if method == "rkmk4" else {}
    starts = np.stack([q, 1.5 * q])
    control = np.array([[0.0, 0.3, 0.0]] * 4)
    together = jc.simulate(model, starts, v, TIMES, control, method, constraints=c, **options)
    np.testing.assert_allclose(np.linalg.norm(together.q, axis=-1), [[0.7] * 5, [1.05] * 5])
    for k in range(2):
        alone = jc.simulate(model, starts[k], v, TIMES, control, method, constraints=c, **options)
        np.testing.assert_allclose(together.q[k], alone.q, rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", ["taylor", "dop853", "rkmk4"])
def test_a_rod_that_grows_moves_as_its_rate_says(method):
    """w(t) = 0.1 + 0.4 t: the length is 0.7 + 0.1 t + 0.2 t^2."""
    model, q, v, _ = pendulum()
    c = jc.Constraints(model, [jc.Distance("slider2", motion=[0.1, 0.4])])
    v = jc.project_velocity(model, q, v, c)
    options = {"dt": 2e-3} if method == "rkmk4" else {"rtol": 1e-11, "atol": 1e-11}
    got = jc.simulate(model, q, v, TIMES, None, method, constraints=c, **options)
    length = 0.7 + 0.1 * TIMES + 0.2 * TIMES**2
    np.testing.assert_allclose(np.linalg.norm(got.q, axis=-1), length, rtol=0, atol=1e-9)


def test_starts_that_the_constraints_do_not_allow_are_refused():
    model, q, v, _ = pendulum()
    c = jc.Constraints(model, [jc.Distance("slider2", target=0.7)])
    with pytest.raises(
        jc.ArgumentError,
        match=r"q0 violates Distance\('slider2'\) by 0.07",
    ):
        jc.simulate(model, 1.1 * q, v, TIMES, constraints=c)
    with pytest.raises(
        jc.ArgumentError, match=r"v0 violates .*state \[1\].*jounce.project_velocity"
    ):
        jc.simulate(model, q, np.stack([v, v + 1.0]), TIMES, constraints=c)


BAD = {
    "no constraints": ({"constraints": [jc.Distance("slider2")]}, "must be a jounce.Constraints"),
    "no flag": ({"projection": 1}, "projection"),
    "variational": ({"method": "variational", "dt": 0.1}, "nor constraints"),
    "passive series": ({"method": "taylor", "passive": True}, "passive=True"),
    "dt of taylor": ({"method": "taylor", "dt": 0.1}, "chooses its steps"),
    "order": ({"method": "taylor", "order": 31}, "order must be 4 to 30"),
    "low order": ({"method": "taylor", "order": 3}, "order must be 4 to 30"),
    "order of another": ({"order": 8}, "order belongs to method 'taylor'"),
}


@pytest.mark.parametrize("mistake", BAD)
def test_bad_arguments_are_named(mistake):
    model, q, v, c = pendulum()
    options, message = BAD[mistake]
    with pytest.raises(jc.Error, match=message):
        jc.simulate(model, q, v, TIMES, **{"constraints": c, **options})


@pytest.mark.long
@pytest.mark.parametrize("projection", [True, False])
def test_taylor_steps_do_not_drift(projection):
    """For a thousand steps: residuals and energy stay at rounding, where long double is longer."""
    model, q, v, c = welded()
    fine = {"rtol": 1e-15, "atol": 1e-15, "order": 20, "projection": projection}
    times = np.linspace(0.0, 10.0, 41)
    got = jc.simulate(model, q, v, times, None, "taylor", constraints=c, **fine)
    exact = projection or np.finfo(np.longdouble).eps < EPS
    assert np.abs(c.at(q).residual(got.q)).max() < (100 * EPS if exact else 1e-12)
    size = np.abs(got.kinetic_energy).max() + np.ptp(got.potential_energy)
    assert np.abs(got.energy - got.energy[0]).max() < (1e-12 if exact else 1e-11) * size


@pytest.mark.long
@pytest.mark.parametrize(("projection", "wide"), [(False, 2e-12), (True, 1e-14)])
def test_a_four_bar_does_not_drift_in_100_seconds(projection, wide):
    """Those numbers of `tools/drift_constrained.py` that are quick; the docs have all of them."""
    path = Path(__file__).parents[2] / "tools" / "drift_constrained.py"
    spec = importlib.util.spec_from_file_location("drift_constrained", path)
    table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(table)
    options = {"rtol": 1e-15, "atol": 1e-15, "order": 20, "projection": projection}
    opening, energy = table.drift(table.four_bar(), 100.0, "taylor", **options)
    assert opening < wide
    assert energy < (1e-12 if projection else 1e-11)
