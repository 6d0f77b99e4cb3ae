"""Functions in NumPy take a portion of a large batch at a time, and refuse what cannot fit."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce._core import coupled, elementwise, memory
from jounce._core import out as delivery
from jounce.trajectories import Circle, Polynomial, RobotTrajectory, Sinusoid

RNG = np.random.default_rng(0)
ARM, FREE = jc.models.chain(3), jc.models.aerial_manipulator()
Q, V, A = RNG.uniform(-1, 1, (3, 3))
X, POSE = RNG.standard_normal(6), jc.lie.exp(RNG.standard_normal(6))
SERIES = RNG.standard_normal((3, 6))
QUATERNION = jc.lie.quat_exp(X[:3])
BODY = jc.inertia.from_com(2.0, (0.1, 0, 0), np.diag([1.0, 2.0, 2.5]))
TIME = np.array(0.4)
PATH = RobotTrajectory.through(ARM, [0, 1], [Q, V])
FLIGHT = jc.trajectories.aerial_manipulator_reference(FREE)
CURVE = Sinusoid([1.0, 2.0], 3.0).retimed(Polynomial([0.1, 2.0]))
CIRCLE = jc.trajectories.Translation(Circle(1.0, 2.0)) @ jc.lie.exp(X)
DYNAMICS = jc.path_dynamics(ARM, PATH, 0.3)
MOTION = jc.simulate(ARM, Q, V, [0.0, 0.5, 1.0], dense=True)
CONSTRAINTS = jc.Constraints(ARM, [jc.Coupling({"joint0": 1.0, "joint1": 1.0})])


def with_a_mimic():
    builder = jc.ModelBuilder()
    builder.add_body("a", joint="revolute", mass=1, com=(0, 0, 0.3), inertia=(1, 1, 1))
    mimic = jc.Mimic("a_joint", 2.0)
    builder.add_body("b", "a", joint="prismatic", mimic=mimic, mass=1, inertia=(1, 1, 1))
    builder.add_body("c", "b", joint="revolute", axis=(0, 1, 0), mass=1, com=(0.2, 0, 0))
    return builder.build().coupled()


def of(name, *given, model=None, **options):
    """A function of jc, or of one of its modules, and small arguments that may be batches."""
    function = jc
    for part in name.split("."):
        function = getattr(function, part)
    if model is not None:
        return lambda *some: function(model, *some, **options), given
    return lambda *some: function(*some, **options), given


def imaginary(*arrays):
    return [x * (1 + 0.01j) for x in arrays]


BETWEEN = {"source": "body", "target": "spatial"}
COMPLEX = {
    **{f"lie.{name}": of(f"lie.{name}", X * (1 + 0.01j)) for name in ("hat", "ad", "exp", "dexp")},
    "lie.dexp_inv": of("lie.dexp_inv", X * (1 + 0.01j)),
    **{f"lie.{name}": of(f"lie.{name}", POSE * (1 + 0.01j)) for name in ("vee", "inverse", "Ad")},
    "lie.rpy_to_matrix": of("lie.rpy_to_matrix", X[:3] * 1j),
    "lie.quat_exp": of("lie.quat_exp", X[:3] * 1j),
    "lie.quat_normalize": of("lie.quat_normalize", QUATERNION + 0.01j),
    "lie.quat_to_matrix": of("lie.quat_to_matrix", QUATERNION + 0.01j),
    "lie.quat_multiply": of("lie.quat_multiply", *imaginary(QUATERNION, X[:4])),
    "twists.convert": of("twists.convert", X * 1j, POSE, **BETWEEN),
    "twists.convert_wrench": of("twists.convert_wrench", X * 1j, POSE, **BETWEEN),
    "twists.convert_acceleration": of("twists.convert_acceleration", X * 1j, X, POSE, **BETWEEN),
    "twists.matrix": of("twists.matrix", POSE + 0j, **BETWEEN),
}
SERIES_OF_TWISTS = {
    "twists.convert_series": of("twists.convert_series", SERIES, POSE, **BETWEEN),
    "twists.convert_series of complex numbers": of(
        "twists.convert_series", SERIES * 1j, POSE, **BETWEEN
    ),
    "twists.convert_wrench_series": of(
        "twists.convert_wrench_series", SERIES, SERIES[1:], POSE, **BETWEEN
    ),
    "twists.pose_series": of("twists.pose_series", POSE, SERIES),
}
INERTIA = {
    f"inertia.{name}": of(f"inertia.{name}", BODY)
    for name in (
        *("about_com", "rotational", "matrix", "pseudo_inertia", "is_possible", "distance"),
        *("nearest", "log_cholesky"),
    )
} | {
    "inertia.from_com": of("inertia.from_com", np.array(2.0), X[:3], np.eye(3)),
    "inertia.transform": of("inertia.transform", BODY, POSE),
    "inertia.from_pseudo_inertia": of("inertia.from_pseudo_inertia", np.eye(4)),
    "inertia.from_log_cholesky": of("inertia.from_log_cholesky", 0.1 * np.arange(10.0)),
    "inertia.log_cholesky_derivatives": of(
        "inertia.log_cholesky_derivatives", 0.1 * np.arange(10.0)
    ),
}
CURVES = {
    "series": (lambda t: CURVE.series(t, 3), [TIME]),
    "series by call": (CURVE, [TIME]),
    "pose": (CIRCLE.pose, [TIME]),
    "coordinates": (CIRCLE.coordinates, [TIME]),
    "twist_series": (lambda t: CIRCLE.twist_series(t, 2, "hybrid"), [TIME]),
    "evaluate": (lambda t: PATH.evaluate(t, 2), [TIME]),
    "evaluate of a free base": (lambda t: FLIGHT.evaluate(t, 1), [TIME]),
    "forces": (DYNAMICS.forces, [TIME, TIME]),
    "force_rates": (DYNAMICS.force_rates, [TIME, TIME, TIME]),
}
MIMIC = with_a_mimic()
ROBOTS = {
    "configuration": (
        lambda T, x: jc.configuration(FREE, base=T, joints={"q2": x}),
        [POSE, np.array(0.3)],
    ),
    "mass_matrix": of("mass_matrix", Q[:2], model=MIMIC),
    "forward_dynamics": of("forward_dynamics", Q[:2], V[:2], A[:2], model=MIMIC),
    "body_poses": of("body_poses", Q[:2], model=MIMIC),
    "expand": (MIMIC.expand, [Q[:2]]),
}
IN_PORTIONS = COMPLEX | SERIES_OF_TWISTS | INERTIA | CURVES | ROBOTS
GOAL = jc.body_pose(ARM, Q, 2)
LARGE_ALONE = {
    "inverse_kinematics": (
        lambda T, q: jc.inverse_kinematics(ARM, {2: T}, q, iterations=1),
        [GOAL, Q],
    ),
    "inverse_kinematics of two targets": (
        lambda T, p: jc.inverse_kinematics(ARM, {2: T, 1: p}, Q, iterations=1),
        [GOAL, GOAL[:3, 3]],
    ),
    "external_wrenches": (lambda *w: jc.external_wrenches(ARM, Q, dict(enumerate(w))), [X, X]),
    "step of several lengths": (lambda q, dt: jc.step(ARM, q, V, A, dt), [Q, TIME]),
    "step of whole seconds": (lambda q, dt: jc.step(ARM, q, V, A, dt), [Q, np.array(1)]),
    "step by taylor": of("step", Q, V, A, model=ARM, dt=0.1, method="taylor"),
    "rollout_vjp": (
        lambda q, w: jc.rollout_vjp(ARM, q, V, np.zeros((2, 3)), 0.1, (w, None)),
        [Q, np.zeros((3, 3))],
    ),
    "rollout of single precision": (
        lambda q: jc.rollout(ARM, q, V, np.zeros((2, 3)), 0.1),
        [Q.astype(np.float32)],
    ),
    "simulate": (lambda rows: jc.simulate(ARM, Q, V, [0, 1], control=rows), [np.zeros((1, 3))]),
    "simulate to many times": (lambda t: jc.simulate(ARM, Q, V, t), [TIME]),
    "at": (MOTION.at, [TIME]),
    "linearize": (
        lambda q, v: jc.linearize(ARM, q, v, A, constraints=CONSTRAINTS),
        [Q, V],
    ),
    "violations": (jc.inertia.violations, [BODY]),
    "largest_speed_factor": (
        lambda c: jc.trajectories.largest_speed_factor(jc.PathDynamics(*[c] * 6), 9.0),
        [Q],
    ),
}


def batch(arrays, lead=(2, 3, 5)):
    """Different states; those of every second argument have fewer leading axes."""
    made = []
    for k, x in enumerate(arrays):
        axes = lead[1:] if k % 2 else lead
        scale = RNG.uniform(0.9, 1.0, axes).reshape(*axes, *[1] * x.ndim)
        pose = x.shape == (4, 4)
        made.append(np.broadcast_to(x, (*axes, 4, 4)).copy() if pose else x * scale)
    return made


def each(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.fixture
def portions(monkeypatch):
    """Portions of one state; what is told of each of them."""
    monkeypatch.setattr(elementwise, "_FEW", 0)
    monkeypatch.setattr(coupled, "_AT_ONCE", 0)
    monkeypatch.setattr(delivery, "_PORTION", 1)
    told, values = [], delivery.Call._values

    def count(self, start, lead, arrays):
        told.append((start, *lead))
        if len(told) == count.last:
            raise KeyboardInterrupt
        return values(self, start, lead, arrays)

    count.last, count.told = None, told
    monkeypatch.setattr(delivery.Call, "_values", count)
    return count


@pytest.mark.parametrize("name", IN_PORTIONS)
def test_portions_give_the_same_numbers(name, request):
    function, given = IN_PORTIONS[name]
    arrays = batch(given)
    expected = function(*arrays)
    told = request.getfixturevalue("portions").told
    got = function(*arrays)
    assert {(k, 1) for k in range(30)} <= {*told}
    assert type(got) is type(expected)
    for x, y in zip(each(got), each(expected), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12 * np.abs(y).max())


ESTIMATES = {
    "forward_dynamics_series_error": of(
        "forward_dynamics_series_error", Q, V, np.array([A, V]), model=ARM
    )
}
"""By random numbers, which are others in a portion."""


@pytest.mark.parametrize("name", IN_PORTIONS | ESTIMATES)
def test_what_is_heard_between_two_portions_ends_the_work(name, portions):
    function, given = (IN_PORTIONS | ESTIMATES)[name]
    portions.last = 3
    with pytest.raises(KeyboardInterrupt):
        function(*batch(given))
    assert len(portions.told) == 3


@pytest.mark.parametrize("name", ["twists.convert_series", "inertia.is_possible", "evaluate"])
def test_a_portion_is_some_megabytes(name, monkeypatch):
    """Of arguments and results, whichever are more."""
    sizes, values = [], delivery.Call._values

    def record(self, start, lead, arrays):
        found = values(self, start, lead, arrays)
        sizes.append(max(sum(x.nbytes for x in arrays), sum(x.nbytes for x in found)))
        return found

    monkeypatch.setattr(delivery.Call, "_values", record)
    monkeypatch.setattr(delivery, "_PORTION", 2**16)
    function, given = IN_PORTIONS[name]
    function(*(np.array(np.broadcast_to(x, (5000, *x.shape))) for x in given))
    assert len(sizes) > 5
    assert max(sizes) <= 2**16


REFUSED = IN_PORTIONS | LARGE_ALONE
CROSSWISE = [(name, form) for name, (_, x) in REFUSED.items() if x[1:] for form in (0, -1, "x")]


@pytest.mark.parametrize(("name", "form"), [*((name, "all") for name in REFUSED), *CROSSWISE])
def test_results_that_cannot_fit_are_refused_at_once(name, form):
    """Too many states of all arguments, of the first or last of them, or of both together."""
    function, given = REFUSED[name]
    leads = [(10**12,) if form == "all" else ()] * len(given)
    if form == "x":
        leads[0], leads[-1] = (10**6, 1), (1, 10**6)
    elif form != "all":
        leads[form] = (10**12,)
    arrays = [np.broadcast_to(x, lead + x.shape) for x, lead in zip(given, leads, strict=True)]
    with pytest.raises(jc.TooLargeError, match=r"would take .* [TP]B.* of memory are available"):
        function(*arrays)


@pytest.mark.parametrize("name", SERIES_OF_TWISTS)
@pytest.mark.parametrize("few", [True, False])
def test_series_are_written_to_out(name, few, request):
    function, given = SERIES_OF_TWISTS[name]
    call = getattr(jc.twists, name.split()[0].split(".")[1])
    options = {} if "pose" in name else BETWEEN
    arrays = batch(given, (2, 5))
    expected = function(*arrays)
    if not few:
        request.getfixturevalue("portions")
    out = np.zeros_like(expected)
    assert call(*arrays, **options, out=out) is out
    np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-13)
    for wrong in (out[:1], out.astype(np.complex64), [out], np.ma.array(out)):
        with pytest.raises(jc.ArgumentError, match="out must be"):
            call(*arrays, **options, out=wrong)
    arrays[0].flat[-1] = np.nan
    before = arrays[0].copy()
    with pytest.raises(jc.ArgumentError, match="must be finite"):
        call(*arrays, **options, out=out)
    assert np.isnan(out).all()
    np.testing.assert_array_equal(arrays[0], before)


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("factor", [1.0, 1j])
def test_a_series_may_be_written_over_itself(factor, few, request):
    series, T = batch([SERIES * factor, POSE])
    expected = jc.twists.convert_series(series, T, "body", "hybrid")
    if not few:
        request.getfixturevalue("portions")
    jc.twists.convert_series(series, T, "body", "hybrid", out=series)
    np.testing.assert_allclose(series, expected, rtol=1e-13, atol=1e-13)


def test_what_ctrl_c_leaves_of_complex_results(portions):
    x = batch([X * 1j], (6,))[0]
    out = np.full((6, 4, 4), 7j)
    portions.last = 4
    with pytest.raises(KeyboardInterrupt):
        jc.lie.exp(x, out=out)
    assert np.isnan(out[:3]).all()
    assert (out[3:] == 7j).all()


def test_shapes_are_told_as_they_were_given(portions):
    with pytest.raises(jc.ArgumentError, match=r"x must have shape .*, got \(2, 7, 5\)$"):
        jc.lie.exp(np.zeros((2, 7, 5)) * 1j)
    with pytest.raises(jc.ArgumentError, match=r"parameters must have shape .*, got \(7, 9\)$"):
        jc.inertia.rotational(np.zeros((7, 9)))
    with pytest.raises(jc.ArgumentError, match=r"batch axes do not broadcast: series \(2,\)"):
        jc.twists.convert_series(np.zeros((2, 1, 6)), np.zeros((3, 4, 4)) + np.eye(4), **BETWEEN)


def test_lists_are_counted(portions):
    np.testing.assert_array_equal(
        jc.inertia.rotational([BODY.tolist()] * 3), jc.inertia.rotational([BODY] * 3)
    )
    assert len(portions.told) == 6
    within = []
    within.append(within)
    with pytest.raises(jc.ArgumentError, match="parameters must be numbers"):
        jc.inertia.rotational(within)


def test_masked_entries_of_large_batches_are_refused(portions):
    hidden = np.ma.array(np.tile(BODY, (3, 1)), mask=np.eye(3, 10, dtype=bool))
    with pytest.raises(jc.ArgumentError, match="parameters must have no masked entries, got 3 of"):
        jc.inertia.rotational(hidden)


def test_an_argument_that_cannot_be_converted_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 10**8)
    steps = np.ones(10**8, np.int8)
    with pytest.raises(jc.TooLargeError, match=r"^dt would take 800 MB and 100 MB of memory are"):
        jc.rollout(ARM, Q, V, np.zeros((2, 3)), steps)


def test_places_in_the_batch_are_told_of_mimics(portions):
    q = np.zeros((2, 3, 2))
    q[1, 2, 0] = 1e200
    with pytest.raises(jc.ArgumentError, match=r"in state \[1, 2\] of the batch"):
        jc.forward_dynamics(MIMIC, q * 0, q, q)
