"""A scale-down is refused where the data would not fit on what stays, with the numbers."""

from dataclasses import replace

from controlplane.admission import admission_problems
from controlplane.converger.decide import decide
from controlplane.converger.verdict import Situation
from controlplane.scaledownroom import room_after
from controlplane.view import ClusterView
from events import facts
from events.spec.positions import NOWHERE
from planner.observed import KafkaSnapshot, LogDirsSeen
from tests.builders import NODES, a_document, a_partition, a_situation, a_snapshot, a_view, an_instance

MIB = 1024**2
ADDED = ("brokers-a-1", "brokers-b-1", "brokers-c-1")


def _six() -> ClusterView:
    there = [an_instance(node, 1, service_id=1003 + n) for n, node in enumerate(ADDED)]
    return a_view(*there, document=a_document(brokers=6))


def _seen(used_mib: int, *, rf: int = 3) -> KafkaSnapshot:
    """24 partitions of 10 MiB; each disk has 1000 MiB, `used_mib` of them in use, by whatever."""
    ids = tuple(range(1000, 1006))
    held = [
        replace(a_partition(f"orders-{n}", tuple(ids[(n + k) % 6] for k in range(rf))), size_bytes=10 * MIB)
        for n in range(24)
    ]
    dirs = {b: LogDirsSeen(12, used_mib * MIB, 1000 * MIB, (1000 - used_mib) * MIB) for b in ids}
    return a_snapshot(*held, brokers=ids, log_dirs=dirs)


def test_brokers_may_leave_where_the_others_have_room() -> None:
    gate = room_after(_six(), a_document(brokers=3), _seen(200))
    assert gate.open
    assert gate.reason.startswith("brokers 1003, 1004, 1005 leave: they hold 20 partitions, 360.0 MiB")


def test_it_is_refused_by_plan_and_apply_with_the_numbers() -> None:
    (problem,) = admission_problems(_six(), a_document(brokers=3), positions=NOWHERE, snapshot=_seen(895))
    assert problem.is_error
    assert (
        "they hold 20 partitions, 360.0 MiB; the 3 others take 15.0 MiB more up to 90% of their disks"
        in problem.message
    )


def test_it_is_refused_where_fewer_brokers_stay_than_a_topic_has_replicas() -> None:
    gate = room_after(_six(), a_document(brokers=3), _seen(200, rf=4))
    assert not gate.open
    assert "has 4 replicas, and 3 brokers would be left to hold them" in gate.reason


def test_a_spec_that_takes_no_broker_away_is_not_judged() -> None:
    assert room_after(_six(), a_document(brokers=7), _seen(899)).open
    assert admission_problems(_six(), a_document(brokers=6), positions=NOWHERE, snapshot=_seen(899)) == []


def _shrinking(used_mib: int) -> Situation:
    view = replace(_six(), document=a_document(brokers=3), generation=2, recycling=2)
    return a_situation(view, kafka=_seen(used_mib))


def test_no_drain_is_begun_that_would_fill_the_disks_of_the_others() -> None:
    """They had room when it was applied; since then clients have written."""
    verdict = decide(_shrinking(895))
    assert verdict.wait is not None
    assert verdict.wait.reason == "NoRoom"
    assert {type(e) for e in verdict.events} == {facts.ConditionChanged}
    assert "not draining brokers-" in verdict.sentence


def test_a_drain_is_begun_where_they_have_room() -> None:
    (asked,) = decide(_shrinking(200)).events
    assert isinstance(asked, facts.DrainRequested)
    assert set(asked.keys) <= {f"{node}.g1" for node in ADDED}
    assert not set(asked.keys) & set(NODES)
