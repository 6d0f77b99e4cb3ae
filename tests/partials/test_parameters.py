"""Derivatives by parameters of the model, against complex steps through a model that changes."""

from __future__ import annotations

import numpy as np
import partials_oracle as oracle
import pytest
from parameters_oracle import KINDS, all_parameters, by_steps, frame_along

import jounce as jc
from jounce import lie

EXACT = 1e-11


@pytest.fixture
def some(case):
    """Twelve states of each robot: enough for lanes and a remainder."""
    rows = slice(0, 12)
    return case.model, case.q[rows], case.v[rows], case.a[rows], case.tau[rows], case.f_ext[rows]


@pytest.mark.parametrize(
    ("kind", "step", "error", "message"),
    [
        ("placement", 1e300, jc.ArgumentError, "step of the placement of 'body0': .* too large"),
        ("log_cholesky", -1e3, jc.ModelError, "body 'body0' cannot exist: .* no mass is left"),
        ("log_cholesky", 1e3, jc.ModelError, "body 'body0' cannot exist: .* not finite"),
    ],
)
def test_steps_that_are_too_long_name_what_they_move(kind, step, error, message):
    p = jc.parameters(jc.models.chain(2), kind)
    with pytest.raises(error, match=message):
        p.moved(np.full(len(p), step))


@pytest.mark.parametrize("kind", ["mass", "gravity"])
def test_the_function_says_what_it_lacks(kind):
    arm = jc.models.chain(2)
    p, x = jc.parameters(arm, kind), np.ones(2)
    for function, given, name in (
        (jc.inverse_dynamics, (x, x), "a"),
        (jc.mass_matrix, (), "q"),
        (jc.body_twist, {"q": x, "v": x}, "body"),  # twist= has a default
        (jc.step, (x, x), "tau"),
    ):
        words = rf"{function.__name__}\(\) needs the argument '{name}'"
        with pytest.raises(jc.errors.ArgumentTypeError, match=words):
            jc.parameter_derivatives(function, arm, given, p)
    assert jc.parameter_derivatives(jc.body_twist, arm, (x, x, "body1"), p).shape == (6, len(p))


def test_dynamics_by_every_parameter(some):
    """Inverse and forward, with one tree of the oracle for each kind of parameter."""
    model, q, v, a, tau, f_ext = some
    p, zero = all_parameters(model), q.astype(complex)

    def both(m):
        inverse = oracle.inverse_dynamics(m, zero, v, a, f_ext)
        return np.stack([inverse, oracle.forward_dynamics(m, zero, v, tau, f_ext)], axis=-1)

    exact, forward = np.moveaxis(by_steps(model, p, both), -2, 0)
    got = jc.parameter_derivatives(jc.inverse_dynamics, model, (q, v, a, f_ext), p)
    assert got.shape == (12, model.nv, len(p))
    for kind in KINDS:
        rows = [k for k, item in enumerate(p.items) if item.kind == kind]
        assert oracle.relative(got[..., rows], exact[..., rows]) < EXACT, kind
    got = jc.parameter_derivatives(jc.forward_dynamics, model, (q, v, tau, f_ext), p)
    assert oracle.relative(got, forward) < EXACT


def test_inertial_parameters_by_regressors_and_by_duals(some):
    """The closed form and the duals are two ways to the same numbers."""
    model, q, v, a, tau, f_ext = some
    p = all_parameters(model, ("mass", "first_moment", "inertia", "log_cholesky"))
    for function, x in (
        (jc.inverse_dynamics, (q, v, a, f_ext)),
        (jc.forward_dynamics, (q, v, tau, f_ext)),
        (jc.kinetic_energy, (q, v)),
        (jc.potential_energy, (q,)),
    ):
        closed = jc.parameter_derivatives(function, model, x, p)
        along = [
            jc.jvp(function, model, x, (), parameters=(p, row)).derivative for row in np.eye(len(p))
        ]
        exact = np.stack(along, axis=-1)
        assert oracle.relative(closed, exact) < EXACT


