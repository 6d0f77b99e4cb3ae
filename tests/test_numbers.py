"""What Python takes as numbers before a kernel does, which is what kernels take."""

from __future__ import annotations

import re
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import jounce as jc
from jounce._core.arrays import numbers, plain, positive, shown

TOOLS = Path(__file__).parents[1] / "tools"
ARM, Z, T = jc.models.panda_like(), np.zeros(7), [0.0, 0.01]
TOOL = ARM.body_names[-1]
MOTION = jc.simulate(ARM, Z, Z, [0.0, 1.0])
PATH = jc.trajectories.RobotTrajectory.through(ARM, [0, 1], [Z, Z + 1])
ALONG = jc.path_dynamics(ARM, PATH, [0.2, 0.5])
HOLDS = jc.Constraints(ARM, [jc.Point(TOOL)])
COMPLEX = getattr(np, "exceptions", np).ComplexWarning
HUGE = 10**400
"""An integer that no double can hold; Python converts it by an OverflowError."""


def body(**given):
    """A model of one body."""
    usual = {"joint": "revolute", "mass": 1.0, "inertia": (1.0, 1.0, 1.0)}
    return jc.ModelBuilder().add_body("a", **{**usual, **given}).build()


def simulated(**given):
    return jc.simulate(ARM, Z, Z, **{"t": T, **given})


def joint(**given):
    return body(joint=jc.Joint("revolute", **given))


TAKES = {
    "gravity": lambda x: ARM.replace(gravity=[x, 0, 0]),
    "gravity in a tuple": lambda x: ARM.replace(gravity=(x, 0, 0)),
    "damping": lambda x: ARM.replace(damping=[x] * 7),
    "lock": lambda x: ARM.lock({"joint1": [x]}),
    "payload": lambda x: ARM.with_payload(TOOL, mass=x),
    "center of a payload": lambda x: ARM.with_payload(TOOL, mass=1.0, com=[x, 0, 0]),
    "frame": lambda x: ARM.with_frame("pen", TOOL, (x, 0, 0)),
    "mass": lambda x: body(mass=x),
    "center of mass": lambda x: body(com=(x, 0, 0)),
    "inertia": lambda x: body(inertia=[x, x, x]),
    "inertia in a tuple": lambda x: body(inertia=(x, 0.5, 0.5)),
    "placement": lambda x: body(placement=(x, 0, 0)),
    "axis": lambda x: joint(axis=(x, 0, 0)),
    "damping of a joint": lambda x: joint(damping=x),
    "limits of a joint": lambda x: joint(lower=0.0, upper=[x]),
    "from_com": lambda x: jc.inertia.from_com(x, (0, 0, 0), np.eye(3)),
    "log_cholesky": lambda x: jc.inertia.log_cholesky([1.0, x, 0, 0, 1, 0, 1, 0, 0, 1]),
    "violation": lambda x: jc.inertia.violation(np.ones(10), x),
    "distance": lambda x: jc.Distance(TOOL, anchor=[x, 0, 0]),
    "coupling": lambda x: jc.Coupling({"joint1": [x]}),
    "tolerance of constraints": lambda x: jc.Constraints(ARM, [jc.Point(TOOL)], tolerance=x),
    "configuration": lambda x: jc.configuration(ARM, joints={"joint1": x}),
    "targets": lambda x: jc.inverse_kinematics(ARM, {TOOL: [x, 0, 0]}, Z),
    "tolerance of targets": lambda x: jc.inverse_kinematics(ARM, {TOOL: np.eye(4)}, Z, tolerance=x),
    "times": lambda x: simulated(t=[0.0, x]),
    "rows of a control": lambda x: simulated(control=[[x] * 7]),
    "control": lambda x: simulated(control=lambda t, q, v: [x] * 7),
    "series of a control": lambda x: simulated(
        control=lambda t, q, v: [[x] * 7, [0.0] * 7], method="taylor"
    ),
    "rtol": lambda x: simulated(rtol=x),
    "atol": lambda x: simulated(atol=x),
    "dt": lambda x: simulated(dt=x, method="rkmk4"),
    "time between": lambda x: MOTION.at([x]),
    "event at a coordinate": lambda x: jc.coordinate_event(ARM, "joint1", x),
    "event at a height": lambda x: jc.height_event(ARM, TOOL, x),
    "actuation": lambda x: jc.linearize(ARM, Z, Z, Z, actuation=[[x]] * 7),
    "weights of a step": lambda x: jc.linearize_step(ARM, Z, Z, Z, 0.01, weights=[x] * 14),
    "forces beside passive ones": lambda x: jc.linearize(ARM, Z, Z, [x] * 7, passive=True),
    "weights of energies": lambda x: jc.vjp(jc.potential_energy, ARM, (Z,), x),
    "limits of forces": lambda x: (
        jc.trajectories.largest_speed_factor(ALONG, 1e3 * np.ones(7))
        and jc.trajectories.largest_speed_factor(ALONG, effort_rate_limit=[x] * 7)
    ),
    "limits of s_curve": lambda x: jc.trajectories.s_curve([0, 0], [1, 1], [x, x], 1),
    "amplitude": lambda x: jc.trajectories.Sinusoid([x], 1.0),
    "time of a curve": lambda x: jc.trajectories.Sinusoid(1.0, 1.0)(x),
    "time of a trajectory": PATH.evaluate,
    "tolerance of a projection": lambda x: jc.project(ARM, Z, HOLDS, tolerance=x),
}
WRONG = {
    "complex": np.complex128(0.5 + 1j),
    "complex of Python": 0.5 + 1j,
    "word": "0.5",
    "bytes": b"0.5",
    "time": np.timedelta64(1, "s"),
    "huge": HUGE,
    "nothing": {},
}


