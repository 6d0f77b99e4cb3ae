"""Constrained dynamics against one dense system, and what laws it obeys."""

from __future__ import annotations

import constraints_oracle as oracle
import numpy as np
import partials_oracle
import pytest
from constraints_cases import (
    KINDS,
    ROBOTS,
    SETS,
    close,
    independent,
    kinds,
    robot,
    set_of,
    states,
)

import jounce as jc
from jounce.constraints.linearization import tangent_basis


@pytest.fixture(params=ROBOTS)
def model(request):
    return robot(request.param)


def conditioned(model, c, q):
    """Digits that the rows' inertia leaves."""
    return 12 - np.log10(np.linalg.cond(c.inverse_inertia(q)).max())


@pytest.mark.parametrize(("which", "name"), independent([*KINDS, *SETS]))
def test_accelerations_and_forces_solve_the_dense_system(which, name):
    model = robot(which)
    items, at = set_of(model, name), states(model)
    c = jc.Constraints(model, items)
    a, force = oracle.dynamics(model, items, at.q, at.v, at.tau, at.f_ext)
    found = jc.constrained_dynamics(model, at.q, at.v, at.tau, c, at.f_ext)
    digits = conditioned(model, c, at.q)
    close(found.a, a, digits)
    close(found.force, force, digits)
    one = jc.constrained_dynamics(model, at.q[0], at.v[0], at.tau[0], c, at.f_ext[0])
    close(one.a, a[0], digits)
    close(one.force, force[0], digits)


@pytest.mark.parametrize("name", [*KINDS, *SETS])
def test_the_operational_inertia_is_that_of_the_rows(model, name):
    at = states(model)
    c = jc.Constraints(model, set_of(model, name))
    J = c.jacobian(at.q)
    expected = J @ jc.inverse_mass_matrix(model, at.q) @ J.swapaxes(-1, -2)
    close(c.inverse_inertia(at.q), expected, 11)


EXACT = 10
"""Digits of derivatives; of impulses, unless rows depend on each other to within 1e-4."""
CASES = independent(SETS, count=1)
CASES += independent(KINDS, ("free_root", "groups_in_mid_tree"), count=1)
every_kind = pytest.mark.parametrize(("which", "name"), CASES)


def case(which, name):
    """A robot, constraints of independent rows and a state."""
    model = robot(which)
    items, at = set_of(model, name), states(model, count=1)
    return model, items, at, jc.Constraints(model, items)


@every_kind
def test_derivatives_against_complex_steps(which, name):
    model, items, at, c = case(which, name)
    d = jc.constrained_dynamics_derivatives(model, at.q, at.v, at.tau, c, at.f_ext)
    v, tau, f_ext = at.v[:, None], at.tau[:, None], at.f_ext[:, None]

    def solved(q, v=v, tau=tau):
        return np.concatenate(
            oracle.dynamics(model, items, q, v, tau, f_ext, bias=oracle.bias_of), -1
        )

    q = at.q[:, None].astype(complex)
    dq = partials_oracle.in_q(model, at.q, solved)
    dv = partials_oracle.in_x(at.v, lambda v: solved(q, v=v))
    dtau = partials_oracle.in_x(at.tau, lambda tau: solved(q, tau=tau))
    n = model.nv
    for found, expected in zip(
        d, [x[:, s] for s in (slice(n), slice(n, None)) for x in (dq, dv, dtau)], strict=True
    ):
        close(found, expected, EXACT)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_an_impulse_reverses_the_rows_and_loses_the_energy_it_must(model, name, e):
    at = states(model)
    c = jc.Constraints(model, set_of(model, name))
    hit = jc.impulse(model, at.q, at.v, c, e)
    before = c.velocity(at.q, at.v)
    digits = conditioned(model, c, at.q)
    close(c.velocity(at.q, hit.v), -e * before, digits)
    momentum = jc.mass_matrix(model, at.q) @ (hit.v - at.v)[..., None]
    pushed = c.jacobian(at.q).swapaxes(-1, -2) @ hit.impulse[..., None]
    close(momentum, pushed, digits)
    lost = jc.kinetic_energy(model, at.q, at.v) - jc.kinetic_energy(model, at.q, hit.v)
    solved = np.linalg.solve(c.inverse_inertia(at.q), before[..., None])[..., 0]
    close(lost, 0.5 * (1 - e**2) * (before * solved).sum(-1), digits)
    if e == 0:
        close(jc.project_velocity(model, at.q, at.v, c), hit.v, 15)


