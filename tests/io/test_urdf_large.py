"""Large URDF files: no recursion, linear work, exact lines."""

from __future__ import annotations

import gc

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


@pytest.mark.long
def test_the_work_to_load_grows_linearly(count_calls):
    small, large = (count_calls(lambda n=n: load_urdf(chain(n))) for n in (500, 1_000))
    assert large < 2 * small


@pytest.mark.long
def test_10000_links_load():
    model = load_urdf(chain(10_000))
    assert (model.n_bodies, model.nv) == (9_999, 9_999)
    assert model.joints[-1].axis == (0.0, 1.0, 0.0)


def test_loading_leaves_the_garbage_collector_as_it_was():
    for before in (gc.disable, gc.enable):
        before()
        enabled = gc.isenabled()
        load_urdf(chain(3))
        with pytest.raises(ModelError):
            load_urdf("<robot/>")
        assert gc.isenabled() is enabled


@pytest.mark.long
def test_fixed_joints_take_as_much_work_as_moving_ones(count_calls):
    fixed = chain(500).replace("</robot>", "")
    for k in range(500):
        fixed += body(f"tip{k}") + joint(f"mount{k}", "fixed", f"link{k}", f"tip{k}")
    fixed += "</robot>"
    assert len(load_urdf(fixed).frames) == 1_500
    moving = chain(1_000)
    assert count_calls(lambda: load_urdf(fixed)) < 1.2 * count_calls(lambda: load_urdf(moving))


def test_line_numbers_are_exact_in_very_long_files():
    text = chain(10, "\n" * 70_000 + '<link name="a"/>\n<link name="a"/>\n')
    with pytest.raises(ModelError, match=rf":{text.count(chr(10))}: <link name='a'>"):
        load_urdf(text)
