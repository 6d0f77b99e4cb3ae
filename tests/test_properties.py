"""Laws that hold for every robot, checked on random trees with every joint type.

Tolerances are multiples of the machine epsilon times the magnitudes that enter: a residual
``M a - tau`` cannot be smaller than ``eps |M| |a|``, whatever the condition of M.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jounce as jc
from jounce import inertia, lie
from jounce.model import Model
from jounce.model.joints import JOINT_TYPES

EPS = np.finfo(float).eps
SLACK = 64
"""Rounding errors that may add up per body, in units of eps times the magnitude."""
TWISTS = ("body", "spatial", "hybrid", "mixed")

quick = settings(max_examples=30)
seeds = st.integers(0, 10**6)


@functools.lru_cache(maxsize=64)
def random_model(n: int, seed: int) -> Model:
    return jc.models.random_tree(n, seed)


@st.composite
def states(draw, batch=(3,)):
    """A random tree, and a batch of its states: model, rng, q, v, a."""
    n, seed = draw(st.integers(1, 14)), draw(seeds)
    model = random_model(n, seed)
    rng = np.random.default_rng(seed + 1)
    q = jc.random_configuration(model, rng, batch)
    v, a = rng.standard_normal((2, *batch, model.nv))
    return model, rng, q, v, a


def product(M, x):
    return np.einsum("...ij,...j->...i", M, x)


def load(model, q, v, a):
    """Magnitude of the terms whose sum is tau, the largest over the joints of each state."""
    M, bias = np.abs(jc.mass_matrix(model, q)), np.abs(jc.bias_forces(model, q, v))
    return (product(M, np.abs(a)) + bias).max(-1, keepdims=True)


def assert_close(x, y, scale):
    error = np.abs(np.asarray(x) - y)
    assert np.isfinite(error).all()
    assert (error <= scale).all(), f"largest excess {np.max(error / scale):.3g} times the tolerance"


@given(states())
@quick
def test_forward_after_inverse_is_the_identity(case):
    model, rng, q, v, a = case
    f_ext = rng.standard_normal((model.n_bodies, 6))
    tau = jc.inverse_dynamics(model, q, v, a, f_ext)
    again = jc.forward_dynamics(model, q, v, tau, f_ext)
    size = load(model, q, v, a) + np.abs(tau).max(-1, keepdims=True) + model.n_bodies
    tolerance = SLACK * model.n_bodies * EPS * size
    assert_close(product(jc.mass_matrix(model, q), again - a), 0, tolerance)
    assert_close(jc.inverse_dynamics(model, q, v, again, f_ext), tau, tolerance)


@given(states(), st.integers(0, 3))
@quick
def test_hybrid_dynamics_solves_for_what_is_not_prescribed(case, kind):
    """All prescribed is inverse, none is forward dynamics; any mask satisfies the equations."""
    model, rng, q, v, a = case
    mask = (np.zeros(model.nv, bool), np.ones(model.nv, bool))[kind] if kind < 2 else None
    if mask is None:
        mask = rng.uniform(size=model.nv) < 0.5
    tau = jc.inverse_dynamics(model, q, v, a) + rng.standard_normal(model.nv)
    given_a = np.where(mask, a, np.nan)
    given_tau = np.where(mask, np.nan, tau)
    a_out, tau_out = jc.hybrid_dynamics(model, q, v, given_a, given_tau, mask)
    np.testing.assert_array_equal(a_out[:, mask], a[:, mask])
    np.testing.assert_array_equal(tau_out[:, ~mask], tau[:, ~mask])
    size = load(model, q, v, a_out) + np.abs(tau).max(-1, keepdims=True)
    tolerance = SLACK * model.n_bodies * EPS * size
    assert_close(jc.inverse_dynamics(model, q, v, a_out), tau_out, tolerance)
    if mask.all():
        assert_close(tau_out, jc.inverse_dynamics(model, q, v, a), tolerance)
    if not mask.any():
        difference = a_out - jc.forward_dynamics(model, q, v, tau)
        assert_close(product(jc.mass_matrix(model, q), difference), 0, tolerance)


@given(states())
@quick
def test_base_alone_prescribed(case):
    model, _, q, v, a = case
    mask = np.zeros(model.nv, bool)
    mask[model.v_slice(0)] = True
    tau = jc.inverse_dynamics(model, q, v, a)
    a_out, tau_out = jc.hybrid_dynamics(model, q, v, a, np.where(mask, 0.0, tau), mask)
    tolerance = SLACK * model.n_bodies * EPS * load(model, q, v, a)
    assert_close(tau_out, tau, SLACK * condition(model, q) * tolerance)
    assert_close(product(jc.mass_matrix(model, q), a_out - a), 0, condition(model, q) * tolerance)


def condition(model, q):
    M = jc.mass_matrix(model, q)
    d = np.sqrt(np.einsum("...ii->...i", M))
    values = np.linalg.eigvalsh(M / d[..., :, None] / d[..., None, :])
    return float((values[..., -1] / values[..., 0]).max())


@given(states())
@quick
def test_mass_matrix_is_symmetric_positive_definite_and_has_its_inverse(case):
    model, _, q, v, _ = case
    M, W = jc.mass_matrix(model, q), jc.inverse_mass_matrix(model, q)
    np.testing.assert_array_equal(M, M.swapaxes(-1, -2))
    np.testing.assert_array_equal(W, W.swapaxes(-1, -2))
    assert (np.linalg.eigvalsh(M) > 0).all()
    size = (np.abs(M) @ np.abs(W)).max((-1, -2), keepdims=True)
    assert_close(M @ W, np.eye(model.nv), SLACK * model.nv * EPS * size)
    energy = np.einsum("...i,...ij,...j", v, M, v) / 2
    np.testing.assert_allclose(jc.kinetic_energy(model, q, v), energy, rtol=SLACK * model.nv * EPS)


@given(states())
@quick
def test_mass_matrix_is_the_sum_over_bodies(case):
    """M = sum J^T I J + armature: full blocks inside multi-DoF joints, zeros across branches."""
    model, _, q, _, _ = case
    M = np.zeros((len(q), model.nv, model.nv)) + np.diag(model.armature)
    for body, own in enumerate(inertia.matrix(model.inertias)):
        J = jc.jacobian(model, q, body)
        M = M + J.swapaxes(-1, -2) @ own @ J
    scale = SLACK * model.n_bodies * EPS * np.abs(M).max()
    assert_close(jc.mass_matrix(model, q), M, scale)


@given(states())
@quick
def test_power_balance(case):
    """Power of joint forces and external wrenches is the rate of change of the energy."""
    model, rng, q, v, a = case
    f_ext = rng.standard_normal((model.n_bodies, 6))
    tau = jc.inverse_dynamics(model, q, v, a, f_ext)
    twists = jc.body_twists(model, q, v)
    rates = jc.body_accelerations(model, q, v, a)
    masses = inertia.matrix(model.inertias)
    terms = [
        np.einsum("...i,...i->...", tau, v),
        np.einsum("...ni,ni->...", twists, f_ext),
        -np.einsum("...ni,nij,...nj->...", twists, masses, rates),
        -np.einsum("i,...i,...i->...", model.armature, v, a),
        np.einsum("i,...i->...", model.gravity, jc.momentum(model, q, v)[..., 3:]),
    ]
    size = np.einsum("...i,...i->...", np.abs(tau), np.abs(v)) + sum(np.abs(t) for t in terms)
    size = size + np.einsum("...ni,nij,...nj->...", np.abs(twists), np.abs(masses), np.abs(rates))
    assert_close(sum(terms), 0, SLACK * model.n_bodies * EPS * size)


@given(states())
@quick
def test_gravity_forces_are_the_gradient_of_the_potential_energy(case):
    model, _, q, v, _ = case
    power = np.einsum("...i,...i->...", jc.gravity_forces(model, q), v)
    weight = -np.einsum("i,...i->...", model.gravity, jc.momentum(model, q, v)[..., 3:])
    scale = np.abs(jc.gravity_forces(model, q) * v).sum(-1) + np.abs(weight)
    assert_close(power, weight, SLACK * model.n_bodies * EPS * scale)
    com = jc.center_of_mass(model, q)
    energy = -jc.total_mass(model) * com @ model.gravity
    scale = jc.total_mass(model) * np.abs(model.gravity).max() * (1 + np.abs(com).max())
    assert_close(jc.potential_energy(model, q), energy, SLACK * model.n_bodies * EPS * scale)


@given(states(), seeds)
@quick
def test_moving_the_whole_robot_and_gravity_changes_nothing(case, seed):
    model, _, q, v, a = case
    T = lie.exp(np.random.default_rng(seed).standard_normal(6))
    moved = placed(model, T)
    tolerance = SLACK * model.n_bodies * EPS * load(model, q, v, a)
    tau = jc.inverse_dynamics(model, q, v, a)
    assert_close(jc.inverse_dynamics(moved, q, v, a), tau, tolerance)
    assert_close(jc.gravity_forces(moved, q), jc.gravity_forces(model, q), tolerance)
    M = jc.mass_matrix(model, q)
    assert_close(jc.mass_matrix(moved, q), M, SLACK * model.n_bodies * EPS * np.abs(M).max())
    momentum = jc.momentum(moved, q, v)
    expected = product(lie.Ad(lie.inverse(T)).T, jc.momentum(model, q, v))
    size = np.abs(momentum).max(-1, keepdims=True) + np.abs(expected).max(-1, keepdims=True)
    size = size * (1 + np.abs(T[:3, 3]).max()) ** 2
    assert_close(momentum, expected, SLACK * model.n_bodies * EPS * size)
    com = product(T[:3, :3], jc.center_of_mass(model, q)) + T[:3, 3]
    np.testing.assert_allclose(jc.center_of_mass(moved, q), com, rtol=0, atol=1e-12)


def placed(model: Model, T) -> Model:
    """The robot in another place, in a world turned with it."""
    bodies = [b._replace(placement=T @ b.placement) if b.parent < 0 else b for b in model.bodies]
    frames = {n: f for n, f in model.frames.items() if f.body >= 0}
    return Model(model.name, T[:3, :3] @ model.gravity, bodies, frames)


@given(states())
@quick
def test_a_thousand_kilometers_from_the_origin_nothing_changes(case):
    model, _, q, v, a = case
    T = np.eye(4)
    T[:3, 3] = 1e6, -1e6, 1e6
    far = placed(model, T)
    bound = 1e-12 * load(model, q, v, a)
    tau = jc.inverse_dynamics(model, q, v, a)
    assert_close(jc.inverse_dynamics(far, q, v, a), tau, bound)
    assert_close(jc.bias_forces(far, q, v), jc.bias_forces(model, q, v), bound)
    assert_close(jc.gravity_forces(far, q), jc.gravity_forces(model, q), bound)
    M = jc.mass_matrix(model, q)
    assert_close(jc.mass_matrix(far, q), M, 1e-12 * np.abs(M).max())
    again = jc.forward_dynamics(far, q, v, tau)
    assert_close(product(M, again - a), 0, bound)
    energy = jc.kinetic_energy(model, q, v)
    np.testing.assert_allclose(jc.kinetic_energy(far, q, v), energy, rtol=1e-12)
    momentum = jc.centroidal_momentum(model, q, v)
    size = np.abs(momentum).max(-1, keepdims=True)
    assert_close(jc.centroidal_momentum(far, q, v), momentum, 1e-12 * size + 1e-14)
    for twist in ("body", "hybrid", "mixed"):
        J = jc.jacobian(model, q, model.n_bodies - 1, twist)
        ours = jc.jacobian(far, q, model.n_bodies - 1, twist)
        assert_close(ours, J, 1e-12 * (1 + np.abs(J).max()))


@given(states())
@quick
def test_a_floating_base_far_away_changes_nothing(case):
    _, rng, *_ = case
    model = jc.models.random_tree(6, int(rng.integers(10**6)), first="free")
    q = jc.random_configuration(model, rng, 3)
    v, a = rng.standard_normal((2, 3, model.nv))
    far = q.copy()
    far[:, 4:7] += 1e6
    bound = 1e-12 * load(model, q, v, a)
    tau = jc.inverse_dynamics(model, q, v, a)
    assert_close(jc.inverse_dynamics(model, far, v, a), tau, bound)
    again = jc.forward_dynamics(model, far, v, tau)
    assert_close(product(jc.mass_matrix(model, q), again - a), 0, bound)


@given(states(), st.sampled_from(TWISTS))
@quick
def test_jacobians_give_twists_and_accelerations(case, twist):
    model, rng, q, v, a = case
    body = model.body_names[int(rng.integers(model.n_bodies))]
    T = jc.body_pose(model, q, body)
    J = jc.jacobian(model, q, body, twist)
    x = jc.body_twist(model, q, v, body, twist)
    size = (np.abs(J) @ np.abs(v)[..., None]).max((-1, -2)).reshape(-1, 1) + 1
    slack = SLACK * model.n_bodies * EPS
    assert_close(product(J, v), x, slack * size)
    index = model.body_index(body)
    assert_close(jc.body_twists(model, q, v, twist)[:, index], x, slack * size)
    converted = jc.twists.convert(jc.body_twist(model, q, v, body), T, "body", twist)
    assert_close(converted, x, slack * size * 8)
    dJ = jc.jacobian_rate(model, q, v, body, twist)
    rate = product(J, a) + product(dJ, v)
    size = np.abs(J).max() * np.abs(a).max() + np.abs(dJ).max() * np.abs(v).max() + 1
    size = size * model.nv * (1 + np.abs(T[:, :3, 3]).max())
    expected = jc.body_accelerations(model, q, v, a, twist)[:, index]
    assert_close(rate, expected, slack * size)


@given(states(), st.sampled_from([0.0, 1e-12, 1e-6, 1e-3, 1.0]))
@quick
def test_integrate_and_difference_are_inverse(case, length):
    """Also next to zero, where careless formulas lose digits."""
    model, rng, q, v, _ = case
    dv = length * v / np.maximum(1.0, np.abs(v).max())
    moved = jc.integrate(model, q, dv)
    back = jc.difference(model, q, moved)
    # coordinates of magnitude |q| are stored with error eps |q|
    scale = EPS * SLACK * (1 + np.abs(q).max() + np.abs(dv).max())
    assert_close(back, dv, scale)
    np.testing.assert_allclose(jc.integrate(model, q, 0 * dv), q, rtol=0, atol=4 * EPS)
    np.testing.assert_allclose(jc.difference(model, q, q), 0, rtol=0, atol=scale)
    halves = jc.integrate(model, jc.integrate(model, q, 0.5 * dv), 0.5 * dv)
    assert_close(jc.difference(model, moved, halves), 0, scale)
    other = jc.random_configuration(model, rng, len(q))
    there = jc.integrate(model, q, jc.difference(model, q, other))
    assert_close(jc.difference(model, there, other), 0, 16 * scale)


@given(states())
@quick
def test_rates_move_the_bodies_as_their_twists_say(case):
    """integrate and body_pose belong to body_twist: a fourth-order difference of the pose."""
    model, _, q, v, _ = case
    h, body = 1e-3, model.n_bodies - 1
    T = jc.body_pose(model, q, body)

    def local(t):
        return lie.log(lie.inverse(T) @ jc.body_pose(model, jc.integrate(model, q, t * v), body))

    slope = (8 * (local(h) - local(-h)) - (local(2 * h) - local(-2 * h))) / (12 * h)
    x = jc.body_twist(model, q, v, body)
    np.testing.assert_allclose(slope, x, rtol=0, atol=1e-7 * (1 + np.abs(x).max()) ** 5)


FUNCTIONS = {
    "inverse_dynamics": lambda m, q, v, a: jc.inverse_dynamics(m, q, v, a),
    "forward_dynamics": lambda m, q, v, a: jc.forward_dynamics(m, q, v, a),
    "hybrid_dynamics": lambda m, q, v, a: jc.hybrid_dynamics(m, q, v, a, a, m.actuated)[1],
    "mass_matrix": lambda m, q, v, a: jc.mass_matrix(m, q),
    "inverse_mass_matrix": lambda m, q, v, a: jc.inverse_mass_matrix(m, q),
    "bias_forces": lambda m, q, v, a: jc.bias_forces(m, q, v),
    "gravity_forces": lambda m, q, v, a: jc.gravity_forces(m, q),
    "kinetic_energy": lambda m, q, v, a: jc.kinetic_energy(m, q, v),
    "potential_energy": lambda m, q, v, a: jc.potential_energy(m, q),
    "center_of_mass": lambda m, q, v, a: jc.center_of_mass(m, q),
    "momentum": lambda m, q, v, a: jc.momentum(m, q, v),
    "centroidal_momentum": lambda m, q, v, a: jc.centroidal_momentum(m, q, v),
    "centroidal_momentum_matrix": lambda m, q, v, a: jc.centroidal_momentum_matrix(m, q),
    "centroidal_momentum_matrix_rate": lambda m, q, v, a: jc.centroidal_momentum_matrix_rate(
        m, q, v
    ),
    "body_poses": lambda m, q, v, a: jc.body_poses(m, q),
    "body_twists": lambda m, q, v, a: jc.body_twists(m, q, v, "mixed"),
    "body_accelerations": lambda m, q, v, a: jc.body_accelerations(m, q, v, a, "spatial"),
    "jacobian": lambda m, q, v, a: jc.jacobian(m, q, 0, "hybrid"),
    "jacobian_rate": lambda m, q, v, a: jc.jacobian_rate(m, q, v, m.n_bodies - 1),
    "integrate": lambda m, q, v, a: jc.integrate(m, q, v),
    "difference": lambda m, q, v, a: jc.difference(m, jc.neutral(m), q),
}
every_function = pytest.mark.parametrize("name", FUNCTIONS)


@every_function
@pytest.mark.parametrize("first", ["free", "spherical", "revolute"])
def test_a_batch_gives_what_single_states_give(name, first):
    """Packed, remainder and single states take different paths; rounding apart they agree."""
    f = FUNCTIONS[name]
    model = jc.models.random_tree(12, 5, first=first)
    rng = np.random.default_rng(6)
    q = jc.random_configuration(model, rng, 21)
    v, a = rng.standard_normal((2, 21, model.nv))
    together = f(model, q, v, a)
    for k in range(21):
        single = f(model, q[k], v[k], a[k])
        size = np.abs(single).max()
        # accelerations carry the condition of M, everything else is a short sum
        slack = condition(model, q[k]) if "forward" in name or "inverse_mass" in name else SLACK
        slack = condition(model, q[k]) if name == "hybrid_dynamics" else slack
        assert_close(together[k], single, 16 * slack * EPS * (size + 1))
    grid = f(model, q.reshape(3, 7, -1), v.reshape(3, 7, -1), a.reshape(3, 7, -1))
    assert grid.shape == (3, 7, *together.shape[1:])
    np.testing.assert_array_equal(grid.reshape(together.shape), together)


@every_function
def test_empty_batches(name):
    model = jc.models.random_tree(9, 1)
    q, v = np.zeros((0, model.nq)), np.zeros((0, model.nv))
    one = FUNCTIONS[name](model, jc.neutral(model), np.zeros(model.nv), np.zeros(model.nv))
    assert FUNCTIONS[name](model, q, v, v).shape == (0, *np.shape(one))


@pytest.mark.parametrize("kind", [k for k in JOINT_TYPES if k != "fixed"])
def test_a_single_body(kind):
    model = jc.models.random_tree(1, 3, joints=(kind,))
    rng = np.random.default_rng(0)
    q = jc.random_configuration(model, rng, 9)
    v, a = rng.standard_normal((2, 9, model.nv))
    tau = jc.inverse_dynamics(model, q, v, a)
    again = jc.forward_dynamics(model, q, v, tau)
    assert_close(again, a, SLACK * EPS * condition(model, q) * (np.abs(a).max() + 1) * 10)
    np.testing.assert_allclose(
        jc.mass_matrix(model, q) @ jc.inverse_mass_matrix(model, q),
        np.broadcast_to(np.eye(model.nv), (9, model.nv, model.nv)),
        rtol=0,
        atol=SLACK * EPS * condition(model, q),
    )


def test_a_model_without_bodies():
    model = jc.ModelBuilder().build()
    empty = np.zeros((4, 0))
    assert jc.inverse_dynamics(model, empty, empty, empty).shape == (4, 0)
    assert jc.forward_dynamics(model, empty, empty, empty).shape == (4, 0)
    assert jc.mass_matrix(model, empty).shape == (4, 0, 0)
    assert jc.kinetic_energy(model, np.zeros(0), np.zeros(0)) == 0


@pytest.mark.parametrize("base", [pytest.param("fixed", marks=pytest.mark.long), "free"])
def test_a_deep_chain(base):
    """2000 bodies: no recursion limit, and residuals that grow no faster than linearly."""
    model = jc.models.chain(2000, base)
    rng = np.random.default_rng(0)
    q = jc.random_configuration(model, rng, 3)
    v, a = 0.01 * rng.standard_normal((2, 3, model.nv))
    tau = jc.inverse_dynamics(model, q, v, a)
    again = jc.forward_dynamics(model, q, v, tau)
    size = load(model, q, v, again)
    assert_close(jc.inverse_dynamics(model, q, v, again), tau, 2000 * EPS * size)
    mask = rng.uniform(size=model.nv) < 0.5
    a_out, tau_out = jc.hybrid_dynamics(model, q, v, a, tau, mask)
    assert_close(jc.inverse_dynamics(model, q, v, a_out), tau_out, 2000 * EPS * size)


def test_frames_fixed_to_the_world_do_not_move():
    builder = jc.ModelBuilder()
    builder.add_body("ground", placement=(1, 2, 3), mass=5.0)
    builder.add_body("arm", "ground", joint="revolute", mass=1.0, inertia=(1, 1, 1))
    model = builder.build()
    q, v = np.zeros((5, 1)), np.ones((5, 1))
    for twist in TWISTS:
        assert not jc.jacobian(model, q, "ground", twist).any()
        assert not jc.jacobian_rate(model, q, v, "ground", twist).any()
        assert not jc.body_twist(model, q, v, "ground", twist).any()
    np.testing.assert_array_equal(jc.body_pose(model, q, "ground")[..., :3, 3], [(1, 2, 3)] * 5)
