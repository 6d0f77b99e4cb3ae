"""What is doubtful about a model file, and in which respect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from jounce.errors import ModelError

__all__ = ["KINDS", "CollectedError", "Finding", "collected", "listed", "stop_if_refused"]

KINDS = ("structure", "physics", "style")
"""What keeps a file from being read as it was meant; what no robot can have, or what moves
otherwise than the file says; what other readers, or people, may stumble over."""


class Finding(NamedTuple):
    """One of `KINDS`, and the message, which names file, line and element.

    Lines are counted only when somebody reads the message.
    """

    kind: str
    text: Callable[[], str]
    refused: bool = False
    """Whether the file cannot be loaded because of it."""


class CollectedError(ModelError):
    """What is wrong is among the findings already, or follows from what is."""


def collected(reason: str) -> ModelError:
    """Build the exception."""
    return CollectedError(reason)


def stop_if_refused(findings: Sequence[Finding]) -> None:
    """Raise `CollectedError` if the file cannot be loaded because of some finding."""
    if any(finding.refused for finding in findings):
        raise collected("some elements of the file are wrong")


def listed(findings: Sequence[Finding], most: int = 10) -> str:
    """Join messages, the first `most` of them."""
    texts = [finding.text() for finding in findings[:most]]
    if len(findings) > most:
        texts.append(f"and {len(findings) - most} more")
    return "; ".join(texts)
