"""The five papers as executable specification, in plain NumPy and in each paper's notation.

=========  ================================================================================
module     paper
=========  ================================================================================
`ali`      Ali, Gabellieri, Franchi: Lie Group Formulation of Recursive Dynamics Algorithms of
           Higher Order for Floating-Base Robots
`bos`      Bos, Traversaro, Pucci, Saccon: Efficient Geometric Linearization of Moving-Base
           Rigid Robot Dynamics
`kim`      Kim: Lie Group Formulation of Articulated Rigid Body Dynamics
`mueller`  Mueller: Screw and Lie Group Theory in Multibody Dynamics
`singh`    Singh, Russell, Wensing: Efficient Analytical Derivatives of Rigid-Body Dynamics
           using Spatial Vector Algebra
=========  ================================================================================

They are independent of the compiled core, which computes the same numbers in another way, and of
each other, but for how a single joint moves and for products over leading axes
(`jounce.papers.joints`); the tests hold all of them together.
"""

import importlib

__all__ = ["ali", "bos", "kim", "mueller", "singh"]


def __getattr__(name: str) -> object:
    """Import a paper's module when it is first used."""
    if name in __all__:
        return importlib.import_module(f"jounce.papers.{name}")
    raise AttributeError(f"module 'jounce.papers' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Names of the papers, whether they are imported already or not."""
    return sorted(__all__)
