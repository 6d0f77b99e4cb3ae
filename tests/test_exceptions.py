"""Every exception that the package raises for a user's mistake derives from `jounce.Error`."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import numpy as np
import pytest
from syntax import statements, within

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
    "TooLargeError": MemoryError,
    "DivergenceError": ArithmeticError,
    "MissingFileError": FileNotFoundError,
    "MissingExtraError": ImportError,
    "SweepError": RuntimeError,
}
ALLOWED = {
    "AttributeError": "what getattr and setattr promise, of modules and of what is immutable",
    "SystemExit": "the end of the command line",
    "KeyboardInterrupt": "Ctrl-C within a part of a simulation, which ends the whole",
    "ImportError": "the compiled core is missing, so there is no package",
    "_CutError": "an interval that a function of the user cut short, which its caller catches",
    "ControlError": "what a function of the user raised, on its way to where it is raised again",
    "with_motion": "what a function of the user raised, with the motion until then",
    "WorkerGoneError": "a worker died within a sweep, which does its task again elsewhere",
}


def test_every_class_derives_from_the_base_and_from_a_builtin():
    assert {"Error", *BUILTIN} == CLASSES
    for name, builtin in BUILTIN.items():
        assert issubclass(getattr(jc, name), jc.Error)
        assert issubclass(getattr(jc, name), builtin)
        assert getattr(jc, name) is getattr(errors, name)
    assert jc.Error.__mro__[1] is Exception


def makers(sources):
    """Names of functions whose result is annotated as one of the classes."""
    for nodes in sources.values():
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                returns = node.returns
                if isinstance(returns, ast.Name) and returns.id in CLASSES:
                    yield node.name


def raised(nodes):
    """What every `raise` among nodes raises, as a name; None where it raises again."""
    local = {
        target.id: node.value.func.id
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in nodes:
        if isinstance(node, ast.Raise) and node.exc is not None:
            thing = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if isinstance(thing, ast.Subscript):  # from an answer: what another process raised
                continue
            name = thing.attr if isinstance(thing, ast.Attribute) else thing.id
            yield local.get(name, name), node.lineno


def test_the_package_raises_its_own_exceptions():
    sources = {path: statements(path) for path in sorted(PACKAGE.rglob("*.py"))}
    known = CLASSES | set(makers(sources)) | set(ALLOWED)
    for path, nodes in sources.items():
        for name, line in raised(nodes):
            where = f"{path.relative_to(PACKAGE)}:{line}"
            assert name in known, f"{where} raises {name}"
            if name == "ImportError":
                assert path.parent.name == "_core", where


def test_the_walk_would_find_a_builtin():
    for code in ("raise ValueError('x')", "e = ValueError('x')\nraise e"):
        assert [n for n, _ in raised(within(ast.parse(code)))] == ["ValueError"]


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


TEN = np.array([1.0, 0, 0, 0, 1, 0, 1, 0, 0, 1])
CURVES = jc.trajectories
NUMBERS = ["a", None, {}, [[1], [1, 2]], object(), 1j, b"x", np.zeros((2, 2, 2))]
"""What is no array of numbers, or none of a shape that anything has."""
WORDS = [-3, 2.5, [1], {}, np.zeros(0), np.zeros((2, 2)), object()]
"""What is neither the name of something nor None."""
SEEDS = [-3, "a", 2.5, [1], {}, object()]
COUNTS = [-3, "a", 2.5, None, [1], True]
SHAPES = [-3, "a", 2.5, None, (1, -1), [[1]], np.zeros(2), object()]
BAD_INPUT = {
    "inertia.from_com mass": (
        lambda x: jc.inertia.from_com(x, np.zeros(3), np.eye(3)),
        NUMBERS[:1],
    ),
    "inertia.from_com com": (lambda x: jc.inertia.from_com(1.0, x, np.eye(3)), [0, *NUMBERS]),
    "inertia.from_com inertia": (
        lambda x: jc.inertia.from_com(1.0, np.zeros(3), x),
        [0, (1, 1, 1), *NUMBERS],
    ),
    "inertia.from_com leads": (
        lambda x: jc.inertia.from_com(np.ones(2), np.zeros((3, 3)), np.eye(3)),
        [None],
    ),
    "inertia.about_com": (jc.inertia.about_com, NUMBERS),
    "inertia.rotational": (jc.inertia.rotational, NUMBERS),
    "inertia.matrix": (jc.inertia.matrix, NUMBERS),
    "inertia.pseudo_inertia": (jc.inertia.pseudo_inertia, NUMBERS),
    "inertia.transform": (lambda x: jc.inertia.transform(x, np.eye(4)), NUMBERS),
    "inertia.transform pose": (lambda x: jc.inertia.transform(TEN, x), [3, *NUMBERS]),
    "inertia.transform leads": (
        lambda x: jc.inertia.transform(np.tile(TEN, (2, 1)), np.tile(np.eye(4), (3, 1, 1))),
        [None],
    ),
    "inertia.violation": (jc.inertia.violation, [TEN[None], *NUMBERS]),
    "inertia.violation tolerance": (lambda x: jc.inertia.violation(TEN, x), NUMBERS[:1]),
    "inertia.violations": (jc.inertia.violations, NUMBERS),
    "models.aerial_manipulator": (jc.models.aerial_manipulator, COUNTS),
    "models.chain": (jc.models.chain, [0, *COUNTS]),
    "models.chain base": (lambda x: jc.models.chain(2, x), [None, *WORDS]),
    "models.tree branching": (lambda x: jc.models.tree(3, x), [0, *COUNTS]),
    "models.mixed_tree": (jc.models.mixed_tree, SEEDS),
    "models.random_tree": (jc.models.random_tree, [0, *COUNTS]),
    "models.random_tree seed": (lambda x: jc.models.random_tree(2, x), SEEDS),
    "models.random_tree joints": (
        lambda x: jc.models.random_tree(2, 0, x),
        [None, "revolute", ["hinge"], [], *WORDS],
    ),
    "models.random_tree first": (lambda x: jc.models.random_tree(2, first=x), ["hinge", *WORDS]),
    "neutral": (lambda x: jc.neutral(MODEL, x), SHAPES),
    "random_configuration": (lambda x: jc.random_configuration(MODEL, x), SEEDS),
    "random_configuration shape": (lambda x: jc.random_configuration(MODEL, 0, x), SHAPES),
    "passive_forces": (lambda x: jc.passive_forces(MODEL, Q, x), NUMBERS),
    "builder": (jc.ModelBuilder, ["a", *WORDS]),
    "builder name": (lambda x: jc.ModelBuilder(name=x), WORDS),
    "builder gravity": (lambda x: jc.ModelBuilder(gravity=x).build(), [NUMBERS[0], *NUMBERS[2:]]),
    "builder parent": (lambda x: jc.ModelBuilder().add_body("b", x).build(), WORDS),
    "builder frame": (lambda x: jc.ModelBuilder().add_frame("f", x).build(), WORDS),
    "builder visuals": (jc.ModelBuilder().add_visuals, [None, 3]),
    "joint actuated": (lambda x: jc.Joint("revolute", actuated=x), ["a", 2.5, np.zeros(2)]),
    "replace actuated": (lambda x: MODEL.replace(actuated=x), [NUMBERS[0], *NUMBERS[2:]]),
    "joint": (MODEL.q_slice, [None, *WORDS]),
    "body": (MODEL.body_index, [None, *WORDS]),
    "dt": (lambda x: jc.linearize_step(MODEL, Q, Q, Q, x), NUMBERS[:-1]),
    "load": (jc.load, [None, *WORDS]),
    "load_xacro": (jc.load_xacro, [None, *WORDS]),
    "lie.exp": (jc.lie.exp, NUMBERS),
    "lie.log": (jc.lie.log, NUMBERS),
    "twists.convert": (lambda x: jc.twists.convert(x, np.eye(4), "body", "spatial"), NUMBERS),
    "twists.convert to": (
        lambda x: jc.twists.convert(np.zeros(6), np.eye(4), "body", x),
        ["world", None, *WORDS],
    ),
    "trajectories.Piecewise": (CURVES.Piecewise, [*NUMBERS, [], np.zeros(0), [1, 2]]),
    "trajectories.stack": (CURVES.stack, NUMBERS),
    "trajectories.Polynomial": (CURVES.Polynomial, NUMBERS),
    "trajectories.interpolate_poses": (
        lambda x: CURVES.interpolate_poses(x, np.tile(np.eye(4), (4, 1, 1))),
        NUMBERS,
    ),
    "trajectories.RobotTrajectory": (
        lambda x: CURVES.RobotTrajectory(MODEL, x),
        [None, "a", 3, [1], np.zeros(2), {"elbow": 1.0}, {"joint0": "x"}, {3.5: 1.0}],
    ),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_is_an_error_of_the_package(name):
    call, values = BAD_INPUT[name]
    for value in values:
        with pytest.raises(jc.Error):
            call(value)


def test_parts_of_an_inertia_broadcast():
    masses, com = np.array([1.0, 2.0]), np.array([0.1, 0.2, 0.3])
    together = jc.inertia.from_com(masses, com, np.eye(3))
    for row, mass in zip(together, masses, strict=True):
        np.testing.assert_array_equal(row, jc.inertia.from_com(mass, com, np.eye(3)))
    moved = jc.inertia.transform(TEN, np.tile(np.eye(4), (3, 1, 1)))
    np.testing.assert_array_equal(moved, np.tile(TEN, (3, 1)))


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


NO_DIMENSION = np.array("x")
"""It calls itself iterable, and is not."""


@pytest.mark.parametrize(
    "call",
    [
        lambda: jc.Loop("body1", "body2", free=None),
        lambda: jc.Loop("body1", "body2", free=5),
        lambda: jc.Loop("body1", "body2", free=[["x"]]),
        lambda: jc.Coupling((1, 2)),
        lambda: jc.Coupling(((1, 2, 3),)),
        lambda: jc.Constraints(MODEL, NO_DIMENSION),
        lambda: jc.ModelBuilder().add_body("a", joint=NO_DIMENSION),
        lambda: jc.models.random_tree(3, 0, NO_DIMENSION),
    ],
)
def test_what_is_no_list_is_refused_by_the_package(call):
    with pytest.raises(jc.Error, match=r"must be|expected a Joint"):
        call()
