"""Everything that is wrong in an MJCF file: MuJoCo itself stops at the first error."""

from __future__ import annotations

import re
from collections.abc import Mapping

from jounce.errors import ModelError
from jounce.io._mjcf_compile import try_compile
from jounce.io._mjcf_gate import Attached, Problem, meshes, problems
from jounce.io._mjcf_tree import Tree

__all__ = ["errors"]

MOST_ROUNDS = 20
"""How often MuJoCo is asked again."""

# What stands in for an element that is wrong, so that nothing else misses it.
_PLAIN = {
    "geom": {"size": "1"},
    "site": {},
    "joint": {},
    "inertial": {"pos": "0 0 0", "mass": "1", "diaginertia": "1 1 1"},
}
# What a body lacks once something in it is left out.
_FILL = '<compiler boundmass="1" boundinertia="1" balanceinertia="true"/>'

Changes = dict[int, Mapping[str, str] | None]


def errors(tree: Tree, max_bytes: int) -> list[ModelError]:
    """Return what the gate refuses, then what MuJoCo refuses of the rest.

    MuJoCo is asked again with a plain element in the place of the one that it complained of, or
    with none, until it is content or complains of the file as a whole. What it misses then is no
    error of the file.
    """
    found: list[ModelError] = []
    changes: Changes = {}
    for problem in problems(tree, Attached(max_bytes)):
        found.append(problem.error)
        _mend(tree, problem, changes)
    try:
        import mujoco
    except ImportError:
        return found
    more = ""
    for _ in range(MOST_ROUNDS):
        stand_ins = {mesh.index: mesh.stand_in(1) for mesh in meshes(tree, changes)}
        _, refusal = try_compile(mujoco, tree, {**stand_ins, **changes}, [], more)
        if refusal is None:
            break
        index, error = refusal
        around = any(changes.get(k, {}) is None for k in tree.inside(index)[1:])
        if not around and not _names_left_out(tree, str(error), changes):
            found.append(error)
        if around and not more:
            more = _FILL
        elif tree.pieces[index].depth == 0 or changes.get(index, {}) is None:
            break
        else:
            changes[index] = _stand_in(tree, index, changes)
    return found


def _stand_in(tree: Tree, index: int, changes: Changes) -> Mapping[str, str] | None:
    """Attributes of a plain element of the same name; None to leave it out, too."""
    element = tree.pieces[index].element
    if index in changes or element.tag not in _PLAIN:
        return None
    name = element.get("name")
    return {**({"name": name} if name else {}), **_PLAIN[element.tag]}


def _mend(tree: Tree, problem: Problem, changes: Changes) -> None:
    """Change an element such that the problem is gone, or leave it out."""
    index, _, instead = problem
    before = changes.get(index, dict(tree.pieces[index].element.items()))
    changes[index] = None if instead is None or before is None else {**before, **instead}


def _names_left_out(tree: Tree, message: str, changes: Changes) -> bool:
    """Whether a message names something that was left out."""
    names = {
        tree.pieces[inside].element.get("name")
        for index, change in changes.items()
        if change is None
        for inside in tree.inside(index)
    }
    return any(name in names for name in re.findall(r"'([^']+)'", message))
