"""Write models to files."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable
from io import TextIOBase
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree as ET

from jounce._core.arrays import shown
from jounce.errors import ArgumentError, ArgumentTypeError, MissingFileError, ModelError
from jounce.io._common import warn
from jounce.io._write_mjcf import mjcf_element
from jounce.io._write_urdf import urdf_element
from jounce.model import Model
from jounce.model._checks import check_choice
from jounce.model.model import require_model

__all__ = ["save"]

_FORMATS = {".urdf": "urdf", ".xml": "mjcf"}
_WRITERS = {"urdf": urdf_element, "mjcf": mjcf_element}
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def save(
    model: Model,
    target: str | os.PathLike[str] | IO[Any],
    *,
    format: str | None = None,
) -> None:
    """Write a model as URDF or as MJCF; `jounce.load` of the file gives the same dynamics.

    Numbers are written such that they are read back to the last bit; what is left are the
    roundings of angles, quaternions and inertias about another point.

    Both formats keep bodies, joints, inertias, limits, damping, friction, frames, poses and
    constraints. What a format has no word for stands in an extension that `jounce.load` reads and
    other readers pass over; a warning says what those see otherwise. `docs/files.md` has the
    details.

    - URDF has no spherical, helical, cylindrical and universal joints, no axes beside the origin
      of a link, and not several joints per body. Chains of URDF's joints with massless links
      between stand for them. The joint of a free root is left out: load the file with
      ``base="free"``.
    - MJCF keeps free roots. MuJoCo refuses bodies that move without mass or inertia and inertias
      that no body has, so these are refused here.

    Args:
        model: the robot.
        target: path of the file, ending in .urdf or .xml (MJCF); or an open file. An existing file
            is replaced only when all of the new one is written.
        format: "urdf" or "mjcf"; by default the ending decides.

    Returns:
        Nothing; the file is there.

    Raises:
        ModelError: the format cannot hold the model, and the message names the bodies or joints;
            or the file cannot be written.
        MissingFileError: there is no such folder.
        ArgumentError: neither the ending nor `format` names a format.

    Warns:
        ModelWarning: other readers of the file see another robot; the message says in what.

    Examples:
        >>> import io
        >>> import jounce as jc
        >>> arm, file = jc.models.chain(2), io.StringIO()
        >>> jc.save(arm, file, format="urdf")
        >>> jc.load_urdf(file.getvalue()).joint_names
        ('joint0', 'joint1')
    """
    require_model(model)
    model = model.expanded
    kind = _format(target, format)
    _check_names(model)
    _check_mimics(model)
    root, remarks = _WRITERS[kind](model)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    data = f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'
    name = _write(target, data)
    if remarks:
        warn(f"{name}: {'; '.join(remarks)}")


def _format(target: Any, format: str | None) -> str:
    if format is not None:
        check_choice("format", format, tuple(_WRITERS))
    is_path = isinstance(target, (str, os.PathLike))
    if not is_path and not hasattr(target, "write"):
        raise ArgumentTypeError(f"expected a path or an open file, got {shown(target)}")
    if format is not None:
        return format
    name = os.fspath(target) if is_path else getattr(target, "name", "")
    suffix = os.path.splitext(str(name))[1].lower()
    if suffix not in _FORMATS:
        raise ArgumentError(
            f"expected a file that ends in .urdf or .xml (MJCF), got {shown(str(name))}; "
            "`save` takes format='urdf' or 'mjcf' for others"
        )
    return _FORMATS[suffix]


def _check_names(model: Model) -> None:
    """Refuse names that XML cannot hold or that readers take for missing ones."""
    named: list[tuple[str, Iterable[str]]] = [
        ("body or frame", model.frames),
        ("joint", model.joint_names),
        ("pose", model.poses),
        ("robot", [model.name]),
    ]
    for kind, names in named:
        for name in names:
            if _NOT_IN_XML.search(name) or not (name.strip() or kind == "robot"):
                raise ModelError(f"no file can hold the {kind} name {name!r}")


def _check_mimics(model: Model) -> None:
    """Refuse joints that follow what has no single coordinate, or nothing at all."""
    single = {joint.name for joint in model.joints if joint.type in _SINGLE}
    for joint in model.joints:
        if joint.mimic is not None and not {joint.name, joint.mimic.joint} <= single:
            raise ModelError(
                f"joint {joint.name!r} follows {joint.mimic.joint!r}, but both must be joints "
                "with one coordinate"
            )


_SINGLE = ("revolute", "continuous", "prismatic", "helical")


def _write(target: Any, text: str) -> str:
    """Write to a path or an open file; return what messages call it."""
    if isinstance(target, (str, os.PathLike)):
        path = Path(os.path.realpath(target))
        if not path.parent.is_dir():
            raise MissingFileError(f"there is no folder {str(path.parent)!r} to write a file in")
        try:
            _replace(path, text.encode())
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise ModelError(f"{target}: cannot write the model file: {reason}") from None
        return str(target)
    in_text = isinstance(target, TextIOBase) or "b" not in getattr(target, "mode", "b")
    target.write(text if in_text else text.encode())
    return str(getattr(target, "name", "the file"))


def _replace(path: Path, data: bytes) -> None:
    """Write all of a new file beside the old one, then put it in its place."""
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        path.write_bytes(data)  # a pipe or a device is written to; a folder is an error
        return
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with beside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, beside)
        os.replace(beside, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()
