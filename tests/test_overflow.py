"""Results that no double can hold are an error that says where, never inf or nan."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

SOLID = {"mass": 1.3, "com": (0.1, 0.2, -0.3), "inertia": (0.05, 0.04, 0.03)}


@pytest.fixture(scope="module")
def slide():
    """An arm that turns a slide: its inertia grows with the square of the slide's coordinate."""
    builder = jc.ModelBuilder()
    builder.add_body("arm", joint="revolute", axis=(0, 1, 0), **SOLID)
    builder.add_body("slide", "arm", joint="prismatic", axis=(1, 0, 0), **SOLID)
    return builder.build()


def calls(model, q):
    v = np.ones_like(q)
    frame = model.n_bodies - 1
    return {
        "inverse_dynamics": lambda: jc.inverse_dynamics(model, q, v, v),
        "forward_dynamics": lambda: jc.forward_dynamics(model, q, v, v),
        "mass_matrix": lambda: jc.mass_matrix(model, q),
        "inverse_mass_matrix": lambda: jc.inverse_mass_matrix(model, q),
        "kinetic_energy": lambda: jc.kinetic_energy(model, q, v),
        "coriolis_matrix": lambda: jc.coriolis_matrix(model, q, v),
        "inverse_dynamics_derivatives": lambda: jc.inverse_dynamics_derivatives(model, q, v, v),
        "jacobian_rate": lambda: jc.jacobian_rate(model, q, v * 1e200, frame, twist="hybrid"),
    }


NAMES = list(calls(jc.models.chain(1), np.zeros(1)))


@pytest.mark.parametrize("lead", [(), (3, 7)], ids=["one", "batch"])
@pytest.mark.parametrize("name", NAMES)
def test_too_large_a_coordinate_is_an_error(name, lead, slide):
    q = np.zeros((*lead, 2))
    q[..., 1] = 1.0
    q[(*(n - 1 for n in lead), 1)] = 1e200
    with pytest.raises(ValueError, match=r"not finite|coordinates that overflow") as caught:
        calls(slide, q)[name]()
    if lead:
        assert "in state [2, 6] of the batch" in str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_large_coordinates_are_no_error(name, slide):
    result = calls(slide, np.array([0.3, 1e60]))[name]()
    assert all(np.isfinite(x).all() for x in (result if isinstance(result, tuple) else [result]))


@pytest.mark.parametrize("method", ["euler", "semi_implicit_euler", "rkmk4", "dop853", "taylor"])
def test_a_step_whose_end_overflows_is_not_blamed_on_the_arguments(method):
    """They were finite; those that it makes of them on its way are nobody's."""
    model, rest = jc.models.chain(1), np.zeros((3, 2, 1))
    tau = np.ones((3, 2, 1))
    tau[2, 1] = 1e300
    message = r"^the (step leads to numbers|result of linearize_step\(\) is) .*not finite"
    for options in ({}, {"passive": True}, {"weights": np.ones(2)}):
        if options and method == "taylor":
            continue
        with pytest.raises(jc.ArgumentError, match=message) as caught:
            jc.linearize_step(model, [0], [0], [1e300], 1e100, method=method, **options)
        assert "of the batch" not in str(caught.value)
        with pytest.raises(jc.ArgumentError, match=r"in state \[2, 1\] of the batch"):
            jc.linearize_step(model, rest, rest, tau, 1e9, method=method, **options)


@pytest.mark.parametrize("size", [1e80, 1e120])
@pytest.mark.parametrize("method", ["rkmk2", "rkmk4", "cf4", "dopri5", "dop853"])
def test_a_step_that_overflows_on_its_way_is_not_blamed_on_the_inertia(method, size):
    """At the stages that it does not reach there is no inertia to speak of."""
    for model in (jc.models.panda_like(), jc.models.quadruped()):
        q, still = jc.neutral(model), np.zeros(model.nv)
        for lead in ((), (3,), (11,)):
            v = np.zeros((*lead, model.nv))
            v[..., 1:] = 1.0
            v[(*(n - 1 for n in lead), slice(None))] = size
            with pytest.raises(
                jc.ArgumentError, match=r"result of step\(\) is not finite"
            ) as caught:
                jc.step(model, q, v, still, 1e-3, method=method)
            assert not isinstance(caught.value, jc.SingularError)
            assert bool(lead) == (f"in state [{lead and lead[0] - 1}] of" in str(caught.value))


def test_a_step_under_constraints_whose_end_overflows_is_told_by_its_place():
    model = jc.models.chain(3)
    held = jc.Constraints(model, [jc.Coupling({"joint0": 1.0, "joint1": -1.0})])
    tau = np.zeros((2, 3, 3))
    tau[1, 2] = 1e300
    for method in ("euler", "rkmk4", "taylor"):
        options = {"method": method, "constraints": held}
        with pytest.raises(jc.ArgumentError, match=r"step leads .* in state \[1, 2\] of the batch"):
            jc.linearize_step(model, np.zeros(3), np.zeros(3), tau, 1e9, **options)
