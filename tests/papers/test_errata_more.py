"""Further sentences and formulas of the papers that do not hold as they stand, and what does."""

from __future__ import annotations

import sys
from math import comb
from pathlib import Path

import numpy as np
import pytest
from papers_cases import STEP, relative

import jounce as jc
from jounce import lie, twists
from jounce.papers import ali, bos, kim, mueller, singh

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from bench import counting  # noqa: E402

ROUNDING = 1e-12


def state(model, order=0, seed=0):
    rng = np.random.default_rng(seed)
    return jc.random_configuration(model, rng), rng.standard_normal((order + 2, model.nv))


def test_erratum_mueller_79_is_no_system_of_differential_equations():
    """Of 54 derivatives for 7 bodies, the equations determine 24: the rest are constraints."""
    model = jc.models.aerial_manipulator()
    q, (v, a) = state(model)
    J = mueller.system_jacobian(model, q, "spatial").reshape(-1, model.nv)  # (42, 12)
    C = mueller.configurations(model, q)
    M = mueller.spatial_inertia(mueller.inertia_matrices(model), C)
    MJ = np.concatenate([M[i] @ J[6 * i : 6 * i + 6] for i in range(7)])
    n, momenta = model.nv, len(J)
    system = np.zeros((n + momenta, n + momenta))  # of (79), by (dq/dt, dPi/dt)
    system[:n, n:], system[n:, :n] = J.T, MJ
    assert system.shape == (54, 54)
    assert np.linalg.matrix_rank(system) == 24
    # with the second line differentiated in time it is one: (q, Pi) with the accelerations
    tau = mueller.momentum_balance(model, q, v, a)
    np.testing.assert_allclose(tau, jc.inverse_dynamics(model, q, v, a), rtol=1e-11, atol=1e-11)
    Pi = mueller.spatial_momenta(model, q, v)
    found = mueller.phase_rates(model, q, Pi, tau)
    np.testing.assert_allclose(found.v, v, atol=1e-10)
    np.testing.assert_allclose(found.a, a, atol=1e-9)


def in_frame(model, q, v, a, body, pose, rates):
    """Newton-Euler of a body in a frame with that pose and body-fixed twist, eq. 60 corrected."""
    C = mueller.configurations(model, q)
    V_s = mueller.system_twist(model, q, v, "spatial")[body]
    dV_s = mueller.accelerations(model, q, v, a, "spatial")[body]
    M_s = mueller.spatial_inertia(mueller.inertia_matrices(model), C)[body]
    Ad, back = lie.Ad(pose), lie.Ad(lie.inverse(pose))
    V = back @ V_s
    dV = back @ dV_s - lie.ad(rates) @ V
    M = Ad.T @ M_s @ Ad
    return V, dV, M, mueller.newton_euler_in_frame(M, V, dV, rates)


def test_erratum_mueller_after_61_and_64_the_spatial_form_is_not_i_equal_j():
    """i = j is body-fixed, j = 0 spatial; i = j = k body-fixed, j = k = 0 spatial."""
    model = jc.models.chain(4)
    q, (v, a) = state(model)
    body = 3
    C = mueller.configurations(model, q)[body]
    own = mueller.system_twist(model, q, v, "body")[body]
    W_b = mueller.newton_euler_body(
        mueller.inertia_matrices(model)[body], own,
        mueller.accelerations(model, q, v, a, "body")[body],
    )  # fmt: skip
    W_s = twists.convert_wrench(W_b, C, "body", "spatial")
    *_, at_body = in_frame(model, q, v, a, body, C, own)
    V, dV, M, at_world = in_frame(model, q, v, a, body, np.eye(4), np.zeros(6))
    assert relative(at_body, W_b) < ROUNDING
    assert relative(at_world, W_s) < ROUNDING
    assert relative(at_body, W_s) > 0.1, "i = j does not give the spatial form"
    zero = np.zeros(3)
    resolved = mueller.newton_euler_resolved(M, V, dV, np.zeros(6), zero)  # j = k = 0
    assert relative(resolved, W_s) < ROUNDING
    V, dV, M, _ = in_frame(model, q, v, a, body, C, own)
    same = mueller.newton_euler_resolved(M, V, dV, own, own[:3])  # i = j = k
    assert relative(same, W_b) < ROUNDING


def test_erratum_mueller_before_60_the_bracket_is_with_the_twist_of_the_frame():
    """Ad_Cj jdV_i + ad(V_i) V_i lacks the turning of the frame: ad(V_i) V_i is zero."""
    model = jc.models.chain(4)
    q, (v, a) = state(model)
    body, frame = 3, 1
    C = mueller.configurations(model, q)
    V_s = mueller.system_twist(model, q, v, "spatial")
    dV_s = mueller.accelerations(model, q, v, a, "spatial")[body]

    def components(q, v):
        back = lie.Ad(lie.inverse(mueller.configurations(model, q)[frame]))
        return back @ mueller.system_twist(model, q, v, "spatial")[body]

    dV = components(q + 1j * STEP * v, v + 1j * STEP * a).imag / STEP
    carried = lie.Ad(C[frame]) @ dV
    printed = carried + lie.ad(V_s[body]) @ V_s[body]
    corrected = carried + lie.ad(V_s[frame]) @ V_s[body]
    assert relative(printed, dV_s) > 0.1
    assert relative(corrected, dV_s) < ROUNDING


