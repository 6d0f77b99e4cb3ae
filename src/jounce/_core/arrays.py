"""What arrays must not be, wherever one is taken."""

from __future__ import annotations

import numpy as np

from jounce.errors import ArgumentError

__all__ = ["refuse_complex", "refuse_masked"]


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


def refuse_complex(name: str, value: object) -> None:
    """Refuse an array of complex numbers, of which NumPy would keep the real parts.

    Raises:
        ArgumentError: the numbers are complex.
    """
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "c":
        raise ArgumentError(f"{name} must be real numbers, got {value.dtype}")
