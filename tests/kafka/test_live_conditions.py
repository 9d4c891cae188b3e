"""What is told of moves of others, of groups that stand still and of replicas in one zone, from what real brokers say.

One controller, three brokers in two zones. The documents' side is made; brokers, clients and what is read of them are
real. Where a condition takes minutes, the clock of the samples is ahead of the machine's.
"""

import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from controlplane.background.anomalies.evidence import SeenCluster, evidence
from controlplane.background.consumer_groups.service import GroupService
from controlplane.cluster.observed.consumer_groups import kept_note
from controlplane.cluster.observed.moves import MoveWatch
from controlplane.cluster.view import ClusterView
from controlplane.converger.conditions.consumers import consumers_stuck
from controlplane.converger.conditions.placement import misplaced_condition
from controlplane.converger.conditions.stuck_moves import STRANGERS_MOVES, foreign_moves_condition
from controlplane.converger.questions.moves.placement_work import placement_of
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.throttle import ThrottlePlan
from events import facts
from planner.anomalies.kinds import Kind
from planner.observed import KafkaSnapshot, TopicPartition
from tests.builders import a_situation, a_view, an_instance
from tests.fakes.latest_values import MemoryLatestStore
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.soak, pytest.mark.timeout(180)]

RACKS = {1000: "a", 1001: "b", 1002: "b"}
NO_STRANGERS = facts.ConditionChanged(STRANGERS_MOVES, False, "Free", "")
NODES = {1000: "brokers-a-0", 1001: "brokers-b-0", 1002: "brokers-b-1"}


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaProcesses]:
    kafka = KafkaProcesses(tmp_path_factory.mktemp("conditions"), network="127.0.49", min_isr=1, replication=2)
    try:
        kafka.found(RACKS)
        yield kafka
    finally:
        kafka.close()


class Clock:
    """The machine's, and so many minutes ahead."""

    def __init__(self) -> None:
        self.minutes = 0.0

    def __call__(self) -> datetime:
        return datetime.now(UTC) + timedelta(minutes=self.minutes)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gateway(processes: KafkaProcesses, clock: Clock) -> Iterator[AdminGateway]:
    dialer = DirectDialer()
    made = AdminGateway(dialer, "conditions", lambda: processes.bootstrap, now=clock)
    until(lambda: len(made.snapshot().live_brokers()) == 3, "three live brokers")
    yield made
    dialer.close()


def the_view() -> ClusterView:
    brokers = [an_instance(NODES[b], service_id=b, rack=RACKS[b], address=f"127.0.49.{b - 999}") for b in RACKS]
    return a_view(*brokers, without=["brokers-c-0.g1"])


def made_by_hand(processes: KafkaProcesses, topic: str, *replicas: int) -> None:
    """A topic of one partition on those brokers, as anybody may place it."""
    admin = AdminClient({"bootstrap.servers": ",".join(processes.bootstrap), "log_level": 0})
    admin.create_topics([NewTopic(topic, 1, replica_assignment=[list(replicas)])])[topic].result(30)


def test_a_move_of_somebody_else_is_told_after_ten_minutes_and_over_with_the_move(
    processes: KafkaProcesses, gateway: AdminGateway, clock: Clock
) -> None:
    """Throttled to next to nothing, as by a tool that forgot to lift its throttle."""
    create_topic(processes.bootstrap, "slow", partitions=1, rf=1, bytes_per_partition=8 * 2**20)
    name = TopicPartition("slow", 0)
    (before,) = [p.replicas for p in gateway.snapshot().partitions if p.name == name]
    target = next(b for b in RACKS if b not in before)
    rates = dict.fromkeys(RACKS, 1024)
    gateway.set_throttle(ThrottlePlan(rates, rates, {"slow": (("0:" + str(before[0]),), (f"0:{target}",))}))
    assert gateway.reassign({name: (target,)}) == {}
    assert [p.name for p in gateway.snapshot().moving()] == [name]
    watch, view = MoveWatch(MemoryLatestStore()), the_view()

    def told() -> facts.ConditionChanged | None:
        kafka = gateway.snapshot()
        known = watch.see(view.uid, kafka, leaders_away=False)
        return foreign_moves_condition(a_situation(view, kafka=kafka, pulses=known.pulses, now=kafka.at))

    assert told() == NO_STRANGERS
    clock.minutes = 9
    assert told() == NO_STRANGERS
    clock.minutes = 11
    old = told()
    assert old is not None
    assert (old.status, old.reason) == (True, "NobodysPlan")
    assert f"slow-0 to [{target}] for 11 min" in old.message
    gateway.clear_throttles()
    until(lambda: not gateway.snapshot().moving(), "the move to end", timeout_s=60)
    assert told() == NO_STRANGERS


