"""Load models from files and save them.

The packages that a format needs are imported only when it is used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from jounce._core.arrays import shown
from jounce._types import ArrayLike
from jounce.errors import ArgumentError, ArgumentTypeError
from jounce.io import mjcf, sdf, urdf
from jounce.io._common import MIMIC_CHOICES
from jounce.io._save import save
from jounce.io._source import MAX_BYTES, check_format, read_source, root_tag
from jounce.io.mjcf import load_mjcf
from jounce.io.sdf import load_sdf
from jounce.io.srdf import with_srdf
from jounce.io.urdf import load_urdf
from jounce.io.xacro import load_xacro
from jounce.model import Model
from jounce.model._checks import check_choice
from jounce.model.roots import Base

__all__ = ["load", "load_mjcf", "load_sdf", "load_urdf", "load_xacro", "save"]


def __dir__() -> list[str]:
    return sorted(__all__)


def load(
    path: str | os.PathLike[str],
    base: Base = "fixed",
    *,
    mimic: str = "independent",
    strict: bool = False,
    gravity: ArrayLike | None = None,
    arguments: Mapping[str, str] | None = None,
    srdf: str | os.PathLike[str] | None = None,
    max_bytes: int = MAX_BYTES,
    folder: str | os.PathLike[str] | None = None,
) -> Model:
    """Load a robot from a model file: URDF (.urdf), xacro (.xacro), MJCF (.xml) or SDF (.sdf).

    An .xml file may hold any of them; its root element decides.

    Args:
        path: the file.
        base: "fixed" (the root is fixed to the world), "free" (it moves freely, by a joint
            named "root_joint"), or another joint type ("planar"), or a `Joint`.
        mimic: "independent", "locked" or "coupled", see `jounce.load_urdf`. SDF has no "locked";
            MJCF takes the default only, and `Model.coupled` couples what a file says of jounce's.
        strict: refuse whatever is doubtful, see `jounce.load_urdf` and `jounce.load_mjcf`.
        gravity: acceleration of gravity, m/s^2; by default what the file says, or
            (0, 0, -9.81).
        arguments: values for ``$(arg name)`` in a xacro file.
        srdf: an SRDF file; its group states become ``model.poses``, by name.
        max_bytes: largest size of the file; what is larger is refused before it is read.
        folder: where files that an MJCF, SDF or xacro file names must be, see `jounce.load_mjcf`.

    Returns:
        The robot.

    Raises:
        ModelError: the file is wrong; the message names file, line and element.
        MissingFileError: there is no such file.
        MissingExtraError: a package that the format needs is missing.
        ArgumentError: `base` or `mimic` is none of the above, or the format has no such option.

    Examples:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "arm.urdf")
        >>> jc.save(jc.models.panda_like(), path)
        >>> jc.load(path).nv, jc.load(path, base="free").nv
        (7, 13)
    """
    model = _load(path, base, mimic, strict, gravity, arguments, max_bytes, folder)
    model = model if srdf is None else with_srdf(model.expanded, srdf, strict, max_bytes)
    return model.coupled() if mimic == "coupled" else model


def _load(
    path: str | os.PathLike[str],
    base: Base,
    mimic: str,
    strict: bool,
    gravity: ArrayLike | None,
    arguments: Mapping[str, str] | None,
    max_bytes: int,
    folder: str | os.PathLike[str] | None,
) -> Model:
    """Load a robot from the file of its tree; see `load`."""
    check_choice("mimic", mimic, MIMIC_CHOICES)
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentTypeError(f"path must be the path of a model file, got {shown(path)}")
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix == ".xacro":
        options: dict[str, Any] = {"arguments": arguments, "max_bytes": max_bytes, "folder": folder}
        return load_xacro(path, base, mimic=mimic, strict=strict, gravity=gravity, **options)
    if arguments:
        raise ArgumentError(f"arguments are for xacro files, got {shown(os.fspath(path))}")
    source = read_source(path, max_bytes)
    root = root_tag(source)
    if root == "mujoco" and suffix != ".urdf":
        if mimic != MIMIC_CHOICES[0]:
            raise ArgumentError(
                f"mimic={mimic!r} is for URDF and xacro files, but {os.fspath(path)!r} is MJCF: "
                "its joints are independent, and the equalities between them are model.constraints"
            )
        return mjcf.from_source(
            source, base, gravity=gravity, strict=strict, max_bytes=max_bytes, folder=folder
        )
    if root == "sdf" and suffix != ".urdf":
        if mimic == "locked":
            raise ArgumentError(
                f"mimic='locked' is for URDF and xacro files, but {os.fspath(path)!r} is SDF: "
                "model.lock({joint: position}) locks its joints"
            )
        return sdf.from_source(
            source, base, strict=strict, gravity=gravity, max_bytes=max_bytes, folder=folder
        )
    check_format(source, root, suffix)
    return urdf.from_source(source, base, mimic=mimic, strict=strict, gravity=gravity)
