"""`jounce.papers.mueller` against the compiled core, in the four representations.

What the core does not compute has an exact oracle in test_mueller_derivatives.py; one rigid body,
momenta and integration are in test_mueller_body.py, misprints in test_mueller_errata.py.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from mueller_cases import ONE_DOF_MODELS, every_model, every_twist, stand_in, states
from papers_cases import close, robot

import jounce as jc
from jounce import lie
from jounce.model.joints import ELEMENTARY
from jounce.papers import mueller

# Appendix A: configurations, screws, Jacobians, twists


@every_model
def test_configurations_are_those_of_the_core(name):
    for model, q, *_ in states(name):
        poses = jc.body_poses(model, q)
        nodes = mueller.nodes_of_bodies(model)
        close(mueller.configurations(model, q)[nodes], poses)
        close(mueller.configurations_poe(model, q)[nodes], poses)
        C, parent = mueller.configurations(model, q), model.nodes.parent
        relative = mueller.relative_configurations(model, q)
        inner = parent >= 0
        close(C[parent[inner]] @ relative[inner], C[inner])


@every_model
def test_joint_screws_are_one_screw_in_three_frames(name):
    model = robot(name)
    X, Y, Z = (mueller.joint_screws(model, f) for f in ("body", "reference", "joint"))
    node = mueller.column_nodes(model)
    S_parent, S_body = mueller.joint_frames(model)
    close(S_parent @ lie.inverse(S_body), model.nodes.placement)
    A = mueller.reference_configurations(model)
    close(A, mueller.configurations(model, jc.neutral(model)))
    for k in range(model.nv):
        close(lie.Ad(A[node[k]]) @ X[:, k], Y[:, k])
        close(lie.Ad(S_body[node[k]]) @ Z[:, k], X[:, k])
        if ELEMENTARY[model.nodes.kind[node[k]]] in ("revolute", "prismatic", "helical"):
            assert np.abs(Z[[0, 1, 3, 4], k]).max() < 1e-14  # about and along the joint's z axis


@every_twist
@every_model
def test_jacobians_and_twists(name, twist):
    for model, q, v, *_ in states(name):
        nodes = mueller.nodes_of_bodies(model)
        J = mueller.system_jacobian(model, q, twist)
        for body, node in enumerate(nodes):
            close(J[node], jc.jacobian(model, q, body, twist))
        body = model.n_bodies - 1
        close(mueller.jacobian(model, q, body, twist), J[nodes[body]], 0.0)
        twists = jc.body_twists(model, q, v, twist)
        close(mueller.system_twist(model, q, v, twist)[nodes], twists)
        C = mueller.configurations(model, q)
        T = mueller.representation(C, twist)
        close(mueller.apply(T, mueller.system_twist(model, q, v))[nodes], twists)
        close(T, jc.twists.matrix(C, "body", twist))


@every_model
def test_screws_are_columns_of_the_cores_jacobians(name):
    """Spatial screws move every body alike; hybrid ones are those of the joint's own body."""
    for model, q, *_ in states(name):
        C, columns = mueller.configurations(model, q), mueller.column_nodes(model)
        spatial, own = mueller.spatial_screws(model, C), mueller.instantaneous_screws(model, C)
        for body, node in enumerate(mueller.nodes_of_bodies(model)):
            inward = mueller.is_inward(model)[node, columns]
            close(spatial * inward, jc.jacobian(model, q, body, "spatial"))
            of_node = columns == node
            close(own[:, of_node], jc.jacobian(model, q, body, "hybrid")[:, of_node])


@every_model
def test_system_jacobian_factors_into_triangular_and_diagonal_blocks(name):
    for model, q, *_ in states(name):
        C = mueller.configurations(model, q)
        X, Y = mueller.joint_screws(model), mueller.joint_screws(model, "reference")
        factors = [
            ("body", "body", X),
            ("spatial", "body", X),
            ("spatial", "reference", Y),
            ("hybrid", "body", mueller.instantaneous_screws(model, C)),
        ]
        for twist, screws, columns in factors:
            A = mueller.matrix_A(model, q, twist, screws)
            J = mueller.system_jacobian(model, q, twist)
            close(A @ mueller.matrix_X(model, columns), J.reshape(-1, model.nv))
            blocks = np.abs(A).reshape(len(C), 6, len(C), 6).max(axis=(1, 3))
            assert not np.triu(blocks, 1).any()
            assert ((blocks > 0) == mueller.is_inward(model)).all()
        D = mueller.matrix_D(model, q)
        close(mueller.matrix_A(model, q) @ (np.eye(len(D)) - D), np.eye(len(D)))
        L = mueller.matrix_L(model)
        J = mueller.system_jacobian(model, q, "spatial").reshape(-1, model.nv)
        close(L @ mueller.matrix_X(model, mueller.spatial_screws(model, C)), J)


