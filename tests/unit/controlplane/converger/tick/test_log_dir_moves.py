"""A drain onto a broker with two log directories, tick by tick, with a server that ends between telling and moving."""

from types import SimpleNamespace
from typing import cast

import pytest

from controlplane.converger.questions.rolls.batch import hand_over
from controlplane.converger.situation.effects import PreferLogDirs, Reassign
from controlplane.converger.situation.ports import Ports
from controlplane.converger.tick.act import carry_out
from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable
from controlplane.kafka.throttle import ThrottlePlan
from planner.drain.plan import DrainPlan
from planner.drain.request import Bandwidth, DrainRequest
from planner.drain.solve import solve
from planner.observed import TopicPartition
from tests.builders import a_situation, a_view
from tests.fakes.kafka import FakeKafka

OLD, SUCCESSOR = 1000, 1010
MB = 10**6
LARGE = TopicPartition("large", 0)


@pytest.fixture
def kafka() -> FakeKafka:
    """One log of 500 MB and six of 10 MB on three brokers; the successor has /a and /b."""
    cluster = FakeKafka()
    cluster.add_controller(100)
    for broker, rack in ((OLD, "a"), (1001, "b"), (1002, "c")):
        cluster.add_broker(broker, rack)
    cluster.create_topic("large", partitions=1, rf=3, bytes_per_partition=500 * MB)
    cluster.create_topic("small", partitions=6, rf=3, bytes_per_partition=10 * MB)
    cluster.add_broker(SUCCESSOR, "a", log_dirs=("/a", "/b"))
    return cluster


def planned(kafka: FakeKafka) -> DrainPlan:
    asked = DrainRequest.from_snapshot(
        kafka.snapshot(),
        cluster_uid="c",
        drain_id="d",
        outgoing=(OLD,),
        targets=(1001, 1002, SUCCESSOR),
        successors={OLD: SUCCESSOR},
        bandwidth=Bandwidth(100 * MB, "assumed"),
    )
    plan = solve(asked)
    assert isinstance(plan, DrainPlan), plan
    return plan


def held(kafka: FakeKafka) -> dict[str, frozenset[TopicPartition]]:
    return {d.path: d.replicas for d in kafka.snapshot().log_dirs[SUCCESSOR].dirs}


def test_replicas_end_in_the_directories_of_the_plan_though_the_first_server_ended_after_telling(
    kafka: FakeKafka,
) -> None:
    plan = planned(kafka)
    copies = [m for m in plan.moves if m.added]
    first = hand_over(ThrottlePlan(), kafka.snapshot(), copies)
    told = next(e for e in first if isinstance(e, PreferLogDirs))
    kafka.prefer_log_dirs(told.wishes)  # and no Reassign: the server is gone

    again = hand_over(ThrottlePlan(), kafka.snapshot(), copies)
    assert again == first
    for effect in again:
        if isinstance(effect, PreferLogDirs):
            kafka.prefer_log_dirs(effect.wishes)
        elif isinstance(effect, Reassign):
            assert kafka.reassign(effect.targets) == {}
    assert not [e for e in hand_over(ThrottlePlan(), kafka.snapshot(), copies) if isinstance(e, PreferLogDirs)]
    kafka.advance(60)

    assert sorted(len(names) for names in held(kafka).values()) == [1, 6]
    (alone,) = [path for path, names in held(kafka).items() if len(names) == 1]
    assert held(kafka)[alone] == {LARGE}
    assert {path: {m.name for m in copies if m.log_dirs == (path,)} for path in held(kafka)} == held(kafka)


def test_without_a_word_kafka_counts_replicas(kafka: FakeKafka) -> None:
    kafka.reassign({m.name: m.after for m in planned(kafka).moves if m.added})
    kafka.advance(60)
    assert sorted(len(names) for names in held(kafka).values()) == [3, 4]


@pytest.mark.parametrize(
    ("wishes", "fault"), [({SUCCESSOR: {LARGE: "/c"}}, KafkaRefused), ({4711: {LARGE: "/a"}}, KafkaUnavailable)]
)
def test_a_broker_that_has_not_understood_ends_the_tick_before_the_moves(
    kafka: FakeKafka, wishes: dict[int, dict[TopicPartition, str]], fault: type[Exception]
) -> None:
    ports = cast(Ports, SimpleNamespace(epoch=lambda: 1, kafka=lambda _view: kafka))
    with pytest.raises(fault):
        carry_out(PreferLogDirs(wishes), a_situation(a_view()), ports)
