"""What ``jounce demo`` does: Sec. 7 of ali, computed, checked, timed and drawn.

A flying base with two arms (12 degrees of freedom) follows the trajectory of Table 3. The inverse
series turns the motion into forces and their derivatives, the forward series turns these back;
what comes out must be what went in.
"""

from jounce.demo.experiment import RoundTrip, round_trip
from jounce.demo.main import run
from jounce.demo.timing import OrderTimes, Scaling, order_times, scaling

__all__ = ["OrderTimes", "RoundTrip", "Scaling", "order_times", "round_trip", "run", "scaling"]


def __dir__() -> list[str]:
    return sorted(__all__)
