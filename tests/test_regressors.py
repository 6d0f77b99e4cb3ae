"""Torques, energies and momentum are linear in the inertial parameters."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import jounce as jc

EPS = np.finfo(float).eps


def parameters(model):
    return model.inertias.ravel()


def agree(ours, expected, terms):
    """To rounding errors of sums of these terms."""
    assert np.all(np.abs(ours - expected) <= 200 * EPS * terms)


@pytest.fixture(params=[(), (0,), (1,), (3, 4)], ids=str)
def lead(request):
    return request.param


def test_torques_are_regressor_times_parameters(robot, state, lead):
    s = state(robot, *lead)
    Y = jc.torque_regressor(robot, s.q, s.v, s.a)
    assert Y.shape == (*lead, robot.nv, 10 * robot.n_bodies)
    tau = jc.inverse_dynamics(robot, s.q, s.v, s.a)
    terms = (np.abs(Y) @ np.abs(parameters(robot))).max(-1, keepdims=True)
    agree(Y @ parameters(robot) + robot.armature * s.a, tau, terms + np.abs(tau))


def test_blocks_are_what_is_not_zero(robot, state, lead):
    s = state(robot, *lead)
    Y = jc.torque_regressor(robot, s.q, s.v, s.a).reshape(*lead, robot.nv, robot.n_bodies, 10)
    rates, bodies = jc.torque_regressor_pattern(robot)
    blocks = jc.torque_regressor_blocks(robot, s.q, s.v, s.a)
    np.testing.assert_array_equal(blocks, Y[..., rates, bodies, :])
    Y[..., rates, bodies, :] = 0.0
    assert not Y.any()
    pairs = np.stack([rates, bodies], axis=1)
    np.testing.assert_array_equal(pairs, np.unique(pairs, axis=0))


def test_blocks_on_threads_and_of_wrong_arguments(all_joints, state):
    s = state(all_joints, 50)
    blocks = jc.torque_regressor_blocks(all_joints, s.q, s.v, s.a)
    again = jc.torque_regressor_blocks(all_joints, s.q, s.v, s.a, threads=2)
    np.testing.assert_array_equal(again, blocks)
    with pytest.raises(jc.ArgumentError, match=r"v must have shape"):
        jc.torque_regressor_blocks(all_joints, s.q, s.v[:, 1:], s.a)
    with pytest.raises(jc.ArgumentTypeError, match="model"):
        jc.torque_regressor_pattern(3)


def test_blocks_make_a_matrix_of_scipy(all_joints, state):
    sparse = pytest.importorskip("scipy.sparse")
    s = state(all_joints)
    rates, bodies = jc.torque_regressor_pattern(all_joints)
    blocks = jc.torque_regressor_blocks(all_joints, s.q, s.v, s.a)
    start = np.searchsorted(rates, np.arange(all_joints.nv + 1))
    matrix = sparse.bsr_array((blocks[:, None], bodies, start)).toarray()
    np.testing.assert_array_equal(matrix, jc.torque_regressor(all_joints, s.q, s.v, s.a))


def test_energies_are_regressors_times_parameters(robot, state, lead):
    s = state(robot, *lead)
    y = jc.kinetic_energy_regressor(robot, s.q, s.v)
    rotors = (robot.armature * s.v**2).sum(-1) / 2
    terms = np.abs(y) @ np.abs(parameters(robot))
    agree(y @ parameters(robot) + rotors, jc.kinetic_energy(robot, s.q, s.v), terms + rotors)
    y = jc.potential_energy_regressor(robot, s.q)
    terms = np.abs(y) @ np.abs(parameters(robot))
    agree(y @ parameters(robot), jc.potential_energy(robot, s.q), terms)


def test_momentum_is_regressor_times_parameters(robot, state, lead):
    s = state(robot, *lead)
    Y = jc.momentum_regressor(robot, s.q, s.v)
    terms = (np.abs(Y) @ np.abs(parameters(robot))).max(-1, keepdims=True)
    agree(Y @ parameters(robot), jc.momentum(robot, s.q, s.v), terms)


def test_regressors_do_not_depend_on_the_parameters(all_joints, state):
    s = state(all_joints, 3)
    other = all_joints.replace(inertias=2.5 * all_joints.inertias)
    Y = jc.torque_regressor(all_joints, s.q, s.v, s.a)
    np.testing.assert_array_equal(jc.torque_regressor(other, s.q, s.v, s.a), Y)


AXES = [*np.eye(3), *-np.eye(3), (0.6, 0.0, 0.8)]


@pytest.mark.parametrize("anchor", [(0, 0, 0), (0.1, -0.2, 0.3)], ids=["origin", "elsewhere"])
@pytest.mark.parametrize("kind", ["revolute", "prismatic", "helical"])
def test_packs_of_states_are_as_single_ones_about_all_axes(kind, anchor):
    """Whole packs, what is left of one, and one state are computed in three ways."""
    rng = np.random.default_rng(5)
    builder = jc.ModelBuilder()
    for k, axis in enumerate(AXES):
        joint = jc.Joint(kind, f"j{k}", axis=axis, anchor=anchor, pitch=0.2 * (kind == "helical"))
        pose = jc.lie.exp(rng.standard_normal(6))
        parent = f"b{(k - 1) // 2}" if k else None
        builder.add_body(f"b{k}", parent, joint, placement=pose, mass=1.0, inertia=np.eye(3))
    model = builder.build()
    q, v, a = rng.standard_normal((3, 13, len(AXES)))
    together = jc.torque_regressor(model, q, v, a)
    one_by_one = [jc.torque_regressor(model, *x) for x in zip(q, v, a, strict=True)]
    terms = np.abs(together).max((-1, -2), keepdims=True)
    agree(together, np.array(one_by_one), terms)


@pytest.mark.parametrize("mass", [1.0, 0.0], ids=["heavy", "massless"])
@pytest.mark.parametrize("kind", ["free", "spherical"])
def test_packs_of_states_are_as_single_ones_on_bases(kind, mass):
    """The screws of a base are along its axes; those of such a joint elsewhere are not."""
    rng = np.random.default_rng(6)
    builder = jc.ModelBuilder()
    for k, joint in enumerate((kind, "revolute", kind, "revolute", "prismatic")):
        own = (
            {"mass": 1.0, "inertia": np.eye(3)}
            if k
            else {"mass": mass, "inertia": mass * np.eye(3)}
        )
        pose, parent = jc.lie.exp(rng.standard_normal(6)), f"b{k - 1}" if k else None
        builder.add_body(f"b{k}", parent, jc.Joint(joint, f"j{k}"), placement=pose, **own)
    model = builder.build()
    q = jc.random_configuration(model, rng, 13)
    v, a = rng.standard_normal((2, 13, model.nv))
    together = jc.torque_regressor(model, q, v, a)
    one_by_one = [jc.torque_regressor(model, *x) for x in zip(q, v, a, strict=True)]
    terms = np.abs(together).max((-1, -2), keepdims=True)
    agree(together, np.array(one_by_one), terms)
    tau = jc.inverse_dynamics(model, q[0], v[0], a[0])
    agree(one_by_one[0] @ model.inertias.ravel(), tau, np.abs(tau).max())


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("numbers", [0, 3], ids=["lines", "between lines"])
@pytest.mark.parametrize("name", ["chain of 1", "chain of 3", "humanoid", "random tree"])
def test_results_beyond_the_caches_are_written_as_others(name, numbers, threads):
    """Arrays that are there and large get whole lines, wherever these begin in a state."""
    model = {
        "chain of 1": jc.models.chain(1),
        "chain of 3": jc.models.chain(3),
        "humanoid": jc.models.humanoid(),
        "random tree": jc.models.random_tree(9, seed=4),
    }[name]
    rng = np.random.default_rng(8)
    of_a_state = 10 * model.n_bodies * model.nv
    count = 21 * 2**17 // of_a_state + 3  # 21 MB, and no whole pack at the end
    q = jc.random_configuration(model, rng, 50)[rng.integers(50, size=count)]
    v, a = rng.standard_normal((2, count, model.nv))
    room = np.full(8 + numbers + count * of_a_state, np.nan)
    room = room[-(room.ctypes.data // 8) % 8 + numbers :]  # after so many numbers of a line
    out = room[: count * of_a_state].reshape(count, model.nv, 10 * model.n_bodies)
    assert jc.torque_regressor(model, q, v, a, out=out, threads=threads) is out
    np.testing.assert_array_equal(out, jc.torque_regressor(model, q, v, a))
    assert np.isnan(room[out.size :]).all()
    for many in (count, count // 16 * 8):  # of the halves, whole packs, two are kept in turns
        kept = [None, None]
        for k in range(6):  # the later ones in memory of those that died
            kept[k % 2] = jc.torque_regressor(model, q[:many], v[:many], a[:many], threads=threads)
            np.testing.assert_array_equal(kept[k % 2], out[:many])


def test_each_column_is_the_torque_of_one_parameter(all_joints, state):
    """Changing one parameter changes the torques by its column: no two are exchanged."""
    s = state(all_joints)
    Y = jc.torque_regressor(all_joints, s.q, s.v, s.a)
    tau = jc.inverse_dynamics(all_joints, s.q, s.v, s.a)
    for k in range(0, 10 * all_joints.n_bodies, 7):
        inertias = all_joints.inertias.copy()
        inertias.flat[k] += 1.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jc.ModelWarning)
            changed = all_joints.replace(inertias=inertias)
        difference = jc.inverse_dynamics(changed, s.q, s.v, s.a) - tau
        np.testing.assert_allclose(difference, Y[:, k], atol=1e-12 * np.abs(Y).max())


def sampled_regressor(model, states=150):
    rng = np.random.default_rng(0)
    q = jc.random_configuration(model, rng, (states,))
    v, a = rng.standard_normal((2, states, model.nv))
    return jc.torque_regressor(model, q, v, a).reshape(-1, 10 * model.n_bodies)


def check_base_parameters(model):
    """The recursion and the rank of many states' regressor agree; returns the number."""
    Y = sampled_regressor(model)
    base = jc.base_parameters(model)
    size = np.linalg.svd(Y, compute_uv=False)
    number = len(base.columns)
    assert base.matrix.shape == (number, 10 * model.n_bodies)
    assert size[number - 1] > 1e-7 * size[0]
    assert np.all(size[number:] < 1e-10 * size[0])
    np.testing.assert_allclose(Y[:, base.columns] @ base.matrix, Y, atol=1e-10 * np.abs(Y).max())
    np.testing.assert_allclose(base.matrix[:, base.columns], np.eye(number), atol=1e-12)
    return number


