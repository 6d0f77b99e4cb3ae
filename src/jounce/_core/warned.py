"""Warnings of the compiled functions."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from types import FrameType

__all__ = ["warn_caller"]

_PACKAGE = str(Path(__file__).parent.parent) + os.sep


def warn_caller(category: type[Warning], message: str) -> None:
    """Warn of what a line outside of this package asked for.

    Between it and a kernel there may be functions of this package, which nobody who reads the
    warning can change; and what is shown once for each line would be shown once for all callers.
    """
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
