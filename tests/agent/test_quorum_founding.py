"""Three controllers form one quorum although each formats itself, alone, on its own VM."""

from pathlib import Path

import pytest

from agent.wire import Document, LogDir, ServiceDocument, Voter
from tests.agent.agent_vm import AgentVm
from tests.agent.control_server import ControlServer

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(120)]

VOTERS = tuple(
    Voter(id=100 + i, address=f"127.0.40.{121 + i}", port=9093, directory_id=f"Zm91bmRlci1kaXItMDAw{i}A")
    for i in range(3)
)


def founder(index: int) -> ServiceDocument:
    voter, node = VOTERS[index], f"controllers-{index}"
    log_dir = LogDir(name="metadata", volume=f"{node}.metadata.v1", directory_id=voter.directory_id, fresh=True)
    return ServiceDocument(
        name="controller",
        state="running",
        start_id="c-1",
        kafka_version="4.1.1",
        cluster_id="kedgeAgentTestClusterB",
        node_id=voter.id,
        address=voter.address,
        port=voter.port,
        rack="a",
        log_dirs=(log_dir,),
        voters=VOTERS,
        founder=True,
        metadata_level="4.1",
        heap_mib=128,
    )


def test_three_founders_form_one_quorum(tmp_path: Path) -> None:
    server, vms = ControlServer(), []
    try:
        for index in range(3):
            node, service = f"controllers-{index}", founder(index)
            vm = AgentVm(tmp_path / node, server_url=server.url, node=node)
            vms.append(vm)
            vm.attach(service.log_dirs[0].volume, tmp_path / f"disk-{index}")
            vm.bind(service.address)
            server.serve(Document(epoch=1, cluster_uid="c1", node=node, generation=1, services=(service,)))
            vm.boot()
        leaders = [
            server.wait_for_service(
                vm.instance,
                "controller",
                lambda s: s.state == "running" and s.metrics.get("quorum_leader", -1) >= 100,
            )
            for vm in vms
        ]
        assert {said.metrics["quorum_voters"] for said in leaders} == {3}
        assert {said.node_id for said in leaders} == {100, 101, 102}
    finally:
        for vm in vms:
            vm.cut_power()
        server.close()
