"""A quorum of Kafka 4.1 that began static, as before KIP-853: its level is raised, then its voters may change."""

from collections.abc import Iterator

import pytest

from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaRefused
from tests.kafka_processes import KafkaProcesses
from tests.waiting import until

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(240)]

KRAFT = "kraft.version"


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaProcesses]:
    processes = KafkaProcesses(
        tmp_path_factory.mktemp("static"), controllers=(100, 101, 102), network="127.0.66", static=True
    )
    try:
        processes.found({1000: "a"}, timeout_s=90)
        yield processes
    finally:
        processes.close()


@pytest.fixture(scope="module")
def gateway(kafka: KafkaProcesses) -> Iterator[AdminGateway]:
    dialer = DirectDialer()
    yield AdminGateway(dialer, "static", lambda: kafka.bootstrap)
    dialer.close()


def test_a_static_quorum_is_seen_as_such_and_takes_no_change_of_its_voters(gateway: AdminGateway) -> None:
    until(lambda: gateway.snapshot().live_brokers() == {1000}, "the broker", timeout_s=60)
    seen = gateway.snapshot()
    assert (seen.features[KRAFT].finalised, seen.features[KRAFT].max_supported) == (0, 1)
    assert {m.id for m in seen.quorum.members if m.is_voter} == {100, 101, 102}
    victim = next(m for m in seen.quorum.members if m.is_voter and m.id != seen.quorum.leader)
    with pytest.raises(KafkaRefused):
        gateway.remove_voter(victim.id, victim.directory_id)


def test_it_is_made_dynamic_by_raising_its_level(kafka: KafkaProcesses, gateway: AdminGateway) -> None:
    """Kafka asks for no more than to have heard of each voter once: with one of them down it raises the level, too."""
    away = next(c for c in (100, 101, 102) if c != gateway.snapshot().quorum.leader)
    kafka.stop(away)
    gateway.update_feature(KRAFT, 1, validate_only=True)
    assert gateway.snapshot().features[KRAFT].finalised == 0, "it was only asked"
    gateway.update_feature(KRAFT, 1, validate_only=False)
    until(lambda: gateway.snapshot().features[KRAFT].finalised == 1, "the level", timeout_s=30)
    assert _voters(gateway) == {n.id: n.directory_id for n in kafka.nodes.values() if n.role == "controller"}
    kafka.start(away, timeout_s=90)
    until(lambda: len(_following(gateway)) == 3, "the one that was away", timeout_s=60)


def test_then_its_voters_change_one_by_one(kafka: KafkaProcesses, gateway: AdminGateway) -> None:
    """Started anew as Kedge would start them: told where controllers are, and no longer who votes."""
    kafka.static = False
    leader = gateway.snapshot().quorum.leader
    for controller in (*(c for c in (100, 101, 102) if c != leader), leader):
        kafka.stop(controller)
        kafka.start(controller, timeout_s=90)
        until(lambda: len(_following(gateway)) == 3, f"controller {controller} to follow", timeout_s=60)
    there = {n.id: n.directory_id for n in kafka.nodes.values() if n.role == "controller"}
    told = _voters(gateway)
    until(lambda: _voters(gateway) == there, f"directories {there}, not {told}", timeout_s=60)
    leader = gateway.snapshot().quorum.leader
    victim = next(c for c in (100, 101, 102) if c != leader)
    directory = _voters(gateway)[victim]
    gateway.remove_voter(victim, directory)
    until(lambda: set(_voters(gateway)) == {100, 101, 102} - {victim}, "two voters", timeout_s=30)
    gateway.add_voter(victim, directory, host=kafka.nodes[victim].host, port=kafka.nodes[victim].port)
    until(lambda: _voters(gateway).get(victim) == directory, "three voters again", timeout_s=60)


def _voters(gateway: AdminGateway) -> dict[int, str]:
    return {m.id: m.directory_id for m in gateway.snapshot().quorum.members if m.is_voter}


def _following(gateway: AdminGateway) -> set[int]:
    """Controllers that keep up, voters or not, by what the leader says of them."""
    return {m.id for m in gateway.snapshot().quorum.members if m.is_voter and m.lag < 20 and m.silent_s < 2}
