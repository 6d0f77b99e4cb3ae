"""Formulas of docstrings on the site: what is drawn, and what stays code."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
markdown = pytest.importorskip("markdown")
pytest.importorskip("ziamath")

from docs_formulas import tex, tex_lines  # noqa: E402

READ = {
    "M da_k = dtau_k - K_k dq": r"M d a_{k} = d \tau_{k} - K_{k} d q",
    "Gamma_ijk = dM_ij/dq_k / 2": r"\Gamma_{ijk} = \frac{d M_{ij}}{d q_{k}} / 2",
    "u = -J^T (J J^T + mu)^-1 e": r"u = -J^{T} (J J^{T} + \mu )^{-1} e",
    "sum_(l=1)^k P_kl a_(l-1)": r"\sum_{l=1}^{k} P_{kl} a_{l-1}",
    "tau^(k)": r"\tau^{(k)}",
    "s'' + c s'^2 + g.": r"s^{\prime\prime} + c s^{\prime 2} + g .",
    "J v+ - w": "J v^{+} - w",
    "hat(w)^2 / t^2": r"\hat{w}^{2} / t^{2}",
    "dexp_inv(-u) delta q1": r"\operatorname{dexp}^{-1} (-u ) \delta q_{1}",
    "f_ext_i . A_<k,  B": r"f_{\mathrm{ext}, i} \cdot A_{<k} , \quad B",
    "a_x      = b": "a_{x} = b",
}


@pytest.mark.parametrize("text", READ)
def test_formulas_are_read(text):
    assert tex(text) == READ[text]


@pytest.mark.parametrize(
    "text",
    [
        'x = jc.load("robot.urdf")',
        "import jounce as jc",
        "curve.series(t, order)  # shape",
        "a @ b",
    ],
)
def test_code_is_left_alone(text):
    assert tex_lines("    " + text) is None


def page(text):
    return markdown.markdown(text, extensions=["docs_math"])


def test_indented_formulas_are_drawn_and_code_is_not():
    assert page("With J,\n\n    J v = 0,\n    J a = 0\n\nholds.").count("<svg") == 2
    assert "<svg" not in page("Code::\n\n    tau = Y pi")
    assert "<pre>" in page("Code:\n\n    tau = model.inertias[0]")


def test_powers_in_a_line_are_drawn_and_other_code_is_not():
    assert page("The matrix ``J M^-1 J^T`` and `J^T`").count("<svg") == 2
    assert "<svg" not in page("``a == b^2`` and ``x[0]`` and `^0 X_A`")
