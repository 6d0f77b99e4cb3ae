"""Runs Python in a process of its own, with this one's modules within reach."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(*arguments: str, **environment: str) -> str:
    """Return what ``python arguments`` prints; its errors go to this process's."""
    paths = os.pathsep.join(p for p in (str(ROOT), *sys.path) if p)
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout
