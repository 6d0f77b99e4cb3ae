"""The round trip of ali, Sec. 7 in extended precision.

The recursions return the motion to 1e-10 of its own size at every order. In doubles, rounding the
forces between them takes more than that (docs/series.md).
"""

import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import jounce as jc
from jounce import demo

SOURCE = pathlib.Path(__file__).with_name("extended_round_trip.cpp")
EXTENDED = np.finfo(np.longdouble).nmant >= 63


def told(*arrays):
    """Numbers as C's %a, which loses nothing."""
    return "\n".join(float(x).hex() for array in arrays for x in np.ravel(array))


@pytest.mark.long
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
@pytest.mark.skipif(not EXTENDED, reason="long double is no wider than double here")
def test_round_trip_of_table_3_in_extended_precision(tmp_path):
    trip = demo.round_trip()
    model, nodes = trip.model, trip.model.nodes
    r, states = trip.tau.shape[1] - 1, len(trip.q)
    given = told(
        *([len(nodes.parent), model.n_bodies, model.nv], nodes.parent, nodes.kind, nodes.placement),
        *(
            nodes.alignment,
            nodes.pitch,
            nodes.parameters,
            np.flatnonzero(nodes.body >= 0),
            model.armature,
        ),
        *(model.gravity, [r, states]),
        np.concatenate([trip.q, trip.motion.reshape(states, -1)], axis=1),
    )
    program = tmp_path / "extended_round_trip"
    command = [
        "g++",
        "-std=c++20",
        "-O1",
        "-w",
        "-I",
        jc.get_include(),
        str(SOURCE),
        "-o",
        str(program),
    ]
    subprocess.run(command, check=True)
    said = subprocess.run([program], input=given, check=True, capture_output=True, text=True).stdout
    errors = [float(line) for line in said.split()]
    assert (r, states, len(errors)) == (5, 3000, 6)
    assert max(errors) < 1e-10, errors
