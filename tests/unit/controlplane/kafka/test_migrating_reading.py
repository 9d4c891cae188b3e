"""Who says how current the picture of a cluster is that a quorum leads and whose brokers are all in ZooKeeper mode."""

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace as Answer
from typing import Any

import pytest
from kafka.protocol.admin import DescribeQuorumResponse

from controlplane.kafka.controllers import read_log
from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.migrating_gateway import MigratingGateway
from controlplane.kafka.raw import directory_uuid
from controlplane.kafka.zookeeper.ensemble import Ensemble
from controlplane.kafka.zookeeper.registry import RegisteredBroker, RegisteredPartition, RegistrySeen
from planner.observed import KafkaSnapshot, TopicPartition
from tests.fakes.zookeeper import FakeEnsemble
from tests.unit.controlplane.kafka.test_kafka_reading import DIRECTORY, Scripted
from tests.unit.controlplane.kafka.test_tls_handshakes import HOST, THEIRS, kedge, node

NOW = datetime(2026, 1, 1, tzinfo=UTC)
T0 = TopicPartition("t", 0)
LED_BY_THE_QUORUM = RegistrySeen(
    at=NOW,
    cluster_id="c",
    brokers={b: RegisteredBroker(b, f"h{b}", 9092, "", 1) for b in (1, 2)},
    controller=103,
    controller_epoch=3,
    kraft_epoch=3,
    has_migration=True,
    written=998,
)
IN_STEP = {T0: RegisteredPartition(1, frozenset({1}))}


def described(*, leader: int = 103, silent_ms: int = 0, error: int = 0) -> bytes:
    """What a controller answers: voters 103 to 105, the log ends at 1000."""
    member = DescribeQuorumResponse.TopicData.PartitionData.ReplicaState

    def voter(number: int) -> Any:
        fetched = 100_000 - (0 if number == leader else silent_ms)
        return member(
            replica_id=number,
            replica_directory_id=directory_uuid(DIRECTORY),
            log_end_offset=1000,
            last_fetch_timestamp=fetched,
            last_caught_up_timestamp=100_000,
        )

    log = DescribeQuorumResponse.TopicData.PartitionData(
        partition_index=0,
        error_code=error,
        error_message=None,
        leader_id=-1 if error else leader,
        leader_epoch=3,
        high_watermark=1000,
        current_voters=[] if error else [voter(v) for v in (103, 104, 105)],
        observers=[],
    )
    topic = DescribeQuorumResponse.TopicData(topic_name="__cluster_metadata", partitions=[log])
    answer = DescribeQuorumResponse(error_code=0, error_message=None, topics=[topic], nodes=[])
    answer.API_VERSION = 2
    answer.with_header(correlation_id=1)
    return bytes(answer.encode(header=True, framed=True))


NOT_LEADER = 6