def test_erratum_kim_63_does_not_hold_for_geometric_parameters():
    """dh_i/dp = 0 for p outside q_i is true of other coordinates, not of a placement."""
    model = jc.models.mixed_tree()
    q, (v, a) = state(model)
    links, body = kim.system(model), 4
    placement = np.zeros((len(model.nodes.parent), 6))
    placement[body] = np.random.default_rng(1).standard_normal(6)
    p = kim.parameter(model, placement=placement)
    pose = kim.joint(links, body, q, v).T
    moved = model.nodes.placement[body] @ lie.exp(1j * STEP * placement[body])
    later = moved @ lie.inverse(model.nodes.placement[body]) @ pose
    exact = lie.vee(lie.inverse(pose) @ (later.imag / STEP))  # eq. 61
    assert np.linalg.norm(exact) > 0.1, "eq. 63 says zero"
    assert relative(kim.joint_sensitivity(links, body, q, v, p).dh, exact) < ROUNDING
    found = kim.inverse_dynamics_sensitivity(model, q, v, a, p)
    assert np.abs(found).max() > 0.1, "with eq. 63 the placement would not matter"


@pytest.mark.parametrize("order", [0, 1, 2])
def test_erratum_ali_algorithm_4_needs_wrenches_that_it_does_not_compute(order):
    """Q_j takes (W_j)^(k), which is M^A_j V_j^(k+1) + W^A_{j,k}, not the bias wrench alone."""
    model = jc.models.aerial_manipulator()
    q, motion = state(model, order)
    C_1, V_1, joints, _ = ali.from_jounce(model, q, motion)
    given = ali.inverse_dynamics(model, C_1, V_1, joints)
    J_q = np.ones(6, bool)
    x = ali.hybrid_dynamics(
        model, C_1, V_1[0], joints[:2], J_q, joints[2:], 0 * given.tau, given.W_prop
    )
    S = ali.forward_kinematics(ali.initialize(model), C_1, V_1, joints)[1]

    def forces(wrenches):
        rows = [
            sum(comb(order, k) * S[order - k][j] @ wrenches[k][j] for k in range(order + 1))
            for j in range(1, 7)
        ]
        return np.array(rows)

    full = [np.einsum("nab,nb->na", x.M_A, x.V[k]) + x.W_A[k] for k in range(order + 1)]
    assert relative(forces(full), given.tau[order]) < 1e-10
    assert relative(forces(x.W_A), given.tau[order]) > 0.02


def test_erratum_ali_equation_9_one_symbol_for_two_forces():
    """Alg. 4 calls the given force and the convective term of eq. 9 by one name.

    With the given force in the place of the convective term the accelerations are those of no force
    at all at order 0.
    """
    model = jc.models.aerial_manipulator()
    q, (v, _) = state(model)
    tau = np.random.default_rng(3).standard_normal(model.nv)
    right = jc.forward_dynamics(model, q, v, tau)
    joints_without = np.concatenate([tau[:6], np.zeros(6)])  # tau_i - tau_bar_i with both equal
    read_literally = jc.forward_dynamics(model, q, v, joints_without)
    assert relative(read_literally, right) > 0.1
    C_1, V_1, joints, _ = ali.from_jounce(model, q, np.stack([v, v]))
    W = lie.Ad(lie.inverse(C_1)).T @ np.linalg.solve(model.nodes.screws[:, :6].T, tau[:6])
    x = ali.hybrid_dynamics(
        model, C_1, V_1[0], joints[:2], np.zeros(6, bool), np.zeros((1, 6)), tau[None, 6:], W[None]
    )
    V = np.vstack([V_1[:1], x.V_1])
    assert relative(ali.accelerations_to_jounce(model, C_1, V, x.q)[0], right) < 1e-9


def test_erratum_singh_conclusions_claim_for_forward_what_holds_for_inverse_dynamics():
    """1.4 for the partials of inverse dynamics is less for those of forward dynamics.

    Forward partials need those of inverse dynamics and products with the inverse mass matrix,
    which the new algorithm does not touch. The arithmetic on a humanoid bounds what remains.
    """
    model = jc.models.humanoid()
    q, (v, a) = state(model)
    tau = jc.inverse_dynamics(model, q, v, a)

    def operations(function, *arguments):
        found = counting.count(function, *arguments)
        return found.multiplications + found.additions

    inverse = operations(singh.IDSVA, model, q, v, a)
    forward = operations(singh.FDSVA, model, q, v, tau, "DMM")
    gain = (1.4 * inverse + (forward - inverse)) / forward
    assert 1.0 < gain < 1.2


def test_erratum_bos_3_1_the_set_of_16_is_a_group_by_the_operation_of_17():
    """The text calls (17), which is the operation, the state manifold; that is (16).

    With (17) the axioms hold, and the adjoint of the algebra is that of bos's eq. 27.
    """
    rng = np.random.default_rng(0)
    g, h, k = ((lie.exp(rng.standard_normal(6)), rng.standard_normal(18)) for _ in range(3))

    def times(x, y):
        return x[0] @ y[0], x[1] + y[1]

    for x, y in zip(times(times(g, h), k), times(g, times(h, k)), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-14)
    one = times(g, (lie.inverse(g[0]), -g[1]))
    np.testing.assert_allclose(one[0], np.eye(4), atol=1e-14)
    assert not one[1].any()
    model = jc.models.mixed_tree()
    q, (v, _) = state(model)
    at = bos.state_of(model, q, v)
    ad = bos.ad_lambda(at)
    n = 6 + len(at.s)
    expected = np.zeros((2 * n, 2 * n))
    expected[:6, :6] = bos.cross(at.v)  # the only factor that does not commute
    np.testing.assert_allclose(ad, expected, atol=1e-15)