def test_mass_matrix_and_one_state(some):
    model, q, *_ = some
    p = all_parameters(model, ("log_cholesky", "placement", "axis", "pitch"))
    exact = by_steps(model, p, lambda m: oracle.mass_matrix(m, q.astype(complex)))
    got = jc.parameter_derivatives(jc.mass_matrix, model, (q,), p)
    assert oracle.relative(got, exact) < EXACT
    one = jc.parameter_derivatives(jc.mass_matrix, model, (q[3],), p)
    np.testing.assert_allclose(one, got[3], rtol=0, atol=1e-12 * np.abs(got).max())
    few = jc.parameter_derivatives(jc.mass_matrix, model, (q[:4].reshape(2, 2, -1),), p)
    np.testing.assert_allclose(
        few.reshape(4, *got.shape[1:]), got[:4], atol=1e-12 * np.abs(got).max()
    )


def on_a_plane(axis):
    builder = jc.ModelBuilder()
    builder.add_body("cart", joint="planar", axis=axis, mass=1.0, com=(0.1, 0.2, 0.3))
    return builder.add_body("rod", "cart", joint="revolute", axis=(0, 0, -1), mass=1.0).build()


@pytest.mark.parametrize("tilt", [1.0, 1e-2, 1e-5])
def test_axes_of_planar_joints_near_the_one_where_they_jump(tilt):
    """Directions turn by 1 / tilt there, and the quaternion's last entry is tilt / 2."""
    model = on_a_plane((np.sin(tilt) * 0.6, np.sin(tilt) * 0.8, -np.cos(tilt)))
    p, q = jc.parameters(model, "axis", model.joint_names[0]), np.array([0.3, -0.2, 0.4, 0.5])
    exact = by_steps(model, p, lambda m: oracle.tree(m, q[None].astype(complex)).T[..., 2, :, :])
    got = jc.parameter_derivatives(jc.body_pose, model, (q[None], "cart"), p)
    # 1 + n_z cancels in the oracle
    assert oracle.relative(got, exact) < max(EXACT, 1e-15 / tilt**2)


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "helical", "cylindrical", "universal"])
@pytest.mark.parametrize("tilt", [1e-300, 1.2246e-16, 1e-12, 1e-9, 1e-6, 1e-3])
def test_axes_near_the_one_opposite_to_z(kind, tilt):
    """Written as sin(pi), for example: all that counts is where the axis points."""
    second = {"axis2": (0.3, 0.4, 0.0)} if kind == "universal" else {}
    builder = jc.ModelBuilder()
    builder.add_body("first", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0.1, 0.2, 0.3))
    own = {"joint": kind, "joint_name": "own", "axis": (0.6 * tilt, 0.8 * tilt, -1), **second}
    inertias = {"mass": 1.0, "com": (0.3, 0.1, 0.2), "inertia": (0.1, 0.2, 0.15)}
    builder.add_body("second", "first", placement=(0.1, 0, 0.4), **own, **inertias)
    model = builder.add_body("third", "second", axis=(1, 0, 0), placement=(0, 0.2, 0.3),
                             joint="revolute", **inertias).build()  # fmt: skip
    p = jc.parameters(model, "axis", ["own"])
    q, v, a = np.random.default_rng(3).standard_normal((3, 2, model.nv))
    got = jc.parameter_derivatives(jc.inverse_dynamics, model, (q, v, a), p)
    h, weights = 1e-2, (4 / 5, -1 / 5, 4 / 105, -1 / 280)  # differences of eighth order
    for k, way in enumerate(np.eye(len(p))):

        def along(step, way=way):
            return jc.inverse_dynamics(p.moved(step * h * way), q, v, a)

        terms = ((along(j) - along(-j)) * w / h for j, w in enumerate(weights, 1))
        assert oracle.relative(got[..., k], sum(terms)) < 1e-11


@pytest.mark.parametrize("tilt", [1e-300, 1.2246e-16, 1e-7])
def test_the_axis_of_a_planar_joint_near_the_one_where_its_directions_jump(tilt):
    model = on_a_plane((tilt, 0, -1))
    with pytest.raises(jc.ArgumentError, match=r"directions of the planar joint .* jump"):
        jc.parameters(model, "axis", [model.joint_names[0]])


