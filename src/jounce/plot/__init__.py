"""Plots with matplotlib (extra ``plot``), which is imported when a function is called.

Every function returns its figure::

    from jounce import plot

    figure = plot.motion(model, t, q, motion)
    figure.savefig("motion.png")

======================================  ==========================================================
`motion`, `forces`, `series`            time derivatives, by groups of joints, with their limits
`drift`                                 change of what a motion should keep: energy, momentum
`work_precision`                        error against cost of methods
`sparsity`                              size of the entries of matrices over the rates
`tree`, `robot`, `animate`              the kinematic tree; stick figures, still and moving
======================================  ==========================================================
"""

from jounce.plot._common import pyplot
from jounce.plot.accuracy import drift, work_precision
from jounce.plot.columns import Column, force_columns, motion_columns
from jounce.plot.matrices import sparsity
from jounce.plot.robots import animate, robot
from jounce.plot.series import forces, motion, series
from jounce.plot.trees import tree

__all__ = [
    "Column",
    "animate",
    "drift",
    "force_columns",
    "forces",
    "motion",
    "motion_columns",
    "pyplot",
    "robot",
    "series",
    "sparsity",
    "tree",
    "work_precision",
]


def __dir__() -> list[str]:
    return sorted(__all__)
