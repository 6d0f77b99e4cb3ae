"""Functions by each kind of parameter are exact: complex steps and contours through the model."""

from __future__ import annotations

import analytic_oracle
import contours
import numpy as np
import partials_oracle as oracle
import pytest
from jvp_cases import arguments_of, as_tuple, sprung
from parameters_oracle import all_parameters, changed

import jounce as jc

EXACT = 1e-11
OF_ONE_STATE = """
inverse_dynamics bias_forces gravity_forces forward_dynamics hybrid_dynamics kinetic_energy
potential_energy momentum centroidal_momentum mass_matrix inverse_mass_matrix
centroidal_momentum_matrix kinetic_energy_regressor potential_energy_regressor momentum_regressor
torque_regressor body_poses body_twists body_pose body_twist jacobian joint_wrenches center_of_mass
center_of_mass_jacobian subtree_centers_of_mass
"""
SERIES = ("inverse_dynamics_series", "body_pose_series", "body_motion_series", "jacobian_series")


def last_of_each_kind(model):
    p = all_parameters(model)
    return p[sorted({item.kind: k for k, item in enumerate(p.items)}.values())]


def at_complex(values):
    options = contours.OPTIONS
    return {key: y if key in options else np.asarray(y) + 0j for key, y in values.items()}


def assert_same_slopes(ours, exact, p, within):
    """Parameter by parameter, relative to the largest entry."""
    assert ours.shape == exact.shape
    least = 1e-2 * np.abs(exact).max(initial=1e-300)
    for k, item in enumerate(p.items):
        error = np.abs(ours[..., k] - exact[..., k]).max(initial=0)
        assert error < within * (least + np.abs(exact[..., k]).max(initial=0)), item


@pytest.mark.parametrize("name", OF_ONE_STATE.split())
def test_every_function_by_every_kind_of_parameter(name, case):
    model, function, h = sprung(case.name), getattr(analytic_oracle, name), 1j * oracle.STEP
    values, _ = arguments_of(name, model)
    p, x = last_of_each_kind(model), at_complex(values)
    got = as_tuple(jc.parameter_derivatives(getattr(jc, name), model, values, p))
    steps = [[y.imag / oracle.STEP for y in function(changed(model, i, h), x)] for i in p.items]
    for ours, exact in zip(got, zip(*steps, strict=True), strict=True):
        assert_same_slopes(ours, np.stack(exact, axis=-1), p, EXACT)


@pytest.mark.long
@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("robot", ["groups_in_mid_tree", "one_dof"])
def test_series_by_every_kind_of_parameter(name, robot):
    """A contour in the parameter, since there is one in time inside."""
    model, function = sprung(robot), getattr(analytic_oracle, name)
    values, _ = arguments_of(name, model)
    p, x = last_of_each_kind(model), at_complex(values)
    if not name.startswith("inverse"):
        p = p[[k for k, item in enumerate(p.items) if item.kind in ("placement", "axis", "pitch")]]
    points = contours.circle(contours.POINTS, contours.RADIUS)
    there = [[function(changed(model, item, h), x)[0] for h in points] for item in p.items]
    exact = np.stack([contours.coefficient(y, points, 1) for y in there], axis=-1)
    got = jc.parameter_derivatives(getattr(jc, name), model, values, p)
    assert_same_slopes(got, exact, p, 1e-10)


def test_forward_and_hybrid_series_by_those_of_inverse_ones(case):
    """The forces of the motion that they give, tau(p, a(p)), change with the given ones only."""
    model, p = case.model, last_of_each_kind(case.model)
    values, _ = arguments_of("hybrid_dynamics_series", model)
    values["tau"] = np.concatenate([values["tau"][:1], 0 * values["tau"][1:]])
    q, v, f_ext, mask = (values[key] for key in ("q", "v", "f_ext", "prescribed"))
    free = {key: x for key, x in values.items() if key not in ("a", "prescribed")}
    hybrid = jc.parameter_derivatives(jc.hybrid_dynamics_series, model, values, p)
    forward = jc.parameter_derivatives(jc.forward_dynamics_series, model, free, p)
    whole = jc.hybrid_dynamics_series(model, **values).a, jc.forward_dynamics_series(model, **free)
    forces = hybrid.tau, np.zeros_like(forward)
    for a, by_p, expected in zip(whole, (hybrid.a, forward), forces, strict=True):
        motion = np.concatenate([v[None], a])
        at = (q, motion, f_ext)
        d = jc.inverse_dynamics_series_derivatives(model, *at).dmotion[:, :, 1:]
        terms = np.einsum("kilj,ljp->kip", d, by_p)
        explicit = jc.parameter_derivatives(jc.inverse_dynamics_series, model, at, p)
        for order in range(3):
            size = np.abs(explicit[order]).max() + np.abs(terms[order]).max()
            error = np.abs(explicit[order] + terms[order] - expected[order]).max()
            assert error < 1e-11 * size, order
    assert not hybrid.a[:, mask].any()
    assert not hybrid.tau[:, ~mask].any()