def test_the_axis_of_a_planar_joint_where_its_directions_jump():
    model = on_a_plane((0, 0, -1))
    p = jc.parameters(model, "axis")
    assert {item.name for item in p.items} == {model.joint_names[1]}  # that of one rate does not
    q, h = np.array([0.0, 0.0, 0.0, 0.5]), 1j * oracle.STEP
    got = jc.parameter_derivatives(jc.body_pose, model, (q, "rod"), p)
    for k, way in enumerate(([1, 0, 0], [0, -1, 0])):  # half a turn about x takes x and y there
        exact = lie.exp(q[3] * (np.array([0, 0, -1]) + h * np.array(way))).imag / oracle.STEP
        np.testing.assert_allclose(got[:3, :3, k], exact, rtol=0, atol=1e-14)
    with pytest.raises(jc.ArgumentError, match=r"directions of the planar joint .* jump"):
        jc.parameters(model, "axis", [model.joint_names[0]])
    up = on_a_plane((0, 0, 1))
    assert len(jc.parameters(up, "axis")) == 4


def test_poses_of_bodies_by_the_geometry(some):
    model, q, *_ = some
    p = all_parameters(model, ("placement", "axis", "pitch", "mass"))
    body = model.n_bodies - 1
    node = int(np.flatnonzero(model.nodes.body == body)[0])
    got = jc.parameter_derivatives(jc.body_pose, model, (q, body), p)
    exact = by_steps(model, p, lambda m: oracle.tree(m, q.astype(complex)).T[..., node, :, :])
    assert oracle.relative(got, exact) < EXACT
    several = jc.parameter_derivatives(jc.body_poses, model, (q,), p)
    np.testing.assert_allclose(several[:, body], got, atol=1e-12 * np.abs(got).max())


@pytest.mark.parametrize(
    "bodies", [[0, 2], (0, 2), np.array([0, 2])], ids=["list", "tuple", "array"]
)
def test_derivatives_of_several_poses_fill_an_array(bodies):
    model, q = jc.models.chain(3), np.linspace(-1, 1, 12).reshape(4, 3)
    p = jc.parameters(model, "placement")
    expected = jc.parameter_derivatives(jc.body_pose, model, (q, bodies), p)
    out = np.full_like(expected, np.nan)
    assert jc.parameter_derivatives(jc.body_pose, model, (q, bodies), p, out=out) is out
    np.testing.assert_array_equal(out, expected)


def test_frames_move_with_their_bodies_and_by_themselves(some):
    model, q, _v, *_ = some
    tool = lie.exp(np.array([0.3, -0.2, 0.5, 0.1, 0.2, -0.3]))
    body = model.body_names[-1]
    model = model.with_frame("tool", body, tool).with_frame("other", body, tool)
    p = all_parameters(model, ("placement", "axis")) + jc.parameters(model, "placement", ["tool"])
    got = jc.parameter_derivatives(jc.body_pose, model, (q, "tool"), p)
    n = len(p) - 6
    held = jc.parameter_derivatives(jc.body_pose, model, (q, body), p)
    np.testing.assert_allclose(got[..., :n], held_at(held[..., :n], tool), atol=1e-12)
    T = jc.body_pose(model, q, "tool")
    for k in range(6):
        expected = T @ lie.hat(np.eye(6)[k])
        np.testing.assert_allclose(got[..., n + k], expected, atol=1e-12)
    assert not np.any(jc.parameter_derivatives(jc.body_pose, model, (q, "other"), p)[..., n:])
    assert not np.any(held[..., n:])
    with pytest.raises(jc.ArgumentError, match="one body at a time"):
        jc.parameter_derivatives(jc.body_pose, model, (q, ["tool", "other"]), p)


def held_at(dT, tool):
    """Derivatives of a frame fixed to a body, from those of the body."""
    return np.einsum("...ijp,jk->...ikp", dT, tool)


