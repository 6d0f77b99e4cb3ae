"""A good URDF file, and how one mistake in it is described."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

GOOD = (Path(__file__).parent / "models" / "arm.urdf").read_text()


class Case(NamedTuple):
    """One mistake: `old` becomes `new`; the message names `tag`, and the line of the change.

    What is refused by ``strict=True`` only may be worth a warning otherwise.
    """

    name: str
    old: str
    new: str
    tag: str
    strict_only: bool = False
    same_line: bool = True
    warns: bool = False


def mistakes(tag: str, *rows: tuple[str, str, str], **flags: bool) -> Iterator[Case]:
    for name, old, new in rows:
        yield Case(name, old, new, tag, **flags)


ORIGIN = '<origin xyz="0 0 0.25" rpy="0 0.1 0"/>'
MASS = '<mass value="2.5"/>'
INERTIA = '<inertia ixx="0.1" ixy="0.01" ixz="0.02" iyy="0.2" iyz="0.03" izz="0.15"/>'
AXIS = '<axis xyz="0 1 0"/>'
LIMIT = '<limit lower="-1" upper="1.5" effort="50" velocity="2"/>'
DYNAMICS = '<dynamics damping="0.5" friction="0.1"/>'
MIMIC = '<mimic joint="shoulder" multiplier="2" offset="0.25"/>'
PARENT, CHILD = '<parent link="base"/>', '<child link="upper"/>'
SHOULDER, GRIP = '<joint name="shoulder" type="revolute">', '<joint name="grip" type="continuous">'
TOOL = '<link name="tool"/>'
SPHERE = '<sphere radius="0.01"/>'
BOX = '<box size="0.1 0.2 0.3"/>'
