"""Benchmarks of jounce beside its peers: ``python -m bench [names] [--quick]``.

Rules of a fair comparison:

- Contenders run in the same process and the same run, in turns of a few milliseconds; each is
  judged by its fastest block and the spread of neighboring blocks is printed.
- Same robot, same states: states are converted, and results are compared, before timing.
- The call from Python is included on both sides, with everything the call does: checks of the
  input, fresh arrays for the results.
- Results are kept. A Python loop over Pinocchio is ``out[i] = pin.rnea(model, data, q[i], v[i],
  a[i])``, because our batch call keeps every result too. The loop that drops them is a row apart.
- Where Pinocchio has a batch call of its own (``pin.rneaInParallel``, ``pin.abaInParallel``) it
  runs on one thread in a row beside the loop, and the faster of the two counts.
- Pinocchio's wheels are compiled for any x86-64 processor; the same comparison with
  ``JOUNCE_ISA=v2`` stands below ours, and the bench says for what Pinocchio was compiled.
- Where Pinocchio offers variants (conventions of `aba` and `crba`) its faster one counts; so does
  a result that is a view of its workspace (derivatives), with copies shown beside it.
- One core unless said otherwise; BLAS is held to one thread. Garbage collection is off.
- Targets are judged as measured; nothing is extrapolated.
- ``python -m bench native`` compares without Python, with Pinocchio compiled for this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import platform
import subprocess
import sys
import time
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from rich.console import Console

import jounce as jc
from bench import compare, figures, isa, summary
from bench.report import Report, Steps, save, show_targets
from bench.timing import FULL, QUICK, TINY, Effort

NAMES = (
    "dynamics",
    "series",
    "partials",
    "parameters",
    "second",
    "papers",
    "models",
    "algebra",
    "paths",
    "simulation",
    "rollouts",
    "sweeps",
    "bridges",
    "constraints",
    "kernels",
)
ALONE = ("native",)
"""Benchmarks that run only if they are named, since they take minutes to compile."""
RESULTS = Path(__file__).parent / "results"
WIDTH = 140
"""Columns of output that goes to a file."""


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmarks, print, save, compare."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - {*NAMES, *ALONE}:
        parser.error(f"no benchmark {sorted(unknown)}; there are {', '.join(NAMES + ALONE)}")
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    effort = TINY if options.tiny else QUICK if options.quick else FULL
    if options.load:
        content = json.loads(options.load.read_text(encoding="utf-8"))
    else:
        path = options.save or RESULTS / f"{datetime.now():%Y-%m-%d_%H%M%S}.json"
        content = _run(console, options.names or NAMES, effort, path)
    _show_markdown(console, content)
    if options.compare:
        old = json.loads(options.compare.read_text(encoding="utf-8"))
        return 1 if compare.show(console, old, content) else 0
    return 0


def _show_markdown(console: Console, content: dict[str, Any]) -> None:
    """Print the tables that README and docs/benchmarks.md hold, ready to paste."""
    readme = summary.table(content)
    if readme is not None:
        console.print("[bold]README's table[/]")
        print(readme.markdown())
    if "native" in content["reports"]:
        console.print("[bold]The table of docs/benchmarks.md[/]")
        print(content["reports"]["native"]["numbers"]["markdown"])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m bench", description="Benchmarks of jounce.")
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(NAMES + ALONE)}")
    parser.add_argument("--quick", action="store_true", help="some two minutes, rough numbers")
    parser.add_argument(
        "--tiny", action="store_true", help="check that it runs; numbers mean nothing"
    )
    parser.add_argument("--save", type=Path, metavar="FILE", help="where to save the results")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="a saved run to compare with")
    parser.add_argument("--load", type=Path, metavar="FILE", help="do not run, use this saved run")
    return parser


def _run(console: Console, names: tuple[str, ...], effort: Effort, path: Path) -> dict[str, Any]:
    machine = _machine()
    busy = machine["load"] is not None and machine["load"] > 0.3
    console.print(f"{machine['processor']}, {machine['cores']} cores, {jc.core_info()}")
    peer = "not looked at" if effort.tiny else isa.of_pinocchio()
    console.print(peer, highlight=False)
    if busy:
        console.print(f"[yellow]The machine is busy (load {machine['load']}): noisy numbers.[/]")
    content: dict[str, Any] = {
        "date": datetime.now().isoformat(timespec="seconds"),
        "effort": effort.name,
        "machine": machine,
        "versions": _versions(),
        "core_info": jc.core_info(),
        "peer": peer,
        "reports": {},
    }
    reports: list[Report] = []
    for name in names:
        start = time.perf_counter()
        module = importlib.import_module(f"bench.{name}")
        with Steps(console) as step:
            report = module.run(effort, step)
        report.numbers["seconds"] = time.perf_counter() - start
        for table in report.tables:
            table.show(console)
        reports.append(report)
        content["reports"][name] = report.as_dict()
        _figures(name, report, path)
        save(path, content)
    show_targets(console, reports)
    drawn = figures.draw(content, path.with_suffix(""))
    console.print(f"Figures: {', '.join(map(str, drawn)) or 'none'}")
    spent = {report.name: f"{report.numbers['seconds']:.0f} s" for report in reports}
    console.print(f"Saved {path}; {spent}")
    return content


def _figures(name: str, report: Report, path: Path) -> None:
    """Save the curves of a benchmark beside its numbers, where it has some."""
    module = sys.modules[f"bench.{name}"]
    if hasattr(module, "figures"):
        path.parent.mkdir(parents=True, exist_ok=True)
        module.figures(report, path.with_suffix(""))


def _machine() -> dict[str, Any]:
    processor = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                processor = line.split(":", 1)[1].strip()
                break
    load = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "load": load,
    }


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "jounce": jc.__version__}
    for name in ("numpy", "pin", "casadi", "example-robot-data"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        command = ["git", "describe", "--always", "--dirty"]
        found["commit"] = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        ).stdout.strip()
    return found


if __name__ == "__main__":
    sys.exit(main())
