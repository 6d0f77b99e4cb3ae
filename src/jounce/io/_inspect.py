"""Look for everything that is doubtful in a model file, not only for the first thing."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from jounce.errors import ModelError, ModelWarning
from jounce.io import mjcf, sdf, urdf
from jounce.io._findings import CollectedError, Finding, stop_if_refused
from jounce.io._folder import Folder
from jounce.io._mjcf_inspect import errors
from jounce.io._mjcf_tree import expand
from jounce.io._source import MAX_BYTES, Source, check_format, read_source, root_tag
from jounce.io._xml import parse
from jounce.io.xacro import expand_xacro
from jounce.model import Model
from jounce.model.roots import Base, root_joint

__all__ = ["inspect"]


def inspect(
    path: str | os.PathLike[str], base: Base = "fixed", max_bytes: int = MAX_BYTES
) -> tuple[Model | None, list[Finding]]:
    """Return the model, None if it cannot be loaded, and all findings.

    Raises:
        MissingFileError: there is no such file.
        MissingExtraError: a package that the format needs is missing.
    """
    findings: list[Finding] = []
    suffix = Path(path).suffix.lower()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        try:
            if suffix == ".xacro":
                expanded = expand_xacro(path, None, max_bytes).encode()
                source = Source(expanded, f"{path} (expanded)", Path(path).parent, "utf-8")
            else:
                source = read_source(path, max_bytes)
            model = _read(source, suffix, base, max_bytes, findings)
        except ModelError as error:
            if not isinstance(error, CollectedError):
                findings.insert(0, _told("structure", str(error), refused=True))
            model = None
    for warning in caught:
        text = str(warning.message)
        findings.append(_told("physics" if "left out" in text else "structure", text))
    once = {(finding.kind, finding.text()): finding for finding in findings}
    return model, list(once.values())


def _told(kind: str, text: str, refused: bool = False) -> Finding:
    return Finding(kind, lambda: text, refused)


def _read(
    source: Source, suffix: str, base: Base, max_bytes: int, findings: list[Finding]
) -> Model:
    """Read a file as its root element says, as `jounce.load` does; `findings` grows."""
    root = root_tag(source)
    if root == "mujoco" and suffix not in (".urdf", ".xacro"):
        tree = expand(source, Folder(source.directory, None, max_bytes), max_bytes, forgiving=True)
        for doc in dict.fromkeys(piece.doc for piece in tree.pieces):
            findings += doc.findings
        for error in errors(tree, max_bytes):
            findings.append(_told("structure", str(error), refused=True))
        stop_if_refused(findings)
        return mjcf.from_source(
            source, base, gravity=None, strict=False, max_bytes=max_bytes, folder=None
        )
    if root == "sdf" and suffix not in (".urdf", ".xacro"):
        return sdf.from_source(source, base, findings=findings)
    check_format(source, root, suffix)
    doc = parse(source, forgiving=True)
    doc.collect(findings)
    return urdf.read_model(doc, root_joint(base))