@contextmanager
def controller(answer: bytes, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Answers every message so, with TLS where it has some; its `host:port`."""
    with socket.create_server((HOST, 0)) as server:

        def serve() -> None:
            while True:
                try:
                    line, _ = server.accept()
                except OSError:
                    return
                with suppress(OSError), line if tls is None else tls.wrap_socket(line, server_side=True) as talk:
                    (size,) = struct.unpack(">i", _received(talk, 4))
                    _received(talk, size)
                    talk.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        host, port = server.getsockname()
        yield f"{host}:{port}"
        server.shutdown(socket.SHUT_RDWR)


def _received(line: socket.socket, size: int) -> bytes:
    read = b""
    while len(read) < size:
        part = line.recv(size - len(read))
        if not part:
            raise ConnectionError("it hung up")
        read += part
    return read


class Hybrid(Scripted):
    """Brokers 1 and 2, all in ZooKeeper mode but for `krafts`."""

    krafts: frozenset[int] = frozenset()

    def ask_each(self, requests: Mapping[int, Any], *, timeout_s: float) -> Mapping[int, Any]:
        if type(next(iter(requests.values()))).__name__ != "ApiVersionsRequest":
            return super().ask_each(requests, timeout_s=timeout_s)
        keys = {n: [3, 55] if n in self.krafts else [3] for n in requests}
        return {
            n: Answer(
                api_keys=[Answer(api_key=k) for k in known],
                supported_features=[],
                finalized_features=[],
                finalized_features_epoch=0,
            )
            for n, known in keys.items()
        }

    def DescribeCluster(self, _: Any) -> Any:
        brokers = [Answer(broker_id=b, host=f"h{b}", port=9092, rack=None, is_fenced=False) for b in (1, 2)]
        return Answer(error_code=0, cluster_id="c", brokers=brokers)


class Told:
    """A registry that says this."""

    def __init__(self, seen: RegistrySeen, partitions: Mapping[TopicPartition, RegisteredPartition]) -> None:
        self.seen, self.written = seen, partitions

    def look(self) -> RegistrySeen:
        return self.seen

    def found(self, cluster_id: str) -> None:
        raise AssertionError("nobody founds a cluster that migrates")

    def partitions(self) -> Mapping[TopicPartition, RegisteredPartition]:
        return self.written


Read = Callable[..., KafkaSnapshot]


@pytest.fixture
def read() -> Iterator[Read]:
    """Reads a snapshot of what is told."""
    dialer = DirectDialer(lambda name, bootstrap, deadline: connections.pop())
    connections: list[Scripted] = []

    def reading(
        answer: bytes,
        *,
        seen: RegistrySeen = LED_BY_THE_QUORUM,
        partitions: Mapping[TopicPartition, RegisteredPartition] = IN_STEP,
        connection: Scripted | None = None,
    ) -> KafkaSnapshot:
        connections.append(connection or Hybrid())
        ensemble: Ensemble = FakeEnsemble()
        with controller(described(error=NOT_LEADER)) as follower, controller(answer) as leader:
            gateway = MigratingGateway(
                dialer,
                "c",
                ["h1:9092"],
                ensemble=ensemble,
                registry=Told(seen, partitions),
                roll=lambda: pytest.fail("the ensemble is not asked who leads"),
                controllers=lambda: (follower, leader),
            )
            return gateway.snapshot()

    yield reading
    dialer.close()


def test_the_quorum_is_told_by_its_leader_and_the_rest_by_a_broker_that_agrees_with_zookeeper(read: Read) -> None:
    seen = read(described())
    assert (seen.mode, seen.controller, seen.quorum.leader) == ("kraft", -1, 103)
    assert [p.isr for p in seen.partitions] == [(1,)]


def test_a_picture_that_is_not_zookeepers_is_refused(read: Read) -> None:
    with pytest.raises(KafkaUnavailable, match="shows t-0 otherwise than ZooKeeper does"):
        read(described(), partitions={T0: RegisteredPartition(1, frozenset({1, 2}))})


def test_a_picture_without_what_is_in_zookeeper_is_refused(read: Read) -> None:
    more = {**IN_STEP, TopicPartition("new", 0): RegisteredPartition(2, frozenset({2}))}
    with pytest.raises(KafkaUnavailable, match="shows new-0 otherwise"):
        read(described(), partitions=more)


def test_a_broker_that_is_listed_and_not_registered_any_more_serves_nobody(read: Read) -> None:
    """Kafka 3.9.1 lists a stopped one for a minute and more while the quorum leads: every reading was refused."""
    told = replace(LED_BY_THE_QUORUM, brokers={1: LED_BY_THE_QUORUM.brokers[1]})
    snapshot = read(described(), seen=told)
    assert sorted(snapshot.brokers) == [1, 2]
    assert sorted(snapshot.live_brokers()) == [1]


def test_a_picture_without_a_broker_that_is_registered_is_refused(read: Read) -> None:
    third = RegisteredBroker(3, "h3", 9092, "", 1)
    told = replace(LED_BY_THE_QUORUM, brokers={**LED_BY_THE_QUORUM.brokers, 3: third})
    with pytest.raises(KafkaUnavailable, match=r"knows brokers \[1, 2\], in ZooKeeper there are \[1, 2, 3\]"):
        read(described(), seen=told)


def test_zookeeper_has_to_be_written_up_to_the_end_of_the_log(read: Read) -> None:
    with pytest.raises(KafkaUnavailable, match="to ZooKeeper is 60 records behind its log"):
        read(described(), seen=replace(LED_BY_THE_QUORUM, written=940))


def test_a_leader_nobody_follows_is_no_leader(read: Read) -> None:
    with pytest.raises(KafkaUnavailable, match="no majority of the quorum follows it"):
        read(described(silent_ms=6000))


def test_zookeeper_has_to_name_the_controller_that_leads(read: Read) -> None:
    with pytest.raises(KafkaUnavailable, match="ZooKeeper names controller 103, and 104 leads the quorum"):
        read(described(leader=104))


def test_a_broker_of_krafts_is_read_where_there_is_one_and_zookeeper_is_not_asked(read: Read) -> None:
    connection = Hybrid()
    connection.krafts = frozenset({2})
    seen = read(b"", connection=connection, seen=replace(LED_BY_THE_QUORUM, kraft_epoch=-1), partitions={})
    assert (seen.mode, seen.quorum.leader) == ("kraft", 100)
    assert {n for n in connection.asked if n is not None} == {2}


def test_what_each_controller_said_is_told_where_none_leads() -> None:
    deadline = Deadline.after(5.0)
    with (
        controller(described(error=NOT_LEADER)) as follower,
        controller(b"\0\0") as strange,
        pytest.raises(KafkaUnavailable) as caught,
    ):
        read_log([follower, strange, "127.0.0.1:1"], "c", deadline)
    told = str(caught.value)
    assert "NotLeader" in told
    assert "it hung up" in told
    assert "refused" in told
    assert "controllers' port" in told


def test_a_controller_that_speaks_tls_is_asked_with_a_certificate_and_believed_by_its_own() -> None:
    deadline = Deadline.after(10.0)
    with controller(described(), node()) as ours:
        assert read_log([ours], "c", deadline, kedge()).quorum.leader == 103
        for foreign in (None, kedge(THEIRS)):
            with pytest.raises(KafkaUnavailable, match="no controller leads it"):
                read_log([ours], "c", deadline, foreign)
    for foreign in (node(THEIRS), node(address="127.0.44.2")):
        with controller(described(), foreign) as there, pytest.raises(KafkaUnavailable, match="verify failed"):
            read_log([there], "c", deadline, kedge())


def test_without_an_address_of_a_controller_nobody_is_asked() -> None:
    with pytest.raises(KafkaUnavailable, match="none is known"):
        read_log([], "c", Deadline.after(5.0))