# Section 2: time derivatives that the core computes too


@every_twist
@every_model
def test_jacobian_rates(name, twist):
    for model, q, v, *_ in states(name):
        rate = mueller.system_jacobian_rate(model, q, v, twist)
        bodies = range(model.n_bodies)
        expected = [jc.jacobian_rate(model, q, v, body, twist) for body in bodies]
        close(rate[mueller.nodes_of_bodies(model)], expected)
        if twist == "body":
            factored = mueller.system_jacobian_rate_factored(model, q, v)
            close(factored, rate.reshape(-1, model.nv))
            joint_twists = mueller.matrix_X(model, mueller.joint_screws(model)) @ v
            close(mueller.matrix_a(model, v), mueller.matrix_b(joint_twists.reshape(-1, 6)), 0.0)


@every_twist
@every_model
def test_accelerations_in_closed_form(name, twist):
    for model, q, v, a, *_ in states(name):
        nodes = mueller.nodes_of_bodies(model)
        expected = jc.body_accelerations(model, q, v, a, twist)
        close(mueller.accelerations(model, q, v, a, twist)[nodes], expected)
        if twist in ("body", "spatial"):
            close(mueller.accelerations_factored(model, q, v, a, twist)[nodes], expected)
        if twist == "hybrid":
            brackets = mueller.hybrid_accelerations_brackets(model, q, v, a)
            close(brackets[nodes], expected)


@pytest.mark.parametrize("twist", ["body", "spatial"])
@every_model
def test_inverse_kinematics_recovers_rates_and_accelerations(name, twist):
    for model, q, v, a, *_ in states(name):
        V = mueller.system_twist(model, q, v, twist)
        dV = mueller.accelerations(model, q, v, a, twist)
        found = mueller.inverse_kinematics(model, q, V, dV, twist)
        close(found[0], v)
        close(found[1], a)


# Section 4: recursions


@pytest.mark.parametrize(
    ("twist", "form"),
    [*itertools.product(("body", "hybrid"), "abc"), ("spatial", "a"), ("mixed", "a")],
)
@every_model
def test_forward_recursions(name, twist, form):
    for model, q, v, a, *_ in states(name):
        nodes = mueller.nodes_of_bodies(model)
        motion = mueller.forward_kinematics(model, q, v, a, twist, form)
        close(motion.C[nodes], jc.body_poses(model, q))
        close(motion.V[nodes], jc.body_twists(model, q, v, twist))
        close(motion.V_dot[nodes], jc.body_accelerations(model, q, v, a, twist))


@every_twist
@every_model
def test_recursive_inverse_dynamics(name, twist):
    for model, q, v, a, _, f_ext in states(name):
        expected = jc.inverse_dynamics(model, q, v, a, f_ext)
        close(mueller.inverse_dynamics(model, q, v, a, f_ext, twist), expected)
        bias = mueller.inverse_dynamics(model, q, v, 0 * a, None, twist)
        close(bias, jc.bias_forces(model, q, v))


@every_twist
@every_model
def test_frames_of_the_construction_drawing_give_the_same_forces(name, twist):
    for model, q, v, a, *_ in states(name):
        drawn = stand_in(model, **mueller.construction_frame_nodes(model)._asdict())
        expected = jc.inverse_dynamics(model, q, v, a)
        close(mueller.inverse_dynamics(drawn, q, v, a, None, twist), expected)
        spatial = mueller.system_twist(drawn, q, v, "spatial")
        close(spatial, mueller.system_twist(model, q, v, "spatial"))


def test_operation_counts_of_a_chain_are_those_of_the_paper():
    n = 7
    model = jc.models.chain(n)
    counts = {t: mueller.operation_counts(model, t) for t in ("body", "spatial", "hybrid")}
    assert counts["body"] == (3 * (n - 1), 0, 0, 0, 2 * n - 1)
    assert counts["spatial"] == (n, 0, 0, n, 2 * n - 1)
    assert counts["hybrid"] == (0, 3 * n - 3, n, n, 3 * n - 1)


