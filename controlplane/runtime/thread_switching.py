"""How the threads of a server take turns.

CPython lets a thread that computes go on for 5 ms before another one that wants to gets its turn. A page lets go of the
interpreter at each statement it sends to the database and at each hop to a worker thread, and while a tick computes it
waited so long each time. With 1 ms, half of the pages of a crowd took half as long (docs/portal.md, "Load").
"""

import sys
from typing import Final

TURN_S: Final = 0.001


def shorten_turns() -> None:
    """From now on, for all threads of this process."""
    sys.setswitchinterval(TURN_S)
