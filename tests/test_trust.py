"""What cannot be right is refused: sizes, hidden entries, tampered pickles."""

from __future__ import annotations

import pickle
import resource
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import jounce as jc
from jounce._core import memory
from jounce._core.warned import warn_caller
from jounce.model.nodes import Frame

MODEL = jc.models.chain(7)
Q = np.zeros(7)


@pytest.mark.parametrize("order", [9, 14, 40])
def test_derivatives_that_cannot_fit_are_refused_at_once(order):
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(jc.TooLargeError, match=r"result of jacobian_derivatives\(\) would take \d"):
        jc.jacobian_derivatives(jc.models.chain(30), np.zeros(30), 29, order)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < 2**16  # kilobytes


def test_compiled_results_that_cannot_fit_are_refused_at_once():
    q, v = np.zeros((10**5, 1, 7)), np.zeros((1, 10**5, 7))
    for call in (
        lambda: jc.inverse_dynamics(MODEL, q, v, Q),
        lambda: jc.inverse_dynamics_derivatives(MODEL, q, v, Q),
        lambda: jc.linearize(MODEL, q, v, Q),
    ):
        with pytest.raises(MemoryError, match=r"would take .* of memory are available"):
            call()


def test_a_number_of_states_that_no_integer_holds_is_refused():
    x, y, z = (np.zeros((*shape, 2)) for shape in ((2**21,), (2**21, 1), (2**21, 1, 1)))
    with pytest.raises(jc.TooLargeError, match="PB"):
        jc.inverse_dynamics(jc.models.chain(2), x, y, z)


def test_the_limit_is_the_available_memory(monkeypatch):
    q = np.zeros((200_000, 7))
    size = jc.mass_matrix(MODEL, q).nbytes
    for have, refused in ((size - 1, True), (size, False)):
        monkeypatch.setattr(memory, "available", lambda have=have: have)
        if refused:
            with pytest.raises(jc.TooLargeError, match=r"would take 78\.4 MB and 78\.4 MB of"):
                jc.mass_matrix(MODEL, q)
        else:
            jc.mass_matrix(MODEL, q)
        out = np.empty((len(q), 7, 7))
        jc.mass_matrix(MODEL, q, out=out)  # takes no memory


def test_available_memory_is_known_here():
    assert 2**20 < memory.available() < 2**60


MASKED = np.ma.array(np.zeros(7), mask=[0, 0, 1, 0, 0, 0, 0])
TAKES = {
    "compiled": lambda x: jc.gravity_forces(MODEL, x),
    "second input": lambda x: jc.kinetic_energy(MODEL, Q, x),
    "in Python": lambda x: jc.christoffel_symbols(MODEL, x),
    "batch": lambda x: jc.linearize(MODEL, Q, np.ma.stack([x, x]), Q),
    "lie": lambda x: jc.lie.exp(x[:3]),
    "replace": lambda x: MODEL.replace(damping=x),
    "mask": lambda x: MODEL.replace(actuated=np.ma.array(np.ones(7, bool), mask=x.mask)),
    "builder": lambda x: jc.ModelBuilder().add_body("b", com=x[:3]),
    "trajectory": lambda x: jc.trajectories.PolynomialSegment(x, x, 1.0),
}


@pytest.mark.parametrize("name", TAKES)
def test_masked_entries_are_refused(name):
    with pytest.raises(jc.Error, match=r"must have no masked entries, got [1-4] of"):
        TAKES[name](MASKED)
    TAKES[name](np.ma.array(np.zeros(7), mask=np.zeros(7, bool)))


@pytest.mark.parametrize(
    "take",
    [
        lambda x: MODEL.replace(damping=x),
        lambda x: jc.ModelBuilder().add_body("b", com=x[:3]),
        lambda x: jc.ModelBuilder(gravity=x[:3]).build(),
    ],
)
def test_complex_numbers_are_refused_for_models(take):
    with pytest.raises(jc.Error, match="must be real numbers, got complex128"):
        take(np.ones(7) + 0j)


