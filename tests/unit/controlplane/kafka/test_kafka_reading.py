"""Reading a snapshot while the cluster changes under the reader, and keeping connections."""

import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace as Answer
from typing import Any

import pytest

from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable
from controlplane.kafka.raw import directory_uuid
from controlplane.kafka.snapshot import read_partitions, read_snapshot
from planner.observed import TopicPartition

DIRECTORY = "CSnKsACqWL2QdNr26bSUNw"
T0 = TopicPartition("t", 0)
Move = tuple[tuple[int, ...], tuple[int, ...]]


class Scripted:
    """A Connection that answers from scripts. `topics` and `moves` are played reading by reading; the last
    stays."""

    name = "scripted"

    def __init__(
        self,
        *,
        replicas: Sequence[tuple[int, ...]] = ((1, 2),),
        moves: Sequence[Move | None] = (None,),
        configs: Sequence[bool] = (True,),
        behind: Mapping[int, int] | None = None,
        silent_disks: frozenset[int] = frozenset(),
        log_dirs: Sequence[tuple[str, int]] = (("/data", 0),),
    ) -> None:
        """`log_dirs`: (path, error code) each."""
        self.replicas, self.moves, self.configs = list(replicas), list(moves), list(configs)
        self.behind = behind or {}
        self.silent_disks = silent_disks
        self.log_dirs = log_dirs
        self.closed, self.is_internal = False, False
        self.asked: list[int | None] = []

    def refresh_nodes(self, deadline: Deadline) -> frozenset[int]:
        return frozenset({1, 2})

    def ask(self, request: Any, *, what: str, deadline: Deadline, node: int | None = None) -> Any:
        self.asked.append(node)
        return getattr(self, type(request).__name__.removesuffix("Request"))(request)

    def ask_each(self, requests: Mapping[int, Any], *, timeout_s: float) -> Mapping[int, Any]:
        kind = type(next(iter(requests.values()))).__name__.removesuffix("Request")
        answers = {n: getattr(self, kind)(r) for n, r in requests.items()}
        return {n: a for n, a in answers.items() if kind != "DescribeLogDirs" or n not in self.silent_disks}

    def close(self) -> None:
        self.closed = True

    def DescribeQuorum(self, _: Any) -> Any:
        def member(i: int, lag: int) -> Any:
            return Answer(
                replica_id=i,
                replica_directory_id=directory_uuid(DIRECTORY),
                log_end_offset=1000 - lag,
                last_fetch_timestamp=99_500,
                last_caught_up_timestamp=100_000,
            )

        log = Answer(
            error_code=0,
            leader_id=100,
            leader_epoch=3,
            current_voters=[member(100, 0)],
            observers=[member(b, self.behind.get(b, 0)) for b in (1, 2)],
        )
        return Answer(error_code=0, topics=[Answer(partitions=[log])])

    def DescribeCluster(self, _: Any) -> Any:
        brokers = [Answer(broker_id=b, host=f"h{b}", port=9092, rack=None, is_fenced=b == 3) for b in (1, 2, 3)]
        return Answer(error_code=0, cluster_id="c", brokers=brokers)

    def Metadata(self, _: Any) -> Any:
        replicas = _next(self.replicas)
        p = Answer(partition_index=0, leader_id=replicas[0], replica_nodes=list(replicas), isr_nodes=[replicas[0]])
        return Answer(topics=[Answer(error_code=0, name="t", is_internal=self.is_internal, partitions=[p])])

    def DescribeConfigs(self, request: Any) -> Any:
        if request.resources[0].resource_type == 4:
            return Answer(results=[])
        known = _next(self.configs)
        values = [Answer(name="min.insync.replicas", value="2")]
        return Answer(
            results=[
                Answer(
                    error_code=0 if known else 3, error_message="", resource_name="t", configs=values if known else []
                )
            ]
        )

    def ListPartitionReassignments(self, _: Any) -> Any:
        move = _next(self.moves)
        topics = []
        if move:
            p = Answer(partition_index=0, adding_replicas=list(move[0]), removing_replicas=list(move[1]))
            topics = [Answer(name="t", partitions=[p])]
        return Answer(error_code=0, topics=topics)

    def DescribeLogDirs(self, _: Any) -> Any:
        sizes = [
            Answer(partition_index=0, partition_size=77, is_future_key=False),
            Answer(partition_index=1, partition_size=3, is_future_key=True),
        ]
        dirs = [
            Answer(
                error_code=error,
                log_dir=path,
                total_bytes=9,
                usable_bytes=5,
                topics=[Answer(name="t", partitions=sizes)] if n == 0 else [],
            )
            for n, (path, error) in enumerate(self.log_dirs)
        ]
        return Answer(error_code=0, results=dirs)

    def ApiVersions(self, _: Any) -> Any:
        return Answer(
            finalized_features_epoch=4,
            finalized_features=[Answer(name="metadata.version", max_version_level=27)],
            supported_features=[Answer(name="metadata.version", min_version=7, max_version=27)],
        )


