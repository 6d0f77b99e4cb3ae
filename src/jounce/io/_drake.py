"""Drake's own elements in URDF and SDF files: how they are recognized, and which act."""

from __future__ import annotations

from jounce.io._xml import Element

__all__ = ["acts", "full_tag"]

_FORCES = frozenset(
    (
        "ball_constraint",
        "deformable_properties",
        "joint",
        "linear_bushing_rpy",
        "linear_spring_damper",
        "mimic",
        "tendon_constraint",
    )
)
"""What moves a robot otherwise than it would without."""


def full_tag(element: Element) -> str:
    """Return the tag, with ``drake:`` before Drake's own, whether or not the prefix is declared."""
    tag = str(element.tag)
    namespace, brace, local = tag.rpartition("}")
    return f"drake:{local}" if brace and "drake" in namespace else tag


def acts(element: Element) -> bool:
    """Whether an element is Drake's and stands for joints, constraints or forces."""
    prefix, _, local = full_tag(element).rpartition(":")
    return prefix == "drake" and local in _FORCES
