"""Services and the overlay: none starts before its guard and tunnels are there, and none that runs is touched."""

from pathlib import Path

from agent.layout import AgentLayout
from agent.overlay.start import followed_overlay
from agent.settings import AgentSettings
from agent.wire import OverlayDocument, OverlayPeerReport, OverlayReport
from tests.unit.agent.loop_vm import FakeClock, Vm
from tests.unit.agent.overlay_cases import overlay, with_overlay
from tests.unit.agent.wanted import broker, document


class FakeOverlay:
    """What its thread has come to."""

    def __init__(self) -> None:
        self.report = OverlayReport()
        self.heard: list[OverlayDocument | None] = []

    def follow(self, told: OverlayDocument | None) -> OverlayReport | None:
        self.heard.append(told)
        return self.report if told is not None else None


def vm_of(root: Path, network: FakeOverlay, told: OverlayDocument | None) -> Vm:
    vm = Vm(root, overlay=network.follow)
    vm.serve(with_overlay(told, document(broker())))
    return vm


def test_a_service_waits_for_the_overlay_and_says_why(tmp_path: Path) -> None:
    network = FakeOverlay()
    vm = vm_of(tmp_path, network, overlay())
    said = vm.settle()
    assert (said.state, vm.kafka.launches) == ("waiting", [])
    assert said.message == "waiting for the overlay, which is not there: it is being set up"
    network.report = OverlayReport(unable="IPv6 is off", problem="ip failed")
    assert vm.settle().message.endswith("not there: IPv6 is off")
    network.report = OverlayReport(problem="ip failed")
    assert vm.settle().message.endswith("not there: ip failed")
    network.report = OverlayReport(kept=True)
    assert vm.settle().state == "running"
    assert network.heard[-1] == overlay()


def test_a_service_that_runs_is_left_alone_whatever_becomes_of_the_overlay(tmp_path: Path) -> None:
    network = FakeOverlay()
    network.report = OverlayReport(kept=True)
    vm = vm_of(tmp_path, network, overlay())
    vm.settle()
    network.report = OverlayReport(problem="nft failed")
    assert vm.settle().state == "running"
    assert vm.reports[-1].overlay == network.report
    assert [one.signals for one in vm.kafka.launches] == [[]]


def test_a_service_of_a_vm_without_overlay_waits_for_none(tmp_path: Path) -> None:
    for name, told in (("absent", None), ("off", overlay(state="off", peers=()))):
        assert vm_of(tmp_path / name, FakeOverlay(), told).settle().state == "running"


def test_after_a_reboot_the_overlay_of_the_document_that_is_kept_comes_first(tmp_path: Path) -> None:
    network = FakeOverlay()
    network.report = OverlayReport(kept=True)
    vm = vm_of(tmp_path, network, overlay())
    vm.settle()
    network.report = OverlayReport()
    vm.power_cut("boot-2")
    assert vm.settle().state == "waiting", "though no server has said anything yet"
    assert network.heard[-1] == overlay()
    network.report = OverlayReport(kept=True)
    assert vm.settle().state == "running"


def test_news_of_the_overlay_is_reported_at_once_and_measurements_with_the_next_report(tmp_path: Path) -> None:
    network = FakeOverlay()
    network.report = OverlayReport(kept=True)
    vm = vm_of(tmp_path, network, overlay())
    vm.settle()
    told = len(vm.reports)

    def reported(**changes: object) -> int:
        one = OverlayPeerReport(node="brokers-b-1", generation=1, path="private", up=True)
        network.report = OverlayReport(kept=True, peers=(one.model_copy(update=changes),))
        vm.clock.s += 0.01
        vm.converger.tick()
        return len(vm.reports) - told

    assert reported() == 1
    assert reported(rtt_ms=3.0, lost=1) == 1
    assert reported(up=False) == 2


def test_on_a_vm_of_the_local_cloud_nothing_is_made_and_it_is_told_why(tmp_path: Path) -> None:
    layout = AgentLayout(tmp_path)
    layout.prepare()
    settings = AgentSettings(root=tmp_path, kafka_dir=tmp_path)
    follow = followed_overlay(settings, layout, FakeClock(), woken=lambda: None)
    assert follow(None) is None
    said = follow(overlay())
    assert said is not None
    assert "is this machine's" in said.unable
    assert not (layout.state / "overlay").exists()
