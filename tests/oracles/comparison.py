"""How results of two libraries are compared."""

from __future__ import annotations

import numpy as np

RELATIVE = 1e-9
"""What jounce promises against other libraries, relative to a quantity's own magnitude."""


def relative_error(ours, theirs, scale=0.0):
    """Largest difference in each state, relative to the largest entry of theirs in that state.

    The first axis counts states. A state's entries share a scale because they share units and
    rounding errors; `scale` bounds it from below where a quantity may vanish. A tenth of a
    percent of the largest magnitude in the batch bounds it too, for states where the quantity
    happens to be nearly zero.
    """
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    assert np.isfinite(ours).all()
    if ours.size == 0:
        return 0.0
    axes = tuple(range(1, theirs.ndim))
    size = np.abs(theirs).max(axis=axes)
    size = np.maximum(size, max(1e-3 * size.max(), scale))
    return float((np.abs(ours - theirs).max(axis=axes) / np.where(size > 0, size, 1.0)).max())


def scaled_condition(M):
    """Condition number of symmetric matrices after scaling their diagonal to one.

    A relative error eps in a mass matrix changes accelerations by about eps times this number:
    two libraries cannot agree better on an ill-conditioned robot.
    """
    d = np.sqrt(np.einsum("...ii->...i", M))
    eigenvalues = np.linalg.eigvalsh(M / d[..., :, None] / d[..., None, :])
    return float((eigenvalues[..., -1] / eigenvalues[..., 0]).max())
