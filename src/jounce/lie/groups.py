"""The Lie groups SO(3) and SE(3): exponential, logarithm, adjoint and their differentials."""

from __future__ import annotations

from jounce._core.elementwise import elementwise
from jounce._types import AnyArray, Array, ArrayLike
from jounce.lie import _complex

__all__ = ["Ad", "dexp", "dexp_inv", "exp", "inverse", "log", "rpy_to_matrix"]


@elementwise(_complex.exp)
def exp(x: ArrayLike, *, out: AnyArray | None = None, threads: int = 1) -> AnyArray:
    """The exponential map: ``exp(x)`` is the matrix exponential of ``hat(x)``, in closed form.

    For a constant body twist x, ``T @ exp(t * x)`` is the pose after time t.

    Args:
        x: (..., 3) rotation vector or (..., 6) twist.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 3, 3) rotation or (..., 4, 4) pose.

    Examples:
        >>> jc.lie.exp([0, 0, np.pi / 2]).round(12) + 0.0  # a quarter turn about z
        array([[ 0., -1.,  0.],
               [ 1.,  0.,  0.],
               [ 0.,  0.,  1.]])
    """


@elementwise()
def log(T: ArrayLike, *, out: Array | None = None, threads: int = 1) -> Array:
    """The logarithm with rotation angle in [0, pi]: ``exp(log(T)) == T``.

    Accurate to a few eps at every angle. At exactly pi two rotation vectors are equally short; the
    one whose largest component is positive is returned.

    Args:
        T: (..., 3, 3) rotation or (..., 4, 4) pose, real.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 3) rotation vector or (..., 6) twist.

    Raises:
        ArgumentError: T is not finite, not orthonormal to 1e-6, a reflection, or complex.

    Examples:
        >>> x = np.array([0.1, 0.2, 0.3, 1, 2, 3])
        >>> bool(np.allclose(jc.lie.log(jc.lie.exp(x)), x))
        True
    """


@elementwise(_complex.inverse)
def inverse(T: ArrayLike, *, out: AnyArray | None = None, threads: int = 1) -> AnyArray:
    """The inverse of a rotation or pose by transposition: ``inverse(T) @ T`` is the identity.

    Args:
        T: (..., 3, 3) rotation or (..., 4, 4) pose. That it is one is not checked here: what
            is none has another inverse.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        The inverse, of the same shape.

    Examples:
        >>> T = jc.lie.exp([0.1, 0.2, 0.3, 1, 2, 3])
        >>> bool(np.allclose(jc.lie.inverse(T) @ T, np.eye(4)))
        True
    """


@elementwise(_complex.Ad)
def Ad(T: ArrayLike, *, out: AnyArray | None = None, threads: int = 1) -> AnyArray:
    """The adjoint of a group element: ``hat(Ad(T) @ x) == T @ hat(x) @ inverse(T)``.

    With T the pose of a body, ``Ad(T) @ body_twist`` is the spatial twist (Mueller 2018, eq. 95 and
    99 with the body-fixed twist of eq. 97; Ali 2026, Sec. 2): [[R, 0], [hat(p) R, R]].
    A wrench on the body goes to the world by ``Ad(inverse(T)).T``, and back by ``Ad(T).T``.

    Args:
        T: (..., 3, 3) rotation or (..., 4, 4) pose; that it is one is not checked here.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 3, 3), which is T itself, or (..., 6, 6).

    Examples:
        >>> T, x = jc.lie.exp([0.1, 0.2, 0.3, 1, 2, 3]), np.arange(6.0)
        >>> bool(np.allclose(jc.lie.Ad(T) @ x, jc.lie.vee(T @ jc.lie.hat(x) @ np.linalg.inv(T))))
        True
    """


@elementwise(_complex.dexp)
def dexp(x: ArrayLike, *, out: AnyArray | None = None, threads: int = 1) -> AnyArray:
    """The right-trivialized differential of exp: d/dt exp(x) = hat(dexp(x) @ xdot) @ exp(x).

    ``dexp(x) @ xdot`` is the spatial twist of exp(x(t)), and ``dexp(-x) @ xdot`` is its body twist:
    dexp(-x) is the left-trivialized differential (Mueller 2018, eq. 89). It is the sum over k of
    ad(x)^k / (k+1)!, in closed form.

    Args:
        x: (..., 3) or (..., 6).
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 3, 3) or (..., 6, 6). ``dexp(x) == Ad(exp(x)) @ dexp(-x)``.

    Examples:
        >>> bool(np.allclose(jc.lie.dexp(np.zeros(6)), np.eye(6)))
        True
    """


@elementwise(_complex.dexp_inv)
def dexp_inv(x: ArrayLike, *, out: AnyArray | None = None, threads: int = 1) -> AnyArray:
    """The inverse of `dexp`: ``dexp_inv(x) @ dexp(x)`` is the identity, in closed form.

    It solves the kinematic reconstruction equation of Munthe-Kaas integrators (Mueller 2018,
    eq. 89): xdot = dexp_inv(x) @ spatial_twist = dexp_inv(-x) @ body_twist. Its first poles are at
    the rotation angle 2 pi.

    Args:
        x: (..., 3) or (..., 6).
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 3, 3) or (..., 6, 6).

    Examples:
        >>> x = np.array([0.1, 0.2, 0.3])
        >>> bool(np.allclose(jc.lie.dexp_inv(x) @ jc.lie.dexp(x), np.eye(3)))
        True
    """


@elementwise(_complex.rpy_to_matrix)
def rpy_to_matrix(rpy: ArrayLike, *, out: AnyArray | None = None, threads: int = 1) -> AnyArray:
    """The rotation Rz(yaw) @ Ry(pitch) @ Rx(roll): URDF's fixed-axis roll, pitch, yaw.

    Args:
        rpy: (..., 3) angles (roll, pitch, yaw).
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 3, 3).

    Examples:
        >>> bool(np.allclose(jc.lie.rpy_to_matrix([0, 0, 0.3]), jc.lie.exp([0, 0, 0.3])))
        True
    """