@pytest.mark.parametrize("name", TAKES)
def test_numbers_are_taken(name):
    TAKES[name](0.5)
    TAKES[name](np.float32(0.5))


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("name", TAKES)
def test_what_is_no_number_is_refused(name, what):
    with warnings.catch_warnings():
        warnings.simplefilter("error", COMPLEX)
        with pytest.raises(jc.Error):
            TAKES[name](WRONG[what])


@pytest.mark.parametrize("call", [jc.neutral, lambda m, n: jc.random_configuration(m, 0, n)])
@pytest.mark.parametrize("shape", [HUGE, (2, HUGE), (0, HUGE), (0, 2**40, 2**40), (2**62, 2**62)])
def test_shapes_that_no_memory_has_are_refused(call, shape):
    with pytest.raises(jc.TooLargeError, match="would take"):
        call(ARM, shape)
    assert call(ARM, (0, 10**6)).shape == (0, 10**6, 7)


VALUES = {
    "floats": [0.0, 1.0],
    "integers": [0, 2**63],
    "flags": [True, False],
    "mixed": [True, 0.5],
    "half": np.zeros(2, "f2"),
    "long": np.zeros(2, "g"),
    "swapped": np.zeros(2, ">f8"),
    "tuple of arrays": (np.zeros(()), np.zeros(())),
    "large": [2**70, 0],
    "huge": [HUGE, 0],
    "fractions": [Fraction(1, 2), 0],
    "decimals": [Decimal(1), 0],
    "objects": np.zeros(2, "O"),
    "none": [None, 0],
    "words": ["0", "1"],
    "word and number": ["0", 1.0],
    "bytes": np.zeros(2, "S1"),
    "times": np.zeros(2, "m8[s]"),
    "dates": np.zeros(2, "M8[s]"),
    "complex": [1j, 0],
    "without imaginary parts": np.zeros(2, complex),
    "hidden complex": np.array([1j, 0], "O"),
    "records": np.zeros(2, [("x", float)]),
    "ragged": [[1.0], [1.0, 2.0]],
}


@pytest.mark.parametrize("name", VALUES)
def test_python_takes_what_kernels_take(name):
    value, model = VALUES[name], jc.models.chain(2, "prismatic")
    try:
        jc.gravity_forces(model, value)
    except jc.ArgumentError:
        with pytest.raises(jc.ArgumentError, match=r"^x must be (real )?numbers, got"):
            numbers("x", value)
    else:
        found = numbers("x", value)
        assert found.dtype == float
        np.testing.assert_array_equal(found, np.asarray(value, float))


def test_complex_numbers_stay_where_they_are_asked_for():
    assert numbers("x", [1j, np.float32(2)], "fiubc").dtype == complex
    assert numbers("x", [1, 2], "fiubc").dtype == float
    with pytest.raises(jc.ArgumentError, match="x must be real numbers, got complex64"):
        numbers("x", np.zeros(2, "c8"))
    step = 1e-30
    for function in (jc.lie.exp, jc.lie.ad):
        moved = function([0.1, 0.2, 0.3, 0.4, 0.5 + step * 1j, 0.6])
        assert np.abs(moved.imag).max() > 0.1 * step


def test_arrays_of_doubles_are_not_copied_and_numbers_stay_plain():
    x = np.ones((2, 3))
    assert numbers("x", x) is x
    kept = (1.0, 2.0)
    assert plain("x", kept) is kept
    assert plain("x", ((1, 2.0), (3, 4))) == [[1.0, 2.0], [3.0, 4.0]]
    assert type(plain("x", np.float32(2))) is float


def test_positive_numbers_are_one_finite_number():
    for x in (2, 2.0, np.float32(2), np.int8(2), np.array(2.0)):
        assert positive("x", x) == 2.0
    for x in (0, -1.0, np.nan, np.inf, True, np.True_, [2.0], np.ones(1), HUGE, "2", 2j, None):
        with pytest.raises(jc.ArgumentError, match="x must be a positive number, got"):
            positive("x", x)
    with pytest.raises(jc.ArgumentError, match=r"x must be a number, at least 1e-10, got 1e-12"):
        positive("x", 1e-12, 1e-10)


