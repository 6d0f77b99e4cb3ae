"""Bad arguments give one error that names the argument, what was expected and what came."""

from __future__ import annotations

import re

import numpy as np
import pytest

import jounce as jc
from jounce.model import Model

REAL = "{} must be an array of real numbers, got "
NOT_REAL = {
    "complex": (lambda x: x + 0j, "dtype complex128"),
    "objects": (lambda x: x.astype(object), "dtype object"),
    "text": (lambda x: x.astype(str), "dtype <U"),
    "list of text": (lambda x: [str(y) for y in x.flat], "list of dtype <U"),
    "list of None": (lambda x: [None] * x.size, "list of dtype object"),
    "dates": (lambda x: x.astype("M8[s]"), "dtype datetime64"),
    "durations": (lambda x: x.astype("m8[s]"), "dtype timedelta64"),
    "records": (lambda x: np.zeros(x.shape, "f8,f8"), "dtype [('f0'"),
    "ragged": (lambda x: [[1.0], [1.0, 2.0]], "list: setting an array element"),
    "a dict": (lambda x: {"q": x}, "dict of dtype object"),
    "bytes": (lambda x: b"12345", "bytes of dtype"),
}


@pytest.mark.parametrize("kind", NOT_REAL)
@pytest.mark.parametrize("name", ["q", "v", "a", "f_ext"])
def test_what_is_no_array_of_real_numbers_is_refused(name, kind, robot, state):
    make, got = NOT_REAL[kind]
    arguments = _inverse(state(robot))
    arguments[name] = make(arguments[name])
    message = re.escape(REAL.format(name)) + ".*" + re.escape(got)
    if (name, kind) == ("f_ext", "a dict"):  # wrenches by name, which another function takes
        message = r"f_ext must be an array .*, got a dict; jc\.external_wrenches"
    with pytest.raises(ValueError, match=message):
        jc.inverse_dynamics(robot, **arguments)


def _inverse(at):
    return {"q": at.q, "v": at.v, "a": at.a, "f_ext": at.f_ext}


class Angry:
    """Fails when NumPy asks for its numbers."""

    def __init__(self, error):
        self.error = error

    def __array__(self, dtype=None, copy=None):
        raise self.error


def test_a_failing_conversion_names_the_argument(state):
    model = jc.models.chain(3)
    at = state(model)
    with pytest.raises(ValueError, match="v must be an array of real numbers, got Angry: no, sir"):
        jc.inverse_dynamics(model, at.q, Angry(RuntimeError("no, sir")), at.a)
    with pytest.raises(KeyboardInterrupt):
        jc.inverse_dynamics(model, at.q, Angry(KeyboardInterrupt()), at.a)


@pytest.mark.parametrize("lead", [(), (4,)], ids=str)
def test_a_wrong_shape_says_what_was_expected(lead, all_joints, state):
    nq, nv, n = all_joints.nq, all_joints.nv, all_joints.n_bodies
    good = _inverse(state(all_joints, *lead))
    for name, want, meaning in [("q", nq, "nq"), ("v", nv, "nv"), ("a", nv, "nv")]:
        for size in (want - 1, want + 1, 0, 1):
            shape = (*lead, size)
            message = (
                f"{name} must have shape (..., {want}), that is (..., {meaning}) of this model"
            )
            with pytest.raises(ValueError, match=re.escape(f"{message}, got {shape}")):
                jc.inverse_dynamics(all_joints, **{**good, name: np.zeros(shape)})
    for shape in [(n, 5), (n + 1, 6), (6 * n,), (6, n)]:
        message = re.escape(f"f_ext must have shape (..., {n}, 6), that is (..., n_bodies, 6)")
        with pytest.raises(ValueError, match=message):
            jc.inverse_dynamics(all_joints, **{**good, "f_ext": np.zeros(shape)})
    with pytest.raises(ValueError, match=re.escape("got ()")):
        jc.inverse_dynamics(all_joints, **{**good, "q": 3.0})


def test_batches_that_do_not_broadcast_are_refused(all_joints, state):
    three, four = state(all_joints, 3), state(all_joints, 4)
    message = re.escape(
        "batch) axes of v, (4,), do not broadcast with (3,) of the arguments before"
    )
    with pytest.raises(ValueError, match=message):
        jc.inverse_dynamics(all_joints, three.q, four.v, three.a)


