"""Pieces of URDF files."""

from __future__ import annotations

BOX_INERTIA = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'


def body(name: str, mass: float = 1.0, inertia: str = BOX_INERTIA) -> str:
    return f'<link name="{name}"><inertial><mass value="{mass}"/>{inertia}</inertial></link>\n'


def joint(name: str, kind: str, parent: str, child: str, inside: str = "") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{inside}</joint>\n'


def robot(*parts: str) -> str:
    return '<robot name="r">\n' + "".join(parts) + "</robot>"
