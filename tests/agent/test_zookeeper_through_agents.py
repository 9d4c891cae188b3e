"""The agent with a real ensemble and a broker of Kafka 3.8 on it: three VMs, driven by documents alone.

Server 1 founds the ensemble, server 2 joins it, broker 1000 keeps its metadata there. The tests run in order.
"""

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from kazoo.interfaces import IAsyncResult

from agent.four_letters import ask, server_mode
from agent.wire import EnsembleMember, LogDir, ServiceDocument, ServiceReport
from controlplane.kafka.zookeeper.ensemble import KazooEnsemble
from controlplane.kafka.zookeeper.live_registry import KazooRegistry
from controlplane.kafka.zookeeper.members import ZooKeeperMember
from controlplane.kafka.zookeeper.sessions import session
from controlplane.kafka.zookeeper.superuser import super_digest, super_password
from tests.agent.agent_vm import AgentVm
from tests.agent.control_server import ControlServer
from tests.agent.small_cluster import ONE_BROKER, document
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(120)]

CLUSTER_ID = "kedgeAgentOfZooKeeper1"
PASSWORD = super_password(b"a key", "c1")
MEMBERS = {i: ZooKeeperMember(i, f"127.0.42.10{i}") for i in (1, 2)}
BROKER = "127.0.42.11"


