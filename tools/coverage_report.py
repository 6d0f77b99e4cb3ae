"""python tools/coverage_report.py FOLDER: what tests reach, by the reports that are there.

A line of a template is reached if it is in one of its instances. Branches are those of lines that
hold a condition, since the compiler also counts jumps of code that it moved into lines without one;
a branch is taken if one instance takes it.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

CONDITION = re.compile(r"\b(if|for|while|switch|case)\b|\?|&&|\|\|")
ROOT = Path(__file__).resolve().parent.parent


def package(path: Path) -> None:
    """Print the share of Python lines, and the files with the least."""
    report = json.loads(path.read_text())
    total = report["totals"]
    print(f"package: {total['percent_covered']:.1f} % of {total['num_statements']} lines (95)")
    low = sorted((f["summary"]["percent_covered"], n) for n, f in report["files"].items())
    for percent, name in low[:10]:
        print(f"  {percent:5.1f} % {name.split('site-packages/')[-1]}")


def core(path: Path) -> None:
    """Print the shares of lines and branches of the core, and the lines that are not reached."""
    lines: dict[tuple[str, int], int] = defaultdict(int)
    branches: dict[tuple[str, int, int], int] = defaultdict(int)
    for file in json.loads(path.read_text())["files"]:
        name = file["file"].split("include/jounce/")[-1].removeprefix("core/")
        text = (ROOT / "core" / name).read_text().splitlines()
        for line in file["lines"]:
            number = line["line_number"]
            lines[name, number] = max(lines[name, number], line["count"])
            if CONDITION.search(text[number - 1].split("//")[0]):
                for k, branch in enumerate(line["branches"]):
                    branches[name, number, k] = max(branches[name, number, k], branch["count"])
    for what, counts, asked in (("lines", lines, 98), ("branches of conditions", branches, 85)):
        share = sum(count > 0 for count in counts.values()) / len(counts)
        print(f"core: {100 * share:.1f} % of {len(counts)} {what} ({asked})")
    missed = sorted(place for place, count in lines.items() if not count)
    for name, places in groupby(missed, lambda place: place[0]):
        print(f"  {name}: {', '.join(ranges([number for _, number in places]))}")


def ranges(numbers: list[int]) -> Iterator[str]:
    """Numbers that follow each other, as the first and the last."""
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        first, *rest = [number for _, number in run]
        yield f"{first}-{rest[-1]}" if rest else str(first)


if __name__ == "__main__":
    package(Path(sys.argv[1], "python.json"))
    core(Path(sys.argv[1], "core.json"))