def test_an_inertia_too_large_to_compute_with_is_a_model_error():
    rows = MODEL.inertias.copy()
    for size in (1e308, 1e160, np.finfo(float).max):
        rows[2] = size
        with pytest.raises(jc.ModelError, match="body 'body2': inertial parameters must be"):
            MODEL.replace(inertias=rows)
    assert "overflow" in jc.inertia.violation(np.full(10, 1e308))


def tampered(change):
    """A pickle of a model whose parts somebody changed."""
    kind, (name, gravity, bodies, frames, *others) = MODEL.__reduce__()
    frames = dict(frames)
    bodies = list(bodies)
    change(bodies, frames)

    class Pickled:
        def __reduce__(self):
            return kind, (name, gravity, tuple(bodies), frames, *others)

    return pickle.dumps(Pickled())


def set_body(k, **changes):
    def change(bodies, frames):
        bodies[k] = bodies[k]._replace(**changes)

    return change


def set_frame(body, placement):
    def change(bodies, frames):
        frames["tool"] = Frame(body, placement)

    return change


def set_axis(axis):
    def change(bodies, frames):
        joint = pickle.loads(pickle.dumps(bodies[3].joints[0]))
        vars(joint)["axis"] = axis
        bodies[3] = bodies[3]._replace(joints=(joint,))

    return change


