"""Findings in real JVMs that are made unhealthy on purpose, read through the metrics port that brokers have."""

import resource
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path

import pytest

from agent.health.judge import judge
from agent.health.reading import read_vitals
from agent.health.vitals import Vitals, VitalsFinding
from agent.metrics import Jolokia, JolokiaSilent
from tests.agent.agent_vm import KAFKA
from tests.jolokia_port import answers, java_agent
from tests.waiting import until

pytestmark = pytest.mark.kafka

SOURCE = Path(__file__).with_name("SickJvm.java")
POLICY = "jolokia-access.xml"
WITHIN_S = 40.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the compiled program and the policy of metrics ports: compiling takes longer than most illnesses."""
    made = tmp_path_factory.mktemp("sick")
    subprocess.run([shutil.which("javac") or "javac", "-d", str(made), str(SOURCE)], check=True)
    (made / POLICY).write_bytes((resources.files("agent.services") / POLICY).read_bytes())
    return made


@contextmanager
def running(folder: Path, *illness: str, limit: tuple[int, int] | None = None) -> Iterator[tuple[Jolokia, int]]:
    """A JVM with that illness, its metrics port and its pid. `limit` is one of its resource limits, (which, most)."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    java = shutil.which("java") or "java"
    agent = java_agent(KAFKA / "4.1.1" / "libs", host="127.0.0.1", port=port, policy=folder / POLICY)
    command = [java, "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", agent]
    command += ["-cp", str(folder), "SickJvm", *illness]

    def limited() -> None:
        if limit is not None:
            resource.setrlimit(limit[0], (limit[1], limit[1]))

    process = subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=limited)
    jolokia = Jolokia(f"http://127.0.0.1:{port}")
    try:
        assert process.stdout is not None
        assert b"ill\n" in iter(process.stdout.readline, b""), "it ended before it was ill"
        until(lambda: answers(jolokia), "the metrics port to answer", timeout_s=WITHIN_S)
        yield jolokia, process.pid
    finally:
        jolokia.close()
        process.kill()
        process.wait()
        process.stdout.close() if process.stdout else None


def watched(
    jolokia: Jolokia,
    pid: int,
    until: Callable[[tuple[VitalsFinding, ...]], bool],
    *,
    speed: float = 1.0,
    within_s: float = WITHIN_S,
) -> VitalsFinding:
    """The first finding that fits. `speed`: how much faster than the machine's the clock of the samples runs."""
    history: list[Vitals] = []
    found: tuple[VitalsFinding, ...] = ()
    began_s = time.monotonic()
    while time.monotonic() - began_s < within_s:
        at_s = (time.monotonic() - began_s) * speed
        with suppress(JolokiaSilent):  # as the agent takes it: not told this time
            history.append(read_vitals(jolokia, at_s=at_s, pid=pid, log_dirs=(), proc=Path("/proc")))
        found = judge(history, found)
        if until(found):
            return next(f for f in found if until((f,)))
        time.sleep(0.1)
    raise AssertionError(f"not found within {within_s} s; the last samples were {history[-1:]}")


def is_a(name: str) -> Callable[[tuple[VitalsFinding, ...]], bool]:
    return lambda found: any(f.name == name for f in found)


def test_a_well_process_has_all_vitals_and_no_findings(folder: Path) -> None:
    with running(folder, "well") as (jolokia, pid):
        history = [read_vitals(jolokia, at_s=n * 15.0, pid=pid, log_dirs=(), proc=Path("/proc")) for n in range(20)]
    last, jvm = history[-1], history[-1].jvm
    assert judge(history) == ()
    assert None not in (jvm.threads, jvm.threads_max, jvm.descriptors, jvm.descriptors_max, jvm.old_max_bytes)
    assert last.offline_log_dirs is None, "it is not a broker"


def test_a_deadlock_is_found_with_the_names_of_its_threads(folder: Path) -> None:
    with running(folder, "deadlock") as (jolokia, pid):
        found = watched(jolokia, pid, is_a("deadlock"))
    assert found.message == "2 threads wait for each other for ever: first-then-second, second-then-first"


def test_threads_near_their_limit_are_found(folder: Path) -> None:
    with running(folder, "threads", "380", limit=(resource.RLIMIT_NPROC, 420)) as (jolokia, pid):
        found = watched(jolokia, pid, is_a("threads_exhausted"))
    assert found.numbers["max"] == 420


def test_files_near_their_limit_are_found(folder: Path) -> None:
    with running(folder, "files", "420", limit=(resource.RLIMIT_NOFILE, 480)) as (jolokia, pid):
        found = watched(jolokia, pid, is_a("descriptors_exhausted"))
    assert found.numbers["max"] == 480


def test_a_leak_is_found_before_the_heap_is_full(folder: Path) -> None:
    # A hundred seconds of the samples' clock are one of the machine's: five minutes of growth take three seconds.
    with running(folder, "leak") as (jolokia, pid):
        found = watched(jolokia, pid, is_a("memory_leak"), speed=100)
    assert found.numbers["bytes_per_s"] > 0
    assert found.numbers["used_bytes"] < 0.85 * found.numbers["max_bytes"]


def test_a_heap_that_collections_cannot_free_is_found(folder: Path) -> None:
    with running(folder, "full") as (jolokia, pid):
        found = watched(jolokia, pid, is_a("heap_full"))
    assert found.numbers["used_bytes"] >= 0.85 * found.numbers["max_bytes"]


@pytest.mark.soak
def test_a_process_that_does_little_but_collect_garbage_is_found(folder: Path) -> None:
    with running(folder, "thrash") as (jolokia, pid):
        found = watched(jolokia, pid, is_a("gc_thrashing"), within_s=90)
    assert 0.5 <= found.numbers["share"] <= 1.05


def test_the_metrics_port_lets_nobody_change_anything(folder: Path) -> None:
    with running(folder, "well") as (jolokia, _):
        refused = jolokia.ask(
            [
                {"type": "exec", "mbean": "java.lang:type=Memory", "operation": "gc"},
                {"type": "exec", "mbean": "java.lang:type=Threading", "operation": "resetPeakThreadCount"},
                {"type": "write", "mbean": "java.lang:type=Memory", "attribute": "Verbose", "value": True},
            ]
        )
        assert [item["status"] for item in refused] == [403, 403, 403]
        allowed = jolokia.ask(
            [{"type": "exec", "mbean": "java.lang:type=Threading", "operation": "findDeadlockedThreads"}]
        )
        assert allowed[0]["status"] == 200


def test_a_process_that_is_stopped_says_nothing() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        silent = Jolokia(f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(JolokiaSilent):
            read_vitals(silent, at_s=0, pid=1, log_dirs=(), proc=Path("/proc"))
        silent.close()
