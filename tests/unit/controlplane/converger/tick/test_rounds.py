"""Clusters at rest that were looked at together are looked at one after the other from then on."""

from collections import Counter
from datetime import UTC, datetime, timedelta

from controlplane.converger.tick.rounds import round_of
from events.ids import ClusterUid

EVERY = timedelta(seconds=60)
BEGAN = datetime(2026, 1, 1, 12, 0, 17, tzinfo=UTC)
UIDS = [ClusterUid(f"{n:032x}") for n in range(1000)]


def next_look(uid: ClusterUid, after: datetime) -> int:
    """Seconds until it is due again."""
    here = round_of(uid, after, EVERY)
    return next(s for s in range(1, 62) if round_of(uid, after + timedelta(seconds=s), EVERY) != here)


def test_a_fleet_that_was_looked_at_at_once_is_spread_over_the_interval() -> None:
    at_once = Counter(next_look(uid, BEGAN) for uid in UIDS)
    assert max(at_once) <= 60
    assert max(at_once.values()) < 40, "1000 clusters in 60 s are 17 a second"


def test_from_then_on_each_is_due_once_in_each_interval() -> None:
    for uid in UIDS[:20]:
        first = BEGAN + timedelta(seconds=next_look(uid, BEGAN))
        assert next_look(uid, first) == 60


def test_a_clock_that_is_put_back_makes_it_due() -> None:
    assert round_of(UIDS[0], BEGAN - timedelta(minutes=5), EVERY) != round_of(UIDS[0], BEGAN, EVERY)