class Ensemble:
    """Two servers and a broker, each on a VM of its own."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.control = ControlServer("127.0.42.1")
        self.vms = {i: self._vm(f"zookeeper-{i}", "data", MEMBERS[i].address) for i in MEMBERS}
        self.broker = self._vm("brokers-0", "data", BROKER)
        self.ensemble = KazooEnsemble("agents", lambda: list(MEMBERS.values()), password=PASSWORD)
        self.registry = KazooRegistry("agents", lambda: [m.endpoint for m in MEMBERS.values()])

    def serve(self, server: int, start_id: str, *, members: tuple[int, ...], state: str = "running") -> None:
        base = self._service(f"zookeeper-{server}", start_id, state)
        own = {"name": "zookeeper", "node_id": server, "address": MEMBERS[server].address, "port": 2181}
        more = {"founder": server == 1, "super_digest": super_digest(PASSWORD), "heap_mib": 96, "settings": {}}
        service = base.model_copy(update={**own, **more, "ensemble": _ensemble(*members)})
        self.control.serve(document(f"zookeeper-{server}", service))

    def serve_broker(self, start_id: str, *, members: tuple[int, ...]) -> None:
        base = self._service("brokers-0", start_id, "running")
        mode = {"ensemble": _ensemble(*members), "protocol_version": "3.8"}
        self.control.serve(document("brokers-0", base.model_copy(update=mode)))

    def running(self, server: int, start_id: str) -> ServiceReport:
        return self.control.wait_for_service(
            self.vms[server].instance,
            "zookeeper",
            lambda s: s.state == "running" and s.start_id == start_id and "zxid" in s.metrics,
        )

    def close(self) -> None:
        for vm in (self.broker, *self.vms.values()):
            vm.cut_power()
        self.control.close()

    def _vm(self, node: str, name: str, address: str) -> AgentVm:
        vm = AgentVm(self.base / node, server_url=self.control.url, node=node)
        vm.attach(f"{node}.{name}.v1", self.base / "disks" / node)
        vm.bind(address)
        return vm

    def _service(self, node: str, start_id: str, state: str) -> ServiceDocument:
        log_dir = LogDir(name="data", volume=f"{node}.data.v1", directory_id="YnJva2VyLWRpci1vbmUtMQ", fresh=True)
        return ServiceDocument(
            name="broker",
            state=state,
            start_id=start_id,
            kafka_version="3.8.1",
            cluster_id=CLUSTER_ID,
            node_id=1000,
            address=BROKER,
            port=9092,
            rack="a",
            log_dirs=(log_dir,),
            voters=(),
            settings={k: v for k, v in ONE_BROKER.items() if not k.startswith("broker.")},
        )


def _ensemble(*members: int) -> tuple[EnsembleMember, ...]:
    return tuple(EnsembleMember(id=i, address=MEMBERS[i].address) for i in members)


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ensemble]:
    made = Ensemble(tmp_path_factory.mktemp("zookeeper-vms"))
    try:
        made.serve(1, "z1-1", members=(1,))
        made.vms[1].boot()
        made.running(1, "z1-1")
        made.registry.found(CLUSTER_ID)
        yield made
    finally:
        made.close()


def test_a_founder_serves_and_tells_its_role_and_numbers(ensemble: Ensemble) -> None:
    report = ensemble.running(1, "z1-1")
    assert (report.node_id, report.kafka_version) == (1, "3.8.1")
    assert (report.metrics["serves"], report.metrics["leads"], report.metrics["quorum_size"]) == (1, 1, 1)
    assert report.metrics["outstanding_requests"] == 0
    assert report.log_dirs[0].total_bytes > report.log_dirs[0].free_bytes > 0
    assert report.findings == ()


def test_a_broker_in_zookeeper_mode_is_registered_under_its_id_and_rack(ensemble: Ensemble) -> None:
    ensemble.serve_broker("b-1", members=(1, 2))
    ensemble.broker.boot()
    report = ensemble.control.wait_for_service(
        ensemble.broker.instance, "broker", lambda s: s.state == "running" and "partitions" in s.metrics
    )
    assert (report.metrics["broker_state"], report.findings) == (3, ())
    seen = ensemble.registry.look()
    assert (seen.cluster_id, seen.controller) == (CLUSTER_ID, 1000)
    assert replace(seen.brokers[1000], session=0) == replace(
        seen.brokers[1000], id=1000, host=BROKER, port=9092, rack="a", session=0
    )


@pytest.mark.soak
def test_a_newcomer_may_restart_before_it_is_let_in(ensemble: Ensemble) -> None:
    ensemble.serve(2, "z2-1", members=(1,))
    ensemble.vms[2].boot()
    ensemble.running(2, "z2-1")
    ensemble.serve(2, "z2-2", members=(1,))
    ensemble.running(2, "z2-2")

    wanted = list(MEMBERS.values())
    until(lambda: ensemble.ensemble.look(wanted).of(2).serves, timeout_s=20)
    config = ensemble.ensemble.look(wanted).config
    assert config is not None
    grown = ensemble.ensemble.join(MEMBERS[2], from_version=config.version)
    assert {m.id for m in grown.participants} == {1, 2}


@pytest.mark.soak
def test_a_member_restarts_with_the_membership_zookeeper_has_written_since(ensemble: Ensemble) -> None:
    before = ensemble.registry.look().brokers[1000].session
    ensemble.serve(1, "z1-2", members=(1,))
    ensemble.running(1, "z1-2")
    until(lambda: ensemble.ensemble.look().config is not None, timeout_s=20)
    config = ensemble.ensemble.look().config
    assert config is not None
    assert {m.id for m in config.participants} == {1, 2}
    until(lambda: 1000 in ensemble.registry.look().brokers, timeout_s=20)
    assert ensemble.registry.look().brokers[1000].session == before, "the broker's session outlived it"


@pytest.mark.soak
@pytest.mark.timeout(480)
def test_an_ensemble_whose_follower_hardly_runs_is_found_slow_and_overloaded(ensemble: Ensemble) -> None:
    until(lambda: sorted(map(_mode, MEMBERS)) == ["follower", "leader"], timeout_s=30)
    follower, leader = sorted(MEMBERS, key=_mode)
    over = threading.Event()
    threads = [
        threading.Thread(target=_run_hardly, args=(ensemble.running(follower, f"z{follower}-2").pid, over)),
        threading.Thread(target=_keep_writing, args=(MEMBERS[leader].endpoint, over)),
    ]
    try:
        for thread in threads:
            thread.start()
        instance = ensemble.vms[leader].instance
        both = {"zookeeper_slow", "zookeeper_overloaded"}
        ensemble.control.wait_for_service(
            instance, "zookeeper", lambda s: {f.name for f in s.findings} == both, timeout_s=300
        )
    finally:
        over.set()
        for thread in threads:
            thread.join()
    told = len(ensemble.control.reports[instance])
    ensemble.control.wait_for_service(instance, "zookeeper", lambda s: not s.findings, after=told, timeout_s=120)


def _mode(server: int) -> str:
    return server_mode(ask(MEMBERS[server].address, 2181, "srvr")).mode


def _run_hardly(pid: int, over: threading.Event) -> None:
    """A process that gets 50 ms every three seconds: it lives, follows, and holds all others up."""
    while not over.is_set():
        os.kill(pid, signal.SIGSTOP)
        over.wait(3)
        os.kill(pid, signal.SIGCONT)
        over.wait(0.05)


def _keep_writing(server: str, over: threading.Event) -> None:
    """300 updates wait for it at any time."""
    with session([server], PASSWORD, what="writing", where="a test") as client:
        client.ensure_path("/flood")
        waiting: list[IAsyncResult] = []
        while not over.wait(0.01):
            waiting = [update for update in waiting if not update.ready()]
            waiting += [client.set_async("/flood", b"x" * 100) for _ in range(300 - len(waiting))]


@pytest.mark.soak
def test_a_broker_without_its_session_is_a_finding(ensemble: Ensemble) -> None:
    for server in MEMBERS:
        ensemble.serve(server, f"z{server}-3", members=(1, 2), state="stopped")
    found = ensemble.control.wait_for_service(
        ensemble.broker.instance, "broker", lambda s: bool(s.findings), timeout_s=80
    ).findings[0]
    assert found.name == "zookeeper_session"
    assert "CONNECTING" in found.message
