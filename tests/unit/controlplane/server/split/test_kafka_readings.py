"""A portal's own looks at Kafka: when they are due, and that nothing of the loop's is written over."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import pytest

from controlplane.cluster.observed.moves import MOVE_PULSES
from controlplane.cluster.view import ClusterView
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.gateway import KafkaGateway
from controlplane.server.split.snapshot import AT_REST, AT_WORK, KafkaReadings
from events import facts
from tests.fakes.kafka import FakeKafka
from tests.unit.controlplane.api.portal_house import House, broker, brokers_as_declared


class Now(Executor):
    """Does at once what it is given; with `held`, later."""

    def __init__(self) -> None:
        self.held: list[Callable[[], object]] = []
        self.holds = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self.holds:
            self.held.append(lambda: fn(*args, **kwargs))
        else:
            fn(*args, **kwargs)
        return Future()


class Watched:
    """A portal that looks at one cluster of the house, which is at rest."""

    def __init__(self) -> None:
        self.house = House()
        self.house.apply()
        self.house.join(*brokers_as_declared(self.house.view()))
        view = self.house.view()
        voter = facts.FoundingVoter("controllers-a-0", 100, "127.64.0.1", 9093, "dir")
        self.house.record(facts.QuorumFounded("k-id", "4.1", (voter,)), facts.RecycleCompleted(view.generation))
        self.kafka = FakeKafka(clock=lambda: self.house.now)
        self.kafka.add_controller(100)
        self.kafka.add_broker(1000, rack="a")
        self.queries, self.away = 0, False
        self.pool = Now()
        self.readings = KafkaReadings(
            self.house.converger, self.gateway, self.house.latest, lambda: self.house.now, pool=self.pool
        )

    def gateway(self, view: ClusterView) -> KafkaGateway:
        self.queries += 1
        if self.away:
            raise KafkaUnavailable(what="reading metadata", where=view.name, why="nobody answers")
        return self.kafka  # type: ignore[return-value]

    def after(self, **time: float) -> int:
        """How many looks there were once that time had passed and a poll had come."""
        self.house.pass_time(**time)
        self.readings.poll()
        return self.queries


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_a_cluster_at_rest_is_looked_at_once_a_minute(watched: Watched) -> None:
    assert watched.readings.last_snapshot(watched.house.view().uid) is None
    assert watched.after() == 1
    assert watched.after(seconds=AT_REST.total_seconds() - 1) == 1
    assert watched.after(seconds=1) == 2
    seen = watched.readings.last_snapshot(watched.house.view().uid)
    assert seen is not None
    assert seen.at == watched.house.now


def test_one_with_work_in_hand_every_five_seconds(watched: Watched) -> None:
    watched.house.surge(broker(number=1003, generation=2, replaces=1))
    assert watched.after() == 1
    assert watched.after(seconds=AT_WORK.total_seconds() - 1) == 1
    assert watched.after(seconds=1) == 2


def test_what_somebody_changed_is_looked_at_at_once(watched: Watched) -> None:
    assert watched.after() == 1
    watched.house.client.post("/v1/clusters/orders/pause", json={"reason": "x"})
    watched.house.converger.catch_up()
    assert watched.after(seconds=1) == 2
    assert watched.after(seconds=1) == 2


def test_a_look_that_takes_long_is_not_begun_twice(watched: Watched) -> None:
    watched.pool.holds = True
    watched.after()
    watched.after(minutes=5)
    assert len(watched.pool.held) == 1
    watched.pool.held.pop()()
    assert watched.after(seconds=1) == 1
    assert len(watched.pool.held) == 1, "the next one"


def test_brokers_that_do_not_answer_leave_what_was_seen_and_are_asked_again(watched: Watched) -> None:
    uid = watched.house.view().uid
    watched.after()
    seen = watched.readings.last_snapshot(uid)
    watched.away = True
    assert watched.after(minutes=1) == 2
    assert watched.readings.last_snapshot(uid) is seen
    watched.away = False
    watched.after(minutes=1)
    assert watched.readings.last_snapshot(uid) is not seen


def test_a_cluster_without_brokers_is_not_dialled() -> None:
    watched = Watched()
    empty = House()
    empty.apply()
    watched.readings._fleet = empty.converger
    assert watched.after() == 0


def test_what_the_loop_wrote_of_moves_is_read_and_not_written_over(watched: Watched) -> None:
    before = watched.house.latest.of_kind(MOVE_PULSES)
    watched.after()
    uid = watched.house.view().uid
    assert watched.house.latest.of_kind(MOVE_PULSES) == before
    assert watched.readings.last_moves(uid).pulses == {}
    assert watched.readings.behind(uid) == {}
    assert watched.readings.traffic(uid).write_bytes_per_s == {}