@every_kind
def test_derivatives_of_impulses_against_complex_steps(which, name):
    (model, items, at, c), e = case(which, name), 0.3
    d = jc.impulse_derivatives(model, at.q, at.v, c, e)
    n = model.nv

    def hit(q, v=at.v[:, None]):
        return np.concatenate(oracle.jump(model, items, q, v, e), -1)

    q = at.q[:, None].astype(complex)
    dq = partials_oracle.in_q(model, at.q, hit)
    dv = partials_oracle.in_x(at.v, lambda v: hit(q, v))
    for found, expected in zip(d, (dq[:, :n], dv[:, :n], dq[:, n:], dv[:, n:]), strict=True):
        close(found, expected, min(EXACT, conditioned(model, c, at.q) + 2))


PROJECTED = ("weld", "hinge", "point of two", "distance", "cam", "cylinder")


@pytest.mark.parametrize(("which", "name"), independent(PROJECTED, count=1))
def test_projection_leads_back_by_the_shortest_way(which, name):
    model = robot(which)
    at = states(model, count=1)
    q, c = at.q[0], jc.Constraints(model, set_of(model, name))
    if name == "cam":
        c = jc.Constraints(model, [jc.Coupling(dict(c.items[0].coefficients), None)])
    held, start = c.at(q), jc.integrate(model, q, 0.02 * at.v[0])
    found = jc.project(model, start, held)
    close(held.residual(found), 0.0, 12, 1.0)
    # of what is left to the constraints, nothing was moved in the norm of M: to first order
    moved = jc.difference(model, start, found)
    J, M = held.jacobian(found), jc.mass_matrix(model, found)
    left = np.eye(model.nv) - np.linalg.pinv(J) @ J
    assert np.abs(left @ M @ moved).max() < 0.1 * np.abs(M @ moved).max()
    assert np.array_equal(jc.project(model, found[None], held)[0], jc.project(model, found, held))


def test_rows_that_depend_on_each_other_share_the_force(model):
    """Twice the same weld: the same motion, and half the force for each."""
    at = states(model)
    q, tau, v = at.q, at.tau, at.v
    once = jc.Constraints(model, [jc.Weld("tool")])
    twice = jc.Constraints(model, [jc.Weld("tool"), jc.Weld("tool")])
    rank = once.rank(q)
    assert np.array_equal(twice.rank(q), rank)
    v = jc.project_velocity(model, q, v, once)
    one, two = (jc.constrained_dynamics(model, q, v, tau, c) for c in (once, twice))
    digits = 6 if (rank < 6).any() else conditioned(model, once, q)
    close(two.a, one.a, digits)
    close(two.force[:, :6], one.force / 2, digits)
    close(two.force[:, 6:], one.force / 2, digits)


