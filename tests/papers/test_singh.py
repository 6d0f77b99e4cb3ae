"""singh, item by item: inverse dynamics, its partials and the identities they rest on.

Against the core and the complex step; forward dynamics is in test_singh_forward.py.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from papers_cases import (
    STATES,
    STEP,
    as_printed,
    close,
    imaginary,
    in_q,
    in_v,
    moved,
    one_by_one,
    relative,
    samples,
    stepped,
    with_rotors,
)

import jounce as jc
from jounce.papers import singh
from jounce.papers.joints import apply

MODELS = ["aerial_manipulator", "mixed_tree", "all_joints", "groups_in_mid_tree"]


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


def test_RNEA_is_inverse_dynamics(name):
    """Eq. 2, and the twists and accelerations of eq. 8 to 11 behind it."""
    model = with_rotors(name)
    for q, v, a in samples(name):
        tau = jc.inverse_dynamics(model, q, v, a)
        close(singh.RNEA(model, q, v, a), tau)
        g = singh.first_pass(model, q, v, a)
        bodies = model.nodes.body >= 0
        gravity = np.append(np.zeros(3), -model.gravity)
        close(g.v[:-1][bodies], jc.body_twists(model, q, v, "spatial"))
        close(g.a[:-1][bodies] - gravity, jc.body_accelerations(model, q, v, a, "spatial"))


def test_torque_terms_are_inertial_coriolis_and_gravity_forces(name):
    """Eq. 12 to 14."""
    model = with_rotors(name)
    for q, v, a in samples(name):
        mass, coriolis, gravity = singh.torque_terms(singh.first_pass(model, q, v, a))
        g = jc.gravity_forces(model, q)
        close(mass + model.armature * a, jc.mass_matrix(model, q) @ a)
        close(coriolis, jc.bias_forces(model, q, v) - g)
        close(gravity, g)


def closed_forms(model, q, v, a):
    g = singh.first_pass(model, q, v, a)
    return singh.Partials(singh.torque_dq(g), singh.torque_dqd(g))


INVERSE = {"IDSVA": singh.IDSVA, "RNEACR": singh.RNEACR, "closed_forms": closed_forms}


@pytest.mark.parametrize("method", INVERSE)
def test_inverse_partials_are_the_derivative_of_inverse_dynamics(name, method):
    """Algorithm 1, Table II, eq. 30 to 32: the complex step through RNEA, and the core."""
    model = with_rotors(name)
    for (q, v, a), oracle in zip(samples(name), stepped(name, singh.RNEA), strict=True):
        ours = INVERSE[method](model, q, v, a)
        core = jc.inverse_dynamics_derivatives(model, q, v, a)
        for x, by_step in zip(ours, oracle, strict=True):
            close(x, by_step)
        for x, expected in zip(ours, (core.dq, core.dv), strict=True):
            close(x, expected)


def test_closed_forms_of_the_three_terms(name):
    """Eq. 25; 26 and 27; 29."""
    model = with_rotors(name)
    for q, v, a in samples(name):

        def terms(x, v=v, a=a):
            return np.stack(singh.torque_terms(singh.first_pass(model, x, v, a)), axis=-2)

        g, expected = singh.first_pass(model, q, v, a), in_q(model, q, terms)
        for closed_form, slope in zip(
            (singh.mass_dq, singh.coriolis_dq, singh.gravity_dq), expected, strict=True
        ):
            close(closed_form(g), slope)


@pytest.mark.parametrize("method", ["IDSVA", "RNEACR"])
def test_second_derivatives_in_the_rates_are_symmetric(name, method):
    """A complex step through the partials, which accept complex arrays too."""
    model = with_rotors(name)
    q, v, a = samples(name)[0]
    hessian = in_v(v, one_by_one(lambda x: getattr(singh, method)(model, q, x, a).dqd))
    close(hessian, np.swapaxes(hessian, 1, 2))


def test_partials_vanish_for_bodies_on_different_branches(name):
    model = with_rotors(name)
    for q, v, a in samples(name):
        g, ours = singh.first_pass(model, q, v, a), singh.IDSVA(model, q, v, a)
        for i, k in enumerate(g.joint):
            for j, other in enumerate(g.joint):
                if not (g.is_ancestor(i, j) or g.is_ancestor(j, i)):
                    assert not ours.dq[k, other].any()
                    assert not ours.dqd[k, other].any()


def test_operators_satisfy_properties_P1_to_P7():
    """Eq. 6, 7, 41 to 44; the operators are jounce's."""
    rng = np.random.default_rng(0)
    for v, m, f in rng.standard_normal((STATES, 3, 6)):
        close(singh.cross(v), jc.lie.ad(v), 0.0)
        close(singh.cross_dual(v), -jc.lie.ad(v).T, 0.0)
        close(singh.bar(f) @ v, singh.cross_dual(v) @ f)
        sides = singh.P(v, m, f)
        assert sorted(sides) == [f"P{k}" for k in range(1, 8)]
        for left, right in sides.values():
            close(left, right)


