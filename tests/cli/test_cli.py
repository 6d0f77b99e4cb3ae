"""The command line: models, the demo, exit codes."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import jounce as jc
from jounce import cli, demo
from jounce.demo import timing

ARM = Path(__file__).parent.parent / "io" / "models" / "arm.urdf"
LINK = (
    '<link name="{}"><inertial><mass value="{}"/>'
    '<inertia ixx="{}" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture
def urdf(tmp_path: Path):
    """Write a robot of two links with the given mass and first moment of the second one."""

    def write(mass: str = "1", moment: str = "1", extra: str = "") -> str:
        path = tmp_path / "robot.urdf"
        joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
        links = LINK.format("a", 1, 1) + "\n" + LINK.format("b", mass, moment)
        path.write_text(f'<robot name="r">\n{links}\n{joint}{extra}</robot>')
        return str(path)

    return write


@pytest.mark.long
@pytest.mark.usefixtures("sketches")
def test_demo_returns_the_input_and_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(timing, "BUDGET", 0.01)  # too short to mean anything
    monkeypatch.setattr(timing, "_SWEEPS", 1)
    out = tmp_path / "deep" / "er"
    assert cli.main(["demo", "--quick", "--out", str(out), "--twist", "spatial"]) == 0
    printed = capsys.readouterr().out
    assert "forward dynamics returned the input of inverse dynamics" in printed
    assert "Round trip" in printed
    assert "Time per call" in printed
    names = {path.name: path.stat().st_size for path in out.iterdir()}
    figures = {"fig3a_motion.png", "fig3b_forces.png", "fig4_scaling.png", "robot.png"}
    assert names.keys() == figures | {"robot.html"}
    assert min(names.values()) > 20_000
    assert (out / "robot.png").read_bytes()[:4] == b"\x89PNG"
    assert "__VISER_EMBED_DATA__" in (out / "robot.html").read_text()


def test_round_trip_is_as_exact_as_the_forces_allow():
    result = demo.round_trip(steps=100)
    assert result.passed
    assert result.tau.shape == (100, 6, 12)
    assert result.t[-1] == pytest.approx(29.7)
    worse = dataclasses.replace(result, motion_error=100 * result.motion_error)
    assert not worse.passed
    assert not dataclasses.replace(result, force_error=result.force_error + 1e-9).passed


def test_a_failed_round_trip_fails_the_command(monkeypatch, tmp_path):
    monkeypatch.setattr(demo, "run", lambda *arguments, **options: False)
    assert cli.main(["demo", "--out", str(tmp_path)]) == 1


def test_times_are_positive_and_exponents_exact():
    times = timing.order_times(jc.models.chain(2), [0, 3], batch=16, budget=0.01)
    assert all(row.shape == (2,) and (row > 0).all() for row in times)
    n = np.array([3.0, 10.0, 50.0])
    assert timing.exponent(n, 7 * n**1.5) == pytest.approx(1.5)


def test_info_tells_version_and_core(capsys):
    assert cli.main(["info"]) == 0
    printed = capsys.readouterr().out
    assert jc.__version__ in printed
    assert jc.core_info()["isa"] in printed


def test_show_prints_tree_masses_limits_and_frames(capsys):
    assert cli.main(["show", str(ARM), "--base", "free"]) == 0
    printed = capsys.readouterr().out
    for part in ("nq = 10", "root_joint", "q in [-1, 1.5]", "|tau| <= 50", "tool", "mass 4 kg"):
        assert part in printed


def test_show_shortens_long_lists(tmp_path, capsys):
    links = "".join(f'<link name="l{k}"/>' for k in range(60))
    joint = '<joint name="j{}" type="continuous"><parent link="l{}"/><child link="l{}"/></joint>'
    joints = "".join(joint.format(k, k, k + 1) for k in range(59))
    path = tmp_path / "long.urdf"
    path.write_text(f'<robot name="long">{links}{joints}</robot>')
    assert cli.main(["show", str(path)]) == 0
    assert "19 more joints, shown with --all" in capsys.readouterr().out
    assert cli.main(["show", str(path), "--all"]) == 0
    assert "\nj58 " in capsys.readouterr().out


def test_check_accepts_a_good_file(urdf, capsys):
    assert cli.main(["check", urdf()]) == 0
    assert "nothing to complain about" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "code", "expected"),
    [
        ({"mass": "heavy"}, 1, ["structure: ", ":3: <mass> in ", "heavy"]),
        ({"moment": "9"}, 3, ["physics: ", ":3: <inertial> in <link name='b'>", "triangle"]),
        ({"extra": "<joynt/>"}, 1, ["structure: ", "joynt"]),
        ({"extra": '<gazebo reference="a"/><stuff/>'}, 4, ["style: ", ":4: <stuff>"]),
        ({"mass": "0"}, 3, ["physics: ", "mass is zero but"]),
    ],
)
def test_check_names_what_is_wrong_and_its_class(urdf, capsys, change, code, expected):
    assert cli.main(["check", urdf(**change)]) == code
    printed = capsys.readouterr().out
    for part in expected:
        assert part in printed
    assert "1 problem: 1 of" in printed


def test_check_reports_all_problems_of_all_files(tmp_path, capsys):
    joint = '<joint name="j" type="{}"><parent link="a"/><child link="b"/></joint>'
    links = LINK.format("a", "x", 1) + "\n" + LINK.format("b", "y", 1) + "\n"
    wrong, odd, good = (tmp_path / f"{name}.urdf" for name in ("wrong", "odd", "good"))
    wrong.write_text(f'<robot name="r">\n{links}{joint.format("hinge")}<vendor/></robot>')
    bodies = LINK.format("a", 1, 9) + "\n" + LINK.format("b", 1, 9) + "\n"
    odd.write_text(f"<robot>\n{bodies}{joint.format('continuous')}</robot>")
    good.write_text(odd.read_text().replace('"9"', '"1"').replace("<robot>", '<robot name="r">'))
    assert cli.main(["check", *map(str, (wrong, odd, good))]) == 1
    printed = capsys.readouterr().out
    for part in (
        ":2: <mass>",
        ":3: <mass>",
        ":4: <joint",
        "4 problems: 3 of structure, 1 of style",
    ):
        assert part in printed
    assert "odd.urdf: 3 problems: 2 of physics, 1 of style" in printed
    assert "good.urdf: nothing to complain about" in printed
    assert cli.main(["check", str(odd), str(good)]) == 3
    assert cli.main(["check", str(odd), "--ignore", "physics"]) == 4
    assert cli.main(["check", str(odd), "--ignore", "physics", "--ignore", "style"]) == 0
    assert cli.main(["check", str(odd), "none.urdf"]) == 2


def test_check_lists_every_problem_of_an_mjcf_file(tmp_path, capsys):
    pytest.importorskip("mujoco")
    path = tmp_path / "bad.xml"
    body = '<body>\n<joint damping="nan"/>\n<geom size="1e99"/></body>'
    path.write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    assert cli.main(["check", str(path)]) == 1
    printed = capsys.readouterr().out
    assert ":2: <joint>" in printed
    assert ":3: <geom>" in printed
    assert "2 problems: 2 of structure" in printed


def test_check_names_what_mjcf_leaves_out_once(tmp_path, capsys):
    pytest.importorskip("mujoco")
    path = tmp_path / "loop.xml"
    path.write_text(
        '<mujoco><worldbody><body name="b"><joint name="j"/><geom size=".1"/></body></worldbody>'
        '<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>'
        '<equality><tendon name="w" tendon1="t"/></equality></mujoco>'
    )
    assert cli.main(["check", str(path)]) == 3
    printed = capsys.readouterr().out
    assert printed.count("equality constraints of tendons and flexes ('w')") == 1
    assert "1 problem: 1 of physics\n" in printed


def test_check_lists_every_joint_that_moves_nothing(tmp_path, capsys):
    joint = '<joint name="{}" type="continuous"><parent link="{}"/><child link="{}"/></joint>'
    path = tmp_path / "massless.urdf"
    path.write_text(
        '<robot name="r"><link name="a"/><link name="b"/><link name="c"/>'
        + joint.format("first", "a", "b")
        + joint.format("second", "b", "c")
        + "</robot>"
    )
    assert cli.main(["check", str(path)]) == 3
    printed = capsys.readouterr().out
    assert "joint 'first' moves no inertia" in printed
    assert "joint 'second' moves no inertia" in printed


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["show", "no/such.urdf"], 2, "there is no model file"),
        (["check", "no/such.urdf"], 2, "there is no model file"),
        (["show", str(ARM.parent)], 1, "cannot read the model file"),
    ],
)
def test_failures_have_a_message_and_a_code(capsys, arguments, code, message):
    assert cli.main(arguments) == code
    error = capsys.readouterr().err
    assert error.startswith("jounce: ")
    assert message in error


@pytest.mark.parametrize("arguments", [["fly"], ["demo", "--twist", "LOCAL"], ["show"]])
def test_bad_usage_is_code_2(capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    assert "usage: jounce" in capsys.readouterr().err


@pytest.mark.parametrize("missing", ["rich.console", "matplotlib.pyplot"])
def test_missing_packages_are_named_with_their_extra(monkeypatch, capsys, tmp_path, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    assert cli.main(["demo", "--quick", "--out", str(tmp_path)]) == 2
    assert "pip install 'jounce[" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_the_module_runs_as_a_program():
    run = subprocess.run(
        [sys.executable, "-m", "jounce.cli", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == f"jounce {jc.__version__}"
