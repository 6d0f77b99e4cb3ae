"""The viewer in a real browser: the page loads, sliders move the robot, files open offline."""

from __future__ import annotations

from io import BytesIO
from urllib.parse import urlparse

import browser
import numpy as np
import pytest

import jounce as jc

pytest.importorskip("viser")
imageio = pytest.importorskip("imageio.v3")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        browser.find() is None, reason="no Chromium is installed; tools/browser.sh does it"
    ),
]

SIZE = 900, 600
MIDDLE = np.s_[100:500, 250:560, :3]
"""Where the robot is in pictures of that size, without panels."""

END = "End", 35


@pytest.fixture(scope="module")
def page():
    with browser.Browser(*SIZE) as running:
        yield running


def settled(page):
    """The middle of the page once it has faded in and no longer changes."""
    last = None

    def same():
        nonlocal last
        now = imageio.imread(BytesIO(page.picture()))[MIDDLE].astype(int)
        done = last is not None and np.array_equal(now, last) and now.min() < 100
        last = now
        return done

    browser.until(same)
    return last


def changed(before, after):
    """How many points are visibly different."""
    return int((np.abs(after - before).max(axis=-1) > 40).sum())


def test_a_slider_moves_the_robot(page):
    arm = jc.models.panda_like()
    with jc.view(arm, port=0, verbose=False) as viewer:
        page.open(viewer.url)
        browser.until(lambda: page.run("document.querySelectorAll('[role=slider]').length") == 7)
        assert page.run("document.querySelectorAll('canvas').length") >= 1
        before = settled(page)
        page.run("document.querySelectorAll('[role=slider]')[1].focus()")
        page.press(*END)
        browser.until(lambda: viewer.q[1] == arm.upper[1])
        assert np.array_equal(np.delete(viewer.q, 1), np.delete(arm.poses["home"], 1))
        after = settled(page)
        assert changed(before, after) > 1000
        asked = {urlparse(url) for url in page.requested()}
        away = [x for x in asked if x.scheme.startswith("http") and x.hostname != "127.0.0.1"]
        assert away == []


def test_a_motion_has_a_slider_for_its_time_and_a_plot(page):
    model = jc.models.quadruped()
    q = np.tile(model.poses["standing"], (40, 1))
    q[:, 6] += 0.15 * np.sin(np.linspace(0, 1.5, 40))
    q[:, 9::3] -= np.linspace(0, 0.6, 40)[:, None]
    with jc.view(model, q, t=0.05, port=0, verbose=False, show=["center of mass"]) as viewer:
        page.open(viewer.url)
        browser.until(lambda: page.run("document.querySelectorAll('.u-wrap canvas').length") > 0)
        before = settled(page)
        page.run("document.querySelector('[role=slider]').focus()")
        page.press(*END)
        browser.until(lambda: viewer.time == viewer.motion.t[-1])
        assert changed(before, settled(page)) > 1000


def test_a_file_opens_without_a_server_and_without_a_network(page, tmp_path):
    model = jc.models.humanoid()
    end = np.array(model.poses["standing"])
    end[model.q_slice("left_shoulder_pitch")] = -2.0
    motion = jc.trajectories.RobotTrajectory.between(model, model.poses["standing"], end, 1.0)
    path = jc.viewer.export(motion, tmp_path / "wave.html")
    page.call("Network.emulateNetworkConditions", offline=True, latency=0,
              downloadThroughput=0, uploadThroughput=0)  # fmt: skip
    page.events.clear()
    page.open(path.as_uri())
    browser.until(lambda: page.run("document.querySelectorAll('canvas').length") > 0)
    browser.until(lambda: imageio.imread(BytesIO(page.picture()))[MIDDLE].min() < 100)
    field = "document.querySelector('input.mantine-NumberInput-input')"
    assert page.run(f"{field} !== null"), "the field that tells the player's time"
    assert page.run("document.querySelectorAll('#jounce-plots > div.chosen').length") == 1
    chosen = "document.querySelector('#jounce-plots > div.chosen line').getAttribute('x1')"
    seen = {page.run(chosen)}
    browser.until(lambda: seen.add(page.run(chosen)) or len(seen) > 3)  # the line at the time moves
    schemes = {urlparse(url).scheme for url in page.requested()}
    assert schemes <= {"file", "data", "blob"}
    thrown = [event for event in page.events if event.get("method") == "Runtime.exceptionThrown"]
    assert thrown == []
