"""Options are checked where they are not used, and numbers are real everywhere."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

ARM = jc.models.chain(2)
Q, V, TAU = np.full((3, 2), 0.1)
STEPS = {
    "step": lambda **options: jc.step(ARM, Q, V, TAU, 0.01, **options),
    "rollout": lambda **options: jc.rollout(ARM, Q, V, TAU[None], 0.01, **options),
    "linearize_step": lambda **options: jc.linearize_step(ARM, Q, V, TAU, 0.01, **options),
}


@pytest.mark.parametrize("function", STEPS)
@pytest.mark.parametrize("method", ["rkmk4", "euler", "taylor"])
def test_the_order_and_the_projection_are_checked_with_every_method(function, method):
    run = STEPS[function]
    run(method=method, order=8, projection=False)
    for order in ("x", 2.0, True):
        with pytest.raises(jc.ArgumentError, match="order must be an integer"):
            run(method=method, order=order)
    for order in (-7, 1, 31):
        with pytest.raises(jc.ArgumentError, match="order must be 2 to 30"):
            run(method=method, order=order)
    for projection in ("zz", None, 1):
        with pytest.raises(jc.ArgumentError, match="projection must be True or False"):
            run(method=method, projection=projection)


@pytest.mark.parametrize("method", ["rkmk4", "momentum", "dop853", "taylor"])
def test_tolerances_are_checked_with_every_method(method):
    fixed = {"dt": 0.1} if method in ("rkmk4", "momentum") else {}
    for name, value in (("rtol", -1), ("rtol", 1e-20), ("atol", "x"), ("atol", 0.0)):
        with pytest.raises(jc.ArgumentError, match=f"{name} must be a"):
            jc.simulate(ARM, Q, V, [0, 0.1], method=method, **fixed, **{name: value})
    jc.simulate(ARM, Q, V, [0, 0.1], method=method, **fixed, rtol=1e-6, atol=1e-6)


COMPLEX = {
    "weights": lambda: STEPS["linearize_step"](weights=1j * np.ones(4)),
    "actuation": lambda: STEPS["linearize_step"](actuation=1j * np.eye(2)),
    "actuation of linearize": lambda: jc.linearize(ARM, Q, V, TAU, actuation=1j * np.eye(2)),
    "control of taylor": lambda: jc.simulate(
        ARM, Q, V, [0, 0.1], lambda t, q, v: np.array([1j * v]), "taylor"
    ),
    "check": lambda: jc.simulate(ARM, Q, V, [0, 0.1]).check(lambda t, q, v: 1j * v),
    "f_ext": lambda: jc.rollout(
        ARM,
        np.zeros((2, 2)),
        np.zeros(2),
        np.zeros((3, 2)),
        0.01,
        np.zeros((3, 2, 6)) + 1j,
        constraints=jc.Constraints(ARM, [jc.Point("body1")]),
    ),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("what", COMPLEX)
def test_complex_numbers_do_not_lose_their_imaginary_part(what):
    with pytest.raises(jc.ArgumentError, match="must be real numbers, got complex128"):
        COMPLEX[what]()


def test_methods_that_are_not_explicit_are_told_those_that_are():
    with pytest.raises(jc.ArgumentError, match=r"'variational' is not explicit.*, 'taylor'$"):
        STEPS["linearize_step"](method="variational")
    with pytest.raises(jc.ArgumentError, match=r"'taylor' is not explicit.* 'dop853'; lin"):
        jc.jvp(jc.step, ARM, (Q, V, TAU, 0.1, None, "taylor"), ())


def test_a_missing_argument_of_a_step_is_named():
    for count, name in enumerate(("q", "v", "tau", "dt")):
        with pytest.raises(jc.ArgumentTypeError, match=rf"step\(\) needs the argument '{name}'"):
            jc.jvp(jc.step, ARM, (Q, V, TAU)[:count], ())
