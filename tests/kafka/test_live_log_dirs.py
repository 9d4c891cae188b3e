"""A drain onto a real broker with two log directories: replicas are made where the plan says, not where Kafka would."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable
from events.ids import kafka_uuid
from planner.drain.model.capacity import Capacity, FigureOrigin, FigureSource, resolve
from planner.drain.model.document import read_state
from planner.drain.model.observed import ObservationPolicy, measured_disks, observed_document
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic
from tests.live_drain import OUTGOING, SUCCESSOR, LiveDrain
from tests.waiting import until

pytestmark = pytest.mark.kafka
BROKERS = {1000: "a", 1001: "b", 1002: "c", SUCCESSOR: "a"}
MB = 10**6
LARGE, SMALL = TopicPartition("large", 0), [TopicPartition("small", n) for n in range(6)]


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaProcesses]:
    kafka = KafkaProcesses(tmp_path_factory.mktemp("live-log-dirs"), network="127.0.37")
    try:
        for broker, rack in BROKERS.items():
            node = kafka.add_broker(broker, rack)
            if broker == SUCCESSOR:
                _format(node.directory / "data", node.directory / "more")
                node.overrides = {"log.dirs": f"{node.directory}/data,{node.directory}/more"}
        kafka.found()
        yield kafka
    finally:
        kafka.close()


@pytest.fixture
def gateway(processes: KafkaProcesses) -> Iterator[AdminGateway]:
    dialer = DirectDialer()
    yield AdminGateway(dialer, "live-log-dirs", lambda: processes.bootstrap)
    dialer.close()


def test_replicas_are_made_in_the_directories_of_the_plan(processes: KafkaProcesses, gateway: AdminGateway) -> None:
    """One log of 20 MB and six of 1 MB: Kafka, which counts replicas, would put three or four in each directory."""
    until(lambda: len(_live(gateway)) == 4, "four live brokers")
    create_topic(processes.bootstrap, "large", partitions=1, rf=3, bytes_per_partition=20 * MB)
    create_topic(processes.bootstrap, "small", partitions=6, rf=3, bytes_per_partition=MB)
    _put_all_on(gateway, (1000, 1001, 1002))
    data, more = (str(processes.nodes[SUCCESSOR].directory / name) for name in ("data", "more"))
    assert [d.path for d in gateway.snapshot().log_dirs[SUCCESSOR].dirs] == [data, more]

    drain = LiveDrain.planned(gateway, bandwidth_bytes_per_s=20 * MB)
    planned = {m.name: m.log_dirs for m in drain.plan.moves if m.added}
    assert Counter(len([n for n, p in planned.items() if p == (path,)]) for path in (data, more)) == Counter((1, 6))
    assert not any("log directories" in line for line in drain.plan.certificate.assumptions)
    for wishes in ({SUCCESSOR: {LARGE: data}}, {SUCCESSOR: {name: path for name, (path,) in planned.items()}}):
        gateway.prefer_log_dirs(wishes)  # a server that ended between telling and moving; the later word counts

    for tick in drain.carried_out(tick_s=0.5, within_s=90):
        print(f"{tick.at_s:.1f} s: {tick.open_moves} open, {tick.sentence}")

    seen = gateway.snapshot()
    assert seen.hosted_by(OUTGOING) == ()
    assert {name: (_path(seen, name),) for name in planned} == planned


def test_the_export_tells_what_is_in_which_directory(gateway: AdminGateway) -> None:
    seen = gateway.snapshot()
    rates = Capacity(ingress_bytes_per_s=1e8, egress_bytes_per_s=1e8)
    given = FigureSource(origin=FigureOrigin.GIVEN, everyone=rates, everyone_words="given")
    document = observed_document(seen, resolve(seen.brokers, [given, measured_disks(seen)]), ObservationPolicy())
    state = read_state(json.dumps(document)).state
    assert state.log_dirs is not None
    assert set(state.log_dirs.broker.tolist()) == {state.brokers.id.tolist().index(SUCCESSOR)}
    assert int((state.log_dirs.located >= 0).sum()) == sum(SUCCESSOR in p.replicas for p in seen.partitions)


def test_a_directory_the_broker_has_not_is_refused(gateway: AdminGateway) -> None:
    with pytest.raises(KafkaRefused, match=f"broker {SUCCESSOR}, /nowhere for large-0"):
        gateway.prefer_log_dirs({SUCCESSOR: {LARGE: "/nowhere"}})


def _format(first: Path, second: Path) -> None:
    """A second directory of the same node, with an id of its own."""
    second.mkdir()
    lines = [line for line in (first / "meta.properties").read_text().splitlines() if "directory.id" not in line]
    (second / "meta.properties").write_text("\n".join([*lines, f"directory.id={kafka_uuid('more', str(second))}\n"]))


def _put_all_on(gateway: AdminGateway, brokers: tuple[int, ...]) -> None:
    """New topics may have replicas on the successor already; the drain is to find it empty."""
    orders = dict.fromkeys((LARGE, *SMALL), brokers)
    assert gateway.reassign(orders) == {}
    until(lambda: all(set(p.isr) == set(brokers) for p in _ours(gateway)), "everything to leave the successor")
    until(
        lambda: gateway.snapshot().log_dirs[SUCCESSOR].replicas == 0,
        "the successor's directories to be empty",
        timeout_s=90,
    )


def _ours(gateway: AdminGateway) -> list[PartitionSeen]:
    return [p for p in gateway.snapshot().partitions if p.name in (LARGE, *SMALL)]


def _path(seen: KafkaSnapshot, name: TopicPartition) -> str:
    held = seen.log_dirs[SUCCESSOR].dir_of(name)
    return held.path if held else ""


def _live(gateway: AdminGateway) -> frozenset[int]:
    try:
        return gateway.snapshot().live_brokers()
    except KafkaUnavailable:
        return frozenset()
