"""The viewer without a browser: what it listens on, what it shows, what it refuses."""

from __future__ import annotations

import socket
from pathlib import Path

import numpy as np
import pytest

import jounce as jc
from jounce import viewer as room
from jounce.viewer import motions

pytest.importorskip("viser")


@pytest.fixture
def arm():
    return jc.models.panda_like(fingers=True)


@pytest.fixture
def show():
    """Make viewers that are closed at the end."""
    made = []

    def make(*args, **options):
        made.append(jc.view(*args, **{"port": 0, "verbose": False, **options}))
        return made[-1]

    yield make
    for viewer in made:
        viewer.close()


def swing(model, steps=31):
    zero = np.zeros(model.nv)
    return jc.simulate(model, model.poses["home"], zero, np.linspace(0, 0.3, steps))


def shown_poses(viewer):
    """Poses of the bodies' nodes in the scene."""
    poses = np.tile(np.eye(4), (viewer.model.n_bodies, 1, 1))
    for pose, node in zip(poses, viewer.drawing.bodies, strict=True):
        pose[:3, :3] = jc.lie.quat_to_matrix(np.roll(node.wxyz, -1))
        pose[:3, 3] = node.position
    return poses


def listening(port):
    """Addresses on which something listens at a port, by the system's own table."""
    found = set()
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(name).read_text().splitlines()[1:] if Path(name).exists() else ():
            address, number = line.split()[1].split(":")
            if line.split()[3] == "0A" and int(number, 16) == port:
                found.add(address)
    return found


def test_it_listens_on_this_computer_only_and_says_where(arm, show, capsys):
    viewer = show(arm, verbose=True)
    told = capsys.readouterr().out
    assert told == f"jounce viewer: {viewer.url}\n"
    assert viewer.url.startswith("http://127.0.0.1:")
    port = viewer.server.get_port()
    with socket.create_connection(("127.0.0.1", port), timeout=60):
        pass
    if Path("/proc/net/tcp").exists():
        assert listening(port) == {"0100007F"}


def test_an_open_door_is_told(arm, show, capsys):
    viewer = show(arm, host="0.0.0.0", verbose=True)
    assert "listens on '0.0.0.0': whoever reaches this computer" in capsys.readouterr().out
    assert viewer.url.startswith("http://127.0.0.1:")


def test_a_page_cannot_ask_for_a_public_address(arm, show):
    assert show(arm).server.request_share_url() is None


def test_a_port_that_is_taken_is_left_alone(arm, show):
    first = show(arm)
    second = show(arm, port=first.server.get_port())
    assert first.server.get_port() != second.server.get_port()


def test_bodies_are_drawn_where_they_are(show):
    model = jc.models.random_tree(12, 1)
    viewer = show(model)
    q = jc.random_configuration(model, 3)
    viewer.q = q
    np.testing.assert_allclose(shown_poses(viewer), jc.body_poses(model, q), atol=1e-12)


def test_a_robot_is_shown_in_its_reference_pose_or_as_told(arm, show):
    assert np.array_equal(show(arm).q, arm.poses["home"])
    assert np.array_equal(show(arm, jc.neutral(arm)).q, jc.neutral(arm))
    chain = jc.models.chain(3)
    assert np.array_equal(show(chain).q, jc.neutral(chain))


def test_sliders_move_one_joint_and_leave_the_others(show):
    model = jc.models.humanoid()
    viewer = show(model)
    sliders = {slider.handle.label: slider.handle for slider in viewer.panel._sliders}
    assert len(sliders) == model.nv
    sliders["left_knee"].value = 1.2
    sliders["root_joint z"].value = 1.0
    sliders["root_joint turn z"].value = 0.5
    expected = np.array(model.poses["standing"])
    expected[model.q_slice("left_knee")] = 1.2
    expected[:7] = [0, 0, np.sin(0.25), np.cos(0.25), 0, 0, 1.0]
    np.testing.assert_allclose(viewer.q, expected, atol=1e-12)
    viewer.panel._set_sliders(jc.neutral(model))
    assert sliders["left_knee"].value == 0
    np.testing.assert_array_equal(viewer.q, jc.neutral(model))


def test_waiting_ends_when_it_is_closed(arm, show):
    import threading

    viewer = show(arm)
    closing = threading.Thread(target=viewer.close)
    closing.start()
    viewer.wait()
    closing.join()
    viewer.close()  # again does nothing
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", viewer.server.get_port()), timeout=60)


