"""Agents of a living cluster are upgraded under traffic: one first, Kafka's processes stay, a bad one is taken back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.platforms import own_platform
from controlplane.api.schemas import agents as api
from controlplane.server.agent_bundle import read_bundle
from tests.agent.test_agent_upgrades import CRASHES
from tests.agent.upgraded import Mirror, agent_archive
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(400)]

SPEC = ClusterSpec(name="agents", join_deadline_s=30)
SERVER_SETTINGS = {"KEDGE_AGENTS_SOAK_S": "3", "KEDGE_AGENTS_POLL_S": "0.5"}


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    mirror = Mirror(tmp_path / "mirror", host="127.0.42.2")
    yield mirror
    mirror.close()


def test_agents_are_upgraded_under_traffic_and_no_kafka_process_ends(
    living_cluster: LivingCluster, mirror: Mirror
) -> None:
    cluster = living_cluster
    before, processes = cluster.head(), _services(cluster)
    with traffic(cluster.bootstrap):
        _publish(cluster, mirror, "9.9.1")
        _agents(cluster, "current", of=len(processes), version="9.9.1")
    asked = [e for e in cluster.events(before) if e.type == "agent.upgrade_requested"]
    assert len(asked) == len(processes)
    assert _services(cluster) == processes
    settled(cluster)


def test_an_agent_that_crashes_is_taken_back_and_stops_the_upgrade(
    living_cluster: LivingCluster, mirror: Mirror
) -> None:
    cluster = living_cluster
    before, processes = cluster.head(), _services(cluster)
    _publish(cluster, mirror, "9.9.2", main=CRASHES)
    failed = cluster.event("agent.upgrade_failed", before, within_s=120).data
    assert failed["reason"] == "agent 9.9.2 ended 3 times before it had reported: it cannot start; back to agent 9.9.1"
    told = cluster.event("condition.changed", before, where="AgentUpgradeFailed").data
    assert (told["status"], told["reason"]) == (True, "Failed")
    assert [e.type for e in cluster.events(before)].count("agent.upgrade_requested") == 1
    paused = lambda: cluster.client.agents().waits.startswith("paused: ")  # noqa: E731
    cluster.until(paused, "the upgrade to say that it is paused", timeout_s=30)
    cluster.client.withdraw_agent("9.9.2", api.AgentReasonIn(reason="it does not start"))
    _agents(cluster, "current", of=len(processes), version="9.9.1")
    _publish(cluster, mirror, "9.9.3")
    _agents(cluster, "current", of=len(processes), version="9.9.3")
    assert _services(cluster) == processes
    settled(cluster)


def test_other_bytes_on_the_mirror_are_refused(living_cluster: LivingCluster, mirror: Mirror) -> None:
    cluster = living_cluster
    before, processes = cluster.head(), _services(cluster)
    order = _order(mirror, "9.9.4")
    agent_archive(_path(mirror, "9.9.4"), "9.9.4", main=CRASHES)
    cluster.client.publish_agent(order)
    failed = cluster.event("agent.upgrade_failed", before, within_s=60).data
    assert "published" in failed["reason"]
    assert {vm.version for vm in _vms(cluster)} == {"9.9.3"}
    cluster.client.withdraw_agent("9.9.4", api.AgentReasonIn(reason="other bytes"))
    assert _services(cluster) == processes
    settled(cluster)


def _publish(cluster: LivingCluster, mirror: Mirror, version: str, *, main: str = "") -> None:
    agent_archive(_path(mirror, version), version, main=main)
    said = cluster.client.publish_agent(_order(mirror, version)).sentence
    assert version in said


def _order(mirror: Mirror, version: str) -> api.AgentReleaseIn:
    path = _path(mirror, version)
    if not path.exists():
        agent_archive(path, version)
    read = read_bundle(path)
    build = {"platform": read.platform, "url": f"{mirror.url}/{path.name}"}
    return api.AgentReleaseIn.model_validate(
        {"version": version, "builds": [{**build, "sha256": read.sha256, "size_bytes": read.size_bytes}]}
    )


def _path(mirror: Mirror, version: str) -> Path:
    return mirror.folder / f"kedge-agent-{version}-{own_platform()}.tar.gz"


def _vms(cluster: LivingCluster) -> list[api.AgentVmOut]:
    return [vm for c in cluster.client.agents().clusters for vm in c.vms]


def _agents(cluster: LivingCluster, state: str, *, of: int, version: str) -> None:
    def are_there() -> bool:
        found = [(vm.state, vm.version) for vm in _vms(cluster)]
        return found == [(state, version)] * of

    cluster.until(are_there, f"every agent to be {version}", timeout_s=150)


def _services(cluster: LivingCluster) -> dict[str, int]:
    """Pid of the Kafka process by instance."""
    found = {}
    for instance in cluster.detail().instances:
        pids = [pid for pid in cluster.pids(instance.key) if _is_java(pid)]
        assert len(pids) == 1, (instance.key, pids)
        found[instance.key] = pids[0]
    return found


def _is_java(pid: int) -> bool:
    return Path(f"/proc/{pid}/comm").read_text().strip() == "java"
