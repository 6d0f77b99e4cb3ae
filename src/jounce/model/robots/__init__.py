"""Robots of our own: an arm, a quadruped and a humanoid, made of simple shapes."""

from jounce.model.robots.arm import panda_like
from jounce.model.robots.humanoid import humanoid
from jounce.model.robots.quadruped import quadruped

__all__ = ["humanoid", "panda_like", "quadruped"]


def __dir__() -> list[str]:
    return sorted(__all__)
