"""The tests of constraints share oracles with those of derivatives and series."""

from __future__ import annotations

import sys
from pathlib import Path

for room in ("partials", "series"):
    sys.path.append(str(Path(__file__).parent.parent / room))
