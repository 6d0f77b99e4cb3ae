"""The compiled core is chosen at import, can be forced, and its variants agree."""

from __future__ import annotations

import json
import platform
import subprocess
import sys

import numpy as np
import pytest

import jounce as jc
from jounce import _core

EPS = np.finfo(float).eps
VARIANTS = jc.core_info()["available"]
RESULTS = """
import json
import numpy as np
import jounce as jc
results = {"isa": jc.core_info()["isa"], "pack_width": jc.core_info()["pack_width"]}
for name, model in [("tree", jc.models.random_tree(12, 3)), ("chain", jc.models.chain(20, "free"))]:
    rng = np.random.default_rng(0)
    q = jc.random_configuration(model, rng, 11)
    v, a, tau = rng.standard_normal((3, 11, model.nv))
    for key, value in {
        "inverse": jc.inverse_dynamics(model, q, v, a),
        "one": jc.inverse_dynamics(model, q[0], v[0], a[0]),
        "forward": jc.forward_dynamics(model, q, v, tau),
        "mass": jc.mass_matrix(model, q),
        "jacobian": jc.jacobian(model, q, model.body_names[-1], "spatial"),
        "moved": jc.integrate(model, q, v),
    }.items():
        results[f"{name} {key}"] = value.ravel().tolist()
print(json.dumps(results))
"""


def test_core_info_says_what_runs():
    info = jc.core_info()
    assert info["isa"] in info["available"]
    assert set(info["available"]) <= {"v2", "v3", "v4", "native", "generic"}
    assert info["pack_width"] in (2, 4, 8)
    assert info["machine"] == platform.machine()
    assert info["cores"] >= 1
    info["isa"] = "changed"
    assert jc.core_info()["isa"] != "changed"


@pytest.mark.parametrize("forced", ["v9", "avx512", " "])
def test_a_variant_that_is_not_there_is_an_import_error(forced, python):
    said = python(
        "try:\n    import jounce\nexcept ImportError as error:\n    print(error)", JOUNCE_ISA=forced
    )
    assert said.strip() == f"JOUNCE_ISA is {forced!r}, but this build has {', '.join(VARIANTS)}"


def test_an_empty_setting_forces_nothing(python):
    code = "import jounce; print(jounce.core_info()['isa'])"
    assert python(code, JOUNCE_ISA="").strip() in VARIANTS


@pytest.mark.parametrize("isa", VARIANTS)
def test_a_variant_can_be_forced(isa, python):
    if not runs_here(isa):
        pytest.skip(f"this processor does not run {isa}")
    code = "import jounce; print(jounce.core_info()['isa'])"
    assert python(code, JOUNCE_ISA=isa).strip() == isa


def runs_here(isa):
    code = "import jounce as jc; jc.mass_matrix(jc.models.chain(9), [[0] * 9] * 9)"
    package = jc.__path__[0].rsplit("/", 1)[0]
    done = subprocess.run(
        [sys.executable, "-c", code], env={"JOUNCE_ISA": isa, "PYTHONPATH": package}, check=False
    )
    return done.returncode == 0


@pytest.mark.skipif(len(VARIANTS) < 2, reason="only one variant is built")
def test_variants_agree_to_rounding(python):
    results = [json.loads(python(RESULTS, JOUNCE_ISA=v)) for v in VARIANTS if runs_here(v)]
    assert len({r.pop("isa") for r in results}) == len(results)
    widths = {r.pop("pack_width") for r in results}
    assert len(widths) > 1 or len(results) < 3
    first, *others = results
    for other in others:
        for key, expected in first.items():
            scale = 1 + np.abs(expected).max()
            if key.endswith("forward"):  # solves with M
                scale *= condition(first[key.replace("forward", "mass")])
            np.testing.assert_allclose(other[key], expected, rtol=0, atol=30 * EPS * scale)


def condition(mass):
    """The largest condition number of the 11 matrices that a list holds."""
    n = round(np.sqrt(len(mass) / 11))
    return np.linalg.cond(np.reshape(mass, (11, n, n))).max()


FLAGS = {
    "v2": {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"},
    "v3": {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"},
    "v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
}
CHOICES = [
    (("v2", "v3", "v4"), ("v4", "v3", "v2"), "v4"),
    (("v2", "v3"), ("v4", "v3", "v2"), "v3"),
    (("v2",), ("v4", "v3", "v2"), "v2"),
    (("v2", "v4"), ("v4", "v3", "v2"), "v2"),
    ((), ("v4", "v3", "v2"), "v2"),
    (None, ("v4", "v3", "v2"), "v2"),
    (("v2", "v3", "v4"), ("v4", "native"), "native"),
    ((), ("generic",), "generic"),
]


@pytest.mark.parametrize(("levels", "available", "expected"), CHOICES)
def test_the_best_variant_that_the_processor_runs_is_chosen(
    levels, available, expected, monkeypatch
):
    flags = None if levels is None else set().union(*(FLAGS[x] for x in levels))
    monkeypatch.delenv("JOUNCE_ISA", raising=False)
    monkeypatch.setattr(_core, "_processor_flags", lambda: flags)
    assert _core._choose(list(available)) == expected


def test_a_build_without_a_core_says_how_to_install(monkeypatch):
    monkeypatch.delenv("JOUNCE_ISA", raising=False)
    with pytest.raises(ImportError, match="install the package"):
        _core._choose([])


MATRICES = ("inverse_mass_matrix", "mass_matrix", "inverse_dynamics_derivatives")


@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "center_of_mass"])
def test_workspaces_grow_with_the_number_of_bodies(name, pack):
    small, large = (_core.workspace_bytes(name, jc.models.chain(n), 0, pack) for n in (100, 1000))
    assert large < 10.1 * small


@pytest.mark.parametrize("name", MATRICES)
def test_workspaces_of_matrices_are_smaller_than_the_matrices(name):
    small, large = (_core.workspace_bytes(name, jc.models.chain(n)) for n in (100, 1000))
    assert large < 10.1 * small
    assert large < 8 * 1000**2


@pytest.mark.parametrize("pack", [False, True])
def test_workspaces_of_series_grow_with_bodies_and_orders(pack):
    def size(n, order):
        return _core.workspace_bytes("inverse_dynamics_series", jc.models.chain(n), order, pack)

    assert size(1000, 5) < 10.1 * size(100, 5)
    assert size(100, 20) < 4.1 * size(100, 5)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="flags are those of x86-64")
def test_the_processor_tells_what_the_system_tells():
    flags = _core._processor_flags()
    try:
        with open("/proc/cpuinfo") as lines:
            told = next(line.split(":")[1].split() for line in lines if line.startswith("flags"))
    except (OSError, StopIteration):
        pytest.skip("the system does not tell")
    known = set().union(*FLAGS.values())
    assert flags <= known
    assert flags == known & set(told)