def test_all_joint_types_have_sliders(show):
    model = jc.models.random_tree(12, 1)
    viewer = show(model)
    assert len(viewer.panel._sliders) == model.nv
    for slider in viewer.panel._sliders:
        slider.handle.value = 0.25
    assert np.isfinite(viewer.q).all()


def test_a_motion_goes_through_its_times(arm, show):
    motion = swing(arm)
    viewer = show(motion)
    for k in (0, 7, 30):
        viewer.time = motion.t[k]
        assert viewer.time == motion.t[k]
        np.testing.assert_allclose(viewer.q, motion.q[k], atol=1e-12)
    viewer.panel._slider.value = 0.1
    assert viewer.time == pytest.approx(0.1)


def test_playback_advances_and_starts_again(arm, show):
    from browser import until

    motion = swing(arm)
    viewer = show(motion)
    viewer.panel._speed.value = "0.1"
    seen = set()
    viewer.panel._play.value = True
    until(lambda: seen.add(viewer.time) or len(seen) > 2)
    viewer.panel._play.value = False
    assert all(motion.t[0] <= time <= motion.t[-1] for time in seen)


def test_a_trajectory_has_its_own_derivatives(arm):
    end = arm.poses["home"] + 0.01
    path = jc.trajectories.RobotTrajectory.between(arm, arm.poses["home"], end, 2.0)
    motion = motions.shown(path, None, None, None)
    sample = path.evaluate(motion.t, order=0)
    assert (motion.t[0], motion.t[-1]) == (0, 2)
    assert np.array_equal(motion.a, sample.a)


def test_a_rollout_is_shown_by_its_arrays(arm, show):
    tau = np.zeros((20, arm.nv))
    rollout = jc.rollout(arm, arm.poses["home"], np.zeros(arm.nv), tau, 0.01)
    viewer = show(arm, rollout.q, t=0.01)
    assert viewer.motion.t[-1] == pytest.approx(0.2)
    after = jc.integrate(arm, rollout.q[:-1], 0.01 * viewer.motion.v[:-1])
    np.testing.assert_allclose(after, rollout.q[1:], atol=1e-12)


def test_layers_are_shown_and_hidden(show):
    model = jc.models.quadruped()
    viewer = show(model, v=np.ones(model.nv), show=room.viewer.LAYER_NAMES)
    assert viewer.overlays.shown == set(room.viewer.LAYER_NAMES)
    (ball,) = viewer.overlays._nodes["center of mass"]
    np.testing.assert_allclose(ball.position, jc.center_of_mass(model, viewer.q))
    viewer.hide("inertias", "twists")
    assert not any(node.visible for node in viewer.overlays._nodes["inertias"])
    assert not viewer.overlays._arrows["twists"].visible
    viewer.q = viewer.q  # arrows without length vanish
    assert not viewer.show("twists").overlays._arrows["twists"].visible
    with pytest.raises(jc.ArgumentError, match="unknown layer 'inertia'; there are see-through"):
        viewer.show("inertia")


def test_ghosts_stand_beside_the_robot(arm, show):
    viewer = show(arm, ghosts=[jc.neutral(arm), arm.poses["home"]])
    assert len(viewer._ghosts) == 2
    tip = viewer._ghosts[0].bodies[6].position
    np.testing.assert_allclose(tip, jc.body_pose(arm, jc.neutral(arm), 6)[:3, 3], atol=1e-12)
    viewer.clear_ghosts()
    assert viewer._ghosts == []


def test_a_body_whose_mesh_is_missing_is_an_ellipsoid(tmp_path, show):
    text = """<robot name="r"><link name="base"><inertial><mass value="2"/>
      <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
      <visual><geometry><mesh filename="lost.stl"/></geometry></visual></link></robot>"""
    (tmp_path / "robot.urdf").write_text(text)
    model = jc.load(tmp_path / "robot.urdf", base="free")
    with pytest.warns(jc.ModelWarning, match="'lost.stl' is not found"):
        viewer = show(model)
    ((handle, _),) = viewer.drawing._shapes
    expected = np.sqrt(2.5 / 2 * np.array([0.03, 0.01, 0.01]))
    np.testing.assert_allclose(np.ptp(handle.vertices, axis=0) / 2, expected, rtol=0.01)


def test_a_robot_without_shapes_is_drawn_by_its_inertias(show):
    model = jc.models.chain(3)
    viewer = show(model)
    assert len(viewer.drawing._shapes) == 3 + 2  # ellipsoids and bars


