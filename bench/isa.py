"""The comparison at the instruction set of the peer's wheel.

Pinocchio's wheels are compiled for any x86-64 processor, jounce for the one it runs on. So both are
also compared at `ISA`, whose registers are as wide as Pinocchio's and which has no fused
multiply-add either. jounce chooses when it is imported: the comparison runs again in a process of
its own, ``JOUNCE_ISA=v2 python -m bench.isa BENCHMARK EFFORT``, which prints its report as JSON.
"""

from __future__ import annotations

import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jounce as jc
from bench import child
from bench.report import Report, Steps, Table, as_json
from bench.timing import FULL, QUICK, TINY, Effort

ISA = "v2"

LEVELS = {
    r"%zmm": "AVX-512 (x86-64-v4): eight doubles in a register",
    r"%ymm|\tvfn?m(add|sub)": "AVX (x86-64-v3): four doubles in a register",
    r"\t(pshufb|popcnt|round[sp]d|blendv?pd|h(add|sub)pd|pmulld|p(ins|ext)r[dq]|dppd|movddup)\s": (
        "SSE4 (x86-64-v2): two doubles in a register, no fused multiply-add"
    ),
}
"""What gives an instruction set away in a disassembly, the widest first."""
PLAIN = "plain x86-64 (SSE2): two doubles in a register, no fused multiply-add"


def add_rows(report: Report, effort: Effort, step: Steps) -> None:
    """Run a comparison again at `ISA` and append its rows to the tables that it has so far."""
    info = jc.core_info()
    if info["isa"] == ISA:
        return
    if ISA not in info["available"]:
        for table in report.tables:
            _heading(table, f"JOUNCE_ISA={ISA}: not built (make bench ISA=all)")
        return
    step(f"{report.name} at JOUNCE_ISA={ISA}")
    printed = child.run("-m", "bench.isa", report.name, effort.name, JOUNCE_ISA=ISA)
    found = json.loads(printed.splitlines()[-1])
    for table, other in zip(report.tables, found["tables"], strict=True):
        _heading(table, f"JOUNCE_ISA={ISA} (above: {info['isa']})")
        table.rows += other["rows"]
    report.timings |= {f"{ISA}/{path}": timing for path, timing in found["timings"].items()}


def _heading(table: Table, text: str) -> None:
    table.add(text, *[""] * (len(table.columns) - 1))


def of_pinocchio() -> str:
    """Say for which instruction set the installed Pinocchio was compiled."""
    import pinocchio as pin

    name = f"Pinocchio {pin.__version__} was compiled for"
    library = Path(pin.__file__).resolve().parents[3] / "libpinocchio_default.so"
    if not (library.is_file() and shutil.which("objdump")):
        return f"{name} an unknown instruction set (no objdump, or no {library.name})."
    command = ["objdump", "-d", "--no-show-raw-insn", str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return f"{name} {level(done.stdout)}."


def level(disassembly: str) -> str:
    """The instruction set that a disassembled x86-64 library needs."""
    found = (text for pattern, text in LEVELS.items() if re.search(pattern, disassembly))
    return next(found, PLAIN)


def _main(benchmark: str, effort: str) -> None:
    report = Report(benchmark)
    efforts = {e.name: e for e in (FULL, QUICK, TINY)}
    module = importlib.import_module(f"bench.{benchmark}")
    module.beside_pinocchio(report, efforts[effort], lambda text: None)
    print(as_json(report.as_dict()))


if __name__ == "__main__":
    _main(*sys.argv[1:])
