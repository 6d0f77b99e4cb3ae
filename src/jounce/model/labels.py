"""Names and units of coordinates, rates and forces, for tables, files and plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from jounce.model.joints import ELEMENTARY
from jounce.model.model import Model

__all__ = ["Unit", "coordinate_names", "rate_names", "rate_units"]

_COORDINATES = {
    "spherical": ("qx", "qy", "qz", "qw"),
    "free": ("qx", "qy", "qz", "qw", "x", "y", "z"),
}
_RATES = {"spherical": ("wx", "wy", "wz"), "free": ("wx", "wy", "wz", "vx", "vy", "vz")}


class Unit(NamedTuple):
    """Units of what belongs to one rate."""

    coordinate: str
    rate: str
    force: str


_ANGULAR, _LINEAR = Unit("rad", "rad/s", "N m"), Unit("m", "m/s", "N")


def coordinate_names(model: Model) -> list[str]:
    """A name for each of the nq coordinates: the joint's, with its part if it has several.

    >>> import jounce as jc
    >>> coordinate_names(jc.models.aerial_manipulator())[5:9]
    ['root_joint.y', 'root_joint.z', 'q2', 'q3']
    """
    return _names(model, model.q_slice, _COORDINATES)


def rate_names(model: Model) -> list[str]:
    """A name for each of the nv rates, and of the forces conjugate to them.

    >>> import jounce as jc
    >>> rate_names(jc.models.aerial_manipulator())[2:8]
    ['root_joint.wz', 'root_joint.vx', 'root_joint.vy', 'root_joint.vz', 'q2', 'q3']
    """
    return _names(model, model.v_slice, _RATES)


def rate_units(model: Model) -> list[Unit]:
    """Units of each rate, its coordinate and its force."""
    units = [_LINEAR] * model.nv
    nodes = model.coordinates
    for kind, start in zip(nodes.kind, nodes.v_index, strict=True):
        if ELEMENTARY[kind] != "prismatic":
            size = 3 if ELEMENTARY[kind] in _RATES else 1
            units[start : start + size] = [_ANGULAR] * size
    return units


def _names(
    model: Model, find: Callable[[str], slice], parts: Mapping[str, Sequence[str]]
) -> list[str]:
    out: list[str] = []
    for joint in model.joints:
        at = find(joint.name)
        size = at.stop - at.start
        if joint.type in parts:
            out += [f"{joint.name}.{part}" for part in parts[joint.type]]
        else:
            out += [joint.name] if size == 1 else [f"{joint.name}.{k}" for k in range(size)]
    return out
