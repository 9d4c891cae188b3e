"""Findings that take their time, each brought about in a real broker and gone once its cause is."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.agent.small_cluster import BROKER, Cluster, serving
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.soak, pytest.mark.timeout(420)]

GIB = 2**30


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("vms"))
    (cluster.broker.root / "volumes" / "data.bytes").write_text(str(2 * GIB))
    with serving(cluster):
        yield cluster


def test_a_broker_at_rest_has_none_of_them(cluster: Cluster) -> None:
    time.sleep(10)
    assert cluster.broker_running("b-1", after=cluster.server.count(cluster.broker.instance)).findings == ()


def test_a_log_cleaner_thread_that_dies_is_found(cluster: Cluster, tmp_path: Path) -> None:
    _interrupt(cluster.broker_running("b-1").pid, "kafka-log-cleaner-thread", tmp_path)
    found = cluster.finding("log_cleaner_dead", timeout_s=30)
    assert found.numbers == {"threads": 1.0}


def test_metadata_that_no_controller_renews_is_found_and_gone_once_one_does(cluster: Cluster) -> None:
    controller = _java_of(cluster.controller.init_pid)
    os.kill(controller, signal.SIGSTOP)
    try:
        found = cluster.finding("metadata_lag", timeout_s=100)
    finally:
        os.kill(controller, signal.SIGCONT)
    assert found.numbers["lag_s"] >= 30
    cluster.without_finding("metadata_lag", timeout_s=60)


def test_a_disk_that_fills_has_a_time_to_full(cluster: Cluster) -> None:
    with _writing(bytes_per_s=GIB / 2000):
        found = cluster.finding("disk_filling:data", timeout_s=200)
    assert 600 < found.numbers["full_in_s"] < 24 * 3600, "about an hour at that rate, less what is preallocated"
    assert found.numbers["total_bytes"] == 2 * GIB


def test_a_disk_that_is_full_is_found_and_forgotten_once_it_has_grown(cluster: Cluster) -> None:
    size = cluster.broker.root / "volumes" / "data.bytes"
    (data,) = cluster.broker_running("b-1", after=cluster.server.count(cluster.broker.instance)).log_dirs
    size.write_text(str(int(1.02 * (data.total_bytes - data.free_bytes))))
    try:
        found = cluster.finding("disk_full:data", timeout_s=60)
    finally:
        size.write_text(str(2 * GIB))
    assert found.numbers["free_bytes"] < 0.05 * found.numbers["total_bytes"]
    cluster.without_finding("disk_full:data", timeout_s=60)


def test_metadata_that_a_broker_cannot_apply_is_found(cluster: Cluster) -> None:
    """Somebody copied the directory of a deleted topic back under a running broker, and the name is taken anew: Kafka
    refuses the directory's topic id while it applies the new topic, and counts that (`metadata-apply-error-count`)."""
    old = cluster.disks / "data" / "kafka" / "again-0"
    old.mkdir()
    (old / "partition.metadata").write_text("version: 0\ntopic_id: b2xkLXRvcGljLWlkLTEyMw\n")
    admin = AdminClient({"bootstrap.servers": f"{BROKER}:9092", "log_level": 0})
    admin.create_topics([NewTopic("again", 1, 1)])["again"].result(30)
    found = cluster.finding("metadata_errors", timeout_s=60)
    assert found.numbers["errors"] >= 1
    assert found.message.endswith("metadata records could not be applied: what the broker believes is not what is")


def test_a_release_under_the_name_of_another_is_found(cluster: Cluster, tmp_path: Path) -> None:
    """What the directory is called is not what its jars are."""
    from tests.agent.agent_vm import KAFKA

    wrong = tmp_path / "kafka"
    wrong.mkdir()
    (wrong / "4.1.1").symlink_to(KAFKA / "4.2.0")
    cluster.broker.cut_power()
    cluster.broker.boot(kafka_dir=wrong)
    found = cluster.finding("wrong_identity", timeout_s=60)
    assert found.message == "it runs as node 1000 with Kafka 4.2.0, and node 1000 with 4.1.1 is wanted"


def _java_of(init: int) -> int:
    (java,) = [p.pid for p in psutil.Process(init).children(recursive=True) if p.name() == "java"]
    return java


def _interrupt(pid: int, thread: str, folder: Path) -> None:
    """Kafka's background threads end when an exception leaves them, and waiting ends in one when it is interrupted."""
    source = Path(__file__).with_name("Interrupt.java")
    subprocess.run([shutil.which("javac") or "javac", "-d", str(folder), str(source)], check=True)
    jar = folder / "interrupt.jar"
    with zipfile.ZipFile(jar, "w") as packed:
        packed.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nAgent-Class: Interrupt\n")
        packed.write(folder / "Interrupt.class", "Interrupt.class")
    command = [shutil.which("java") or "java", "-cp", str(folder), "Interrupt", str(pid), str(jar), thread]
    subprocess.run(command, check=True, timeout=30, stdout=sys.stderr)


def _let_in(admin: AdminClient, *, timeout_s: float = 150.0) -> None:
    """A broker whose controller stood still a moment ago is fenced until that has heard from it: on a busy machine that
    takes longer than a client waits for somebody to turn to."""
    until(
        lambda: admin.list_topics(timeout=10).controller_id >= 0,
        "the broker is let in",
        timeout_s=timeout_s,
        every_s=0.5,
    )


@contextlib.contextmanager
def _writing(*, bytes_per_s: float) -> Iterator[None]:
    """Somebody fills a topic at that rate."""
    admin = AdminClient({"bootstrap.servers": f"{BROKER}:9092", "log_level": 0})
    config = {"min.insync.replicas": "1", "segment.bytes": str(8 * 2**20)}
    _let_in(admin)
    made = admin.create_topics([NewTopic("filling", 1, 1, config=config)], operation_timeout=60, request_timeout=60)
    made["filling"].result(70)
    leaving = threading.Event()

    def write() -> None:
        producer = Producer({"bootstrap.servers": f"{BROKER}:9092", "log_level": 0})
        while not leaving.wait(0.2):
            for _ in range(int(bytes_per_s * 0.2 / 10_000)):
                producer.produce("filling", os.urandom(10_000))
            producer.flush(5)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        leaving.set()
        thread.join(20)