def test_too_many_axes_are_refused():
    model = jc.models.chain(1)
    most = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32
    x = np.zeros((1,) * most)
    if most == 32:
        assert jc.gravity_forces(model, x).shape == x.shape
    else:
        with pytest.raises(ValueError, match=r"q has too many axes \(64\)"):
            jc.gravity_forces(model, x)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("count", [1, 7, 8, 9, 40])
def test_a_number_that_is_not_finite_is_named_with_its_place(value, count, all_joints, state):
    rng = np.random.default_rng(count)
    for name in ("q", "v", "a", "f_ext"):
        arguments = _inverse(state(all_joints, count))
        at = tuple(int(rng.integers(n)) for n in arguments[name].shape)
        arguments[name][at] = value
        place = str(list(at)) if count > 1 else f"[..., {str(at[1:]).strip('(,)')}]"
        message = f"{name} must be finite, got {value!r} at {name}{place}"
        with pytest.raises(ValueError, match=re.escape(message)):
            jc.inverse_dynamics(all_joints, **arguments)
        single = {key: x[at[0]] for key, x in arguments.items()}
        with pytest.raises(ValueError, match=re.escape(f"at {name}{list(at[1:])}")):
            jc.inverse_dynamics(all_joints, **single)


def test_the_place_is_that_after_broadcasting(all_joints, state):
    at = state(all_joints, 4, 5)
    at.v[2, 3, 1] = np.nan
    with pytest.raises(ValueError, match=re.escape("at v[2, 3, 1]")):
        jc.inverse_dynamics(all_joints, at.q[:, :1], at.v, at.a[0])
    with pytest.raises(ValueError, match=re.escape("at v[..., 1]")):
        jc.inverse_dynamics(all_joints, at.q, at.v[2, 3], at.a)


@pytest.mark.parametrize("threads", [1, 2])
def test_of_several_bad_states_the_first_is_named(threads, state):
    model = jc.models.chain(3)
    at = state(model, 20000)
    at.v[[19999, 12345, 4321, 15000], 2] = np.inf
    for _ in range(10):
        with pytest.raises(ValueError, match=re.escape("at v[4321, 2]")):
            jc.inverse_dynamics(model, at.q, at.v, at.a, threads=threads)


def test_what_hybrid_dynamics_ignores_may_be_nan(all_joints, state):
    mask = np.arange(all_joints.nv) % 2 == 0
    for lead in [(), (9,)]:
        at = state(all_joints, *lead)
        expected = jc.hybrid_dynamics(all_joints, at.q, at.v, at.a, at.tau, mask)
        a, tau = np.where(mask, at.a, np.nan), np.where(mask, np.inf, at.tau)
        got = jc.hybrid_dynamics(all_joints, at.q, at.v, a, tau, mask)
        np.testing.assert_array_equal(got, expected)
        a[..., 2] = np.nan
        with pytest.raises(ValueError, match=r"a must be finite, got nan at a\[.*2\]"):
            jc.hybrid_dynamics(all_joints, at.q, at.v, a, tau, mask)


MASKS = [
    [1, 0, 1],
    [1.0, 0.0, 1.0],
    ["a", "b", "c"],
    [True, False],
    [[True, False, True]],
    True,
    [[True], [True, False]],
]


@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_a_mask_must_be_bool_over_the_rates(mask, state):
    model = jc.models.chain(3)
    at = state(model)
    with pytest.raises(ValueError, match="prescribed must be a bool array"):
        jc.hybrid_dynamics(model, at.q, at.v, at.a, at.tau, mask)


def test_a_mask_over_no_rates_may_be_an_empty_list():
    still = jc.ModelBuilder().add_body("block", mass=1.0).build()
    assert jc.hybrid_dynamics(still, [], [], [], [], []).a.shape == (0,)
    assert jc.linearize(still, [], [], [], actuated=[]).B.shape == (0, 0)


def test_functions_that_coupled_models_lack_are_named_as_people_know_them():
    builder = jc.ModelBuilder().add_body("a", joint="revolute", mass=1.0)
    builder.add_body("b", "a", "revolute", mass=1.0, mimic=jc.Mimic("a_joint"))
    with pytest.raises(jc.ModelError, match=r"^torque_regressor_blocks\(\) is not there") as told:
        jc.torque_regressor_blocks(builder.build().coupled(), [0.0], [0.0], [0.0])
    named = str(told.value).split("There are ")[1].split(", ")
    assert "torque_regressor" in named
    assert all(hasattr(jc, name) for name in named), named


