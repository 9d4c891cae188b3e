"""Who is dead and stays registered, against a level that is to be raised: Kafka's own words, Kedge's, and the cure.

Controllers and brokers of 4.3.0, born at the level of 4.1. What has died ran 4.1.1 (a broker) and 4.2.0 (a controller).
The view is made; the quorum, its registrations and its answers are real.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.conditions.changes import condition_changes
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.effects import RaiseFeature, Unregister
from controlplane.converger.steps.rolls.finalisation import finalisation_step
from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaRefused
from controlplane.kafka.features import METADATA, metadata_level_of
from events import facts
from planner.observed import TopicPartition
from tests.builders import a_document, a_situation, a_view, an_instance
from tests.changed_view import changed_view
from tests.kafka_processes import SOON_FENCED, KafkaProcesses
from tests.kafka_topics import create_topic
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.soak, pytest.mark.timeout(300)]

OLD, MIDDLE, NEW = (metadata_level_of(v) for v in ("4.1", "4.2", "4.3"))
DEAD, STRANGER, LEFT = 1001, 1009, 101


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaProcesses]:
    kafka = KafkaProcesses(
        tmp_path_factory.mktemp("dead"), network="127.0.71", min_isr=1, replication=2, properties=SOON_FENCED
    )
    kafka.nodes[100].version = "4.3.0"
    try:
        for broker, version in ((1000, "4.3.0"), (1002, "4.3.0"), (DEAD, "4.1.1"), (STRANGER, "4.1.1")):
            kafka.add_broker(broker, "a", version=version)
        kafka.found(timeout_s=90)
        yield kafka
    finally:
        kafka.close()


@pytest.fixture(scope="module")
def gateway(processes: KafkaProcesses) -> Iterator[AdminGateway]:
    dialer = DirectDialer()
    made = AdminGateway(dialer, "dead", lambda: [processes.nodes[b].address for b in (1000, 1002)])
    until(lambda: len(made.snapshot().live_brokers()) == 4, "four live brokers", timeout_s=90)
    yield made
    dialer.close()


def test_a_broker_that_died_registered_stands_in_the_way_until_no_partition_names_it(
    processes: KafkaProcesses, gateway: AdminGateway
) -> None:
    """And one that Kedge never made, which it leaves to people."""
    create_topic([processes.nodes[b].address for b in (1000, DEAD)], "orders", partitions=1, rf=2)
    gateway.reassign({TopicPartition("orders", 0): (1000, DEAD)})
    until(lambda: _replicas(gateway) == {1000, DEAD}, "the replica on the one that dies", timeout_s=60)
    processes.kill(DEAD)
    processes.kill(STRANGER)
    until(lambda: gateway.snapshot().live_brokers() == {1000, 1002}, "both to be fenced", timeout_s=60)

    with pytest.raises(KafkaRefused) as refused:
        gateway.update_feature(METADATA, MIDDLE, validate_only=True)
    assert _vetoing(refused.value) in (DEAD, STRANGER)
    decision = _decided(gateway, _rolled("4.2.0", finalising=(METADATA, MIDDLE)))
    assert decision.effects == (RaiseFeature(METADATA, MIDDLE),), "only Kafka knows what a dead broker supported"
    gone = f"broker {DEAD} (brokers-b-0.g1, retired) is fenced and stays registered: 1 partition on broker {DEAD}"
    assert gone in decision.sentence
    assert (
        f"broker {STRANGER}, which is none of this cluster's VMs, is fenced and stays registered" in decision.sentence
    )
    blocked = _blocked(gateway, decision)
    assert (blocked.status, blocked.reason) == (True, "FinalisationBlocked")
    assert f"Next: kafka-cluster.sh unregister --id {DEAD}" in blocked.message

    gateway.reassign({TopicPartition("orders", 0): (1000, 1002)})
    until(lambda: _replicas(gateway) == {1000, 1002}, "no partition to name it", timeout_s=60)
    assert _decided(gateway, _rolled("4.2.0", finalising=(METADATA, MIDDLE))).effects == (Unregister(DEAD),)
    gateway.unregister_broker(DEAD)
    until(lambda: DEAD not in gateway.snapshot().brokers, "its registration to be gone")

    with pytest.raises(KafkaRefused) as refused:
        gateway.update_feature(METADATA, MIDDLE, validate_only=True)
    assert _vetoing(refused.value) == STRANGER
    decision = _decided(gateway, _rolled("4.2.0", finalising=(METADATA, MIDDLE)))
    assert f"unregister --id {STRANGER}" in (decision.wait.next_command if decision.wait else "")
    gateway.unregister_broker(STRANGER)
    until(lambda: STRANGER not in gateway.snapshot().brokers, "its registration to be gone")

    decision = _decided(gateway, _rolled("4.2.0", finalising=(METADATA, MIDDLE)))
    assert decision.wait is None
    _raise(gateway, MIDDLE)


def test_a_controller_that_left_with_an_older_version_does_until_its_id_comes_back(
    processes: KafkaProcesses, gateway: AdminGateway
) -> None:
    """It never had a vote: to run once is enough for Kafka to ask it for ever."""
    processes.add_controller(LEFT, version="4.2.0")
    processes.start(LEFT, timeout_s=90)
    until(lambda: _refusal(gateway) == LEFT, "its registration", timeout_s=60)
    processes.stop(LEFT)
    assert _refusal(gateway) == LEFT, "dead, it is asked all the same"
    left = an_instance("controllers-b-0", 1, Phase.RETIRED, service_id=LEFT, drained=True, kafka_version="4.2.0")
    view = _rolled("4.3.0", left)
    decision = _decided(gateway, view)
    assert decision.wait is not None
    assert decision.wait.reason == "ControllersRemembered"
    assert f"controller {LEFT} (controllers-b-0) left the quorum with Kafka 4.2.0" in decision.sentence
    assert decision.wait.next_command.startswith("kedge apply, with 3 controllers")

    processes.start(LEFT, version="4.3.0", timeout_s=90)
    until(lambda: _refusal(gateway) is None, "its id with the new version", timeout_s=60)
    processes.stop(LEFT)
    _raise(gateway, NEW)


def _rolled(version: str, *others: InstanceView, finalising: tuple[str, int] | None = None) -> ClusterView:
    """All VMs are on that version: two brokers serve, one whose id is `DEAD` is retired, one controller votes."""
    dead = an_instance("brokers-b-0", 1, Phase.RETIRED, service_id=DEAD)
    living = an_instance("brokers-b-0", 2, service_id=1002)
    without = ["brokers-c-0.g1", "controllers-b-0.g1", "controllers-c-0.g1"]
    document = a_document(version=version, controllers=1)
    view = a_view(dead, living, without=without, document=document, generation=2, recycling=2, finalising=finalising)
    return replace(view, instances={**view.instances, **{i.key: i for i in others}})


def _decided(gateway: AdminGateway, view: ClusterView) -> Decision:
    decision = finalisation_step(a_situation(view, now=datetime.now(UTC), kafka=gateway.snapshot()))
    assert decision is not None
    return decision


def _blocked(gateway: AdminGateway, decision: Decision) -> facts.ConditionChanged:
    """The condition a minute after the last thing that was recorded."""
    now = datetime.now(UTC)
    view = changed_view(_rolled("4.2.0"), progressed_at=now.replace(year=now.year - 1))
    told = condition_changes(a_situation(view, now=now, kafka=gateway.snapshot()), decision)
    return next(c for c in told if c.type == "Blocked")


def _replicas(gateway: AdminGateway) -> set[int]:
    partition = next(p for p in gateway.snapshot().partitions if p.name == TopicPartition("orders", 0))
    return set() if partition.is_moving else set(partition.replicas)


def _vetoing(refused: KafkaRefused) -> int | None:
    """Who Kafka's words say does not take the level."""
    found = re.search(r"(?i)\b(?:controller|broker) (\d+) (?:only supports|does not support)", refused.words)
    return int(found.group(1)) if found else None


def _refusal(gateway: AdminGateway) -> int | None:
    """Who Kafka says is in the way of the newest level."""
    try:
        gateway.update_feature(METADATA, NEW, validate_only=True)
    except KafkaRefused as refused:
        return _vetoing(refused)
    return None


def _raise(gateway: AdminGateway, level: int) -> None:
    for validate_only in (True, False):
        gateway.update_feature(METADATA, level, validate_only=validate_only)
    until(lambda: gateway.snapshot().features[METADATA].finalised == level, f"level {level}", timeout_s=60)
