"""Heartbeats through a real broker by the agent of another VM: latencies, a broker that hangs, and what they cost."""

import os
import signal
import time
from collections.abc import Callable, Iterator

import psutil
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from agent.wire import HeartbeatReport, Heartbeats, HeartbeatTarget
from tests.agent.small_cluster import BROKER, Cluster, document, serving

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]

TOPIC = "__kedge_heartbeats"
BEATS = Heartbeats(topic=TOPIC, targets=(HeartbeatTarget(broker=1000, address=BROKER, port=9092),))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with serving(Cluster(tmp_path_factory.mktemp("vms"))) as cluster:
        yield cluster


def beats(cluster: Cluster, *, wanted: Heartbeats | None = BEATS) -> None:
    """The agent of the controller's VM looks at the broker from now on."""
    service = cluster.service("controller", "c-1", state="running")
    cluster.server.serve(document("controllers-0", service).model_copy(update={"heartbeats": wanted}))


def told(cluster: Cluster, until: Callable[[HeartbeatReport], bool], *, timeout_s: float = 30.0) -> HeartbeatReport:
    """What the agent tells of the broker, once it fits."""
    ends_s, last, seen = time.monotonic() + timeout_s, None, cluster.server.count(cluster.controller.instance)
    while time.monotonic() < ends_s:
        new = cluster.server.reports[cluster.controller.instance][seen:]
        last = new[-1].heartbeats[0] if new and new[-1].heartbeats else None
        if last is not None and until(last):
            return last
        time.sleep(0.1)
    raise AssertionError(f"not told within {timeout_s} s; the last was {last}")


def test_no_topic_is_made_by_asking_for_it_and_its_absence_is_told(cluster: Cluster) -> None:
    beats(cluster)
    assert told(cluster, lambda h: bool(h.problem)).problem == "there are no partitions of heartbeats yet"
    assert TOPIC not in AdminClient({"bootstrap.servers": f"{BROKER}:9092"}).list_topics(timeout=10).topics


def test_latencies_of_a_broker_that_is_well_are_told(cluster: Cluster) -> None:
    admin = AdminClient({"bootstrap.servers": f"{BROKER}:9092"})
    admin.create_topics([NewTopic(TOPIC, 1, 1, config={"min.insync.replicas": "1"})])[TOPIC].result(20)
    well = told(cluster, lambda h: h.beats >= 3)
    assert (well.broker, well.problem) == (1000, "")
    assert well.silent_s < 3
    assert 0 < (well.produce_p50_s or 0) <= (well.produce_p99_s or 0) < 2
    assert 0 < (well.end_to_end_p50_s or 0) <= (well.end_to_end_p99_s or 0) < 2


@pytest.mark.soak
def test_a_broker_that_hangs_is_silent_and_is_heard_again_when_it_goes_on(cluster: Cluster) -> None:
    pid = cluster.broker_running("b-1").pid
    os.kill(pid, signal.SIGSTOP)
    try:
        silent = told(cluster, lambda h: h.silent_s > 8 and bool(h.problem))
    finally:
        os.kill(pid, signal.SIGCONT)
    assert silent.problem
    assert told(cluster, lambda h: h.silent_s < 2).problem == ""


@pytest.mark.soak
def test_heartbeats_cost_less_than_a_hundredth_of_a_core(cluster: Cluster) -> None:
    """Of both VMs: the agent that beats, and the broker that is beaten. Each against itself without."""
    told(cluster, lambda h: h.silent_s < 2)
    agent, broker = psutil.Process(cluster.controller.agent_pid), psutil.Process(cluster.broker_running("b-1").pid)
    with_them = _shares(agent, broker)
    memory_mib = agent.memory_info().rss / 2**20
    beats(cluster, wanted=None)
    time.sleep(5)
    without = _shares(agent, broker)
    print(f"with {with_them}, without {without}, agent's memory {memory_mib:.0f} MiB")
    assert with_them[0] - without[0] <= 0.01
    assert with_them[1] - without[1] <= 0.01
    assert memory_mib <= 80


def _shares(*processes: psutil.Process, seconds: float = 40.0) -> tuple[float, ...]:
    """Of a core, over that time."""
    before = [sum(p.cpu_times()[:2]) for p in processes]
    time.sleep(seconds)
    return tuple(round((sum(p.cpu_times()[:2]) - b) / seconds, 4) for p, b in zip(processes, before, strict=True))