def test_messages_are_short_whatever_came():
    """Python makes no text of integers with more than 4300 digits."""
    assert len(shown(list(range(1000)))) == 100
    assert shown([10**5000]) == "a value of type list"
    for call in (
        lambda: ARM.replace(gravity=[10**5000, 0, 0]),
        lambda: jc.kinetic_energy(ARM, Z, Z, threads=10**5000),
        lambda: joint(damping=10**5000),
        lambda: joint(axis=(10**5000, 0, 0)),
        lambda: jc.random_configuration(ARM, -(10**5000)),
        lambda: jc.inverse_kinematics(ARM, {TOOL: np.eye(4)}, Z, iterations=10**5000),
    ):
        with pytest.raises(jc.Error, match="got a value of type"):
            call()


DIGITS = 10**5000
REFUSES = {
    "body": lambda x: jc.body_pose(ARM, Z, x),
    "body of derivatives": lambda x: jc.jacobian_derivatives(ARM, Z, x, 3),
    "frame": lambda x: ARM.frame(x),
    "joint": lambda x: ARM.q_slice(x),
    "joint that is locked": lambda x: ARM.lock(x),
    "twist": lambda x: jc.body_twist(ARM, Z, Z, TOOL, x),
    "twist of derivatives": lambda x: jc.jacobian_derivatives(ARM, Z, TOOL, 3, x),
    "source": lambda x: jc.twists.convert(np.zeros(6), np.eye(4), x, "body"),
    "source of a series": lambda x: jc.twists.pose_series(np.eye(4), np.zeros((1, 6)), x),
    "wrenches": lambda x: jc.external_wrenches(ARM, Z, x),
    "method": lambda x: jc.step(ARM, Z, Z, Z, 0.1, method=x),
    "hold": lambda x: jc.rollout(ARM, Z, Z, [Z], 0.1, hold=x),
    "order of a step": lambda x: jc.step(ARM, Z, Z, Z, 0.1, method="taylor", order=x),
    "targets": lambda x: jc.inverse_kinematics(ARM, x, Z),
    "key of a target": lambda x: jc.inverse_kinematics(ARM, {DIGITS: x}, Z),
    "weights": lambda x: jc.inverse_kinematics(ARM, {TOOL: np.eye(4)}, Z, weights=x),
    "limits": lambda x: jc.inverse_kinematics(ARM, {TOOL: np.eye(4)}, Z, limits=x),
    "joints": lambda x: jc.configuration(ARM, joints=x),
    "limit of the cache": lambda x: jc.clear_cache(limit=x),
    "constraints": lambda x: jc.linearize(ARM, Z, Z, Z, constraints=x),
    "passive": lambda x: jc.linearize(ARM, Z, Z, Z, passive=x),
    "kind of a parameter": lambda x: jc.parameters(ARM, x),
    "point": lambda x: jc.Constraints(ARM, [jc.Point(x)]),
    "coefficients": lambda x: jc.Coupling(x),
    "curves": lambda x: jc.trajectories.RobotTrajectory(ARM, x),
    "extension": lambda x: jc.trajectories.HalfCosine(0.0, 1.0, 2.0, extend=x),
    "events": lambda x: simulated(events=x),
    "control": lambda x: jc.rollout(ARM, Z, Z, [Z], 0.1, control=x),
    "function": lambda x: jc.vjp(x, ARM, (Z,), Z),
    "name of a body": lambda x: jc.ModelBuilder().add_body(x),
    "path": lambda x: jc.load(x),
}


@pytest.mark.parametrize("value", [DIGITS, [DIGITS]], ids=["number", "list"])
@pytest.mark.parametrize("name", REFUSES)
def test_numbers_of_many_digits_are_told_without_them(name, value):
    with pytest.raises(jc.Error):
        REFUSES[name](value)


@pytest.mark.skipif(not TOOLS.is_dir(), reason="needs a checkout")
def test_what_came_is_told_by_one_function():
    """An f-string that shows a value by itself fails where Python makes no text of it."""
    rooms = "_core lie model kinematics dynamics series derivatives constraints trajectories"
    package = TOOLS.parent / "src" / "jounce"
    for room in (*rooms.split(), "simulation"):
        for path in (package / room).rglob("*.py"):
            assert not re.findall(r"got [^{\"]*\{[^}]*!r", path.read_text()), path


def test_a_model_that_was_never_made_is_none():
    empty = jc.Model.__new__(jc.Model)
    for function in (jc.base_parameters, jc.model_address):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # nanobind's
            with pytest.raises(jc.ArgumentTypeError, match=r"model must be a jounce\.Model"):
                function(empty)


@pytest.mark.skipif(not TOOLS.is_dir(), reason="needs a checkout")
def test_the_fuzzer_hears_imaginary_parts_fall(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    import fuzz

    class Job:
        def job(self, rng):
            return "job", lambda: np.array([np.complex128(1j)], float)

    run = fuzz.Run("calls")
    run.maker = Job()
    run.one(0, 0)
    assert "ComplexWarning" in run.wrong[0]