def test_one_file_holds_a_motion(arm, tmp_path):
    path = room.export(swing(arm), tmp_path / "swing.html", show=["momentum"])
    page = path.read_text()
    assert "__VISER_EMBED_DATA__" in page
    assert "jounce-plots" in page
    assert "torques" in page
    static = room.export(arm, tmp_path / "arm.html")
    assert "jounce-plots" not in static.read_text()
    with pytest.raises(jc.MissingFileError, match="there is no folder for"):
        room.export(arm, tmp_path / "nowhere" / "arm.html")


def test_saving_leaves_the_viewer_where_it_was(arm, show, tmp_path):
    viewer = show(swing(arm))
    viewer.time = 0.1
    q = viewer.q
    viewer.save(tmp_path / "a.html")
    assert np.array_equal(viewer.q, q)
    np.testing.assert_allclose(shown_poses(viewer), jc.body_poses(arm, q), atol=1e-12)
    with pytest.raises(jc.ArgumentError, match="rate must be positive"):
        viewer.save(tmp_path / "a.html", 0)


def test_a_recording_takes_samples_at_its_rate(arm):
    motion = motions.shown(swing(arm, 301), None, None, None)
    fewer = motions.at_rate(motion, 30.0)
    assert len(fewer.t) == 10
    assert (fewer.t[0], fewer.t[-1]) == (0, 0.3)
    assert set(fewer.t) <= set(motion.t)
    assert motions.at_rate(motion, 1e6) is motion


WRONG = {
    "no model": (("robot.urdf",), {}, "view takes a Model, a SimulatedMotion"),
    "no times": (("arm", "rows"), {}, "needs t: its times"),
    "times of a pose": (("arm",), {"t": 0.1}, "t belongs to a motion"),
    "other times": (("arm", "rows"), {"t": [0, 1]}, "t must be 3 increasing times"),
    "falling times": (("arm", "rows"), {"t": [0, 2, 1]}, "t must be 3 increasing times"),
    "rates": (("arm", "rows"), {"t": 0.1, "v": [1.0]}, r"v must have the shape \(3, 9\)"),
    "coordinates": (("arm", [1.0, 2.0]), {}, "q must have shape"),
    "ghosts": (("arm",), {"ghosts": [1.0]}, r"ghosts must have the shape \(K, 9\)"),
    "layer": (("arm",), {"show": "frame"}, "unknown layer 'frame'"),
    "frame": (("arm",), {"wrenches": {"tol": np.zeros(6)}}, "unknown body or frame 'tol'"),
    "wrench": (("arm",), {"wrenches": {"tool": [1]}}, r"wrench 'tool' must be finite numbers"),
    "torques": (("arm",), {"tau": [1.0]}, "tau must be finite numbers of shape"),
    "constraints": (("arm",), {"constraints": [1]}, "constraints must be a jounce.Constraints"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_shown_is_refused(arm, case):
    args, options, message = WRONG[case]
    given = {"arm": arm, "rows": np.tile(arm.poses["home"], (3, 1))}
    args = [given.get(x, x) if isinstance(x, str) else x for x in args]
    with pytest.raises(jc.Error, match=message):
        jc.view(*args, port=0, verbose=False, **options)


def test_arguments_of_a_motion_are_its_own(arm):
    motion = swing(arm)
    with pytest.raises(jc.ArgumentError, match="q and v are those of the motion"):
        jc.view(motion, motion.q)
    with pytest.raises(jc.ArgumentError, match="t is that of the motion"):
        jc.view(motion, t=0.1)


def test_what_is_missing_is_told(arm, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(jc.MissingExtraError, match=r"needs viser: pip install 'jounce\[view\]'"):
        jc.view(arm)


def test_torques_that_are_plotted_are_those_under_what_acts():
    """Of the demo's robot on its feet: with the ground's forces the base needs no torque."""
    from jounce.demo import robot
    from jounce.viewer.viewer import _Acting

    squat = robot.squat(21)
    motion = motions.shown(squat.path, None, None, squat.t)
    wrenches = {f"{side}_sole": squat.force[:, k] for k, side in enumerate(("left", "right"))}
    with_forces = _Acting(motion, wrenches, None, None, ()).torques(motion)
    np.testing.assert_allclose(with_forces, squat.tau, atol=1e-3)  # soles tilt by 1e-7
    held = jc.Constraints(squat.model, [jc.Weld("left_sole"), jc.Weld("right_sole")])
    under = _Acting(motion, None, held, None, ()).torques(motion)
    np.testing.assert_allclose(under, squat.tau, atol=1e-9)
    given = _Acting(motion, None, held, squat.tau, ()).torques(motion)
    assert np.array_equal(given, squat.tau)