def test_passive_forces_by_stiffness_and_damping(some):
    model, q, v, *_ = some
    rng = np.random.default_rng(2)
    stiffness = rng.uniform(0, 2, model.nv)
    stiffness[0] = 0.0  # what is zero may change, too
    model = model.replace(stiffness=stiffness, damping=rng.uniform(0, 1, model.nv))
    p = jc.parameters(model, "stiffness") + jc.parameters(model, "damping")
    got = jc.parameter_derivatives(jc.passive_forces, model, (q, v), p)
    unit = model.replace(stiffness=1.0, damping=0.0, friction=0.0)
    expected = jc.passive_forces(unit, q, v)[..., None] * np.eye(model.nv)
    np.testing.assert_allclose(got[..., : model.nv], expected, atol=1e-12)
    np.testing.assert_allclose(got[..., model.nv :], -v[..., None] * np.eye(model.nv), atol=1e-12)


def test_a_direction_in_states_and_parameters_at_once(some):
    model, q, v, a, *_ = some
    p = all_parameters(model, ("mass", "placement"))
    rng = np.random.default_rng(5)
    dp, dq = rng.standard_normal(len(p)), rng.standard_normal((*q.shape[:1], model.nv))
    both = jc.jvp(jc.inverse_dynamics, model, (q, v, a), (dq,), parameters=(p, dp)).derivative
    one = jc.jvp(jc.inverse_dynamics, model, (q, v, a), (dq,)).derivative
    other = jc.parameter_derivatives(jc.inverse_dynamics, model, (q, v, a), p) @ dp
    np.testing.assert_allclose(both, one + other, rtol=0, atol=1e-11 * np.abs(both).max())


def test_moved_models_are_where_the_derivatives_point(some):
    """Central differences of the moved model; rounding leaves about a third of the digits."""
    model, q, v, a, *_ = some
    model = model.with_frame("tool", model.body_names[-1], np.eye(4))
    some_kinds = ("log_cholesky", "placement", "axis", "pitch", "gravity", "armature")
    p = all_parameters(model, some_kinds) + jc.parameters(model, "placement", ["tool"])
    rng = np.random.default_rng(6)
    step = 2.0**-17 * rng.uniform(-1, 1, len(p))
    ends = [p.moved(sign * step) for sign in (1, -1)]
    for function, x in ((jc.inverse_dynamics, (q, v, a)), (jc.body_pose, (q, "tool"))):
        up, down = (function(end, *x) for end in ends)
        expected = (up - down) / 2
        got = jc.parameter_derivatives(function, model, x, p) @ step
        size = np.abs(expected).max()
        np.testing.assert_allclose(
            got, expected, rtol=0, atol=1e-7 * size + 1e-12 * np.abs(up).max()
        )


def test_the_tables_of_kim(case):
    """Tables 5 to 7, the papers' own recursions, one parameter of each kind."""
    from jounce.papers import kim

    model = case.model
    q, v, a, tau, f_ext = (x[0] for x in (case.q, case.v, case.a, case.tau, case.f_ext))
    p = all_parameters(model)
    prescribed = range(1, len(model.joints), 2)
    mask = np.zeros(model.nv, bool)
    mask[model.v_indices([model.joint_names[k] for k in prescribed])] = True
    inverse = jc.parameter_derivatives(jc.inverse_dynamics, model, (q, v, a, f_ext), p)
    forward = jc.parameter_derivatives(jc.forward_dynamics, model, (q, v, tau, f_ext), p)
    hybrid = jc.parameter_derivatives(jc.hybrid_dynamics, model, (q, v, a, tau, mask, f_ext), p)
    picked = {item.kind: k for k, item in enumerate(p.items)}  # the last of each kind
    for kind, k in picked.items():
        own = kim_parameter(model, p, k)
        table5 = kim.inverse_dynamics_sensitivity(model, q, v, a, own, f_ext)
        table6 = kim.forward_dynamics_sensitivity(model, q, v, tau, own, f_ext)
        table7 = kim.hybrid_dynamics_sensitivity(model, q, v, a, tau, prescribed, own, f_ext)
        for ours, theirs in (
            (inverse, table5),
            (forward, table6),
            (hybrid.a, table7.q_ddot),
            (hybrid.tau, table7.tau),
        ):
            size = max(np.abs(theirs).max(), 1e-6 * np.abs(ours).max())
            np.testing.assert_allclose(
                ours[..., k], theirs, rtol=0, atol=1e-10 * size, err_msg=kind
            )