def _quaternion_joints(model):
    return [joint for joint in model.joints if joint.type in ("spherical", "free")]


@pytest.mark.parametrize("scale", [0.0, 0.99, 1.01, -2.0, 1e200, 1e-200])
def test_a_quaternion_off_unit_length_shows_the_layout(scale, all_joints, state):
    assert {joint.type for joint in _quaternion_joints(all_joints)} == {"spherical", "free"}
    for joint in _quaternion_joints(all_joints):
        start = all_joints.q_slice(joint.name).start
        for lead in [(), (9,)]:
            at = state(all_joints, *lead)
            at.q[(*[5] * len(lead), slice(start, start + 4))] *= scale
            message = (
                f"q[{'5, ' * len(lead)}{start}:{start + 4}] must be the unit quaternion "
                f"(x, y, z, w) of joint {joint.name!r}"
            )
            if joint.type == "free":
                message += ", followed by the position (x, y, z)"
            with pytest.raises(ValueError, match=re.escape(message) + r", got \(.*\) with norm"):
                jc.inverse_dynamics(all_joints, at.q, at.v, at.a)


@pytest.mark.parametrize("scale", [0.9991, 1.0009, -1.0])
def test_a_quaternion_near_unit_length_is_normalized(scale, all_joints, state):
    for lead in [(), (9,)]:
        at = state(all_joints, *lead)
        off = at.q.copy()
        for joint in _quaternion_joints(all_joints):
            start = all_joints.q_slice(joint.name).start
            off[..., start : start + 4] *= scale
        expected = jc.inverse_dynamics(all_joints, at.q, at.v, at.a)
        got = jc.inverse_dynamics(all_joints, off, at.v, at.a)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_unknown_names_are_key_errors_with_a_suggestion(state):
    model = jc.models.aerial_manipulator()
    at = state(model)
    with pytest.raises(KeyError, match="unknown body or frame 'B2_con'; did you mean 'B2_com'"):
        jc.body_pose(model, at.q, "B2_con")
    for function in (model.q_slice, model.v_slice, model.joint_index):
        with pytest.raises(KeyError, match="unknown joint 'root_join'; did you mean 'root_joint'"):
            function("root_join")
    with pytest.raises(KeyError, match="unknown body 'zzz'; known: 'B1', 'B2'"):
        model.body_index("zzz")
    for bad in (7, -1, 2**70):
        with pytest.raises(KeyError, match=f"body index must be between 0 and 6, got {bad}"):
            jc.jacobian(model, at.q, bad)
    for bad in (None, 1.0, {}, [[]], True):
        with pytest.raises(KeyError, match="body must be a name or an index"):
            jc.body_twist(model, at.q, at.v, bad)
    with pytest.raises(ValueError, match=r"'local'.*body.*spatial.*hybrid.*mixed"):
        jc.jacobian(model, at.q, "B2", "local")


NO_MODELS = [None, 3, "panda", {}, Model, jc.ModelBuilder(), Model.__new__(Model)]


@pytest.mark.parametrize("thing", NO_MODELS, ids=lambda x: type(x).__name__)
def test_what_is_no_model_is_refused(thing):
    x = np.zeros(3)
    for call in (
        lambda: jc.inverse_dynamics(thing, x, x, x),
        lambda: jc.mass_matrix(model=thing, q=x),
        lambda: jc.body_pose(thing, x, "hand"),
        lambda: jc.jacobian(thing, x, 0),
    ):
        with pytest.raises(TypeError, match=r"model must be a jounce\.Model, got"):
            call()


CALLS = [
    ((), {}, "needs the argument 'model'"),
    (("model",), {}, "needs the argument 'q'"),
    (("model", "q", "v"), {}, "needs the argument 'a'"),
    (("model", "q", "v", None), {}, "needs the argument 'a'"),
    (("model", "q", "v", "a", None, "a"), {}, "takes at most 5 positional arguments, got 6"),
    (("model", "q", "v", "a"), {"q": 0}, "got two values for argument 'q'"),
    (("model", "q", "v", "a"), {"tau": 0}, "has no argument 'tau'"),
    (("model", "q", "v", "a"), {"thread": 1}, "has no argument 'thread'"),
    (("model", "q", "v", "a"), {"ä": 1}, "has no argument 'ä'"),
]