def test_a_group_that_stands_still_while_its_log_grows_is_told_until_it_reads_on(
    processes: KafkaProcesses, gateway: AdminGateway, clock: Clock
) -> None:
    """A consumer that is a member, has committed once and then only polls: its next record is one it cannot handle."""
    create_topic(processes.bootstrap, "orders", partitions=1, rf=2)
    producer = Producer({"bootstrap.servers": ",".join(processes.bootstrap), "log_level": 0})
    consumer = _Stubborn(processes.bootstrap, "orders")
    service = GroupService(latest := MemoryLatestStore(), lambda _: gateway, clock)
    view = the_view()

    def told() -> facts.ConditionChanged | None:
        producer.produce("orders", b"more")
        assert producer.flush(20) == 0
        service.watch(view)
        noted = kept_note(latest, view.uid)
        return consumers_stuck(a_situation(view, groups=noted, now=clock()))

    try:
        for n in range(3):
            producer.produce("orders", f"record {n}".encode())
        assert producer.flush(20) == 0
        until(consumer.has_committed.is_set, "the first commit", timeout_s=40)
        first = told()
        clock.minutes = 4
        early = told()
        clock.minutes = 6
        late = told()
        assert first is not None
        assert early is not None
        assert late is not None
        assert (first.status, early.status) == (False, False)
        assert (late.status, late.reason) == (True, "Stuck")
        assert "stubborn: it stands still in 1 of 1 partitions while their logs grow" in late.message
        consumer.may_go_on.set()
        until(consumer.has_caught_up, "it to read on", timeout_s=30)
        clock.minutes = 7
        over = told()
        assert over is not None
        assert not over.status
    finally:
        consumer.close()


def test_replicas_that_somebody_put_into_one_zone_are_told_and_violate_a_goal_until_they_are_apart(
    processes: KafkaProcesses, gateway: AdminGateway
) -> None:
    view = the_view()
    assert told_of_places(view, gateway.snapshot()) == (False, "Free")
    assert Kind.GOAL_VIOLATION not in found(view, gateway.snapshot())
    made_by_hand(processes, "together", 1001, 1002)
    name = TopicPartition("together", 0)
    until(lambda: name in gateway.snapshot().by_name, "the topic to be known")
    seen = gateway.snapshot()
    assert told_of_places(view, seen) == (True, "SharedZone")
    said = found(view, seen)[Kind.GOAL_VIOLATION]
    assert said == "1 partitions have replicas in one zone though another has room: together-0 on [1001, 1002]"
    assert gateway.reassign({name: (1001, 1000)}) == {}
    until(lambda: not gateway.snapshot().moving(), "the move to end", timeout_s=30)
    assert told_of_places(view, gateway.snapshot()) == (False, "Free")
    assert Kind.GOAL_VIOLATION not in found(view, gateway.snapshot())


def test_replicas_on_a_broker_that_nobody_has_are_told(processes: KafkaProcesses, gateway: AdminGateway) -> None:
    """It was stopped and unregistered by hand while it still held a replica. Last: it does not come back."""
    made_by_hand(processes, "left", 1000, 1002)
    until(lambda: TopicPartition("left", 0) in gateway.snapshot().by_name, "the topic to be known")
    processes.stop(1002)
    until(lambda: 1002 not in gateway.snapshot().live_brokers(), "its end to be known", timeout_s=30)
    gateway.unregister_broker(1002)
    until(lambda: 1002 not in gateway.snapshot().brokers, "its registration to be gone", timeout_s=30)
    without = a_view(*(i for i in the_view().brokers() if i.service_id != 1002), without=["brokers-c-0.g1"])
    seen = gateway.snapshot()
    told = misplaced_condition(look(without, seen))
    assert told is not None
    assert (told.status, told.reason) == (True, "GoneBroker")
    assert "left-0 has 1 of 2 replicas on broker 1002, which nobody has" in told.message


def look(view: ClusterView, kafka: KafkaSnapshot) -> Situation:
    return a_situation(view, kafka=kafka, placement=placement_of(view, kafka), now=kafka.at)


def told_of_places(view: ClusterView, kafka: KafkaSnapshot) -> tuple[bool, str]:
    told = misplaced_condition(look(view, kafka))
    assert told is not None
    return told.status, told.reason


def found(view: ClusterView, kafka: KafkaSnapshot) -> dict[Kind, str]:
    """What the reconciler of anomalies would find by this look, by kind."""
    return {f.kind: f.reason for f in evidence(view, SeenCluster(kafka=kafka, now=kafka.at)).findings}


class _Stubborn:
    """The group `stubborn`: reads three records and commits them, then polls no more of its partition until it may."""

    def __init__(self, bootstrap: Sequence[str], topic: str) -> None:
        about = {"group.id": "stubborn", "auto.offset.reset": "earliest", "enable.auto.commit": False, "log_level": 0}
        self._consumer = Consumer({"bootstrap.servers": ",".join(bootstrap), **about})
        self._consumer.subscribe([topic])
        self.has_committed, self.may_go_on = threading.Event(), threading.Event()
        self._leaving = threading.Event()
        self._read = 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def has_caught_up(self) -> bool:
        return self._read >= 6

    def close(self) -> None:
        self._leaving.set()
        self._thread.join(20)
        self._consumer.close()

    def _run(self) -> None:
        while not self._leaving.is_set():
            if self._read == 3 and not self.may_go_on.is_set():
                self._consumer.pause(self._consumer.assignment())
            elif self._read == 3:
                self._consumer.resume(self._consumer.assignment())
            message = self._consumer.poll(0.2)
            if message is None or message.error():
                continue
            self._read += 1
            if self._read >= 3:
                self._consumer.commit(asynchronous=False)
                self.has_committed.set()
