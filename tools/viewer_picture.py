"""Take the picture of the viewer for README and docs: ``python tools/viewer_picture.py``.

Needs Chromium (tools/browser.sh) and Pillow, which matplotlib brings.
"""

from __future__ import annotations

import sys
import time
from io import BytesIO
from pathlib import Path

from PIL import Image

import jounce as jc
from jounce.demo import robot

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "viewer"))
import browser  # noqa: E402

TARGET = ROOT / "docs" / "images" / "viewer.png"
DISMISS = "document.querySelector('.mantine-Notification-closeButton')?.click()"


def faded_in(picture: bytes) -> bool:
    """Whether the robot has its dark colors already."""
    middle = Image.open(BytesIO(picture)).convert("L").crop((300, 100, 800, 700))
    return middle.getextrema()[0] < 50


def main() -> None:
    """Show the humanoid of the demo on its way down, with the forces of the ground."""
    motion = robot.squat()
    half = len(motion.t) // 2
    wrenches = {f"{side}_sole": motion.force[:, k] for k, side in enumerate(("left", "right"))}
    with (
        jc.view(
            motion.path,
            t=motion.t,
            wrenches=wrenches,
            show=("wrenches",),
            port=0,
            verbose=False,
        ) as viewer,
        browser.Browser(1200, 720) as page,
    ):
        page.open(viewer.url)
        browser.until(lambda: page.run("document.querySelectorAll('.u-wrap canvas').length") > 0)
        assert viewer.panel is not None
        viewer.panel._choice.value = "torques, left_hip_yaw to left_ankle_roll"
        viewer.panel._slider.value = float(motion.t[half])
        page.run(DISMISS)
        last = b""
        while (now := page.picture()) != last or not faded_in(now):
            last = now
            time.sleep(2)
    image = Image.open(BytesIO(last)).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    image.save(TARGET, optimize=True)
    print(f"wrote {TARGET}, {TARGET.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
