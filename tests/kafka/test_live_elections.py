"""Elections in vain on real brokers: a controller that elects for nobody who lacks the right to ask it.

One controller, brokers 1000 and 1001, ACLs. Leaders are away as after any change of a partition's list; then somebody
takes the right to Alter the cluster from everybody, Kedge included. The clock of the samples is ahead of the machine's.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType as Resource,
)

from controlplane.cluster.observed.moves import MoveWatch
from controlplane.cluster.view import ClusterView
from controlplane.converger.conditions.stuck_moves import elections_fail
from controlplane.converger.questions.moves.leaders import displaced_leaders
from controlplane.converger.situation.effects import ElectPreferred
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.housekeeping import asks_leaders_back, housekeeping_step
from controlplane.converger.steps.moves.elections import election_step
from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaRefused
from events import facts
from planner.observed import TopicPartition
from tests.builders import a_situation, a_view, an_instance
from tests.fakes.latest_values import MemoryLatestStore
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.soak, pytest.mark.timeout(180)]

NETWORK = "127.0.61"
RACKS = {1000: "a", 1001: "b"}
LED = TopicPartition("led", 0)


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaProcesses]:
    acls = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    kafka = KafkaProcesses(
        tmp_path_factory.mktemp("elections"), network=NETWORK, min_isr=1, replication=2, properties=acls
    )
    try:
        kafka.found(RACKS)
        yield kafka
    finally:
        kafka.close()


class Housekeeping:
    """What a cluster at rest asks for, look by look, some minutes later each time."""

    def __init__(self, gateway: AdminGateway) -> None:
        self.minutes, self.gateway = 0.0, gateway
        brokers = [
            an_instance(f"brokers-{r}-0", service_id=b, rack=r, address=f"{NETWORK}.{b - 999}")
            for b, r in RACKS.items()
        ]
        self.view: ClusterView = a_view(*brokers, without=["brokers-c-0.g1"], recycling=False, converged=1)
        self.watch = MoveWatch(MemoryLatestStore())

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(minutes=self.minutes)

    def look(self) -> Situation:
        kafka = self.gateway.snapshot()
        known = self.watch.see(self.view.uid, kafka, leaders_away=bool(displaced_leaders(kafka)))
        return a_situation(self.view, kafka=kafka, elections=known.elections, now=kafka.at)

    def ask(self) -> None:
        """As a tick does it: counted, then asked."""
        decision = housekeeping_step(self.look())
        assert decision is not None
        assert asks_leaders_back(decision)
        (election,) = decision.effects
        assert isinstance(election, ElectPreferred)
        self.watch.asked(self.view.uid, self.now())
        try:
            self.gateway.elect_preferred(election.partitions)
        except KafkaRefused as error:
            self.watch.refused(self.view.uid, f"Kafka refused to elect leaders: {error.words} ({error.error})")

    def told(self) -> facts.ConditionChanged:
        told = elections_fail(self.look())
        assert told is not None
        return told


@pytest.fixture
def housekeeping(processes: KafkaProcesses) -> Iterator[Housekeeping]:
    dialer = DirectDialer()
    made: list[Housekeeping] = []
    gateway = AdminGateway(dialer, "elections", lambda: processes.bootstrap, now=lambda: made[0].now())
    made.append(Housekeeping(gateway))
    until(lambda: len(gateway.snapshot().live_brokers()) == 2, "two live brokers")
    yield made[0]
    dialer.close()


def led_by_the_second(gateway: AdminGateway) -> bool:
    """Whether the list begins with another broker than the leader, which is in sync and lives."""
    return displaced_leaders(gateway.snapshot()) == (LED,)


def test_elections_that_kafka_refuses_are_told_cost_no_controller_and_are_over_once_leaders_are_home(
    processes: KafkaProcesses, housekeeping: Housekeeping
) -> None:
    gateway = housekeeping.gateway
    create_topic(processes.bootstrap, LED.topic, partitions=1, rf=2)
    (before,) = [p for p in gateway.snapshot().partitions if p.name == LED]
    gateway.reassign({LED: tuple(reversed(before.replicas))})
    until(lambda: led_by_the_second(gateway), "the list to be another one")
    nobody_alters(processes.bootstrap)
    assert not housekeeping.told().status, "nothing was asked yet"
    for minutes in (1, 3, 6):
        housekeeping.minutes = minutes
        housekeeping.ask()
    housekeeping.minutes = 8
    told = housekeeping.told()
    print(told.message)
    assert (told.status, told.reason) == (True, "Refused")
    assert "asked 3 times" in told.message
    assert "(ClusterAuthorizationFailedError)" in told.message
    assert election_step(housekeeping.look()) is None, "another controller would refuse it, too"
    processes.stop(before.replicas[0])  # the controller has to elect, and the first of the list is the one left
    until(lambda: not led_by_the_second(gateway), "the leader to be home")
    assert not housekeeping.told().status


def nobody_alters(bootstrap: list[str]) -> None:
    admin = AdminClient({"bootstrap.servers": ",".join(bootstrap), "log_level": 0})
    about = (Resource.BROKER, "kafka-cluster", ResourcePatternType.LITERAL, "User:*", "*")
    rules = [
        AclBinding(*about, AclOperation.ALL, AclPermissionType.ALLOW),
        AclBinding(*about, AclOperation.ALTER, AclPermissionType.DENY),
    ]
    for done in admin.create_acls(rules).values():
        done.result(30)
