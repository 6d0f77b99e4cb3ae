"""Robots and states that the tests share."""

from __future__ import annotations

import gc
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from types import SimpleNamespace

# Workers share the cores; threads of BLAS that wait for each other would keep them busy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# What JAX compiles runs once or twice: the passes of its compiler would take longer than that.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
)

import hypothesis
import numpy as np
import pytest

import jounce as jc

# The same examples in every run, and no clock: neither for one of them nor for making them.
hypothesis.settings.register_profile(
    "jounce",
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("jounce")

HANGS = 3600
"""Seconds after which a child process is given up: not a limit on how long it may take."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Tests that are found stay to the end: the collector of garbage need not look at them.

    Nor need it look often at what tests make, such as the syntax trees of the whole package.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(100_000)
        gc.enable()


ROBOTS = {
    "arm": lambda: jc.models.chain(6),
    "aerial": jc.models.aerial_manipulator,
    "mixed_tree": jc.models.mixed_tree,
    "all_joints": lambda: jc.models.random_tree(12, 1),
}


@pytest.fixture(scope="session", params=ROBOTS)
def robot(request: pytest.FixtureRequest) -> jc.Model:
    """Each of a few robots; together they have every joint type."""
    return ROBOTS[request.param]()


@pytest.fixture(scope="session")
def all_joints() -> jc.Model:
    """A robot with every joint type, spherical and free ones inside the tree."""
    return ROBOTS["all_joints"]()


@pytest.fixture(scope="session")
def state() -> Callable[..., SimpleNamespace]:
    """Make random arguments of a robot, with the given leading axes."""

    def make(model: jc.Model, *lead: int, seed: int = 0) -> SimpleNamespace:
        rng = np.random.default_rng(seed)
        q, q1 = jc.random_configuration(model, rng, (2, *lead))
        v, a, tau, dv = rng.standard_normal((4, *lead, model.nv))
        weights = rng.standard_normal((*lead, model.nv))
        f_ext = rng.standard_normal((*lead, model.n_bodies, 6))
        s = rng.standard_normal(lead)
        return SimpleNamespace(
            q=q, v=v, a=a, tau=tau, f_ext=f_ext, q0=q, q1=q1, dv=dv, s=s, weights=weights
        )

    return make


@pytest.fixture(scope="module")
def sketches() -> Generator[None, None, None]:
    """Pictures at which nobody looks: few triangles, and panels that make no room for labels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jounce.viewer.picture._LONGEST", 1.0)
        if importlib.util.find_spec("matplotlib"):
            engine = "matplotlib.layout_engine.ConstrainedLayoutEngine.execute"
            patch.setattr(engine, lambda self, figure: None)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest comes first, so that no process is left alone with it at the end."""
    first = tuple(f"tests/test_{name}.py" for name in ("add_a_kernel", "threads", "signals"))
    items.sort(key=lambda item: not item.nodeid.startswith(first))


@pytest.fixture(scope="session")
def python() -> Callable[..., str]:
    """Run code in a new interpreter; return what it printed, fail if it did not end well."""
    package = str(Path(jc.__file__).parent.parent)

    def run(code: str, *arguments: str, **environment: str) -> str:
        paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", code, *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
            capture_output=True,
            text=True,
            timeout=HANGS,
        )
        assert done.returncode == 0, f"exit code {done.returncode}:\n{done.stdout}{done.stderr}"
        return done.stdout

    return run


@pytest.fixture(scope="session")
def count_calls() -> Callable[[Callable[[], object]], int]:
    """Count the calls, of Python and of C functions, that a function makes: work without a clock.

    It is called once before, so that what happens the first time only does not count.
    """

    def count(function: Callable[[], object]) -> int:
        function()
        calls = 0

        def profile(frame: object, event: str, argument: object) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        before = sys.getprofile()
        sys.setprofile(profile)
        try:
            function()
        finally:
            sys.setprofile(before)
        return calls

    return count
