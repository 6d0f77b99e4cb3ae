"""The command line: ``jounce show robot.urdf``, ``jounce simulate humanoid``, ...

Exit codes: 0 all well; 1 a model or a result is wrong; 2 the command cannot be carried out (bad
usage, a file or a package is missing); 130 interrupted. ``jounce check`` ends with the code of the
most serious class of what it finds: 1 structure, 3 physics, 4 style.
"""

from jounce.cli._main import main

__all__ = ["main"]


def __dir__() -> list[str]:
    return sorted(__all__)
