"""Ranges of producer ids. Kafka counts them from 0 in every cluster, and a broker takes the records of a producer that
comes from another cluster for duplicates of somebody's who has the same id here: acknowledged, and in no log. So each
cluster Kedge founds counts from a place of its own; that of one that was there before is unknown.

Ids have 63 bits, of which a range leaves 44 to its cluster: 17.6 million million ids last 557 years where 1,000
producers start every second (brokers take ids by the thousand, so a broker's start spends at most 1,000).
"""

from collections.abc import Iterable, Set

from controlplane.cluster.view import ClusterView
from events.ids import ClusterUid, derived_id

WIDTH = 2**44
"""Ids in a range."""

RANGES = 2**63 // WIDTH - 1
"""The lowest is nobody's: clusters that count from 0 are in it."""

_TRIES = 64
"""Ranges a cluster looks at for one that is free: of 90 % taken ones, one cluster in 850 finds none."""


def first_producer_id(uid: ClusterUid, taken: Set[int]) -> int | None:
    """Where the ids of this cluster begin, by its uid alone but for what others have (`taken`); None where nothing is
    free. Clusters of two installations have the same range once in half a million pairs."""
    drawn = (derived_id("producer-ids", uid, str(attempt)) for attempt in range(_TRIES))
    ranges = (WIDTH * (1 + int(one, 16) % RANGES) for one in drawn)
    return next((first for first in ranges if first not in taken), None)


def taken_producer_ids(views: Iterable[ClusterView]) -> frozenset[int]:
    """Where the ids of those clusters begin that have a range of their own, deleted ones included: who came from one
    carries its ids on."""
    founded = (v.quorum.founding for v in views if v.quorum.founding is not None)
    return frozenset(f.first_producer_id for f in founded if f.first_producer_id is not None)
