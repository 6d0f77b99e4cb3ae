"""Large URDF files: no recursion, linear time, exact lines."""

from __future__ import annotations

import gc
import math
import time

import pytest
from urdf_parts import body, joint, robot

from jounce.errors import ModelError
from jounce.io import load_urdf

pytest.importorskip("lxml")


def chain(n: int, last: str = "") -> str:
    parts = ['<link name="link0"/>\n']
    for k in range(1, n):
        parts.append(body(f"link{k}").replace("><", ">\n<"))
        where = '<origin xyz="0 0 0.1"/><axis xyz="0 1 0"/>'
        parts.append(joint(f"joint{k}", "continuous", f"link{k - 1}", f"link{k}", where))
    return robot(*parts, last)


def cpu_seconds(text: str, repeat: int = 2) -> float:
    """Best CPU time to load a robot: other processes do not count."""
    best = math.inf
    for _ in range(repeat):
        start = time.process_time()
        load_urdf(text)
        best = min(best, time.process_time() - start)
    return best


def test_a_chain_of_5000_links_loads_in_a_second():
    assert load_urdf(chain(5_000)).n_bodies == 4_999
    assert cpu_seconds(chain(5_000)) < 1.0


def test_the_time_to_load_grows_linearly():
    small, large = cpu_seconds(chain(2_000), 3), cpu_seconds(chain(20_000))
    assert large < 20 * small


def test_100000_links_load():
    """Twenty times as many as above in less than 40 times as long."""
    text, reference = chain(100_000), cpu_seconds(chain(5_000))
    start = time.process_time()
    model = load_urdf(text)
    assert time.process_time() - start < 40 * reference
    assert (model.n_bodies, model.nv) == (99_999, 99_999)
    assert model.joints[-1].axis == (0.0, 1.0, 0.0)


def test_loading_leaves_the_garbage_collector_as_it_was():
    for before in (gc.disable, gc.enable):
        before()
        enabled = gc.isenabled()
        load_urdf(chain(3))
        with pytest.raises(ModelError):
            load_urdf("<robot/>")
        assert gc.isenabled() is enabled


def test_fixed_joints_load_about_as_fast_as_moving_ones():
    """5,000 links; CPU time, and as a ratio, because the machine may be busy."""
    fixed = chain(2_500).replace("</robot>", "")
    for k in range(2_500):
        fixed += body(f"tip{k}") + joint(f"mount{k}", "fixed", f"link{k}", f"tip{k}")
    texts = {"fixed": fixed + "</robot>", "moving": chain(5_000)}
    assert len(load_urdf(texts["fixed"]).frames) == 7_500
    times = {name: cpu_seconds(text, 3) for name, text in texts.items()}
    assert times["fixed"] < 2 * times["moving"]


def test_line_numbers_are_exact_in_very_long_files():
    text = chain(12_000, '<link name="a"/>\n<link name="a"/>\n')
    assert text.count("\n") > 70_000
    with pytest.raises(ModelError, match=rf":{text.count(chr(10))}: <link name='a'>"):
        load_urdf(text)
