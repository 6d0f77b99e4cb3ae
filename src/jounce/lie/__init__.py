"""The Lie groups SO(3) and SE(3), their algebras, and unit quaternions.

Every function dispatches on the trailing axes and treats all leading axes as batch axes:

    ========  ================  ==============  ===============================
    group     algebra vector    group matrix    meaning
    ========  ================  ==============  ===============================
    SO(3)     (..., 3)          (..., 3, 3)     rotation vector, rotation
    SE(3)     (..., 6)          (..., 4, 4)     twist (angular, linear), pose
    ========  ================  ==============  ===============================

Quaternions are stored as (x, y, z, w). Angles are in radians, lengths in meters. A pose T maps body
coordinates to world coordinates. Group elements are composed with `@`. Wrenches (moment, force) are
dual to twists: where a twist moves by ``Ad(T) @ x``, a wrench moves by ``Ad(inverse(T)).T @ w``
(Mueller 2018, eq. 120); `jounce.twists.convert_wrench` does this for batches.

All functions are compiled and batched as ufuncs of NumPy are: leading axes broadcast, ``out=`` is
an array to write to, ``threads=`` splits a batch (0: all cores). Numbers that are not finite are
refused, and so are results that no double can hold; `log` and `matrix_to_quat` refuse what is no
rotation.

Everything except `log`, `matrix_to_quat` and `quat_log` is analytic in its arguments and accepts
complex arrays, too, by the same formulas in NumPy: a complex step gives exact derivatives.

    >>> import numpy as np
    >>> from jounce import lie
    >>> x = np.array([[0.1, 0.2, 0.3, 1.0, 2.0, 3.0], [0.0, 0.0, np.pi, 0.0, 0.0, 1.0]])
    >>> T = lie.exp(x)
    >>> T.shape
    (2, 4, 4)
    >>> bool(np.allclose(lie.log(T), x))
    True
    >>> h = 1e-100  # along the first axis
    >>> slope = lie.exp(x + 1j * h * np.eye(6)[0]).imag / h
    >>> twist = lie.vee(lie.inverse(T) @ slope)  # of the body, by a unit rate
    >>> bool(np.allclose(twist, lie.dexp(-x)[..., 0]))
    True

References: A. Mueller, "Screw and Lie Group Theory in Multibody Dynamics", 2018 (appendices A, B).
A. Ali et al., "Lie Group Formulation of Recursive Dynamics Algorithms of Higher Order for
Floating-Base Robots", 2026 (Sec. 2).
"""

from jounce.lie import twists
from jounce.lie.algebra import ad, hat, vee
from jounce.lie.groups import Ad, dexp, dexp_inv, exp, inverse, log, rpy_to_matrix
from jounce.lie.quaternions import (
    matrix_to_quat,
    quat_exp,
    quat_log,
    quat_multiply,
    quat_normalize,
    quat_to_matrix,
)

__all__ = [
    "Ad",
    "ad",
    "dexp",
    "dexp_inv",
    "exp",
    "hat",
    "inverse",
    "log",
    "matrix_to_quat",
    "quat_exp",
    "quat_log",
    "quat_multiply",
    "quat_normalize",
    "quat_to_matrix",
    "rpy_to_matrix",
    "twists",
    "vee",
]


def __dir__() -> list[str]:
    return sorted(__all__)
