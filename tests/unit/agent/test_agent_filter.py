"""The agent keeps the packet filter its document says: loaded before anything starts, again if somebody changed it."""

import hashlib
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.documents import Accepted, DocumentRejected, judge_document
from agent.packet_filter import LOOK_EVERY_S, TRY_EVERY_S, PacketFilter
from agent.tools import ToolFailed, ToolResult
from agent.wire import PacketFilterReport
from providers.packet_filter import rules
from tests.unit.agent.loop_vm import Vm
from tests.unit.agent.wanted import boot_data, broker, document

BORN, LATER = rules(["10.0.0.0/16"]), rules(["10.0.0.0/16"], ["10.8.0.0/16"])


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass
class Kernel:
    """What nft has loaded, and what is wrong with nft."""

    table: str = ""
    loads: int = 0
    queries: int = 0
    refuses: str = ""
    is_missing: bool = False
    loaded_when_started: list[bool] = field(default_factory=list)

    def run(self, command: Sequence[str]) -> ToolResult:
        if self.is_missing:
            raise ToolFailed("nft is not on this VM: its image needs it")
        if command[:2] == ("nft", "-f"):
            if self.refuses:
                return ToolResult(1, "", self.refuses)
            self.loads += 1
            begins, _, rules = Path(command[2]).read_text().partition("delete table inet kedge\n")
            assert begins == "table inet kedge {}\n", "tables of others are left alone"
            self.table = f"flush ruleset\n{rules}"
            return ToolResult(0)
        self.queries += 1
        return ToolResult(0, self.table) if self.table else ToolResult(1, "", "No such file or directory")


@pytest.fixture
def kernel() -> Kernel:
    return Kernel()


@pytest.fixture
def kept(kernel: Kernel, tmp_path: Path) -> PacketFilter:
    return PacketFilter(tmp_path / "filter.nft", kernel.run)


def test_rules_are_loaded_once_and_told_by_their_digest(kept: PacketFilter, kernel: Kernel, tmp_path: Path) -> None:
    for second in range(50):
        assert kept.keep(BORN, float(second)) == PacketFilterReport(loaded=sha256(BORN))
    assert (kernel.table, kernel.loads, kernel.queries) == (BORN, 1, 1)
    assert stat.S_IMODE((tmp_path / "filter.nft").stat().st_mode) == 0o600


def test_other_rules_are_loaded_at_once(kept: PacketFilter, kernel: Kernel) -> None:
    kept.keep(BORN, 0.0)
    assert kept.keep(LATER, 1.0) == PacketFilterReport(loaded=sha256(LATER))
    assert kernel.table == LATER


def test_a_document_without_rules_leaves_the_vm_as_it_is(kept: PacketFilter, kernel: Kernel) -> None:
    kept.keep(BORN, 0.0)
    assert kept.keep("", 100.0) is None
    assert (kernel.table, kernel.loads) == (BORN, 1)


@pytest.mark.parametrize("other", ["", "table inet kedge { chain input { policy accept } }"], ids=["flushed", "opened"])
def test_what_somebody_did_to_the_table_is_undone_within_a_minute(
    kept: PacketFilter, kernel: Kernel, other: str
) -> None:
    kept.keep(BORN, 0.0)
    kernel.table = other
    kept.keep(BORN, LOOK_EVERY_S - 1)
    assert kernel.table == other, "not looked at yet"
    kept.keep(BORN, LOOK_EVERY_S)
    assert kernel.table == BORN


def test_rules_that_are_refused_leave_those_before_in_force_and_are_tried_again(
    kept: PacketFilter, kernel: Kernel
) -> None:
    kept.keep(BORN, 0.0)
    kernel.refuses = "syntax error"
    told = kept.keep(LATER, 1.0)
    assert told is not None
    assert told.loaded == sha256(BORN)
    assert "syntax error" in told.problem
    kernel.refuses = ""
    assert kept.keep(LATER, 2.0) == told, "not at each pass"
    assert kept.keep(LATER, 1.0 + TRY_EVERY_S) == PacketFilterReport(loaded=sha256(LATER))


def test_a_vm_without_nft_says_so(kept: PacketFilter, kernel: Kernel) -> None:
    kernel.is_missing = True
    assert kept.keep(BORN, 0.0) == PacketFilterReport(problem="nft is not on this VM: its image needs it")


def test_the_filter_is_there_before_a_service_is_started_and_is_reported(tmp_path: Path, kernel: Kernel) -> None:
    vm = Vm(tmp_path, PacketFilter(tmp_path / "f.nft", kernel.run).keep)
    start = vm.kafka.start

    def seen(service: object) -> None:
        kernel.loaded_when_started.append(kernel.table == BORN)
        start(service)  # type: ignore[arg-type]

    vm.kafka.start = seen  # type: ignore[method-assign]
    vm.serve(document(broker()).model_copy(update={"packet_filter": BORN}))
    vm.settle()
    assert kernel.loaded_when_started == [True]
    assert vm.reports[-1].packet_filter == PacketFilterReport(loaded=sha256(BORN))

    vm.serve(document(broker()).model_copy(update={"packet_filter": LATER}), etag="e2")
    said = vm.settle(passes=1)
    assert (kernel.table, said.state, len(vm.kafka.launches)) == (LATER, "running", 1), "nothing is restarted for it"
    assert vm.reports[-1].packet_filter == PacketFilterReport(loaded=sha256(LATER))


def test_after_a_reboot_what_was_told_last_is_loaded_though_no_server_answers(tmp_path: Path, kernel: Kernel) -> None:
    vm = Vm(tmp_path, PacketFilter(tmp_path / "f.nft", kernel.run).keep)
    vm.serve(document(broker()).model_copy(update={"packet_filter": LATER}))
    vm.settle()
    kernel.table = BORN  # what cloud-init loads at the next boot
    vm.packet_filter = PacketFilter(tmp_path / "f.nft", kernel.run).keep
    vm.power_cut("boot-2")
    vm.settle(passes=1)
    assert kernel.table == LATER


@pytest.mark.parametrize(
    "wrong",
    ["", "table inet kedge {\n}\n", f'{BORN}include "/etc/shadow"\n', BORN + "define x = $y\n"],
    ids=["nothing", "no flush", "include", "variable"],
)
def test_rules_that_are_not_of_our_shape_are_refused(wrong: str) -> None:
    wanted = document(broker()).model_copy(update={"packet_filter": wrong})
    verdict = judge_document(wanted.model_dump_json().encode(), boot=boot_data(), current=None)
    assert isinstance(verdict, DocumentRejected)
    assert "the packet filter is not a ruleset" in verdict.reason


def test_rules_of_ours_are_accepted() -> None:
    wanted = document(broker()).model_copy(update={"packet_filter": LATER})
    assert isinstance(judge_document(wanted.model_dump_json().encode(), boot=boot_data(), current=None), Accepted)
