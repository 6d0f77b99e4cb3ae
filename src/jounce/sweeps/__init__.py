"""Batches that are too large for one call, one process or one machine."""

from jounce.sweeps.sweep import MarkedSweep, sweep

__all__ = ["MarkedSweep", "sweep"]


def __dir__() -> list[str]:
    return sorted(__all__)
