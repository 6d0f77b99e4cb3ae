"""Run the command line with ``python -m jounce.cli``."""

from jounce.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