def _next(script: list[Any]) -> Any:
    return script.pop(0) if len(script) > 1 else script[0]


def deadline() -> Deadline:
    return Deadline.after(10, clock=lambda: 0.0)


def now() -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("is_internal", [False, True])
def test_whether_a_topic_is_kafkas_own_is_what_brokers_say(is_internal: bool) -> None:
    connection = Scripted()
    connection.is_internal = is_internal
    seen = read_snapshot(connection, Deadline.after(5), lambda: datetime(2026, 1, 1, tzinfo=UTC))
    assert (seen.internal, seen.owner_of("t")) == ((frozenset("t"), "Kafka") if is_internal else (frozenset(), ""))


def test_a_broker_that_does_not_answer_for_its_disks_is_missing_not_guessed() -> None:
    snapshot = read_snapshot(Scripted(silent_disks=frozenset({2})), deadline(), now)
    assert set(snapshot.log_dirs) == {1}
    assert snapshot.partitions[0].size_bytes == 77


def test_directories_are_told_one_by_one_with_what_is_in_each() -> None:
    (seen, _) = read_snapshot(Scripted(log_dirs=(("/b", 0), ("/a", 0))), deadline(), now).log_dirs.values()
    assert [(d.path, d.used_bytes, d.total_bytes, d.usable_bytes) for d in seen.dirs] == [
        ("/a", 0, 9, 5),
        ("/b", 80, 9, 5),
    ]
    assert seen.dirs[1].replicas == {T0}, "t-1 is only on its way in from another directory"


def test_of_the_only_directory_the_replicas_are_not_told_as_all_are_there() -> None:
    (seen, _) = read_snapshot(Scripted(), deadline(), now).log_dirs.values()
    assert [(d.path, d.replicas) for d in seen.dirs] == [("/data", frozenset())]


def test_a_broker_with_a_directory_offline_is_unknown_as_a_whole() -> None:
    assert not read_snapshot(Scripted(log_dirs=(("/a", 0), ("/b", 56))), deadline(), now).log_dirs


def test_a_fenced_broker_is_listed_but_not_asked() -> None:
    snapshot = read_snapshot(Scripted(), deadline(), now)
    assert snapshot.brokers[3].fenced
    assert snapshot.live_brokers() == {1, 2}
    assert set(snapshot.log_dirs) == {1, 2}


def test_all_metadata_of_a_snapshot_comes_from_one_broker() -> None:
    connection = Scripted()
    read_snapshot(connection, deadline(), now)
    assert set(connection.asked) == {1}


def test_a_broker_whose_own_metadata_is_old_is_not_believed() -> None:
    connection = Scripted(behind={1: 400})
    read_snapshot(connection, deadline(), now)
    assert connection.asked[0] == 1
    assert set(connection.asked[1:]) == {2}
    with pytest.raises(KafkaUnavailable, match=r"its metadata is old \(400 records behind, silent for 0.5 s\)"):
        read_snapshot(Scripted(behind={1: 400, 2: 400}), deadline(), now)


