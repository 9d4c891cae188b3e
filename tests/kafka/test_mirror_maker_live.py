"""MirrorMaker 2 as Kedge tells it, between two real clusters: offsets come out identical, the server reads how far it
has come, and the way back copies none twice."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from agent.host_port import HostPort
from agent.services.launch import KafkaInstallation
from agent.services.mirror_maker import MirrorEnd, MirrorFlow, mirror_properties
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.pair_copies.logs import CopyLogs, broker_pair_logs
from controlplane.kafka.pair_copies.values import FlowEnd, FlowEnds, TailMatch
from tests.kafka_processes import KafkaProcesses, die_with
from tests.mirrored_clusters import COPIED_WITHIN_S, TOPIC, VERSION, log, produce, two_clusters
from tests.waiting import patient, until

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

KAFKA = Path(os.environ.get("KEDGE_KAFKA_DIR", Path(__file__).parents[2] / ".cache" / "kafka"))


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[tuple[KafkaProcesses, KafkaProcesses]]:
    with two_clusters(tmp_path, ("127.0.98", "127.0.99")) as made:
        yield made


@pytest.fixture
def dialer() -> Iterator[DirectDialer]:
    dialer = DirectDialer()
    yield dialer
    dialer.close()


def test_the_way_there_and_back_keeps_every_offset_and_copies_nothing_twice(
    ends: tuple[KafkaProcesses, KafkaProcesses], dialer: DirectDialer, tmp_path: Path
) -> None:
    eu, us = ends
    logs = broker_pair_logs(dialer, limit_s=patient(10.0))
    there = FlowEnds(FlowEnd("eu", tuple(eu.bootstrap)), FlowEnd("us", tuple(us.bootstrap)), replication_factor=1)
    produce(eu, "before", 600)
    with copying(eu, us, tmp_path / "there"):
        until(lambda: log(us) == log(eu) or None, "the first copy", timeout_s=patient(COPIED_WITHIN_S), every_s=1.0)
        produce(eu, "beside", 300)
        until(lambda: log(us) == log(eu) or None, "the rest", timeout_s=patient(COPIED_WITHIN_S), every_s=1.0)
        until(lambda: is_written_down(logs, there) or None, "its own word", timeout_s=patient(60.0), every_s=1.0)
    switched = {p: e.end for p, e in logs.positions(there, [TOPIC]).source.items()}
    assert {t.match for t in logs.read_tails(there, switched).values()} == {TailMatch.SAME}
    produce(us, "after", 200)
    assert logs.seed_positions(there.back, switched) == switched
    logs.write_seeds(there.back, switched)
    with copying(us, eu, tmp_path / "back", names=("us", "eu")):
        until(lambda: log(eu) == log(us) or None, "the way back", timeout_s=patient(COPIED_WITHIN_S), every_s=1.0)
    values = sorted(value for records in log(eu).values() for _, value, _ in records)
    written = {"before": 600, "beside": 300, "after": 200}
    assert values == sorted(f"{word} {n}".encode() for word, count in written.items() for n in range(count))


@contextlib.contextmanager
def copying(
    source: KafkaProcesses, target: KafkaProcesses, folder: Path, names: tuple[str, str] = ("eu", "us")
) -> Iterator[None]:
    folder.mkdir()
    flow = MirrorFlow(end(names[0], source), end(names[1], target), (TOPIC,), replication_factor=1)
    file = folder / "mm2.properties"
    file.write_text(mirror_properties(flow))
    jars = ":".join(f"{folder}/*" for folder in KafkaInstallation(KAFKA, "java").mirror_maker(VERSION))
    assert jars, f"MirrorMaker 2 is not in {KAFKA}: run `make test-setup`"
    options = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    with (folder / "mm2.log").open("wb") as output:
        process = subprocess.Popen(
            ["java", *options, "-cp", jars, "org.apache.kafka.connect.mirror.MirrorMaker", str(file)],
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            preexec_fn=partial(die_with, os.getpid()),
        )
    try:
        yield
        assert process.poll() is None, (folder / "mm2.log").read_text()[-3000:]
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=patient(60.0))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def end(name: str, kafka: KafkaProcesses) -> MirrorEnd:
    (address,) = kafka.bootstrap
    host, _, port = address.rpartition(":")
    return MirrorEnd(name, (HostPort(host, int(port)),))


def is_written_down(logs: CopyLogs, flow: FlowEnds) -> bool:
    """MirrorMaker says so every 5 s."""
    seen = logs.positions(flow, [TOPIC])
    return seen.committed == {p: e.end - 1 for p, e in seen.source.items()}
