"""Arrays that make no tree are refused before a kernel sees them."""

from __future__ import annotations

import numpy as np
import pytest

from jounce import _core


def tree(parent=(-1,), kind=(0,), body_node=(0,), frame_body=()):
    n = len(parent)
    poses, zeros, (parent, kind, body_node, frame_body) = (
        np.tile(np.eye(4), (n, 1, 1)),
        np.zeros(n),
        (np.array(x, np.int32) for x in (parent, kind, body_node, frame_body)),
    )
    frame_poses = np.tile(np.eye(4), (len(frame_body), 1, 1))
    return _core.Tree(
        *(parent, kind, poses, poses, zeros, np.ones((n, 10)), body_node),
        *(zeros, zeros, zeros, zeros, zeros, np.zeros(3)),
        *(["joint"] * n, {}, frame_body, frame_poses),
    )


def test_frames_belong_to_a_body_or_to_the_world():
    assert tree(frame_body=(0, -1)).nv == 1


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"parent": (0,)}, "not a tree"),
        ({"kind": (5,)}, "not a tree"),
        ({"body_node": (1,)}, "a body has no node"),
        ({"body_node": (0, 0)}, "more bodies than nodes"),
        ({"frame_body": (1,)}, "a frame has no body"),
        ({"frame_body": (-2,)}, "a frame has no body"),
    ],
)
def test_what_is_no_tree_is_refused(arrays, message):
    with pytest.raises(ValueError, match=message):
        tree(**arrays)
