"""Every exception that the package raises for a user's mistake derives from `jounce.Error`."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import numpy as np
import pytest

import jounce as jc
from jounce import errors

PACKAGE = Path(errors.__file__).parent
CLASSES = {
    name
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.Error)
}
BUILTIN = {
    "ArgumentError": ValueError,
    "ArgumentTypeError": TypeError,
    "UnknownNameError": KeyError,
    "ModelError": ValueError,
    "SingularError": ValueError,
    "MissingFileError": FileNotFoundError,
    "MissingExtraError": ImportError,
}
ALLOWED = {
    "AttributeError": "what getattr and setattr promise, of modules and of what is immutable",
    "SystemExit": "the end of the command line",
    "ImportError": "the compiled core is missing, so there is no package",
}


def test_every_class_derives_from_the_base_and_from_a_builtin():
    assert {"Error", *BUILTIN} == CLASSES
    for name, builtin in BUILTIN.items():
        assert issubclass(getattr(jc, name), jc.Error)
        assert issubclass(getattr(jc, name), builtin)
        assert getattr(jc, name) is getattr(errors, name)
    assert jc.Error.__mro__[1] is Exception


def trees():
    return {path: ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}


def makers(sources):
    """Names of functions whose result is annotated as one of the classes."""
    for tree in sources.values():
        for node in ast.walk(tree):
            returns = getattr(node, "returns", None)
            if isinstance(returns, ast.Name) and returns.id in CLASSES:
                yield node.name


def raised(tree):
    """What every `raise` of a module raises, as a name; None where it raises again."""
    local = {
        target.id: node.value.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            thing = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            name = thing.attr if isinstance(thing, ast.Attribute) else thing.id
            yield local.get(name, name), node.lineno


def test_the_package_raises_its_own_exceptions():
    sources = trees()
    known = CLASSES | set(makers(sources)) | set(ALLOWED)
    for path, tree in sources.items():
        for name, line in raised(tree):
            where = f"{path.relative_to(PACKAGE)}:{line}"
            assert name in known, f"{where} raises {name}"
            if name == "ImportError":
                assert path.parent.name == "_core", where


def test_the_walk_would_find_a_builtin():
    assert [n for n, _ in raised(ast.parse("raise ValueError('x')"))] == ["ValueError"]
    assert [n for n, _ in raised(ast.parse("e = KeyError('x')\nraise e"))] == ["KeyError"]


MODEL = jc.models.chain(3)
Q = np.zeros(3)
MISTAKES = {
    "unknown body": (lambda: jc.body_pose(MODEL, Q, "hand"), jc.UnknownNameError, KeyError),
    "body index": (lambda: MODEL.body_index(7), jc.UnknownNameError, KeyError),
    "unknown joint": (lambda: MODEL.q_slice("elbow"), jc.UnknownNameError, KeyError),
    "representation": (
        lambda: jc.body_twist(MODEL, Q, Q, 0, "world"),
        jc.ArgumentError,
        ValueError,
    ),
    "no model": (lambda: jc.neutral("robot"), jc.ArgumentTypeError, TypeError),
    "seed": (lambda: jc.random_configuration(MODEL, "x"), jc.ArgumentTypeError, TypeError),
    "shape in lie": (lambda: jc.lie.exp(np.zeros(4)), jc.ArgumentError, ValueError),
    "method": (
        lambda: jc.linearize_step(MODEL, Q, Q, Q, 0.1, method="rk4"),
        jc.ArgumentError,
        ValueError,
    ),
    "replace": (lambda: MODEL.replace(gravity=1.0), jc.ArgumentError, ValueError),
    "builder": (lambda: jc.ModelBuilder().add_body("", None), jc.ModelError, ValueError),
    "file": (lambda: jc.load("no/such.urdf"), jc.MissingFileError, FileNotFoundError),
    "trajectory": (
        lambda: jc.trajectories.RobotTrajectory(MODEL, {}).evaluate("now"),
        jc.ArgumentError,
        ValueError,
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_caught_by_both_kinds_of_except(name):
    call, own, builtin = MISTAKES[name]
    with pytest.raises(own) as caught:
        call()
    assert isinstance(caught.value, jc.Error)
    assert isinstance(caught.value, builtin)


def test_an_unknown_name_prints_its_message_plainly():
    with pytest.raises(KeyError) as caught:
        jc.body_pose(MODEL, Q, "bdy1")
    assert str(caught.value).startswith("unknown body or frame 'bdy1'; did you mean 'body1'")
    assert str(errors.UnknownNameError()) == ""


@pytest.mark.parametrize("name", sorted(BUILTIN))
def test_exceptions_survive_a_pickle(name):
    error = getattr(jc, name)("what is wrong")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