@pytest.mark.parametrize("twist", ["body", "spatial"])
@every_model
def test_brackets_taken_are_the_brackets_counted(name, twist, monkeypatch):
    model, q, v, a, *_ = next(states(name))
    count, ad = [], lie.ad

    def counting(x):
        count.append(np.prod(np.shape(x)[:-1], dtype=int))
        return ad(x)

    monkeypatch.setattr(lie, "ad", counting)
    mueller.inverse_dynamics(model, q, v, a, None, twist)
    assert sum(count) == mueller.operation_counts(model, twist).brackets


# Section 5: closed forms


@every_twist
@every_model
def test_euler_jourdain_equations(name, twist):
    for model, q, v, a, _, f_ext in states(name):
        expected = jc.inverse_dynamics(model, q, v, a, f_ext)
        close(mueller.euler_jourdain(model, q, v, a, f_ext, twist), expected)
        C, J = mueller.configurations(model, q), mueller.system_jacobian(model, q, twist)
        W = mueller.applied_wrenches(model, C, f_ext, twist)
        close(-np.einsum("nak,na->k", J, W), jc.bias_forces(model, q, 0 * v, f_ext))


@every_model
def test_mass_matrix_coriolis_matrix_and_motion_equations(name):
    for model, q, v, a, _, f_ext in states(name):
        for twist in ("body", "spatial", "hybrid"):
            close(mueller.mass_matrix(model, q, twist), jc.mass_matrix(model, q))
        quadratic = jc.bias_forces(model, q, v) - jc.gravity_forces(model, q)
        C = mueller.coriolis_matrix(model, q, v)
        close(C @ v, quadratic)
        close(mueller.coriolis_matrix_long(model, q, v), C)
        V = mueller.system_twist(model, q, v)
        b = mueller.matrix_b(V) @ V.ravel()
        close(b, np.zeros_like(b), floor=np.abs(V).max() ** 2)  # ad_V V = 0
        expected = jc.inverse_dynamics(model, q, v, a, f_ext)
        close(mueller.motion_equations(model, q, v, a, f_ext), expected)


@every_model
def test_energy_and_conjugate_momentum(name):
    for model, q, v, *_ in states(name):
        close(mueller.kinetic_energy(model, q, v), jc.kinetic_energy(model, q, v))
        close(mueller.conjugate_momentum(model, q, v), jc.mass_matrix(model, q) @ v)


@pytest.mark.parametrize("name", ONE_DOF_MODELS)
def test_lagrange_equations(name):
    for model, q, v, a, *_ in states(name):
        expected = jc.inverse_dynamics(model, q, v, a) - jc.gravity_forces(model, q)
        close(mueller.lagrange_equations(model, q, v, a), expected)


@every_model
def test_spatial_momenta_and_momentum_balance(name):
    for model, q, v, a, _, f_ext in states(name):
        close(mueller.spatial_momenta(model, q, v).sum(axis=0), jc.momentum(model, q, v))
        expected = jc.inverse_dynamics(model, q, v, a, f_ext)
        close(mueller.momentum_balance(model, q, v, a, f_ext), expected)


@every_model
def test_phase_space_rates_are_forward_dynamics(name):
    for model, q, v, a, _, f_ext in states(name):
        tau = jc.inverse_dynamics(model, q, v, a, f_ext)
        Pi = mueller.spatial_momenta(model, q, v)
        rates = mueller.phase_rates(model, q, Pi, tau, f_ext)
        close(rates.v, v)
        close(rates.a, jc.forward_dynamics(model, q, v, tau, f_ext))
        close(rates.Pi_dot, mueller.momentum_rates(model, q, v, a))


def test_wrong_names_are_refused():
    model, q, v, a, *_ = next(states("chain"))
    with pytest.raises(ValueError, match="twist must be one of body, spatial, hybrid, mixed"):
        mueller.system_jacobian(model, q, "world")
    with pytest.raises(ValueError, match="form must be"):
        mueller.forward_kinematics(model, q, v, a, form="d")
    with pytest.raises(ValueError, match="frame must be"):
        mueller.joint_screws(model, "world")
    with pytest.raises(ValueError, match="order must not be negative"):
        mueller.jacobian_derivatives(model, q, 0, -1)
