"""From what agents report to tunnels: keys made on three VMs, believed by the server, told to the others in documents
it makes of its view, and a connection between two brokers at the addresses that follow from their ids."""

from collections.abc import Iterator
from functools import partial

import pytest

from agent.overlay.addresses import prefix_of, service_address
from agent.wire import OverlayReport
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.overlay_keys import reported_keys
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.documents import document_for
from events.spec.network import NetworkSpec, OverlaySpec
from tests.agent.overlay_network import OVERLAY_MARKS, PATHS, Member, members
from tests.builders import NODES, NOW, a_document, a_report, a_view, an_instance
from tests.changed_view import changed_view
from tests.waiting import until

pytestmark = list(OVERLAY_MARKS)

WAIT_S = 120.0
LISTEN = """
import socket, sys
door = socket.create_server((sys.argv[1], 9092), family=socket.AF_INET6)
print("up")
talk, peer = door.accept()
talk.sendall(peer[0].encode())
talk.close()
"""
ASK = """
import socket, sys
with socket.create_connection((sys.argv[1], 9092), 60) as talk:
    print(talk.recv(100).decode())
"""


@pytest.fixture
def vms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Member]]:
    with members(tmp_path_factory.mktemp("documents"), 3) as (all_of, _):
        yield dict(zip(NODES, all_of, strict=False))


def a_network(vms: dict[str, Member]) -> ClusterView:
    document = a_document()
    spec = document.spec.model_copy(update={"network": NetworkSpec(overlay=OverlaySpec(type="wireguard"))})
    _, network, _ = PATHS["private"]
    brokers = [an_instance(node, address=f"{network}.{vm.number}") for node, vm in vms.items()]
    return a_view(*brokers, without=NODES[3:], document=document.model_copy(update={"spec": spec}))


def tell(view: ClusterView, vms: dict[str, Member]) -> None:
    for node, vm in vms.items():
        document = document_for(view, f"{node}.g1", epoch=1)
        assert document is not None
        assert document.overlay is not None
        beside = vm.folder / "overlay.json.new"
        beside.write_text(document.overlay.model_dump_json())
        beside.rename(vm.folder / "overlay.json")


def said_of(vm: Member) -> OverlayReport:
    assert vm.processes[0].poll() is None, "its agent has ended: what it said is above"
    file = vm.folder / "report.json"
    return OverlayReport.model_validate_json(file.read_text()) if file.exists() else OverlayReport()


def has_key(vm: Member) -> bool:
    return bool(said_of(vm).public_key)


def reaches_all(vm: Member) -> bool:
    said = said_of(vm)
    return said.kept and [peer.up for peer in said.peers] == [True, True]


def with_reported_keys(view: ClusterView, vms: dict[str, Member]) -> ClusterView:
    reports = {}
    for node, vm in vms.items():
        report = a_report(view.instances[f"{node}.g1"]).report
        reports[f"{node}.g1"] = ReportSeen(report.model_copy(update={"overlay": said_of(vm)}), NOW)
    found = reported_keys(view, reports, 1, NOW)
    assert (len(found.new), found.refused) == (3, {})
    return changed_view(view, overlay_keys={event.key: {1: event.public_key} for event in found.new})


def test_brokers_reach_one_another_once_each_has_told_its_key(vms: dict[str, Member]) -> None:
    view = a_network(vms)
    tell(view, vms)
    for vm in vms.values():
        (vm.folder / "overlay-1.key").unlink()  # its agent makes one
        vm.begin(apart=True)
    for vm in vms.values():
        until(partial(has_key, vm), "a key", timeout_s=WAIT_S)
    tell(with_reported_keys(view, vms), vms)
    for vm in vms.values():
        until(partial(reaches_all, vm), "a path to each", timeout_s=WAIT_S)

    prefix, (a, b, _) = prefix_of(view.uid), vms.values()
    at = str(service_address(prefix, "broker", 1001))
    listening = b.python(LISTEN, at)
    assert listening.stdout is not None
    assert listening.stdout.readline() == "up\n"
    asking = a.python(ASK, at)
    assert asking.stdout is not None
    assert asking.stdout.readline().strip() == str(said_address(view, "brokers-a-0.g1")), "and comes from its own VM"


def said_address(view: ClusterView, key: str) -> object:
    document = document_for(view, key, epoch=1)
    assert document is not None
    assert document.overlay is not None
    return document.overlay.vm