@pytest.mark.parametrize("agree", [True, False], ids=["agree", "contradict"])
@pytest.mark.parametrize("hits", [False, True], ids=["dynamics", "impulses"])
@pytest.mark.parametrize("which", [which for which, _ in independent(["weld"], count=1)])
def test_derivatives_where_rows_depend_on_each_other(which, hits, agree):
    """A weld, and the point that it holds already: complex steps of the least-norm force."""
    model = robot(which)
    at = states(model, count=1)
    w = np.zeros((2, 9)) if agree else np.r_["-1", np.zeros((2, 6)), at.rng.normal(size=(2, 3))]
    items = [jc.Weld("tool"), jc.Point("tool", motion=w[:, 6:])]
    c = jc.Constraints(model, items)
    assert c.rank(at.q) == 6
    rates = jc.project_velocity(model, at.q, at.v, c) if agree and not hits else at.v
    v, tau, e, n = rates[:, None], at.tau[:, None], 0.3, model.nv

    def found(q, v=v, tau=tau):
        if hits:
            return np.concatenate(oracle.jump(model, items, q, v, e, range(6), w[0]), -1)
        given = model, items, q, v, tau, None, oracle.bias_of, w[1]
        return np.concatenate(oracle.dynamics(*given, chosen=range(6)), -1)

    q = at.q[:, None].astype(complex)
    by = [partials_oracle.in_q(model, at.q, found)]
    by.append(partials_oracle.in_x(rates, lambda v: found(q, v=v)))
    if hits:
        d = jc.impulse_derivatives(model, at.q, at.v, c, e)
    else:
        d = jc.constrained_dynamics_derivatives(model, at.q, rates, at.tau, c)
        by.append(partials_oracle.in_x(at.tau, lambda tau: found(q, tau=tau)))
    expected = [x[:, some] for some in (slice(n), slice(n, None)) for x in by]
    for mine, theirs in zip(d, expected, strict=True):
        close(mine, theirs, EXACT)


def test_inverse_dynamics_under_constraints_gives_the_motion_back(model):
    at = states(model)
    c = jc.Constraints(model, [jc.Point("tool")])
    at.v = jc.project_velocity(model, at.q, at.v, c)
    a = jc.constrained_dynamics(model, at.q, at.v, at.tau, c, at.f_ext).a
    all_driven = np.ones(model.nv, bool)
    found = jc.constrained_inverse_dynamics(model, at.q, at.v, a, c, at.f_ext, actuated=all_driven)
    again = jc.constrained_dynamics(model, at.q, at.v, found.tau, c, at.f_ext)
    close(again.a, a, 9)
    close(again.force, found.force, 9)
    J = c.jacobian(at.q)
    close((J @ found.tau[..., None])[..., 0], 0.0, 9, np.abs(J).max() * np.abs(found.tau).max())
    assert (
        np.linalg.norm(found.tau, axis=-1) <= np.linalg.norm(at.tau, axis=-1) * (1 + 1e-9)
    ).all()


def test_a_motion_that_nothing_drives_is_refused(model):
    at = states(model, count=1)
    c = jc.Constraints(model, [jc.Point("tool")], tolerance=np.inf)
    with pytest.raises(jc.ArgumentError, match="no actuation gives this motion"):
        jc.constrained_inverse_dynamics(
            model, at.q[0], at.v[0], at.a[0], c, actuated=np.zeros(model.nv, bool)
        )


def test_rheonomic_rows_get_the_acceleration_they_shall_have(model):
    at = states(model, count=1)
    q, v, w = at.q[0], at.v[0], at.rng.standard_normal((3, 3))
    c = jc.Constraints(model, [jc.Point("tool", motion=w)])
    a = jc.constrained_dynamics(model, q, v, at.tau[0], c).a
    close(c.acceleration(q, v, a), w[1], 10)
    close(c.velocity(q, jc.project_velocity(model, q, v, c)), w[0], 10)