POSE = np.eye(4)
SCALED = np.diag([2.0, 2.0, 2.0, 1.0])
MIRROR = np.diag([1.0, 1.0, -1.0, 1.0])
TAMPERED = {
    "scaled placement": (
        set_body(2, placement=SCALED),
        "body 'body2': placement must be a rotation",
    ),
    "mirrored placement": (
        set_body(2, placement=MIRROR),
        "body 'body2': placement must be a rotation",
    ),
    "nan placement": (set_body(2, placement=POSE * np.nan), "body 'body2': placement must be"),
    "last row": (
        set_body(2, placement=np.eye(4) + np.eye(4, k=-1)),
        "body 'body2': placement must",
    ),
    "placement of no shape": (set_body(2, placement=np.eye(3)), r"array of shape \(4, 4\)"),
    "placement of no numbers": (set_body(2, placement="x"), r"array of shape \(4, 4\)"),
    "nan parameters": (set_body(1, parameters=np.full(10, np.nan)), "body 'body1': inertial"),
    "infinite parameters": (set_body(1, parameters=np.full(10, np.inf)), "body 'body1': inertial"),
    "few parameters": (set_body(1, parameters=np.zeros(9)), r"array of shape \(10,\)"),
    "a parent that comes later": (set_body(1, parent=4), "body 'body1': its parent must be"),
    "a parent that is not there": (set_body(1, parent=-7), "body 'body1': its parent must be"),
    "no name": (set_body(1, name=3), "made of bodies with names"),
    "a word for joints": (set_body(1, joints=("revolute",)), "expected joints"),
    "a number for joints": (set_body(1, joints=3), "expected joints"),
    "no joints": (set_body(1, joints=()), "body 'body1' has no movable joint"),
    "an array for a parent": (set_body(1, parent=np.zeros(2)), "its parent must be"),
    "a frame on body 99": (set_frame(99, POSE), r"frame 'tool' must be fixed to a body"),
    "a frame on nothing": (set_frame(None, POSE), r"frame 'tool' must be fixed to a body"),
    "a scaled frame": (set_frame(1, SCALED), "frame 'tool': placement must be a rotation"),
    "a long axis": (set_axis((0.0, 0.0, 2.0)), "an axis must be a unit vector"),
    "a nan axis": (set_axis((0.0, 0.0, np.nan)), "axis"),
    "no bodies": (lambda bodies, frames: bodies.append("body"), "made of bodies with names"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_a_tampered_pickle_brings_is_refused(name):
    change, message = TAMPERED[name]
    with pytest.raises(jc.ModelError, match=message):
        pickle.loads(tampered(change))


def test_a_pickle_that_nobody_touched_is_the_model():
    assert pickle.loads(tampered(lambda bodies, frames: None)) == MODEL


@pytest.mark.parametrize(
    "body", [np.zeros(2), np.zeros((2, 2)), [slice(2)], np.array(None), slice(2), None]
)
def test_what_is_no_body_is_an_unknown_name(body):
    with pytest.raises(jc.UnknownNameError, match="must be a name or an index"):
        jc.body_pose(MODEL, Q, body)


def test_a_position_before_the_quaternion_is_recognized():
    model = jc.models.chain(2, "free")
    q = [0.1, 0.2, 0.7, 0, 0, 0, 1, *[0.0] * (model.nq - 7)]
    with pytest.raises(jc.ArgumentError, match="if the position comes first, as in Pinocchio"):
        jc.gravity_forces(model, q)
    with pytest.raises(jc.ArgumentError, match="with norm") as caught:
        jc.gravity_forces(model, np.full(model.nq, 0.1))
    assert "Pinocchio" not in str(caught.value)


LAYOUTS = {
    "Pinocchio's, one meter high": ([0, 0, 1, 0, 0, 0, 1], "position and then the identity"),
    "Pinocchio's, one meter away": ([0.6, 0, 0.8, 0, 0, 0, 1], "as in Pinocchio"),
    "scalar first": ([1, 0, 0, 0, 0.1, 0.2, 0.3], "half a turn about x.*as in MuJoCo and Drake"),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_half_turn_that_is_another_layout_is_told(name):
    """By a warning at the caller's line, for one state and for the first of a batch."""
    model = jc.models.chain(2, "free")
    base, message = LAYOUTS[name]
    q = np.array([*base, *np.full(model.nq - 7, 0.3)])
    for x in (q, np.tile(q, (5, 1))):
        with pytest.warns(jc.LayoutWarning, match=message) as caught:
            told = jc.mass_matrix(model, x)
        assert [w.filename for w in caught] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            meant = x.copy()
            meant[..., 3] = -0.0
            np.testing.assert_array_equal(jc.mass_matrix(model, meant), told)
            out = np.zeros_like(told)
            with pytest.raises(jc.LayoutWarning):
                jc.mass_matrix(model, x, out=out)
            assert np.isnan(out).all()


FREE = jc.models.chain(2, "free")
TURNED = np.array([1.0, 0, 0, 0, 0.1, 0.2, 0.3, 0.4])
REST = np.zeros(FREE.nv)
THROUGH_PYTHON = {
    "compiled.py": lambda: jc.simulate(FREE, TURNED, REST, [0.0, 0.01]),
    "a function": lambda: jc.simulate(FREE, TURNED, REST, [0, 0.01], control=lambda t, q, v: -v),
    "rollout_call.py": lambda: jc.rollout(FREE, TURNED, REST, np.zeros((2, FREE.nv)), 0.01),
    "inverse.py": lambda: jc.inverse_kinematics(FREE, {1: np.eye(4)}, TURNED, iterations=2),
    "accuracy.py": lambda: jc.forward_dynamics_series_error(FREE, TURNED, REST, REST[None]),
    "linearization.py": lambda: jc.linearize_step(FREE, TURNED, REST, REST, 0.01),
    "jvp.py": lambda: jc.jvp(jc.mass_matrix, FREE, {"q": TURNED}, {"q": REST}),
    "jacobians.py": lambda: jc.jacobian_derivatives(FREE, TURNED, 1, 3),
}


@pytest.mark.parametrize("name", THROUGH_PYTHON)
def test_the_warning_points_to_the_caller_of_functions_in_python(name):
    """Not into the package, where the line that says what to change is not."""
    with pytest.warns(jc.LayoutWarning) as caught:
        THROUGH_PYTHON[name]()
    own = [w for w in caught if w.category is jc.LayoutWarning]
    assert {w.filename for w in own} == {__file__}


def test_a_warning_is_shown_for_each_line_that_asks_for_it():
    """What Python shows once for each line is not shown once for all of them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            jc.rollout(FREE, TURNED, REST, np.zeros((2, FREE.nv)), 0.01)
        jc.rollout(FREE, TURNED, REST, np.zeros((2, FREE.nv)), 0.01)
    assert len({w.lineno for w in caught}) == len(caught) == 2


def test_frames_of_the_package_are_passed_over():
    code = compile("def call(f): f()", str(Path(jc.__file__).parent / "some" / "room.py"), "exec")
    names = {}
    exec(code, names)
    with pytest.warns(jc.LayoutWarning, match="text") as caught:
        names["call"](partial(names["call"], partial(warn_caller, jc.LayoutWarning, "text")))
    assert [w.filename for w in caught] == [__file__]


def one_joint(kind, builder=None):
    """A model whose last body has such a joint."""
    builder = builder or jc.ModelBuilder()
    parent = builder.build().body_names[-1:]
    return builder.add_body("b", *parent, joint=kind, mass=1, inertia=(1, 1, 1)).build()


@pytest.mark.filterwarnings("error")
def test_other_half_turns_are_no_reason_to_warn():
    """Those that were computed or converted, those of other joints, and all other states."""
    free = one_joint("free")
    ball = one_joint("spherical", jc.ModelBuilder().add_body("arm", None, "revolute"))
    for axis in np.eye(3):
        T = np.eye(4)
        T[:3, :3] = 2 * np.outer(axis, axis) - np.eye(3)
        q = jc.configuration(free, base=T)
        np.testing.assert_array_equal(jc.body_pose(free, q, 0), T)
        q = jc.integrate(free, jc.neutral(free), [*(np.pi * axis), 0, 0, 0])
        q[3] = q[3] or -0.0  # the cosine of a rounded right angle may round to 0
        jc.mass_matrix(free, q)
    jc.mass_matrix(ball, [0.1, 1, 0, 0, 0])
    jc.mass_matrix(free, [0, 0, 0, 1, 0, 0, 1])
    jc.mass_matrix(free, [0, 0, 1, 0, 0, 0, 2])
    jc.mass_matrix(free, np.zeros((0, 7)))


def test_the_scalar_first_identity_of_a_ball_is_told():
    ball = one_joint("spherical")
    with pytest.warns(jc.LayoutWarning, match=r"joint '.*' is turned by half a turn about x"):
        jc.gravity_forces(ball, [1, 0, 0, 0])


def test_shapes_that_cannot_fit_are_refused():
    for make in (jc.neutral, lambda model, shape: jc.random_configuration(model, 0, shape)):
        with pytest.raises(jc.TooLargeError, match=r"would take .* PB"):
            make(MODEL, 2**70)
        with pytest.raises(jc.ArgumentError, match="at most 30 axes"):
            make(MODEL, [1] * 40)
        assert make(MODEL, (2**70, 0)[1:]).shape == (0, 7)


@pytest.mark.parametrize(
    "call",
    [
        lambda: jc.parameters(MODEL, np.zeros(2)),
        lambda: jc.parameters(MODEL, "mass", 3),
        lambda: jc.vjp(np.zeros(2), MODEL, (Q, Q, Q), Q),
        lambda: jc.hybrid_dynamics_series_derivatives(None, Q, Q, Q[None], Q[None], Q > 0),
        lambda: jc.forward_dynamics_series_derivatives(3, Q, Q, Q[None]),
        lambda: jc.step(MODEL, Q, Q, Q, 0.1, method=np.zeros(2)),
        lambda: jc.simulate(MODEL, Q, Q, [0, 1], method=np.zeros(2)),
        lambda: jc.simulate(MODEL, Q, Q, [0, 1e300], method="rkmk4", dt=0.1),
        lambda: jc.vjp(jc.inverse_dynamics, MODEL, (Q, Q, Q + 1e200), Q + 1e200),
        lambda: jc.project_velocity(3, Q, Q, None),
        lambda: jc.linearize(MODEL, Q, Q, Q, constraints=np.zeros(3)),
        lambda: jc.rollout_vjp(None, Q, Q, Q[None], 0.1, (None, None)),
        lambda: jc.rollout_vjp(MODEL, [[1], [1, 2]], Q, Q[None], 0.1, (None, None)),
        lambda: jc.inertia.nearest(np.full(10, 1.5e308)),
    ],
)
def test_what_is_no_such_thing_at_all_is_an_error_of_the_package(call):
    with pytest.raises(jc.Error):
        call()
