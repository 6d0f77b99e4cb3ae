"""Decompositions of large matrices: signals, forks, exits."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce._core import algebra

RNG = np.random.default_rng(0)
LARGE = RNG.standard_normal((700, 700))
SYMMETRIC = LARGE + LARGE.T
CALLS = {
    "svd": (algebra.svd, np.linalg.svd, (LARGE,)),
    "singular_values": (
        algebra.singular_values,
        lambda a: np.linalg.svd(a, compute_uv=False),
        (LARGE,),
    ),
    "eigh": (algebra.eigh, np.linalg.eigh, (SYMMETRIC,)),
    "inv": (algebra.inv, np.linalg.inv, (LARGE,)),
    "pinv": (algebra.pinv, np.linalg.pinv, (LARGE, 1e-12)),
    "solve": (algebra.solve, np.linalg.solve, (LARGE, SYMMETRIC)),
    "product": (algebra.product, np.matmul, (LARGE, SYMMETRIC)),
}


@pytest.mark.parametrize("name", CALLS)
def test_large_ones_are_computed_by_a_thread_of_their_own(name, monkeypatch):
    ours, numpys, given = CALLS[name]
    made, begin = [], algebra.heard
    monkeypatch.setattr(algebra, "heard", lambda compute: made.append(1) or begin(compute))
    for array, expected in zip(ours(*given), numpys(*given), strict=True):
        np.testing.assert_allclose(array, expected, rtol=1e-9, atol=1e-9)
    assert made == [1]
    small = [x[:50, :50] if isinstance(x, np.ndarray) else x for x in given]
    ours(*small)
    assert made == [1]


def test_errors_and_settings_are_those_of_the_caller():
    wrong = np.full_like(LARGE, np.nan)
    with pytest.raises(np.linalg.LinAlgError):
        algebra.svd(wrong)
    huge = np.full_like(LARGE, 1e300)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        algebra.product(huge, huge)
    with np.errstate(all="ignore"):
        assert np.isinf(algebra.product(huge, huge)).all()


def test_hundreds_of_rows_have_their_forces():
    """Of a chain whose links are coupled: its actuation and forces add up to what is needed."""
    arm = jc.models.chain(420)
    names = arm.joint_names
    pairs = [jc.Coupling({a: 1.0, b: -1.0}) for a, b in zip(names[::2], names[1::2], strict=True)]
    c = jc.Constraints(arm, pairs)
    q, still = np.repeat(np.linspace(0.1, 0.3, 210), 2), np.zeros(420)
    tau, force = jc.constrained_inverse_dynamics(arm, q, still, still, c, actuated=names[::2])
    needed = jc.gravity_forces(arm, q)
    np.testing.assert_allclose(tau + c.jacobian(q).T @ force, needed, atol=1e-9 * abs(needed).max())
