"""Draw the pictures of README and the start page: ``python tools/docs_pictures.py``.

The robots and the viewer are pictures of Chromium (tools/browser.sh); without it they stay.
"""

from __future__ import annotations

import importlib.util
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import jounce as jc
from jounce.demo import robot

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
LAG = 0.02
"""Time constant of the motors, s."""

DISMISS = "document.querySelector('.mantine-Notification-closeButton')?.click()"
"""A note that the browser draws by software."""


def feedforward() -> Figure:
    """Torques of a fast motion, and what motors with a lag miss of them."""
    arm = jc.models.panda_like()
    home = arm.poses["home"]
    goal = home + np.array([0.6, 0.3, -0.4, 0.5, 0.3, -0.4, 0.6])
    path = jc.trajectories.RobotTrajectory.through(arm, [0.0, 0.8], [home, goal], degree=7)
    t, dt = np.linspace(0.0, 0.8, 8001, retstep=True)
    q, motion = path.evaluate(t, order=1)
    tau, rate = np.moveaxis(jc.inverse_dynamics_series(arm, q, motion), 1, 0)
    fig = Figure(figsize=(5.2, 4.6), layout="constrained")
    top, bottom = fig.subplots(2, 1, sharex=True)
    joints = [0, 1, 3]
    for joint in joints:
        top.plot(t, tau[:, joint], label=f"joint {joint + 1}")
    for told, style, name in ((tau, "-", "torques"), (tau + LAG * rate, "--", "torques and rates")):
        missed = _given(told, float(dt)) - tau
        for k, joint in enumerate(joints):
            label = f"{name} fed forward" if k == 0 else None
            bottom.plot(t, missed[:, joint], style, color=f"C{k}", label=label)
    top.set(ylabel="torque, N m", ylim=(-20, 34), title="an arm moves for 0.8 s")
    top.legend(ncols=3, fontsize="small", loc="upper right")
    bottom.set(
        xlabel="time, s",
        ylabel="given less needed, N m",
        ylim=(-0.6, 1.8),
        title="motors with a lag of 20 ms",
    )
    bottom.legend(fontsize="small", loc="upper right")
    return fig


def _given(told: Any, dt: float) -> Any:
    """What the motors give: a first-order lag of what they are told, linear in between."""
    out, decay = np.empty_like(told), np.exp(-dt / LAG)
    out[0] = told[0]
    for k in range(1, len(told)):
        out[k] = decay * out[k - 1] + (1 - decay) * (told[k - 1] + told[k]) / 2
    return out


def robots(browser: Any) -> Any:
    """The robots of the package side by side, as the viewer shows them: (height, width, 3)."""
    shots = []
    with browser.Browser(1400, 640) as page:
        for model in (jc.models.panda_like(), jc.models.quadruped(), jc.models.humanoid()):
            with jc.view(model, port=0, verbose=False) as viewer:
                page.open(viewer.url)
                shots.append(_settled(browser, page)[90:, 440:960])  # beside the panel
    return np.concatenate(shots, axis=1)


def viewer(browser: Any) -> Any:
    """The whole page with the humanoid of the demo on its way down, and the ground's forces."""
    motion = robot.squat()
    wrenches = {f"{side}_sole": motion.force[:, k] for k, side in enumerate(("left", "right"))}
    shown: dict[str, Any] = {"wrenches": wrenches, "show": ("wrenches",)}
    with (
        jc.view(motion.path, t=motion.t, port=0, verbose=False, **shown) as page_of,
        browser.Browser(1200, 720) as page,
    ):
        page.open(page_of.url)
        browser.until(lambda: page.run("document.querySelectorAll('.u-wrap canvas').length") > 0)
        assert page_of.panel is not None
        page_of.panel._choice.value = "torques, left_hip_yaw to left_ankle_roll"
        page_of.panel._slider.value = float(motion.t[len(motion.t) // 2])
        return _settled(browser, page)


def _settled(browser: Any, page: Any) -> Any:
    """What a page shows once it has faded in and no longer changes: (height, width, 3)."""
    from imageio import v3 as imageio

    seen: list[Any] = []

    def done() -> bool:
        page.run(DISMISS)
        seen.append(imageio.imread(BytesIO(page.picture()))[..., :3])
        middle = seen[-1][90:-40, 300:800]
        return len(seen) > 1 and np.array_equal(seen[-1], seen[-2]) and int(middle.min()) < 60

    browser.until(done)
    return seen[-1]


def _browser() -> Any:
    """The module of the tests that speaks to Chromium."""
    spec = importlib.util.spec_from_file_location("browser", ROOT / "tests/viewer/browser.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _save(name: str, picture: Any) -> None:
    """Write a picture; steps of four in each color are not seen, and pack better."""
    from PIL import Image

    image = Image.fromarray((picture & 0xFC) | (picture >> 6))
    image.save(IMAGES / name, optimize=True)
    print(f"wrote {IMAGES / name}, {(IMAGES / name).stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    if _browser().find() is not None:
        _save("robots.png", robots(_browser()))
        _save("viewer.png", viewer(_browser()))
    target = IMAGES / "feedforward.svg"
    feedforward().savefig(target, metadata={"Date": None})
    print(f"wrote {target}")
