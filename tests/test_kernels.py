"""Kernels and their definitions in Python say the same, or the package is not imported."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

import pytest

import jounce as jc
from jounce import _core

KERNELS = {name for name in _core.kernel_names() if not name.endswith(("_jvp", "_second"))}
INTERNAL = {name for name in KERNELS if _core.signature(name)["internal"]}
"""Kernels for functions that prepare arguments in Python, and for benchmarks."""


def named(name, function):
    function.__name__ = name
    return function


class Fields(NamedTuple):
    a: object
    tau: object


class Swapped(NamedTuple):
    tau: object
    a: object


GOOD = {
    "mass_matrix": (lambda model, q, *, out=None, threads=1: None, None),
    "body_twist": (lambda model, q, v, body, twist="body", *, out=None, threads=1: None, None),
    "bias_forces": (lambda model, q, v, f_ext=None, *, out=None, threads=1: None, None),
    "hybrid_dynamics": (
        lambda model, q, v, a, tau, prescribed, f_ext=None, *, out=None, threads=1: None,
        Fields,
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_definition_like_the_kernel_is_accepted(name):
    function, result = GOOD[name]
    assert callable(_core.kernel(named(name, function), result))


BAD = {
    "another name": ("mass_matrix", lambda model, x, *, out=None, threads=1: None, None),
    "one missing": ("mass_matrix", lambda model, q, *, out=None: None, None),
    "one more": ("mass_matrix", lambda model, q, v, *, out=None, threads=1: None, None),
    "another order": ("kinetic_energy", lambda model, v, q, *, out=None, threads=1: None, None),
    "default of threads": ("mass_matrix", lambda model, q, *, out=None, threads=0: None, None),
    "True threads": ("mass_matrix", lambda model, q, *, out=None, threads=True: None, None),
    "default of out": ("mass_matrix", lambda model, q, *, out=(), threads=1: None, None),
    "no default": ("mass_matrix", lambda model, q, *, out, threads=1: None, None),
    "a default": ("mass_matrix", lambda model, q=None, *, out=None, threads=1: None, None),
    "another representation": (
        "body_twists",
        lambda model, q, v, twist="hybrid", *, out=None, threads=1: None,
        None,
    ),
    "default of an optional input": (
        "bias_forces",
        lambda model, q, v, f_ext=0, *, out=None, threads=1: None,
        None,
    ),
    "positional out": ("mass_matrix", lambda model, q, out=None, threads=1: None, None),
    "positional only": ("mass_matrix", lambda model, q, /, *, out=None, threads=1: None, None),
    "keyword only": (
        "bias_forces",
        lambda model, q, v, *, f_ext=None, out=None, threads=1: None,
        None,
    ),
    "all arguments": ("mass_matrix", lambda model, *q, out=None, threads=1: None, None),
    "fields": ("hybrid_dynamics", GOOD["hybrid_dynamics"][0], Swapped),
    "no fields": ("hybrid_dynamics", GOOD["hybrid_dynamics"][0], None),
    "fields of one result": ("mass_matrix", GOOD["mass_matrix"][0], Fields),
}


@pytest.mark.parametrize("mistake", BAD)
def test_a_definition_unlike_the_kernel_is_refused(mistake):
    name, function, result = BAD[mistake]
    with pytest.raises(ImportError, match=f"^{name}"):
        _core.kernel(named(name, function), result)


class One(NamedTuple):
    a: object


class Three(NamedTuple):
    a: object
    tau: object
    more: object


class WithPlace(One):
    _tau = None


@pytest.mark.parametrize(
    "kinds", [(One, None), (Three, None), (jc.Jvp, One), (jc.Jvp, Three), (Fields, None)]
)
def test_named_tuples_without_a_place_for_each_output_are_refused(kinds):
    two_outputs = kinds[0] in (One, Three)
    name = "hybrid_dynamics" if two_outputs else "hybrid_dynamics_jvp"
    with pytest.raises(ImportError, match=rf"^{name} returns \d fields, but its kernel [24]"):
        _core.raw(name, None, *kinds)


def test_an_output_beyond_the_fields_needs_a_place_of_its_name():
    model, q = jc.models.chain(2), [0.1, 0.2]
    given = (model, q, [0, 0], [1, 2], [3, 4], [True, False])
    found = _core.raw("hybrid_dynamics", None, WithPlace)(*given)
    a, tau = jc.hybrid_dynamics(*given)
    assert (found.a == a).all()
    assert (found._tau == tau).all()
    value, change = _core.raw("hybrid_dynamics_jvp", None, jc.Jvp, Fields)(*given, d_q=[1, 0])
    assert value.tau == pytest.approx(tau, rel=1e-14)
    assert change.tau.shape == tau.shape


def test_every_kernel_has_a_definition():
    assert KERNELS > INTERNAL > {"check_state"}
    for name in KERNELS - INTERNAL:
        assert getattr(jc, name).__module__.startswith("jounce.")
        assert name in jc.__all__
    assert not INTERNAL & set(jc.__all__)


def is_raw(node):
    """Whether code takes a raw kernel."""
    name = isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", None))
    return name in ("raw", "_raw")


def raw_kernels(nodes):
    """Calls of raw() for a known kernel, with the variable that it is assigned to, if to one."""
    variables, at_once = {}, set()
    for node in nodes:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = getattr(node, "target", None) or node.targets[0]
            variables[id(node.value)] = getattr(target, "id", None)
        elif isinstance(node, ast.Call):
            at_once.add(id(node.func))
    for node in nodes:
        if is_raw(node) and isinstance(node.args[0], ast.Constant) and id(node) not in at_once:
            yield variables.get(id(node)), node


def misplaced(call, inputs):
    """Whether a call gives by position what is not stated, or what is named like another one."""
    for k, x in enumerate(call.args[1:]):
        if isinstance(x, ast.Starred):
            return not inputs
        name = getattr(x, "attr", getattr(x, "id", None))
        if k >= len(inputs) or (name in inputs and name != inputs[k]):
            return True
    return False


def mistakes(nodes):
    """What a module says of raw kernels that the core does not, and calls in another order."""
    calls = [x for x in nodes if isinstance(x, ast.Call)]
    wrong = [x for x in calls if is_raw(x.func) and misplaced(x, [])]
    for variable, node in raw_kernels(nodes):
        own = _core.signature(node.args[0].value)
        order = [*own["inputs"], *own["options"], *own["optional_inputs"]]
        inputs = [x.value.value.split() for x in node.keywords if x.arg == "inputs"]
        if not inputs or inputs[0] != order[: len(inputs[0])]:
            wrong.append(node)
        elif variable:
            uses = [x for x in calls if getattr(x.func, "id", None) == variable]
            wrong += [x for x in uses if misplaced(x, inputs[0])]
    return [ast.unparse(x) for x in wrong]


def test_raw_kernels_are_given_their_inputs_in_order():
    sources = [x.read_text("utf-8") for x in Path(jc.__file__).parent.rglob("*.py")]
    modules = [list(ast.walk(ast.parse(x))) for x in sources if "raw(" in x]
    assert sum(len(list(raw_kernels(nodes))) for nodes in modules) > 40
    assert [x for nodes in modules for x in mistakes(nodes)] == []


@pytest.mark.parametrize(
    "source",
    [
        "f = raw('constrained_jump')",
        "table = {1: raw('constrained_jump')}",
        "f = raw('constrained_jump', inputs='jump q table')",
        "table = {1: raw('constrained_jump', inputs='jump q table')}",
        "f = raw('constrained_jump', inputs='q jump table')\nf(model, q, c.table, jump)",
        "f = raw('constrained_jump', inputs='q jump')\nf(model, q, x, y)",
        "f: Any = _core.raw('constrained_jump', 'impulse', inputs='')\nf(model, *given)",
        "_raw('constrained_jump')(model, q, jump=x)",
    ],
)
def test_another_order_of_inputs_is_seen(source):
    assert mistakes(list(ast.walk(ast.parse(source))))


def test_a_library_that_is_missing_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(_core, "_root", lambda: tmp_path)
    with pytest.raises(jc.MissingFileError, match=r"libjounce_.*is not in .*install"):
        jc.get_library()
