"""Lines of Kafka's log by class, per minute."""

from pathlib import Path

import pytest

from agent.health.log_lines import LogLines

KAFKA_LINES = Path(__file__).parent / "kafka_lines"
LINES = """\
[2026-11-22 06:00:00,000] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)
[2026-11-22 06:00:01,000] ERROR [ReplicaManager broker=1] Error processing append (kafka.server.ReplicaManager)
java.io.IOException: No space left on device
\tat java.base/sun.nio.ch.FileDispatcherImpl.write0(Native Method)
Caused by: org.apache.kafka.common.errors.KafkaStorageException: Error while writing
[2026-11-22 06:00:02,000] WARN [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Error in response for fetch request (kafka.server.ReplicaFetcherThread)
[2026-11-22 06:00:03,000] INFO [UnifiedLog partition=orders-0, dir=/data] Truncating to offset 10 (org.apache.kafka.storage.internals.log.UnifiedLog)
"""  # noqa: E501 - lines as Kafka writes them


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "broker.log"
    path.write_text(LINES)
    return path


def write(log: Path, text: str) -> None:
    with log.open("a") as file:
        file.write(text)


def test_lines_of_a_minute_are_counted_by_what_they_tell(log: Path) -> None:
    lines = LogLines(log)
    lines.look(0)
    write(log, LINES)
    lines.look(30)
    assert lines.per_minute == {}
    write(log, LINES)
    lines.look(60)
    assert lines.per_minute == {"errors": 2, "exceptions": 4, "fetch_errors": 2, "truncations": 2}
    lines.look(120)
    assert set(lines.per_minute.values()) == {0}


REAL = {
    "3.9.1.log": {"errors": 0, "exceptions": 3, "fetch_errors": 2, "truncations": 0},
    "4.3.0.log": {"errors": 0, "exceptions": 2, "fetch_errors": 2, "truncations": 0},
}
"""What counts of lines real brokers of that release wrote: a follower that begins, and whose leader dies."""


@pytest.mark.parametrize("name", sorted(p.name for p in KAFKA_LINES.iterdir()))
def test_lines_of_real_brokers_count_as_what_they_tell(tmp_path: Path, name: str) -> None:
    """A follower that begins says of each partition that it truncates, which was counted, and cuts nothing."""
    log = tmp_path / "broker.log"
    log.touch()
    lines = LogLines(log)
    lines.look(0)
    write(log, (KAFKA_LINES / name).read_text(encoding="utf-8"))
    lines.look(60)
    assert lines.per_minute == REAL[name]


@pytest.mark.parametrize(
    "line",
    [
        "[2026-11-22 06:00:03,000] INFO [UnifiedLog partition=orders-0, dir=/data] Truncating to offset 10 (x)",
        "[2026-11-22 06:00:03,000] INFO [UnifiedLog partition=orders-0, dir=/data] Truncate and start at offset 9 (x)",
    ],
)
def test_a_log_that_is_cut_is_counted(log: Path, line: str) -> None:
    lines = LogLines(log)
    lines.look(0)
    write(log, line + "\n")
    lines.look(60)
    assert lines.per_minute["truncations"] == 1


def test_what_was_there_before_the_first_look_is_not_counted(log: Path) -> None:
    lines = LogLines(log)
    lines.look(0)
    lines.look(60)
    assert set(lines.per_minute.values()) == {0}


def test_a_line_that_is_not_whole_yet_is_counted_once(log: Path) -> None:
    lines = LogLines(log)
    lines.look(0)
    write(log, "[2026-11-22 06:00:01,000] ERROR half a ")
    lines.look(20)
    write(log, "line\n")
    lines.look(60)
    assert lines.per_minute["errors"] == 1


def test_a_log_that_was_rolled_is_read_from_its_beginning(log: Path) -> None:
    lines = LogLines(log)
    lines.look(0)
    log.rename(log.with_suffix(".log.1"))
    log.write_text(LINES)
    lines.look(60)
    assert lines.per_minute["errors"] == 1


def test_a_log_that_comes_later_is_counted_whole(tmp_path: Path) -> None:
    lines = LogLines(tmp_path / "broker.log")
    lines.look(0)
    (tmp_path / "broker.log").write_text(LINES)
    lines.look(60)
    assert lines.per_minute["errors"] == 1


def test_a_log_that_explodes_is_passed_over_and_told(log: Path) -> None:
    lines = LogLines(log)
    lines.look(0)
    write(log, "x" * 1023 + "\n")
    with log.open("ab") as file:
        file.write((b"y" * 1023 + b"\n") * 6 * 1024)
    lines.look(60)
    assert lines.per_minute["skipped_bytes"] > 1024 * 1024
    assert lines.per_minute["errors"] == 0
