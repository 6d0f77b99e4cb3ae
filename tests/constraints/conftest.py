"""The tests of constraints share an oracle with those of derivatives."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "partials"))
