"""The commands compute what the functions do, and say it in tables, JSON and files."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import jounce as jc
from jounce import cli
from jounce.cli import _bench, _common, motion
from jounce.model.labels import coordinate_names, rate_names, rate_units

ROBOT = "aerial_manipulator"


@pytest.fixture
def model() -> jc.Model:
    return jc.models.aerial_manipulator()


@pytest.fixture
def answer(capsys):
    """Run a command that must succeed and read the JSON that it prints."""

    def run(*arguments: str):
        assert cli.main([*arguments, "--json"]) == 0, capsys.readouterr().err
        return json.loads(capsys.readouterr().out)

    return run


def random_inputs(model: jc.Model, *names: str, seed: int = 0, lead: tuple[int, ...] = ()):
    """What the words "random" stand for."""
    order = ("q", "v", "a", "tau")
    out = []
    for name in names:
        rng = np.random.default_rng([seed, order.index(name)])
        if name == "q":
            out.append(jc.random_configuration(model, rng, lead))
        else:
            out.append(rng.standard_normal((*lead, model.nv)))
    return out


def test_inverse_and_forward_dynamics_return_each_other(model, answer, tmp_path):
    tau = answer("id", ROBOT, "--q", "random", "--v", "random", "--a", "random")["tau"]
    q, v, a = random_inputs(model, "q", "v", "a")
    np.testing.assert_array_equal(tau, jc.inverse_dynamics(model, q, v, a))
    np.save(tmp_path / "tau.npy", tau)
    given = ["--q", "random", "--v", "random", "--tau", str(tmp_path / "tau.npy")]
    again = answer("fd", ROBOT, *given)["a"]
    np.testing.assert_allclose(again, a, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("suffix", ["npz", "mat", "csv", "json"])
def test_a_file_of_many_states_comes_back(model, tmp_path, capsys, suffix):
    if suffix == "mat":
        pytest.importorskip("scipy")
    file = tmp_path / f"out.{suffix}"
    random = ["--q", "random", "--v", "random", "--a", "random", "--states", "3", "--seed", "5"]
    assert cli.main(["id", ROBOT, *random, "--out", str(file)]) == 0
    captured = capsys.readouterr()
    assert f"wrote {file}" in captured.err
    assert "the first of 3 states" in captured.out
    q, v, a = random_inputs(model, "q", "v", "a", seed=5, lead=(3,))
    expected = jc.inverse_dynamics(model, q, v, a)
    for name, values in {"q": q, "v": v, "a": a, "tau": expected}.items():
        if suffix == "mat":
            from scipy.io import loadmat

            np.testing.assert_array_equal(loadmat(file)[name], values)
        else:
            np.testing.assert_array_equal(_common.read_numbers(str(file), name), values)
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("command", ["id", "fd", "series", "linearize"])
def test_random_inputs_are_told(command, answer, capsys):
    """In JSON, and the coordinates of the first state in a table."""
    found = answer(command, ROBOT, "--q", "random", "--v", "random")
    assert {"q", "v"} < found.keys()
    capsys.readouterr()
    assert cli.main([command, ROBOT, "--q", "random", "--v", "random"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("coordinate")
    assert f"{found['q'][0]:.6g}" in printed


def test_columns_of_a_table_are_named_after_joints(model, tmp_path, capsys):
    file = tmp_path / "motion.csv"
    assert cli.main(["rollout", ROBOT, "--steps", "4", "--out", str(file)]) == 0
    head, *rows = file.read_text().splitlines()
    names = [*(f"q[{n}]" for n in coordinate_names(model)), *(f"v[{n}]" for n in rate_names(model))]
    assert head.split(",") == ["t", *names]
    assert len(rows) == 5
    assert float(rows[4].split(",")[0]) == pytest.approx(0.004)


def test_names_and_units_cover_every_joint_type(all_joints):
    names = coordinate_names(all_joints), rate_names(all_joints)
    assert [len(set(x)) for x in names] == [all_joints.nq, all_joints.nv]
    units = rate_units(all_joints)
    nodes = all_joints.nodes
    for kind, start in zip(nodes.kind, nodes.v_index, strict=True):
        assert units[start].force == ("N" if kind == 1 else "N m")
        if kind == 4:
            assert [unit.rate for unit in units[start + 2 : start + 4]] == ["rad/s", "m/s"]
    for name, at in zip(names[1], range(all_joints.nv), strict=True):
        joint = name.split(".")[0]
        assert at in range(*all_joints.v_slice(joint).indices(all_joints.nv))


def test_values_can_be_numbers_joints_or_standard_input(model, answer, monkeypatch):
    numbers = ",".join(["-1.5"] * model.nv)
    by_numbers = answer("id", ROBOT, "--v", numbers)["tau"]
    q, zero = jc.neutral(model), np.zeros(model.nv)
    expected = jc.inverse_dynamics(model, q, np.full(model.nv, -1.5), zero)
    np.testing.assert_array_equal(by_numbers, expected)
    by_joints = answer("id", ROBOT, "--q", "q2=-0.3,q5=1e-1", "--a", "q3=2")["tau"]
    q = jc.configuration(model, joints={"q2": -0.3, "q5": 0.1})
    zero[model.v_slice("q3")] = 2
    expected = jc.inverse_dynamics(model, q, np.zeros(model.nv), zero)
    np.testing.assert_array_equal(by_joints, expected)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO(json.dumps({"q": q.tolist(), "other": 1})))
        again = answer("id", ROBOT, "--q", "-", "--a", "q3=2")["tau"]
    np.testing.assert_array_equal(again, expected)


def test_series_return_each_other(model, answer, tmp_path):
    given = ["--order", "3", "--q", "random", "--v", "random"]
    tau = np.array(answer("series", ROBOT, *given, "--given", "random")["tau"])
    q, v = random_inputs(model, "q", "v")
    rest = np.random.default_rng([0, 9]).standard_normal((4, model.nv))
    expected = jc.inverse_dynamics_series(model, q, np.concatenate([v[None], rest]))
    np.testing.assert_array_equal(tau, expected)
    np.savez(tmp_path / "tau.npz", tau)
    back = answer("series", ROBOT, *given, "--forward", "--given", str(tmp_path / "tau.npz"))["a"]
    scale = np.abs(rest).max() * 1e4  # the forces lose digits with each order
    np.testing.assert_allclose(back, rest, atol=scale * 1e-12)


@pytest.mark.parametrize("step", [[], ["--dt", "0.01", "--method", "midpoint"]])
def test_linearization_is_that_of_the_function(model, answer, capsys, step):
    found = answer("linearize", ROBOT, "--q", "random", "--v", "random", *step)
    q, v = random_inputs(model, "q", "v")
    tau = np.zeros(model.nv)
    if step:
        expected = jc.linearize_step(model, q, v, tau, 0.01, method="midpoint")
    else:
        expected = jc.linearize(model, q, v, tau)
    np.testing.assert_array_equal(found["A"], expected.A)
    np.testing.assert_array_equal(found["B"], expected.B)
    assert cli.main(["linearize", ROBOT, *step]) == 0
    printed = capsys.readouterr().out
    assert "A (24, 24), B (24, 12); eigenvalues of A" in printed
    assert len(printed.splitlines()) == 2 + 24


def test_simulation_is_that_of_the_function(model, answer, capsys, tmp_path):
    options = ["--time", "0.2", "--rate", "50", "--q", "random", "--tau", "random"]
    found = answer("simulate", ROBOT, *options)
    q, tau = random_inputs(model, "q", "tau")
    t = np.linspace(0, 0.2, 11)
    expected = jc.simulate(model, q, np.zeros(model.nv), t, np.tile(tau, (10, 1)))
    np.testing.assert_array_equal(found["t"], t)
    np.testing.assert_array_equal(found["q"], expected.q)
    np.testing.assert_array_equal(found["v"], expected.v)
    pytest.importorskip("matplotlib")
    picture = tmp_path / "motion.png"
    fixed = ["--method", "rkmk4", "--dt", "0.01", "--states", "2", "--plot", str(picture)]
    assert cli.main(["simulate", ROBOT, *options, *fixed]) == 0
    printed = capsys.readouterr().out
    assert "11 states over 0.2 s, the first of 2 motions" in printed
    assert "energy (J)" in printed
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("method", ["rkmk4", "variational", "taylor"])
def test_a_rollout_in_portions_is_one_rollout(model, answer, monkeypatch, method):
    monkeypatch.setattr(motion, "PORTION", 5)
    steps = ["--steps", "17", "--every", "2", "--dt", "0.01", "--method", method]
    found = answer("rollout", ROBOT, "--q", "random", "--tau", "q2=0.5", "--states", "2", *steps)
    (q,) = random_inputs(model, "q", lead=(2,))
    tau = np.zeros((17, model.nv))
    tau[:, model.v_slice("q2")] = 0.5
    options = {"method": method, "every": 2}
    expected = jc.rollout(model, q, np.zeros(model.nv), tau, 0.01, **options)
    np.testing.assert_allclose(found["q"], expected.q, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(found["v"], expected.v, rtol=1e-13, atol=1e-12)
    np.testing.assert_allclose(found["t"], 0.02 * np.arange(9))


def test_forces_of_a_file_have_a_row_for_each_step(model, answer, tmp_path):
    tau = np.random.default_rng(0).standard_normal((6, model.nv))
    np.savetxt(tmp_path / "tau.csv", tau, delimiter=",", fmt="%.17g")
    found = answer("rollout", ROBOT, "--tau", str(tmp_path / "tau.csv"))
    expected = jc.rollout(model, jc.neutral(model), np.zeros(model.nv), tau, 0.001)
    np.testing.assert_array_equal(found["q"], expected.q)


@pytest.mark.parametrize("target", ["robot.urdf", "robot.xml"])
def test_convert_changes_and_writes(tmp_path, capsys, target):
    if target.endswith("xml"):
        pytest.importorskip("mujoco")
    arm = tmp_path / "chain.urdf"
    chain = jc.models.chain(4)
    jc.save(chain, arm)
    file = tmp_path / target
    change = ["--lock", "joint1=-0.4", "--payload", "body3=2,0,0,-0.1"]
    assert cli.main(["convert", str(arm), str(file), *change]) == 0
    assert "4 bodies" not in capsys.readouterr().err
    expected = chain.lock({"joint1": -0.4}).with_payload("body3", 2.0, (0, 0, -0.1))
    found = jc.load(file)
    assert found.joint_names == expected.joint_names
    q, v, a = np.random.default_rng(0).standard_normal((3, 3))
    forces = [jc.inverse_dynamics(model, q, v, a) for model in (found, expected)]
    np.testing.assert_allclose(*forces, rtol=1e-9, atol=1e-9)


def test_show_and_info_answer_programs(model, answer):
    shown = answer("show", ROBOT)
    assert [body["name"] for body in shown["bodies"]] == list(model.body_names)
    assert shown["bodies"][0]["mass"] == 2.5
    assert shown["bodies"][1]["parent"] == "B1"
    assert shown["joints"][1]["v"] == [6, 7]
    assert shown["joints"][1]["upper"] == [None]
    told = answer("info")
    assert told["jounce"] == jc.__version__
    assert told["core"]["isa"] == jc.core_info()["isa"]
    assert ROBOT in told["robots"]
    assert told["installed"]["rich"] in (True, False)


def test_check_answers_programs_and_knows_robots_of_the_package(capsys, tmp_path):
    bad = tmp_path / "bad.urdf"
    bad.write_text('<robot name="r"><link name="a"/><joynt/></robot>')
    assert cli.main(["check", ROBOT, str(bad), "--json"]) == 1
    good, found = json.loads(capsys.readouterr().out)
    assert good == {"file": ROBOT, "problems": []}
    assert found["file"] == str(bad)
    assert found["problems"][0]["class"] == "structure"
    assert "joynt" in found["problems"][0]["text"]


def test_bench_times_only_what_agrees(model, monkeypatch, capsys, answer):
    pytest.importorskip("pinocchio")
    monkeypatch.setattr(_bench, "_ROUNDS", 1)
    quick = ["--time", "1e-9", "--batch", "2"]
    found = answer("bench", ROBOT, *quick)
    assert "Pinocchio" in found["remark"]
    assert "differ" not in found["remark"]
    rows = {row["name"]: row for row in found["rows"]}
    assert len(rows) == 6
    assert rows["forces to order 3"]["peer"] is None
    for name in ("inverse dynamics", "forward dynamics", "derivatives of forward dynamics"):
        assert min(rows[name][key] for key in ("single", "batch", "peer", "peer_batch")) > 0
    monkeypatch.setattr(_bench, "_AGREEMENT", -1.0)
    wary = answer("bench", ROBOT, *quick)
    assert "Results differ, so Pinocchio is not timed: inverse dynamics" in wary["remark"]
    assert all(row["peer"] is None for row in wary["rows"])
    assert cli.main(["bench", "mixed_tree", *quick]) == 0
    printed = capsys.readouterr().out
    assert "Pinocchio cannot take this robot" in printed


def test_bench_runs_without_pinocchio(monkeypatch, answer):
    monkeypatch.setattr(_bench, "_ROUNDS", 1)
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    found = answer("bench", ROBOT, "--time", "1e-9", "--batch", "1")
    assert "Pinocchio is not installed" in found["remark"]
    assert all(row["single"] > 0 for row in found["rows"])


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["show", "aerial_manipulatr"], 2, "did you mean aerial_manipulator?"),
        (["show", ROBOT, "--base", "planar"], 2, "has its own base"),
        (["id", ROBOT, "--q", "1,2"], 2, "q must have shape (..., 13)"),
        (["id", ROBOT, "--q", "bend"], 2, "--q: expected numbers"),
        (["id", ROBOT, "--q", "q2=bend"], 2, "--q: expected joint=number, got 'q2=bend'"),
        (["id", ROBOT, "--v", "root_joint=1"], 2, "joint 'root_joint' has 6 rates"),
        (["id", ROBOT, "--v", "q99=1"], 2, "unknown joint 'q99'"),
        (["id", ROBOT, "--v", "no.npz"], 2, "--v: there is no file 'no.npz'"),
        (["series", ROBOT, "--order", "-1"], 2, "--order must be 0 or more"),
        (["series", ROBOT, "--given", "1,2"], 2, "--given must have shape (..., 3, 12)"),
        (["simulate", ROBOT, "--time", "-1"], 2, "--time and --rate must be positive"),
        (["simulate", ROBOT, "--method", "rkmk4"], 2, "needs dt"),
        (["rollout", ROBOT, "--dt", "0"], 2, "dt must be positive"),
        (["rollout", ROBOT, "--v", "q2=1e200", "--steps", "3"], 1, "not finite"),
        (["convert", ROBOT, "robot.stl"], 2, "expected a file that ends in .urdf"),
        (["convert", ROBOT, "no/robot.urdf"], 2, "there is no folder"),
        (["convert", ROBOT, "x.urdf", "--lock", "q2"], 2, "--lock: expected NAME=NUMBER"),
        (["convert", ROBOT, "x.urdf", "--payload", "B2=1,2"], 2, "--payload: expected FRAME=MASS"),
        (["view", ROBOT, "--motion", "no.npz"], 2, "--motion: there is no file"),
        (["bench", ROBOT, "--batch", "0"], 2, "must be positive"),
    ],
)
def test_mistakes_have_a_message_a_code_and_no_traceback(
    capsys, tmp_path, monkeypatch, arguments, code, message
):
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments) == code
    captured = capsys.readouterr()
    assert captured.err.startswith("jounce: ")
    assert message in captured.err
    assert captured.out == ""
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["id", ROBOT, "--out", "no/x.npz"], "there is no folder 'no'"),
        (["id", ROBOT, "--out", "x.xls"], "ends in .npz, .mat, .csv, .json"),
        (["id", ROBOT, "--states", "0"], "expected a positive integer, got '0'"),
        (["completion", "csh"], "invalid choice: 'csh'"),
    ],
)
def test_bad_options_are_told_before_the_work(capsys, arguments, message):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_files_that_hold_something_else_are_refused(tmp_path, capsys):
    wrong = tmp_path / "wrong.npz"
    np.savez(wrong, x=1.0, y=2.0)
    assert cli.main(["id", ROBOT, "--q", str(wrong)]) == 2
    assert "arrays named x, y, none of them 'q'" in capsys.readouterr().err
    table = tmp_path / "table.csv"
    table.write_text("a,b\n1,2\n")
    assert cli.main(["id", ROBOT, "--q", str(table)]) == 2
    assert "it has no columns named q" in capsys.readouterr().err
    table.write_text("1,2\nx\n")
    assert cli.main(["id", ROBOT, "--q", str(table)]) == 2
    assert cli.main(["view", ROBOT, "--motion", str(wrong)]) == 2
    assert "is no motion with t, q and v" in capsys.readouterr().err


def test_mat_files_and_the_viewer_name_their_extras(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "scipy.io", None)
    assert cli.main(["id", ROBOT, "--out", str(tmp_path / "x.mat")]) == 2
    assert "pip install 'jounce[scipy]'" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())
    monkeypatch.setitem(sys.modules, "viser", None)
    assert cli.main(["view", ROBOT]) == 2
    assert "pip install 'jounce[view]'" in capsys.readouterr().err


def test_a_robot_as_one_page(tmp_path, capsys):
    pytest.importorskip("viser")
    assert cli.main(["view", ROBOT, "--html", str(tmp_path / "robot.html")]) == 0
    assert capsys.readouterr().out == f"wrote {tmp_path / 'robot.html'}\n"
    assert "__VISER_EMBED_DATA__" in (tmp_path / "robot.html").read_text()


def test_the_viewer_says_where_it_is(monkeypatch, capsys):
    pytest.importorskip("viser")

    monkeypatch.setattr(jc.Viewer, "wait", jc.Viewer.close)
    assert cli.main(["view", ROBOT, "--port", "0"]) == 0
    assert "jounce viewer: http://127.0.0.1:" in capsys.readouterr().out


def run_in_terminal(arguments: list[str]) -> tuple[str, int]:
    """What a program shows on a terminal, and its exit code."""
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    environment = {**os.environ, "COLUMNS": "120", "TERM": "xterm"}
    child = subprocess.Popen(
        [sys.executable, "-m", "jounce", *arguments],
        stdout=slave,
        stderr=slave,
        stdin=slave,
        env=environment,
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(master)
    return shown.decode(), child.wait()


def test_tables_have_lines_on_a_terminal_and_none_in_a_pipe():
    pytest.importorskip("rich")
    shown, code = run_in_terminal(["id", ROBOT])
    assert code == 0
    assert "─" in shown
    assert "root_joint.vz" in shown
    piped = subprocess.run(
        [sys.executable, "-m", "jounce", "id", ROBOT],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "20"},
    )
    lines = piped.stdout.splitlines()
    assert len(lines) == 13
    assert lines[6].split() == ["root_joint.vz", "0", "0", "39.24", "N"]
    assert "─" not in piped.stdout
    assert piped.stderr == ""


def test_a_long_rollout_shows_a_bar_on_a_terminal():
    pytest.importorskip("rich")
    shown, code = run_in_terminal(["rollout", ROBOT, "--steps", "12000", "--every", "1000"])
    assert code == 0
    assert "rollout" in shown
    assert "%" in shown


def test_tables_are_plain_without_rich(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert cli.main(["id", ROBOT]) == 0
    assert "root_joint.vz" in capsys.readouterr().out


def test_a_reader_that_has_enough_is_no_error():
    code = f"{sys.executable} -m jounce rollout {ROBOT} --json | head -c 10"
    run = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {code}"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0
    assert run.stderr == ""


def test_no_command_shows_what_there_is(capsys):
    assert cli.main([]) == 2
    assert "print a robot's tree" in capsys.readouterr().err


def test_info_of_a_robot_is_show(capsys):
    printed = []
    for command in ("info", "show"):
        assert cli.main([command, ROBOT]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_a_number_of_states_needs_something_random(capsys):
    assert cli.main(["id", ROBOT, "--states", "3"]) == 2
    assert "add --q random" in capsys.readouterr().err


def test_complex_numbers_in_a_file_are_refused(tmp_path, capsys):
    np.save(tmp_path / "q.npy", np.ones(7) + 1j)
    assert cli.main(["id", ROBOT, "--q", str(tmp_path / "q.npy")]) == 2
    assert "q must be real numbers, got complex128" in capsys.readouterr().err


def test_a_simulation_that_cannot_fit_is_refused_at_once(capsys):
    assert cli.main(["simulate", ROBOT, "--time", "1e12"]) == 2
    assert "take a lower --rate or a shorter --time" in capsys.readouterr().err
