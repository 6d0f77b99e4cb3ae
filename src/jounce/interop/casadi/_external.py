"""Operations as functions in C that CasADi loads: no Python runs when a graph is evaluated.

`external.c` follows the plans of an operation. What turns their results into derivatives by
coordinates is an expression of CasADi, as in `_graph`, and CasADi writes it in C. Both make one
library:

    k,  jac_k,  adj1_k,  jac_adj1_k

in the names that CasADi looks for: a function, its Jacobian, reverse mode, the Jacobian of that.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import casadi as ca

from jounce import _core
from jounce.errors import ArgumentError, MissingExtraError
from jounce.interop._bridge.functions import Operation
from jounce.interop.casadi._graph import (
    as_list,
    derivatives,
    function_of,
    gradients,
    not_saved,
    second_derivatives,
)
from jounce.interop.casadi._plan import PLANS
from jounce.interop.casadi._structures import as_c

__all__ = ["external_of", "find_compiler"]

_SOURCE = Path(__file__).with_name("external.c")
_FLAGS = ("-O1", "-shared", "-fPIC", "-fvisibility=default")

_kept: list[Any] = []
"""What libraries point to: CasADi's graphs may call them at any time."""
_numbers = itertools.count()


def external_of(own: Operation) -> ca.Function:
    """The function of an operation, compiled.

    Raises:
        MissingExtraError: there is no C compiler.
    """
    compiler = find_compiler()
    found = _made.get(own)
    if found is None:
        found = _made[own] = _External(own, compiler).function
        for name in ("serialize", "save"):
            setattr(found, name, _refuse)
    return found


_made: dict[Operation, ca.Function] = {}


def _refuse(*_: Any) -> None:
    raise not_saved()


def find_compiler() -> str:
    """The C compiler: that of the variable CC, or what is called so."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        path = shutil.which(name) if name else None
        if path:
            return path
    raise MissingExtraError(
        "compiled functions for CasADi need a C compiler: none of $CC, cc, gcc, clang was found"
    )


class _External:
    """The library of an operation, and its function."""

    def __init__(self, own: Operation, compiler: str) -> None:
        self.own, self.compiler = own, compiler
        self.plans = {kind: PLANS[kind](own) for kind in ("value", "jacobian", "pull")}
        with contextlib.suppress(ArgumentError):  # some can be differentiated once only
            self.plans["hessian"] = PLANS["hessian"](own)
        self.names = {
            kind: own.function if kind == "value" else f"{own.function}_{kind}" for kind in PLANS
        }
        self.folder = Path(_folder().name) / str(next(_numbers))
        self.folder.mkdir()
        plans = self._library("plans.so")
        whole = self._library("whole.so", self._written(plans))
        self.function = ca.external(own.function, str(whole))

    def _library(self, name: str, *sources: Path) -> Path:
        """Compile the plans and these sources, and attach the plans."""
        path = self.folder / name
        functions = " ".join(f"F({self.names[kind]})" for kind in self.plans)
        command = [self.compiler, *_FLAGS, f"-I{_core.get_include()}", f"-DFUNCTIONS={functions}"]
        files = [str(_SOURCE), *map(str, sources), "-o", str(path), "-lm"]
        done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
        if done.returncode:
            said = done.stderr[-2000:]
            raise MissingExtraError(
                f"the C compiler {self.compiler} failed on {self.own.function}:\n{said}"
            )
        library = ctypes.CDLL(str(path))
        for kind, plan in self.plans.items():
            kept = as_c(plan)
            _kept.append((library, kept, self.own))
            getattr(library, f"attach_{self.names[kind]}")(ctypes.byref(kept[0]))
        return path

    def _written(self, plans: Path) -> Path:
        """Derivatives by coordinates in C, as CasADi writes it."""
        own, name = self.own, self.own.function
        nodes = {kind: ca.external(self.names[kind], str(plans)) for kind in self.plans}
        x, y = [a.name for a in own.inputs], [a.name for a in own.outputs]
        ends = [f"out_{key}" for key in y]
        blocks = [f"jac_{b}_{a}" for b in y for a in x]
        first = derivatives(own, nodes["jacobian"], f"jac_{name}", [*x, *ends], blocks, {})
        pull = self._twice(nodes) if "hessian" in nodes else nodes["pull"]
        seeds, grads = [f"weights_{key}" for key in y], [f"adj_{key}" for key in x]
        reverse = gradients(own, pull, 1, f"adj1_{name}", [*x, *ends, *seeds], grads, {})
        generator = ca.CodeGenerator("written.c", {"with_header": False})
        generator.add(first)
        generator.add(reverse)
        if "hessian" in nodes:
            generator.add(self._sparse(reverse.jacobian()))
        generator.generate(f"{self.folder}{os.sep}")
        return self.folder / "written.c"

    def _sparse(self, hessian: ca.Function) -> ca.Function:
        """With the pattern that the same function has in Python; of libraries CasADi knows none."""
        known = function_of(self.own).reverse(1).jacobian()
        inputs = hessian.mx_in()
        results = [
            ca.project(block, known.sparsity_out(k))
            for k, block in enumerate(as_list(hessian(*inputs)))
        ]
        return ca.Function(hessian.name(), inputs, results, hessian.name_in(), hessian.name_out())

    def _twice(self, nodes: dict[str, Any]) -> ca.Function:
        """Reverse mode that knows its Jacobian."""
        own = self.own
        pull = nodes["pull"]
        inputs: list[Any] = [ca.MX.sym(f"i{k}", pull.sparsity_in(k)) for k in range(pull.n_in())]
        results = as_list(pull(*inputs))
        inner = f"{own.function}_pull_twice"
        i, o = [f"i{k}" for k in range(len(inputs))], [f"o{k}" for k in range(len(results))]
        outs, names = [f"out_{key}" for key in o], [f"jac_{b}_{a}" for b in o for a in i]
        jacobian = second_derivatives(
            own, nodes["hessian"], nodes["jacobian"], f"jac_{inner}", [*i, *outs], names, {}
        )
        options: Any = {"custom_jacobian": jacobian, "jac_penalty": 0, "never_inline": True}
        return ca.Function(inner, inputs, results, i, o, options)


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="jounce-casadi-")
