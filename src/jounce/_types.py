"""Names of the types that the whole package shares."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["AnyArray", "Array", "ArrayLike", "Bodies", "Index", "Integers", "Mask"]

Array = npt.NDArray[np.float64]
"""Real numbers, as all compiled functions take and return them."""

AnyArray = npt.NDArray[Any]
"""Real or complex numbers: what works with complex steps, too."""

ArrayLike = npt.ArrayLike
"""What NumPy can make an array of."""

Bodies = str | int | Sequence[str | int]
"""A body (name or index), the name of a frame, or a list of them."""

Index = npt.NDArray[np.int32]
"""Indices as the compiled core keeps them."""

Integers = npt.NDArray[np.int64]
"""Indices and counts."""

Mask = npt.NDArray[np.bool_]
"""True where something holds."""
