"""Exceptions and warnings of the package, all in one place.

Every exception that the package raises for a mistake in a call derives from `Error` and from the
built-in exception that says the same, so that both kinds of ``except`` catch it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = [
    "WORLD_IS_NO_BODY",
    "ArgumentError",
    "ArgumentTypeError",
    "DivergenceError",
    "Error",
    "LayoutWarning",
    "MissingExtraError",
    "MissingFileError",
    "ModelError",
    "ModelWarning",
    "SingularError",
    "SweepError",
    "TooLargeError",
    "UnknownNameError",
    "close_names",
    "did_you_mean",
    "unknown_name",
]


def __dir__() -> list[str]:
    return sorted(__all__)


class Error(Exception):
    """Base of every exception of the package.

    Examples:
        >>> try:
        ...     jc.body_pose(jc.models.chain(2), [0, 0], "bodi1")
        ... except jc.Error as error:
        ...     print(error)
        unknown body or frame 'bodi1'; did you mean 'body1' or 'body0'?
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickles, also where a package has changed how built-in exceptions are pickled."""
        return type(self), self.args, self.__dict__


class ArgumentError(Error, ValueError):
    """An argument with a wrong shape, dtype or value; the message says what was expected.

    Examples:
        >>> try:
        ...     jc.gravity_forces(jc.models.chain(2), [0.0])
        ... except jc.ArgumentError as error:
        ...     print(error)
        q must have shape (..., 2), that is (..., nq) of this model, got (1,)
    """


class ArgumentTypeError(Error, TypeError):
    """An argument of a wrong type.

    Compiled functions raise it for an argument that is missing or that they do not have, too;
    functions in Python leave that to Python, which raises a plain TypeError.

    Examples:
        >>> try:
        ...     jc.neutral("robot.urdf")
        ... except jc.ArgumentTypeError as error:
        ...     print(error)
        model must be a jounce.Model, got str
    """


class UnknownNameError(Error, KeyError):
    """A name or an index that the model does not have; the message lists the closest names.

    Examples:
        >>> try:
        ...     jc.models.chain(2).v_slice("joint_one")
        ... except jc.UnknownNameError as error:
        ...     print(isinstance(error, KeyError))
        True
    """

    def __str__(self) -> str:
        """The message as it is; a KeyError would show its quoted representation."""
        return str(self.args[0]) if self.args else ""


class ModelError(Error, ValueError):
    """A model or a model file that cannot be used; the message says what, where and why.

    Examples:
        >>> try:
        ...     jc.load_urdf("<robot name='r'><link/></robot>")
        ... except jc.ModelError as error:
        ...     print(error)
        <string>:1: <link>: attribute 'name' is missing
    """


class SingularError(Error, ValueError):
    """The (articulated) inertia seen by a joint is zero, so its acceleration is undefined.

    Examples:
        >>> massless = jc.ModelBuilder().add_body("a", joint="revolute").build()
        >>> try:
        ...     jc.forward_dynamics(massless, [0], [0], [1])
        ... except jc.SingularError as error:
        ...     print(str(error).partition(" (")[0])
        the inertia that joint 'a_joint' moves vanishes
    """


class TooLargeError(Error, MemoryError):
    """A result that does not fit into the memory; the message says its size and what there is.

    Examples:
        >>> try:
        ...     jc.bias_forces(jc.models.chain(2), np.zeros((10**6, 1, 2)), np.zeros((10**6, 2)))
        ... except jc.TooLargeError as error:
        ...     print(isinstance(error, MemoryError))
        True
    """


class DivergenceError(Error, ArithmeticError):
    """A motion leads to numbers that are not finite; the message says at which step.

    Examples:
        >>> arm, tau = jc.models.chain(1), np.full((9, 1), 1e300)
        >>> try:
        ...     jc.rollout(arm, [0], [0], tau, dt=1e9)
        ... except jc.DivergenceError as error:
        ...     print(isinstance(error, ArithmeticError))
        True

    Of `simulate`, ``motion`` is what was computed, with the states that failed marked.
    """

    motion: Any = None


class SweepError(Error, RuntimeError):
    """States of a sweep failed, or its workers died; the message names the lowest state.

    Attributes:
        failures: what was wrong, by state.

    Examples:
        >>> error = jc.SweepError("state 3 failed", failures={3: "no number"})
        >>> error.failures[3]
        'no number'
    """

    def __init__(self, message: str = "", failures: Mapping[int, str] | None = None) -> None:
        super().__init__(message)
        self.failures = dict(failures or {})


class MissingFileError(Error, FileNotFoundError):
    """There is no such model file.

    Examples:
        >>> try:
        ...     jc.load("no_such_robot.urdf")
        ... except jc.MissingFileError as error:
        ...     print(error)
        there is no model file 'no_such_robot.urdf'
    """


class MissingExtraError(Error, ImportError):
    """A package that only some functions need is not installed; the message says how to get it.

    Examples:
        >>> issubclass(jc.MissingExtraError, ImportError)  # its message says what to install
        True
    """


class ModelWarning(UserWarning):
    """A model that loads but holds something no real robot can have.

    Examples:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     _ = jc.ModelBuilder().add_body("a", inertia=np.diag([1, 1, 3])).build()
        >>> caught[0].category.__name__
        'ModelWarning'
    """


class LayoutWarning(UserWarning):
    """A state that is valid but looks as if it were written in the layout of another library.

    Examples:
        >>> import warnings
        >>> body = jc.ModelBuilder().add_body("a", joint="spherical", mass=1).build()
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     _ = jc.potential_energy(body, [1, 0, 0, 0])  # no turn for others, half a turn here
        >>> caught[0].category.__name__
        'LayoutWarning'
    """


WORLD_IS_NO_BODY = (
    "the world is not a body: poses, twists and Jacobians are relative to it, and bodies and "
    "frames have names or indices from 0"
)


def shown(value: object) -> str:
    """What messages say of a value; of integers with thousands of digits Python makes no text.

    Examples:
        >>> shown([1, 2]), shown(10**5000)
        ('[1, 2]', 'a value of type int')
    """
    try:
        return f"{value!r:.100}"
    except ValueError:
        return f"a value of type {type(value).__name__}"


def close_names(name: object, known: Iterable[str], most: int = 3) -> list[str]:
    """The known names that are most like this one, whatever their case.

    Examples:
        >>> close_names("ELBOW", ["hand", "elbow_2", "elbow"])
        ['elbow', 'elbow_2']
    """
    wanted = _plain(name).lower()
    lower: dict[str, list[str]] = {}
    for candidate in known:
        lower.setdefault(candidate.lower(), []).append(candidate)
    if len(lower) > 2000:  # the comparison with all of them would take seconds
        return lower.get(wanted, [])[:most]
    close = difflib.get_close_matches(wanted, lower, n=most)
    return [candidate for key in close for candidate in lower[key]][:most]


def _plain(name: object) -> str:
    """A name as text; of what has none, what messages say of it."""
    try:
        return str(name)
    except ValueError:
        return shown(name)


def did_you_mean(names: Iterable[str]) -> str:
    """Turn names into a question that ends a message; nothing for no names.

    Examples:
        >>> did_you_mean(["'hand'", "'arm'"])
        "; did you mean 'hand' or 'arm'?"
    """
    choice = " or ".join(names)
    return f"; did you mean {choice}?" if choice else ""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """Build the error for an unknown name; it lists the closest known ones.

    Examples:
        >>> print(unknown_name("body", "Hnd", ["arm", "hand"]))
        unknown body 'Hnd'; did you mean 'hand'?
    """
    names = list(known)
    close = close_names(name, names)
    if close:
        hint = did_you_mean(map(repr, close))
    elif "body" in kind and _plain(name).lower() in ("world", "universe"):
        hint = f"; {WORLD_IS_NO_BODY}"
    elif len(names) <= 12:
        hint = "; known: " + ", ".join(map(repr, names)) if names else "; there are none"
    else:
        hint = f"; there are {len(names)}, the first are " + ", ".join(map(repr, names[:8]))
    return UnknownNameError(f"unknown {kind} {shown(name)}{hint}")


REPRESENTATIONS = ("body", "spatial", "hybrid", "mixed")
"""Names of the four representations of a twist; the position is the number the core uses."""

_NAMES_ELSEWHERE = {
    "LOCAL": "body",
    "BODY_FIXED": "body",
    "WORLD": "spatial",
    "INERTIAL_FIXED": "spatial",
    "LOCAL_WORLD_ALIGNED": "hybrid",
    "MIXED": "hybrid",
}


def unknown_representation(argument: str, name: object) -> ArgumentError:
    """Build the error for what is no representation; it says what other libraries call ours."""
    known = ", ".join(repr(n) for n in REPRESENTATIONS)
    message = f"{argument}: expected one of {known}, got {shown(name)}."
    alias = _plain(name).rpartition(".")[2].upper()  # also pinocchio.ReferenceFrame.LOCAL
    if alias in _NAMES_ELSEWHERE:
        message += f" {alias} is called {_NAMES_ELSEWHERE[alias]!r} here."
    elsewhere = ", ".join(f"{theirs} = {ours!r}" for theirs, ours in _NAMES_ELSEWHERE.items())
    return ArgumentError(
        f"{message} Pinocchio's and iDynTree's names: {elsewhere};"
        " MuJoCo's free-joint velocity = 'mixed'."
    )
