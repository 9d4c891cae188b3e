"""Turns of clusters at rest, each at a second of its own.

A large fleet that a new server looks at all at once would be due all at once for ever: the processor is then taken from
everything else, pages too, once in each interval.
"""

from datetime import datetime, timedelta
from zlib import crc32

from events.ids import ClusterUid

_PARTS = 1000


def round_of(uid: ClusterUid, at: datetime, every: timedelta) -> int:
    """The number of the round of this cluster that a time is in: it is due once in each."""
    every_s = every.total_seconds()
    return int(at.timestamp() / every_s + crc32(uid.encode()) % _PARTS / _PARTS)