@pytest.mark.parametrize("name", SETS)
def test_the_linearization_stays_on_the_manifold(model, name):
    """Its tangent vectors, moved by the constrained motion, are tangent to it again."""
    at = states(model, count=1)
    c = jc.Constraints(model, set_of(model, name), tolerance=np.inf)
    q, tau = at.q[0], at.tau[0]
    v = jc.project_velocity(model, q, at.v[0], c)
    lin = jc.linearize(model, q, v, tau, constraints=c)
    n, holonomic = model.nv, int(c.holonomic.sum())
    k = 2 * n - 2 * holonomic - (c.size - holonomic)
    assert lin.Z.shape == (2 * n, k)
    assert lin.A_min.shape == (k, k)
    close(lin.Z.T @ lin.Z, np.eye(k), 13)
    close(lin.A_min, lin.Z.T @ lin.A @ lin.Z, 12)
    # d/dt of a tangent vector, A z, is z' plus a tangent vector: C z = 0 gives C' z + C A z = 0
    h, a = 1e-3, jc.constrained_dynamics(model, q, v, tau, c).a

    def projector(s):
        Z = tangent_basis(c, jc.integrate(model, q, s * v), v + s * a)
        return Z @ Z.T

    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    rate = sum(x * (projector(k * h) - projector(-k * h)) for k, x in weights.items()) / h
    # Z Z^T = P, P Z = Z: P' Z is the part of Z' outside of the tangent space
    outside = (np.eye(2 * n) - lin.Z @ lin.Z.T) @ (lin.A @ lin.Z - rate @ lin.Z)
    close(outside, 0.0, 9, np.abs(lin.A @ lin.Z).max())


def test_no_constraints_leave_the_dynamics_as_they_are(model):
    at = states(model)
    c = jc.Constraints(model, [])
    found = jc.constrained_dynamics(model, at.q, at.v, at.tau, c, at.f_ext)
    assert np.array_equal(found.a, jc.forward_dynamics(model, at.q, at.v, at.tau, at.f_ext))
    assert found.force.shape == (*at.q.shape[:-1], 0)
    assert np.array_equal(jc.impulse(model, at.q, at.v, c).v, at.v)
    d = jc.constrained_dynamics_derivatives(model, at.q, at.v, at.tau, c)
    assert d.force_dq.shape == (*at.q.shape[:-1], 0, model.nv)
    assert jc.impulse_derivatives(model, at.q, at.v, c).v_dv.shape == d.a_dv.shape


def test_more_rows_than_rates_hold_the_robot_still():
    arm = jc.models.chain(4)
    q = jc.random_configuration(arm, 0)
    c = jc.Constraints(arm, [jc.Weld(f"body{k}") for k in range(4)])
    assert c.size == 24
    assert c.rank(q) == 4
    found = jc.constrained_dynamics(arm, q, np.zeros(4), np.ones(4), c)
    close(found.a, 0.0, 10, 1.0)
    assert np.isfinite(found.force).all()


def test_batches_broadcast_write_to_out_and_run_on_threads(model):
    at = states(model, count=37)
    c = jc.Constraints(model, set_of(model, "points"))
    args = (at.q[:, None], at.v[:2], at.tau[0], c)
    found = jc.constrained_dynamics(model, *args)
    assert found.a.shape == (37, 2, model.nv)
    out = tuple(np.empty_like(x) for x in found)
    given = jc.constrained_dynamics(model, *args, out=out, threads=2)
    assert given.a is out[0]
    assert given.force is out[1]
    assert np.array_equal(given.a, found.a)
    assert np.array_equal(given.force, found.force)
    digits = conditioned(model, c, at.q)
    one = jc.constrained_dynamics(model, at.q[3], at.v[1], at.tau[0], c)
    close(found.a[3, 1], one.a, digits)
    empty = jc.constrained_dynamics(model, at.q[:0], at.v[:0], at.tau[:0], c)
    assert empty.a.shape == (0, model.nv)
    assert empty.force.shape == (0, c.size)


def test_constraints_follow_a_model_with_other_inertias(model):
    at = states(model, count=1)
    c = jc.Constraints(model, [kinds(model)["weld"]])
    heavy = model.replace(inertias=2 * model.inertias, armature=2 * model.armature)
    found = jc.constrained_dynamics(heavy, at.q[0], at.v[0], 2 * at.tau[0], c)
    expected = jc.constrained_dynamics(model, at.q[0], at.v[0], at.tau[0], c)
    digits = min(9, conditioned(model, c, at.q))
    close(found.a, expected.a, digits)
    close(found.force, 2 * expected.force, digits)
