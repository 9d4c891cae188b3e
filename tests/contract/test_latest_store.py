"""Latest values: the newest wins, old reports and ghosts of earlier boots never do."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from controlplane.storage.latest_values import LatestStore, LatestValue, Renewal, SqlLatestStore, Subject
from events.ids import ClusterUid
from tests.fakes.latest_values import MemoryLatestStore
from tests.present import present

C1 = ClusterUid("c1")

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
NODE = Subject("agent-report", C1, "broker-0")


@pytest.fixture
def latest(engine_or_memory: Engine | None) -> LatestStore:
    return MemoryLatestStore() if engine_or_memory is None else SqlLatestStore(engine_or_memory)


def seen(at_s: float = 0, subject: Subject = NODE, **value: object) -> LatestValue:
    return LatestValue(subject, value, "inventory", START + timedelta(seconds=at_s))


def report(boot: str, seq: int, at_s: float = 0) -> LatestValue:
    moment = START + timedelta(seconds=at_s)
    value = {"boot": boot, "seq": seq, "digest": f"d{seq}"}
    return LatestValue(NODE, value, "agent", moment, boot_id=boot, seq=seq)


def test_what_was_put_is_read_back_whole(latest: LatestStore) -> None:
    observation = LatestValue(NODE, {"a": [1, {"ü": None}]}, "agent", START, boot_id="b1", seq=2**40)
    assert latest.put(observation) is True
    assert latest.get(NODE) == observation
    assert latest.get(Subject("agent-report", C1, "other")) is None


def test_a_newer_value_replaces_an_older_one_and_never_the_other_way_round(latest: LatestStore) -> None:
    assert latest.put(seen(10, n=1))
    assert latest.put(seen(20, n=2))
    assert not latest.put(seen(15, n=3))
    assert present(latest.get(NODE)).value == {"n": 2}
    assert latest.put(seen(20, n=4)), "the same moment: the later call is the newer one"


def test_within_a_boot_only_a_higher_sequence_is_news(latest: LatestStore) -> None:
    assert latest.put(report("b1", 5))
    assert not latest.put(report("b1", 5, at_s=1))
    assert not latest.put(report("b1", 4, at_s=2))
    assert latest.put(report("b1", 6, at_s=-3)), "the order of a boot is its sequence, not a clock that may jump"
    assert present(latest.get(NODE)).seq == 6


def test_a_new_boot_starts_counting_anew(latest: LatestStore) -> None:
    latest.put(report("b1", 100))
    assert latest.put(report("b2", 1))
    assert present(latest.get(NODE)).value == {"boot": "b2", "seq": 1, "digest": "d1"}


def test_a_boot_that_was_superseded_is_never_news_again(latest: LatestStore) -> None:
    latest.put(report("b1", 1))
    latest.put(report("b2", 1))
    latest.put(report("b3", 1))
    assert not latest.put(report("b1", 999, at_s=60))
    assert not latest.put(report("b2", 999, at_s=60))
    assert present(latest.get(NODE)).boot_id == "b3"
    assert latest.put(report("b3", 2))


def test_many_reboots_keep_the_row_small_and_the_last_ghosts_out(latest: LatestStore) -> None:
    for number in range(40):
        assert latest.put(report(f"b{number}", 1))
    assert not latest.put(report("b38", 2))
    assert not latest.put(report("b30", 2))


def test_subjects_kinds_and_clusters_are_kept_apart(latest: LatestStore) -> None:
    latest.put(seen(subject=Subject("inventory", C1, "vm-1"), n=1))
    latest.put(seen(subject=Subject("inventory", C1, "vm-0"), n=2))
    latest.put(seen(subject=Subject("metadata", C1, "-"), n=3))
    latest.put(seen(subject=Subject("inventory", ClusterUid("c2"), "vm-1"), n=4))
    assert [one.value["n"] for one in latest.of_cluster(C1)] == [2, 1, 3]
    assert [one.value["n"] for one in latest.of_cluster(C1, "metadata")] == [3]
    assert [one.value["n"] for one in latest.of_kind("inventory")] == [2, 1, 4]
    assert latest.of_cluster(ClusterUid("c3")) == []


def test_many_are_put_at_once_in_their_order(latest: LatestStore) -> None:
    latest.put(report("b1", 5))
    subjects = [Subject("inventory", ClusterUid(f"c{number % 7}"), f"vm-{number}") for number in range(700)]
    batch = [report("b1", 4), report("b1", 6), report("b1", 6), *[seen(subject=subject) for subject in subjects]]
    assert latest.put_all(batch) == 701
    assert present(latest.get(NODE)).seq == 6
    assert len(latest.of_kind("inventory")) == 700
    assert latest.put_all([]) == 0


def test_what_is_kept_is_renewed_by_the_same_boot_alone_and_never_backwards(latest: LatestStore) -> None:
    def renewed(boot: str, seq: int, at_s: float, digest: str = "d5") -> tuple[int, float]:
        latest.renew_all([Renewal(NODE, START + timedelta(seconds=at_s), boot, seq, digest)])
        kept = present(latest.get(NODE))
        assert kept.value == {"boot": "b2", "seq": 5, "digest": "d5"}
        return present(kept.seq), (kept.observed_at - START).total_seconds()

    latest.put(report("b1", 9))
    latest.put(report("b2", 5))
    assert renewed("b2", 6, 30) == (6, 30)
    assert renewed("b2", 6, 40) == (6, 30)
    assert renewed("b2", 4, 40) == (6, 30)
    assert renewed("b1", 10, 40) == (6, 30)
    assert renewed("b2", 7, 40, "d4") == (6, 30), "what another process took in says something else"
    assert not latest.put(report("b2", 6, 50)), "a late packet"
    assert not latest.put(report("b1", 11, 50)), "a ghost"


def test_nothing_is_made_by_a_renewal(latest: LatestStore) -> None:
    assert latest.renew_all([]) == 0
    assert latest.renew_all([Renewal(NODE, START, "b1", 1, "d1")]) == 0
    assert latest.get(NODE) is None


def test_it_says_of_how_many_it_renewed(latest: LatestStore) -> None:
    other = replace(NODE, name="other")
    latest.put_all([report("b1", 1), replace(report("b1", 1), subject=other)])
    assert latest.renew_all([Renewal(each, START, "b1", 2, "d1") for each in (NODE, other)]) == 2
    assert latest.renew_all([Renewal(NODE, START, "b1", 3, "d1"), Renewal(other, START, "b1", 2, "d1")]) == 1