def test_a_leaders_log_is_told_by_the_leader_alone() -> None:
    (p,) = read_snapshot(Scripted(replicas=[(2, 1)]), deadline(), now).partitions
    assert (p.leader, p.leader_bytes) == (2, 77)
    (p,) = read_snapshot(Scripted(replicas=[(3, 1)]), deadline(), now).partitions
    assert (p.leader, p.leader_bytes, p.size_bytes) == (3, -1, 77), "3 did not answer; another replica is not a proof"


def test_a_move_that_ends_during_the_reading_is_read_again() -> None:
    connection = Scripted(replicas=[(3, 2, 1), (3, 2)], moves=[((3,), (1,)), None])
    (p,) = read_partitions(connection, deadline())
    assert (p.replicas, p.adding, p.removing) == ((3, 2), (), ())


def test_a_partition_that_never_holds_still_counts_as_moving() -> None:
    moves: list[Move | None] = [((3,), (1,)), None, ((3,), (1,)), None]
    (p,) = read_partitions(Scripted(replicas=[(3, 2, 1)], moves=moves), deadline())
    assert p.is_moving


def test_a_topic_deleted_between_two_questions_is_asked_for_again() -> None:
    (p,) = read_partitions(Scripted(configs=[False, True]), deadline())
    assert (p.min_isr, p.configured_min_isr) == (2, 2)
    with pytest.raises(KafkaUnavailable, match="topics came and went during 3 readings"):
        read_partitions(Scripted(configs=[False]), deadline())


def test_ids_have_kafkas_text_form_and_silence_is_by_the_leaders_clock() -> None:
    quorum = read_snapshot(Scripted(), deadline(), now).quorum
    assert {(m.id, m.directory_id, m.silent_s) for m in quorum.members} == {
        (100, DIRECTORY, 0.0),
        (1, DIRECTORY, 0.5),
        (2, DIRECTORY, 0.5),
    }


class Opened:
    """Counts the connections a dialer opens."""

    def __init__(self) -> None:
        self.connections: list[Scripted] = []

    def __call__(self, cluster: str, bootstrap: Sequence[str], deadline: Deadline) -> Scripted:
        self.connections.append(Scripted())
        return self.connections[-1]


def test_a_connection_is_kept_until_it_fails() -> None:
    opened = Opened()
    dialer = DirectDialer(opened)
    for _ in range(3):
        with dialer.dial("c", [], deadline()):
            pass
    assert len(opened.connections) == 1
    with pytest.raises(KafkaRefused), dialer.dial("c", [], deadline()):
        raise KafkaRefused(what="a", where="b", words="no", error="E")
    assert not opened.connections[0].closed
    with pytest.raises(KafkaUnavailable), dialer.dial("c", [], deadline()):
        raise KafkaUnavailable(what="a", where="b", why="c")
    assert opened.connections[0].closed
    with dialer.dial("c", [], deadline()):
        pass
    assert len(opened.connections) == 2


def test_connections_used_longest_ago_are_closed() -> None:
    opened = Opened()
    dialer = DirectDialer(opened, keep=2)
    for cluster in ("a", "b", "a", "c"):
        with dialer.dial(cluster, [], deadline()):
            pass
    assert [c.closed for c in opened.connections] == [False, True, False]
    dialer.close()
    assert all(c.closed for c in opened.connections)


def test_a_second_call_to_a_busy_cluster_gives_up_at_its_deadline() -> None:
    dialer = DirectDialer(Opened())
    failures: list[KafkaUnavailable] = []

    def call() -> None:
        try:
            with dialer.dial("c", [], Deadline.after(0.0)):
                pass
        except KafkaUnavailable as e:
            failures.append(e)

    with dialer.dial("c", [], deadline()), dialer.dial("another", [], deadline()):
        thread = threading.Thread(target=call)
        thread.start()
        thread.join(5)
    assert len(failures) == 1
    assert "another call to the same cluster" in failures[0].why


def test_a_deadline_is_shared_by_the_parts_of_a_call() -> None:
    time_now = [100.0]
    shared = Deadline.after(10, clock=lambda: time_now[0])
    assert shared.capped(4) == 4
    time_now[0] = 108.0
    assert (shared.capped(4), shared.is_over) == (2.0, False)
    time_now[0] = 111.0
    assert (shared.left_s, shared.is_over) == (0.0, True)
