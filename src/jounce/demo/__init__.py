"""What ``jounce demo`` does: Sec. 7 of ali, computed, checked, timed and drawn; a robot that moves.

A flying base with two arms (12 degrees of freedom) follows the trajectory of Table 3. The inverse
series turns the motion into forces and their derivatives, the forward series turns these back;
what comes out must be what went in.
"""

from jounce.demo.experiment import RoundTrip, round_trip
from jounce.demo.main import run
from jounce.demo.robot import Squat, squat
from jounce.demo.timing import OrderTimes, Scaling, order_times, scaling

__all__ = [
    "OrderTimes",
    "RoundTrip",
    "Scaling",
    "Squat",
    "order_times",
    "round_trip",
    "run",
    "scaling",
    "squat",
]


def __dir__() -> list[str]:
    return sorted(__all__)
