"""How full disks are: the smaller of what Kafka and what the agent says."""

from agent.wire import LogDirReport
from controlplane.cluster.observed.disks import with_volume_sizes
from planner.observed import LogDirSeen, LogDirsSeen
from tests.builders import a_report, a_snapshot, a_view, an_instance

GIB = 1024**3
BROKER = an_instance("brokers-a-0", 1)
KAFKA = LogDirsSeen(replicas=3, used_bytes=100, total_bytes=500 * GIB, usable_bytes=400 * GIB)


def _seen(*volumes: LogDirReport, kafka: LogDirsSeen = KAFKA) -> LogDirsSeen:
    snapshot = a_snapshot(log_dirs={BROKER.service_id: kafka})
    reports = {BROKER.key: a_report(BROKER, log_dirs=[v.model_dump() for v in volumes])}
    return with_volume_sizes(snapshot, a_view(), reports).log_dirs[BROKER.service_id]


def _volume(total: int, free: int, name: str = "data") -> LogDirReport:
    return LogDirReport(name=name, total_bytes=total, free_bytes=free, partitions=3)


def test_a_volume_smaller_than_its_filesystem_is_as_small_as_the_agent_says() -> None:
    seen = _seen(_volume(GIB, GIB // 4))
    assert (seen.total_bytes, seen.usable_bytes) == (GIB, GIB // 4)
    assert (seen.replicas, seen.used_bytes) == (KAFKA.replicas, KAFKA.used_bytes)


def test_an_agent_cannot_make_a_disk_larger() -> None:
    assert _seen(_volume(900 * GIB, 900 * GIB)) == KAFKA


def test_an_agent_that_has_not_told_of_its_volumes_changes_nothing() -> None:
    assert _seen() == KAFKA
    assert _seen(_volume(GIB, 0, name="other")) == KAFKA


def test_a_disk_kafka_does_not_speak_of_stays_unknown() -> None:
    silent = LogDirsSeen(replicas=3, used_bytes=100, total_bytes=0, usable_bytes=0)
    assert _seen(_volume(GIB, GIB), kafka=silent) == silent
    snapshot = a_snapshot(log_dirs={})
    assert with_volume_sizes(snapshot, a_view(), {BROKER.key: a_report(BROKER)}) == snapshot


def test_the_directory_of_the_volume_is_as_small_as_the_agent_says() -> None:
    alone = LogDirSeen("/vm/volumes/data/kafka", 100, 500 * GIB, 400 * GIB)
    kafka = LogDirsSeen(3, 100, 500 * GIB, 400 * GIB, (alone,))
    (told,) = _seen(_volume(GIB, GIB // 4), kafka=kafka).dirs
    assert (told.total_bytes, told.usable_bytes, told.used_bytes) == (GIB, GIB // 4, 100)


def test_directories_that_are_not_those_of_the_volumes_are_not_told_apart() -> None:
    dirs = tuple(LogDirSeen(f"/disks/{n}", 50, 250 * GIB, 200 * GIB) for n in "ab")
    seen = _seen(_volume(GIB, GIB // 4), kafka=LogDirsSeen(3, 100, 500 * GIB, 400 * GIB, dirs))
    assert (seen.total_bytes, seen.dirs) == (GIB, ())
