"""Each cluster's producer ids begin in a range of its own, by its uid."""

from collections.abc import Iterator, Set
from dataclasses import replace

from hypothesis import given, strategies as st

from controlplane.cluster.producer_ids import RANGES, WIDTH, first_producer_id, taken_producer_ids
from controlplane.cluster.view import ClusterView, empty_view
from events import facts
from events.ids import ClusterUid

MOST = 2**63 - 1
"""Of Kafka's ids."""

uids = st.uuids().map(lambda u: ClusterUid(u.hex))


class All(Set[int]):
    """Every range is taken."""

    def __contains__(self, item: object) -> bool:
        return True

    def __iter__(self) -> Iterator[int]:
        return iter(())

    def __len__(self) -> int:
        return RANGES


@given(uids)
def test_a_range_is_one_of_its_own_width_above_those_that_count_from_0(uid: ClusterUid) -> None:
    first = first_producer_id(uid, frozenset())
    assert first is not None
    assert first % WIDTH == 0
    assert WIDTH <= first <= first + WIDTH - 1 <= MOST


@given(uids, st.integers(min_value=0, max_value=20))
def test_what_others_have_is_not_given_again_and_the_same_uid_has_the_same(uid: ClusterUid, others: int) -> None:
    taken: set[int] = set()
    for _ in range(others):
        first = first_producer_id(uid, taken)
        assert first is not None
        assert first not in taken
        assert first_producer_id(uid, taken) == first
        taken.add(first)


def test_the_last_range_ends_where_kafkas_ids_do() -> None:
    assert (RANGES + 1) * WIDTH - 1 == MOST


def test_ranges_are_spread_over_all_ids() -> None:
    firsts = [first_producer_id(ClusterUid(f"{n:032x}"), frozenset()) for n in range(2000)]
    quarters = [sum(1 for f in firsts if f and f // (WIDTH * (RANGES + 1) // 4) == q) for q in range(4)]
    assert min(quarters) > 400


def test_where_nothing_is_free_none_is_given() -> None:
    assert first_producer_id(ClusterUid("c0ffee"), All()) is None


def test_a_range_stays_taken_when_its_cluster_is_deleted_and_an_unknown_one_takes_none() -> None:
    own, gone, old, unfounded = (a_founded(uid, first) for uid, first in (("a", 5), ("b", 7), ("c", None), ("d", None)))
    gone = replace(gone, requests=replace(gone.requests, deleted=True))
    unfounded = replace(unfounded, quorum=replace(unfounded.quorum, founding=None))
    assert taken_producer_ids([own, gone, old, unfounded]) == {5, 7}


def a_founded(uid: str, first: int | None) -> ClusterView:
    view = empty_view(ClusterUid(uid))
    return replace(view, quorum=replace(view.quorum, founding=facts.QuorumFounded("k", "4.1", (), first)))