def test_base_parameters_are_what_torques_tell(robot):
    check_base_parameters(robot)


@pytest.mark.parametrize("seed", range(6))
def test_base_parameters_of_trees_with_every_joint(seed):
    check_base_parameters(jc.models.random_tree(7, seed))


def planar_arm(n, gravity):
    """Links in a row that turn about parallel axes."""
    builder = jc.ModelBuilder(gravity=gravity)
    parent = None
    for k in range(n):
        placement = np.eye(4)
        placement[0, 3] = 0.5 * (k > 0)
        builder.add_body(
            f"link{k}",
            parent,
            jc.Joint("revolute", name=f"j{k}", axis=(0, 0, 1)),
            placement,
            mass=1.0 + k,
            com=(0.2, 0.1 * k, 0.3),
            inertia=np.eye(3),
        )
        parent = f"link{k}"
    return builder.build()


@pytest.mark.parametrize("n", [1, 2, 5])
def test_base_parameters_of_a_planar_arm(n):
    """3n with gravity in its plane (mass of the first link does not count), 3n - 2 normal to it."""
    assert check_base_parameters(planar_arm(n, (0.0, -9.81, 0.0))) == 3 * n
    assert check_base_parameters(planar_arm(n, (0.0, 0.0, -9.81))) == 3 * n - 2


def test_small_entries_of_base_parameters_count():
    """Quarter turns written with three digits: products of what they lack are no rounding."""
    builder, parent = jc.ModelBuilder(), None
    for k, turn in enumerate((0.0, -1.57, 1.57, 1.57, -1.57, 1.57, 1.57)):
        placement = jc.lie.exp([turn, 0, 0, 0.1, -0.2, 0.3])
        own = {"mass": 1.0, "com": (0.1, 0.2, 0.1), "inertia": (0.1, 0.1, 0.1)}
        builder.add_body(f"{k}", parent, "revolute", placement, axis=(0, 0, 1), **own)
        parent = f"{k}"
    model = builder.build()
    Y, base = sampled_regressor(model), jc.base_parameters(model)
    left_out = Y[:, base.columns] @ base.matrix - Y
    assert np.abs(left_out).max() < 1e-13 * np.abs(Y).max()


def test_a_free_body_shows_all_ten():
    builder = jc.ModelBuilder()
    builder.add_body("body", None, "free", mass=2.0, inertia=np.eye(3))
    assert check_base_parameters(builder.build()) == 10