def kim_parameter(model, p, k):
    """The same parameter in the notation of kim."""
    from jounce.papers import kim

    kind, name, component = p.items[k]
    m = len(model.nodes.kind)
    if kind == "gravity":
        return kim.parameter(model, gravity=np.eye(3)[component])
    if kind == "armature":
        return kim.parameter(model, armature=np.eye(model.nv)[model.v_slice(name)][component])
    if kind in ("mass", "first_moment", "inertia", "log_cholesky"):
        rows = p.inertial_directions()[k].reshape(model.n_bodies, 10)
        return kim.parameter(model, inertias=rows)
    own = np.flatnonzero(model.nodes.joint == model.joint_index(name))
    if kind == "placement":
        placement = np.zeros((m, 6))
        placement[own[0], component] = 1.0
        return kim.parameter(model, placement=placement)
    if kind == "pitch":
        return kim.parameter(model, pitch=np.eye(m)[own[0]])
    joint = model.joints[model.joint_index(name)]
    at = component // 2
    axis = np.array([joint.axis, joint.axis2][at])
    h = 1j * oracle.STEP
    R = frame_along(axis)
    dR = frame_along(axis + h * R[:, component % 2]).imag / oracle.STEP
    W = dR @ R.T
    turn = np.array([W[2, 1], W[0, 2], W[1, 0]])
    alignment = np.zeros((m, 6))
    for node in own[at : at + 1] if joint.type == "universal" else own:
        anchor = model.nodes.alignment[node][:3, 3]
        alignment[node] = np.concatenate([turn, np.cross(anchor, turn)])
    return kim.parameter(model, alignment=alignment)


def test_the_geometric_sensitivity_of_mueller(case):
    """Sec. 6.2: placements of joints that vary along screws."""
    from jounce.papers import mueller

    model = case.model
    q, v, a, f_ext = (x[0] for x in (case.q, case.v, case.a, case.f_ext))
    p = jc.parameters(model, "placement")
    names = list(dict.fromkeys(item.name for item in p.items))
    nodes = [int(np.flatnonzero(model.nodes.joint == model.joint_index(n))[0]) for n in names]
    variations = [mueller.GeometricVariation(node, np.eye(6), np.zeros(6)) for node in nodes]
    theirs = mueller.geometric_sensitivity(model, q, v, a, variations, f_ext)
    forces = jc.parameter_derivatives(jc.inverse_dynamics, model, (q, v, a, f_ext), p)
    M = jc.parameter_derivatives(jc.mass_matrix, model, (q,), p)
    twist = jc.parameter_derivatives(jc.body_twists, model, (q, v), p)
    bodies = np.flatnonzero(model.nodes.body >= 0)
    for ours, expected in (
        (forces, theirs.forces),
        (M, theirs.mass_matrix),
        (twist, theirs.twist[bodies]),
    ):
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_no_parameters_is_an_empty_axis():
    model = jc.models.chain(3)
    none = jc.parameters(model, "pitch")
    assert len(none) == 0
    q = np.zeros((2, 3))
    assert jc.parameter_derivatives(jc.mass_matrix, model, (q,), none).shape == (2, 3, 3, 0)