FIXED = np.random.default_rng(7).standard_normal(6)

# What is differentiated, in q or in the rates, and the right-hand side of the identity.
IDENTITIES = {
    "J1": ("q", lambda g, i: g.S[..., g.joint[i]], singh.J1),
    "J2": ("q", lambda g, i: singh.cross_dual(g.v[i]) @ FIXED, singh.J2),
    "J3": ("q", lambda g, i: FIXED @ g.S[..., g.joint[i]], singh.J3),
    "J4": ("q", lambda g, i: g.I[i] @ FIXED, singh.J4),
    "J5": ("q", lambda g, i: apply(g.I[i], g.v[i]), singh.J5),
    "J6": ("q", lambda g, i: g.xi[i], singh.J6),
    "J7": ("q", lambda g, i: g.gamma[i], singh.J7),
    "J8": ("qd", lambda g, i: g.v[i], singh.J8),
    "J9": ("qd", lambda g, i: g.xi[i], singh.J9),
}


@functools.cache
def passes(name, variable):
    """First passes at each state, and moved by an imaginary step in every direction."""
    model, out = with_rotors(name), []
    steps = 1j * STEP * np.eye(model.nv)
    for q, v, a in samples(name):
        state = (moved(model, q, steps), v) if variable == "q" else (q, v + steps)
        out.append((singh.first_pass(model, q, v, a), singh.first_pass(model, *state, a)))
    return out


@pytest.mark.parametrize("identity", IDENTITIES)
def test_identities_J1_to_J9_for_all_pairs_of_bodies(name, identity):
    variable, left, right = IDENTITIES[identity]
    fixed = (FIXED,) if identity in ("J2", "J3", "J4") else ()
    for g, later in passes(name, variable):
        for i in range(len(g.parent)):
            columns = imaginary(left(later, i))
            ours = [right(g, i, j, *fixed) for j in range(len(g.parent))]
            if identity != "J1":  # whose first axis is the direction already
                ours = [np.moveaxis(x, -1, 0) for x in ours]
            close(np.concatenate(ours), columns, floor=1.0)


class TestErrata:
    """What is printed fails by far where the corrected form agrees to rounding."""

    def test_gamma_collects_accelerations_not_rates(self):
        """Eq. 78 to 81: with qd instead of qdd the sum is the derivative of v, not of gamma."""
        model = with_rotors("all_joints")
        q, v, a = samples("all_joints")[0]
        g = singh.first_pass(model, q, v, a)
        i = len(g.parent) - 1
        left = in_q(model, q, lambda x: singh.first_pass(model, x, v, a).gamma[i])
        right = np.hstack([singh.J7(g, i, j) for j in range(len(g.parent))])
        rates = np.hstack([singh.J7(g._replace(gamma=g.v), i, j) for j in range(len(g.parent))])
        close(right, left)
        assert relative(rates, left) > 0.05

    def test_third_term_of_line_15_is_needed_for_single_dof_joints_too(self):
        """Sec. IV-D drops it; S_i^T f xbar* S_i vanishes but S_j^T f xbar* S_i does not."""
        model = jc.models.chain(5)
        rng = np.random.default_rng(0)
        q, (v, a) = jc.random_configuration(model, rng), rng.standard_normal((2, 5))
        oracle = in_q(model, q, lambda x: singh.RNEA(model, x, v, a))
        dropped = as_printed(singh.IDSVA, " + bar(f_C[i]) @ S_i", "")(model, q, v, a)
        close(singh.IDSVA(model, q, v, a).dq, oracle)
        close(np.tril(dropped.dq), np.tril(oracle))
        assert relative(dropped.dq, oracle) > 0.05

    @pytest.mark.parametrize("gravity", [(0, 0, 0), (0, 0, -9.81)])
    def test_psi_is_the_derivative_of_the_screw_for_single_dof_joints(self, gravity):
        """Sec. IV-D: Psidot = Sdot holds; Psiddot = Sddot holds only without gravity in a."""
        model = jc.models.chain(5).replace(gravity=gravity)
        rng = np.random.default_rng(0)
        q, (v, a) = jc.random_configuration(model, rng), rng.standard_normal((2, 5))
        g = singh.first_pass(model, q, v, a)
        later = singh.first_pass(model, q + 1j * STEP * v, v + 1j * STEP * a, a)
        Sdot, Sddot = imaginary(later.S), imaginary(later.Sdot)
        close(g.Psidot, Sdot)
        close(g.Psiddot - singh.cross(g.a[-1]) @ g.S, Sddot)
        assert (relative(g.Psiddot, Sddot) < 1e-11) == (not any(gravity))

    def test_psi_is_not_the_derivative_of_the_screw_for_multi_dof_joints(self):
        model = with_rotors("groups_in_mid_tree")
        q, v, a = samples("groups_in_mid_tree")[0]
        g = singh.first_pass(model, q, v, a)
        assert relative(g.Psidot, g.Sdot) > 0.05
