"""What arrays must not be, wherever one is taken."""

from __future__ import annotations

import numpy as np

from jounce.errors import ArgumentError

__all__ = ["refuse_masked"]


def refuse_masked(name: str, value: object) -> None:
    """Refuse a masked array that hides entries: what it hides is no number.

    Raises:
        ArgumentError: some entries are masked.
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        count = int(np.sum(np.ma.getmaskarray(value)))
        raise ArgumentError(
            f"{name} must have no masked entries, got {count} of {value.size}; "
            "fill them (numpy.ma.filled) or leave them out"
        )
