"""A real ZooKeeper server and a real broker of Kafka 3.8 on one VM and one disk, driven by documents alone.

The tests run in order.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from agent.wire import EnsembleMember, LogDir, ServiceDocument, ServiceReport
from controlplane.kafka.zookeeper.live_registry import KazooRegistry
from controlplane.kafka.zookeeper.superuser import super_digest, super_password
from tests.agent.agent_vm import AgentVm
from tests.agent.control_server import ControlServer
from tests.agent.small_cluster import ONE_BROKER, document
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.soak, pytest.mark.timeout(180)]

CLUSTER_ID = "kedgeCohostedOnOneVM01"
ADDRESS, SERVER = "127.0.55.11", "127.0.55.1"
PASSWORD = super_password(b"a key", "c1")


class OneVm:
    """A VM with one disk, on which both keep what is theirs."""

    def __init__(self, base: Path) -> None:
        self.control = ControlServer(SERVER)
        self.vm = AgentVm(base / "vm", server_url=self.control.url, node="brokers-0")
        self.disk = base / "disk"
        self.vm.attach("brokers-0.data.v1", self.disk)
        self.vm.bind(ADDRESS)
        self.registry = KazooRegistry("cohosted", lambda: [f"{ADDRESS}:2181"])

    def serve(self, *services: ServiceDocument) -> None:
        self.control.serve(document("brokers-0", *services))

    def said(self, name: str, start_id: str, state: str = "running", after: int = 0) -> ServiceReport:
        return self.control.wait_for_service(
            self.vm.instance, name, lambda s: (s.state, s.start_id) == (state, start_id), after=after, timeout_s=90
        )

    def close(self) -> None:
        self.vm.cut_power()
        self.control.close()


def member(start_id: str, state: str = "running") -> ServiceDocument:
    own = {"name": "zookeeper", "node_id": 100, "port": 2181, "founder": True, "heap_mib": 96, "settings": {}}
    more = {"super_digest": super_digest(PASSWORD), "protocol_version": ""}
    log_dir = _disk("em9va2VlcGVyLWRpci0wMQ")
    return broker(start_id, state).model_copy(update={**own, **more, "log_dirs": (log_dir,)})


def broker(start_id: str, state: str = "running") -> ServiceDocument:
    return ServiceDocument(
        name="broker",
        state=state,
        start_id=start_id,
        kafka_version="3.8.1",
        cluster_id=CLUSTER_ID,
        node_id=1000,
        address=ADDRESS,
        port=9092,
        rack="a",
        log_dirs=(_disk("YnJva2VyLWRpci1vbmUtMQ"),),
        voters=(),
        settings={k: v for k, v in ONE_BROKER.items() if not k.startswith("broker.")},
        ensemble=(EnsembleMember(id=100, address=ADDRESS),),
        protocol_version="3.8",
    )


def _disk(directory_id: str) -> LogDir:
    return LogDir(name="data", volume="brokers-0.data.v1", directory_id=directory_id, fresh=True)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneVm]:
    made = OneVm(tmp_path_factory.mktemp("cohosted"))
    try:
        made.serve(member("z-1"))
        made.vm.boot()
        made.said("zookeeper", "z-1")
        made.registry.found(CLUSTER_ID)
        made.serve(broker("b-1"), member("z-1"))
        made.said("broker", "b-1")
        yield made
    finally:
        made.close()


def test_both_are_reported_each_with_its_own_process_numbers_and_log(one: OneVm) -> None:
    found = one.control.wait_for_service(one.vm.instance, "broker", lambda s: "partitions" in s.metrics)
    there = one.control.wait_for_service(one.vm.instance, "zookeeper", lambda s: "zxid" in s.metrics)
    assert found.pid != there.pid
    assert (found.node_id, there.node_id) == (1000, 100)
    assert (there.metrics["leads"], found.metrics["broker_state"]) == (1, 3)
    for name in ("broker", "zookeeper"):
        assert (one.vm.root / "logs" / f"{name}.log").stat().st_size > 0
    assert {p.name for p in one.disk.iterdir()} >= {"kafka", "zookeeper"}
    assert _heap_mib(found.pid) == "-Xmx256m"
    assert _heap_mib(there.pid) == "-Xmx96m"


def test_a_server_that_dies_comes_back_and_the_broker_keeps_its_process_and_its_session(one: OneVm) -> None:
    kept, died = one.said("broker", "b-1"), one.said("zookeeper", "z-1")
    session = one.registry.look().brokers[1000].session
    os.kill(died.pid, signal.SIGKILL)
    one.control.wait_for_service(
        one.vm.instance, "zookeeper", lambda s: s.state == "running" and s.pid not in (0, died.pid), timeout_s=60
    )
    until(lambda: 1000 in one.registry.look().brokers, timeout_s=30)
    assert one.registry.look().brokers[1000].session == session
    last = one.said("broker", "b-1", after=one.control.count(one.vm.instance))
    assert (last.pid, last.metrics["unexpected_exits"]) == (kept.pid, 0)


def test_a_broker_that_dies_comes_back_and_the_server_keeps_its_process(one: OneVm) -> None:
    server = one.said("zookeeper", "z-1", after=one.control.count(one.vm.instance))
    died = one.said("broker", "b-1")
    os.kill(died.pid, signal.SIGKILL)
    one.control.wait_for_service(
        one.vm.instance, "broker", lambda s: s.state == "running" and s.pid not in (0, died.pid), timeout_s=90
    )
    assert one.said("zookeeper", "z-1", after=one.control.count(one.vm.instance)).pid == server.pid


def test_a_new_agent_adopts_both(one: OneVm) -> None:
    told = one.control.count(one.vm.instance)
    before = {n: one.said(n, s, after=told).pid for n, s in (("broker", "b-1"), ("zookeeper", "z-1"))}
    dead = one.vm.kill_agent()
    until(lambda: one.vm.agent_pid not in (None, dead), timeout_s=30)
    told = one.control.count(one.vm.instance)
    after = {n: one.said(n, s, after=told).pid for n, s in (("broker", "b-1"), ("zookeeper", "z-1"))}
    assert after == before


def test_a_restart_of_the_broker_leaves_the_server_alone(one: OneVm) -> None:
    server = one.said("zookeeper", "z-1", after=one.control.count(one.vm.instance))
    one.serve(broker("b-2"), member("z-1"))
    one.said("broker", "b-2")
    assert one.said("zookeeper", "z-1", after=one.control.count(one.vm.instance)).pid == server.pid


def test_a_restart_of_the_server_leaves_the_broker_alone(one: OneVm) -> None:
    kept = one.said("broker", "b-2", after=one.control.count(one.vm.instance))
    one.serve(broker("b-2"), member("z-2"))
    assert one.said("zookeeper", "z-2").pid not in (0, kept.pid)
    assert one.said("broker", "b-2", after=one.control.count(one.vm.instance)).pid == kept.pid


def test_the_broker_stops_in_order_before_the_server_does(one: OneVm) -> None:
    one.serve(broker("b-2", "stopped"), member("z-2", "stopped"))
    broker_end, server_end = one.said("broker", "b-2", "stopped"), one.said("zookeeper", "z-2", "stopped")
    assert (broker_end.exit_code, broker_end.since <= server_end.since) == (143, True)
    log = one.vm.log()
    assert log.index("broker: over for good: b-2") < log.rindex("zookeeper: SIGTERM")


def _heap_mib(pid: int) -> str:
    return next(a for a in psutil.Process(pid).cmdline() if a.startswith("-Xmx"))