@pytest.mark.parametrize(("positional", "named", "message"), CALLS, ids=lambda x: str(x))
def test_a_wrong_set_of_arguments_is_a_type_error(positional, named, message):
    values = {"model": jc.models.chain(2), "q": [0, 0], "v": [0, 0], "a": [0, 0], None: None}
    with pytest.raises(TypeError, match=re.escape(f"inverse_dynamics() {message}")):
        jc.inverse_dynamics(*(values[key] for key in positional), **named)


def test_resizing_an_array_during_the_call_cannot_reach_past_it(python):
    """An argument whose conversion shrinks another argument, after that one was read."""
    python("""
import numpy as np, jounce as jc
model = jc.models.chain(50)
class Shrinks:
    def __array__(self, dtype=None, copy=None):
        q.resize(1, refcheck=False)
        return np.zeros(50)
q = np.zeros(50)
try:
    jc.inverse_dynamics(model, q, Shrinks(), np.zeros(50))
except ValueError as error:
    assert "q must have shape (..., 50)" in str(error), error
else:
    raise SystemExit("took an array that is gone")
""")


FUZZ = """
import random, re, sys, warnings
import numpy as np
import jounce as jc
from jounce.kinematics import bodies, jacobians

warnings.simplefilter("ignore")
rng = random.Random(int(sys.argv[1]))
model = jc.models.random_tree(5, 0)
n, q = model.nv, jc.neutral(model)

class Bad:
    def __array__(self, *a, **k): return rng.choice([None, 3, "x", np.zeros(n)])
    def __index__(self): return rng.choice([0, 2, -1, 2**70])
    def __len__(self): return -1
    def __getitem__(self, k): raise ValueError("no item")

things = [
    None, 0, 1, -1, -5, 2**70, 10**400, 1.5, np.nan, np.inf, 1j, True, "", "q", b"x", "spatial",
    [], (), {}, set(), [[]], [[1], [2, 3]], range(n), iter([1]), slice(3), Ellipsis, object(),
    Bad(), type, len, lambda: 0, q, np.stack([q] * 9), q[::-1], np.zeros((2, 1, model.nq)),
    np.zeros(n), np.full(n, np.nan), np.zeros((0, n)), np.zeros((n, 0)), np.zeros((3, n)),
    np.zeros(n, "f4"), np.zeros(n, "O"), np.zeros(n, "S3"), np.zeros(n, bool), np.ones(n, bool),
    np.zeros((1,) * 30), np.array(3.0), np.float32(2), np.ma.masked_all(n), memoryview(b"1234"),
    np.lib.stride_tricks.as_strided(np.zeros(1), (2, n), (0, 0)), np.datetime64("2020"),
    np.zeros(n).view(np.recarray), np.matrix(np.zeros((n, n))), (np.zeros(n), np.zeros(n)),
    (0, np.eye(4)), (99, np.eye(4)), (-9, np.eye(4)), (0, np.eye(3)), np.random.default_rng(0),
    model, jc.models.chain(1), jc.Model, jc.Model.__new__(jc.Model), *model.body_names[:2],
]
names = "model q v a tau dv q0 q1 f_ext motion order prescribed body twist out threads".split()
functions = [getattr(jc, name) for name in jc.__all__ if not name.startswith(("load", "view"))]
functions = [f for f in functions if callable(f) and not isinstance(f, type)]
raw = {**vars(bodies), **vars(jacobians)}
functions += [raw[name] for name in raw if name[:4] in ("_bod", "_jac")]
done, unclear = 0, set()
signature = re.compile(r"^[\\w.<>]+\\(\\) (missing|takes|got an unexpected|got multiple|got some) ")
for _ in range(30000):
    function = rng.choice(functions)
    positional = [rng.choice(things) for _ in range(rng.randrange(6))]
    if rng.random() < 0.7:
        positional[:1] = [model]
    named = {rng.choice(names): rng.choice(things) for _ in range(rng.randrange(3))}
    try:
        function(*positional, **named)
        done += 1
    except jc.Error as error:
        assert len(str(error)) > 5, (function, positional, named)
    except Exception as error:
        if not (isinstance(error, TypeError) and signature.search(str(error))):
            unclear.add(f"{function.__name__}: {error!r:.300}")
print(done, *sorted(unclear), sep="\\n")
"""


@pytest.mark.parametrize("seed", ["1", "2"])
def test_garbage_never_crashes_the_interpreter(seed, python):
    done, *unclear = python(FUZZ, seed).splitlines()
    assert int(done) > 100
    assert not unclear, "errors that say nothing about an argument:\n" + "\n".join(unclear)