MISTAKES = {
    "unknown kind": (
        ("color",),
        "unknown parameter 'color'; there are mass, first_moment, inertia",
    ),
    "close kind": (("masses",), "did you mean 'mass'"),
    "unknown body": (("mass", ["bdy1"]), "unknown body 'bdy1'; did you mean 'body1'"),
    "unknown joint": (("armature", ["jt"]), "unknown joint 'jt'"),
    "unknown frame": (("placement", ["tol"]), "unknown joint, body or frame 'tol'"),
    "no pitch": (
        ("pitch", ["joint1"]),
        "joint 'joint1' has no pitch of its own; those that have: none",
    ),
    "gravity by name": (("gravity", ["x"]), "it takes no names"),
    "an index": (("mass", [1]), "names must be names"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_mistakes_list_what_exists(what):
    arguments, message = MISTAKES[what]
    with pytest.raises(jc.Error, match=message):
        jc.parameters(jc.models.chain(3), *arguments)


def test_mistakes_of_directions_and_models():
    model, other = jc.models.chain(3), jc.models.chain(4)
    p, q = jc.parameters(model, "mass"), np.zeros(3)
    with pytest.raises(jc.ArgumentError, match="belong to another model"):
        jc.parameter_derivatives(jc.mass_matrix, other, (np.zeros(4),), p)
    with pytest.raises(jc.ArgumentError, match=r"must have shape \(\.\.\., 3\)"):
        jc.jvp(jc.mass_matrix, model, (q,), (), parameters=(p, np.ones(2)))
    with pytest.raises(jc.ArgumentTypeError, match=r"those of jounce\.parameters"):
        jc.parameter_derivatives(jc.mass_matrix, model, (q,), "mass")
    with pytest.raises(jc.ArgumentTypeError, match=r"a tuple of two, .* got a list of 2"):
        jc.jvp(jc.mass_matrix, model, (q,), (), parameters=[p, np.ones(3)])
    with pytest.raises(jc.ArgumentError, match="belong to another model"):
        p + jc.parameters(other, "mass")
    with pytest.raises(jc.ModelError, match="body 'body0' cannot exist: mass"):
        p.moved([-100.0, 0.0, 0.0])
    for size in (60.0, 200.0, 400.0):  # whose exponentials overflow at last
        with pytest.raises(jc.ModelError, match=r"^body 'body1'"):
            jc.parameters(model, "log_cholesky", "body1").moved(np.full(10, size))
    with pytest.raises(jc.ArgumentError, match="3 finite numbers"):
        p.moved([0.0])
    with pytest.raises(jc.ArgumentError, match=r"step .* got nan at \[1\], mass of 'body1'"):
        p.moved([0.0, np.nan, 0.0])
    with pytest.raises(jc.ArgumentError, match=r"got inf at \[0, 2\], mass of 'body2'"):
        jc.jvp(jc.mass_matrix, model, (q,), (), parameters=(p, [[0.0, 1.0, np.inf]]))


def test_moved_inertias_are_the_ten_parameters():
    model = jc.models.random_tree(5, 0)
    p = all_parameters(model, ("mass", "first_moment", "inertia"))
    step = 1e-3 * np.random.default_rng(0).uniform(-1, 1, len(p))
    after = model.inertias + (step @ p.inertial_directions()).reshape(-1, 10)
    np.testing.assert_allclose(p.moved(step).inertias, after, rtol=1e-14, atol=1e-15)
    with pytest.raises(jc.ArgumentError, match="'body0' is given twice"):
        (p + jc.parameters(model, "log_cholesky")).moved(np.zeros(2 * len(p)))


@pytest.mark.parametrize("kind", KINDS)
def test_some_components_move_and_the_others_stay(kind, some):
    model = some[0]
    p = jc.parameters(model, kind)
    for k in {0, 1, len(p) // 2, len(p) - 1} & set(range(len(p))):
        still = p[[k]].moved([0.0])
        np.testing.assert_allclose(still.inertias, model.inertias, rtol=1e-13, atol=1e-15)
        np.testing.assert_array_equal(still.gravity, model.gravity)
        one, all_of_them = np.zeros(len(p)), np.array([1e-3])
        one[k] = 1e-3
        alone, together = p[[k]].moved(all_of_them), p.moved(one)
        np.testing.assert_allclose(alone.inertias, together.inertias, rtol=1e-13, atol=1e-15)
        np.testing.assert_array_equal(alone.gravity, together.gravity)
        np.testing.assert_array_equal(alone.nodes.placement, together.nodes.placement)
        np.testing.assert_array_equal(alone.damping, together.damping)


def test_a_massless_body_has_no_log_cholesky_coordinates():
    builder = jc.ModelBuilder()
    builder.add_body("rod", joint="revolute", mass=1.0, inertia=[0.0, 1.0, 1.0])
    with pytest.raises(jc.ArgumentError, match="body 'rod': the pseudo inertia is not positive"):
        jc.parameters(builder.build(), "log_cholesky")


def test_wrenches_with_leading_axes_of_their_own_give_them_to_the_derivatives(some):
    """Torques do not depend on wrenches by parameters, but their shape does."""
    model, q, v, a, tau, f_ext = some
    p = jc.parameters(model, "mass")
    for function, x in ((jc.inverse_dynamics, a), (jc.forward_dynamics, tau)):
        one = jc.parameter_derivatives(function, model, (q[0], v[0], x[0], f_ext), p)
        same = [np.repeat(y[:1], len(q), axis=0) for y in (q, v, x)]
        every = jc.parameter_derivatives(function, model, (*same, f_ext), p)
        assert one.shape == (len(q), model.nv, len(p))
        np.testing.assert_allclose(one, every, rtol=0, atol=1e-12 * np.abs(every).max(initial=1.0))
    with pytest.raises(jc.ArgumentError, match="f_ext must have shape"):
        jc.parameter_derivatives(jc.inverse_dynamics, model, (q, v, a, f_ext[..., :5]), p)


def test_inertial_parameters_beside_others_and_some_of_them():
    model, rng = jc.models.chain(3), np.random.default_rng(0)
    state = tuple(rng.standard_normal((3, 20, 3)))
    mixed = jc.parameters(model, "armature") + jc.parameters(model, "log_cholesky")
    order = rng.permutation(len(mixed))
    for function in (jc.inverse_dynamics, jc.forward_dynamics):
        got = jc.parameter_derivatives(function, model, state, mixed[order])
        for k in (0, 1, 2, 5, 20):
            one = mixed[[int(order[k])]]
            along = jc.jvp(function, model, state, {}, parameters=(one, np.ones(1))).derivative
            np.testing.assert_allclose(got[..., k], along, rtol=1e-11, atol=1e-11)
    assert mixed[:3].items == jc.parameters(model, "armature").items
    with pytest.raises(jc.ArgumentError, match="indexed by a slice"):
        mixed[[100]]


def test_parameters_are_given_once_and_keep_their_values():
    model = jc.models.chain(2)
    masses = jc.parameters(model, "mass")
    with pytest.raises(jc.ArgumentError, match="component 0 of mass of 'body0' is given twice"):
        masses + jc.parameters(model, "mass", ["body0"])
    with pytest.raises(jc.ArgumentError, match="given twice"):
        jc.parameters(model, "mass", ["body1", "body1"])
    with pytest.raises(ValueError, match="read-only"):
        masses.values[0] = 5.0
    assert masses == masses
    assert masses in {masses}


def with_names_of_others():
    """Joints that bear the names of other bodies."""
    b, own = jc.ModelBuilder(), {"mass": 1.0, "inertia": [1.0, 1.0, 1.0]}
    b.add_body("A", joint="revolute", joint_name="one", axis=(0, 1, 0), **own)
    at = {"placement": (0.3, 0.1, 0)}
    b.add_body("B", "A", joint="revolute", joint_name="A", axis=(1, 0, 0), **at, **own)
    b.add_body("C", "B", joint="helical", joint_name="B", pitch=0.1, placement=(0, 0.2, 0.4), **own)
    return b.build().with_frame("tool", "C", np.eye(4))


@pytest.mark.parametrize("name", ["A", "B", "one", "C", "tool"])
def test_what_a_name_places_moves_as_its_derivative_says(name):
    """Also where a joint bears the name of another body; differences as above."""
    model = with_names_of_others()
    p, q = jc.parameters(model, "placement", [name]), np.array([0.3, -0.7, 0.4])
    assert {x.name for x in p} == {name}
    step = 2.0**-17 * np.random.default_rng(0).uniform(-1, 1, 6)
    for body in ("A", "B", "C", "tool"):
        up, down = (jc.body_pose(p.moved(sign * step), q, body) for sign in (1, -1))
        got = jc.parameter_derivatives(jc.body_pose, model, (q, body), p) @ step
        np.testing.assert_allclose(got, (up - down) / 2, rtol=0, atol=1e-7 * np.abs(step).max())


def test_two_names_of_one_placement():
    model = with_names_of_others()
    with pytest.raises(jc.ArgumentError, match="of 'C' is given twice, also as that of 'B'"):
        jc.parameters(model, "placement", ["B", "C"])
    with pytest.raises(jc.ArgumentError, match="component 0 of armature of 'A' is given twice"):
        jc.parameters(model, "armature", ["A", "A"])
    joint, body = (jc.parameters(model, "placement", [name]) for name in ("B", "C"))
    step = np.array([0.1, -0.2, 0.3, 0.4, -0.5, 0.6])
    halves = (body[:3] + joint[3:]).moved(step)  # one twist, not two in turn
    np.testing.assert_array_equal(halves.nodes.placement, joint.moved(step).nodes.placement)


def test_the_free_root_is_one_joint_by_two_names():
    builder = jc.ModelBuilder()
    model = builder.add_body("base", joint="free", mass=1, inertia=[1, 1, 1]).build()
    with pytest.raises(jc.ArgumentError, match="given twice, also as that of"):
        jc.parameters(model, "armature", ["root_joint", model.joint_names[0]])


def test_parameters_are_gone_through():
    model = jc.models.chain(2)
    p = jc.parameters(model, "mass") + jc.parameters(model, "gravity")
    assert tuple(p) == p.items
    assert len(list(p)) == len(p) == 5
    assert p.items[3] in p
    assert p.items[3] not in p[:2]
    assert "mass" not in p


def test_what_stands_on_the_world_is_no_body():
    builder = jc.ModelBuilder().add_body("post", joint="fixed", mass=1.0, inertia=[1.0, 1.0, 1.0])
    model = builder.add_body("arm", "post", joint="revolute", mass=1.0).build()
    with pytest.raises(jc.UnknownNameError, match=r"'post' .*fixed to the world is merged"):
        jc.parameters(model, "mass", ["post"])


def test_fixed_joints_are_merged():
    """Their bodies are frames, whose placements move nothing else."""
    builder, own = jc.ModelBuilder(), {"mass": 1.0, "inertia": [1.0, 1.0, 1.0]}
    builder.add_body("arm", joint="revolute", **own)
    builder.add_body("hand", "arm", joint="fixed", joint_name="wrist", placement=(0, 0, 1), **own)
    model = builder.add_body("finger", "hand", joint="revolute", **own).build()
    with pytest.raises(jc.Error, match=r"'wrist'.*fixed joints are merged"):
        jc.parameters(model, "placement", ["wrist"])
    for kind in ("mass", "log_cholesky"):
        with pytest.raises(
            jc.UnknownNameError,
            match=r"body 'hand'; known: 'arm', 'finger' \('hand' .* merged into .*'arm'\)$",
        ):
            jc.parameters(model, kind, ["hand"])
    p, q = jc.parameters(model, "placement", ["hand"]), np.ones(2)
    assert jc.parameter_derivatives(jc.body_pose, model, (q, "hand"), p).any()
    assert not jc.parameter_derivatives(jc.body_pose, model, (q, "finger"), p).any()
    assert not jc.parameter_derivatives(jc.mass_matrix, model, (q,), p).any()


def test_models_without_bodies_have_derivatives():
    empty = jc.ModelBuilder(name="nothing").build()
    parameters = jc.parameters(empty, "gravity")
    nothing = np.zeros(0)
    got = jc.parameter_derivatives(
        jc.hybrid_dynamics,
        empty,
        (nothing, nothing, nothing, nothing, np.zeros(0, bool)),
        parameters,
    )
    assert got.a.shape == (0, 3)
