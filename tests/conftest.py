"""Robots and states that the tests share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import jounce as jc

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
        f_ext = rng.standard_normal((*lead, model.n_bodies, 6))
        return SimpleNamespace(q=q, v=v, a=a, tau=tau, f_ext=f_ext, q0=q, q1=q1, dv=dv)

    return make


@pytest.fixture(scope="session")
def python() -> Callable[..., str]:
    """Run code in a new interpreter; return what it printed, fail if it did not end well."""
    package = str(Path(jc.__file__).parent.parent)

    def run(code: str, *arguments: str, timeout: float = 60, **environment: str) -> str:
        paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", code, *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == 0, f"exit code {done.returncode}:\n{done.stdout}{done.stderr}"
        return done.stdout

    return run
