"""The door in an agent's loop: whose word counts, what waits for it, and what a server is told."""

from pathlib import Path

import pytest

from agent.documents import DocumentRejected, judge_document
from agent.wire import Document, DoorDocument, DoorReport
from agent.wire_versions import OVERLAY_WIRE_VERSION
from tests.unit.agent.loop_vm import Vm
from tests.unit.agent.wanted import boot_data, broker, document


class FakeDoor:
    """What was asked of it, and what it says."""

    def __init__(self) -> None:
        self.in_force, self.problem = True, ""
        self.asked: list[tuple[DoorDocument | None, bool]] = []

    def follow(self, told: DoorDocument | None, is_confirmed: bool) -> DoorReport | None:
        self.asked.append((told, is_confirmed))
        if told is None:
            return None
        state = told.state if is_confirmed else "shut"
        return DoorReport(pair=told.pair, state=state, epoch=told.epoch, in_force=self.in_force, problem=self.problem)


def ordered(state: str = "open", epoch: int = 3) -> DoorDocument:
    return DoorDocument(pair="p1", state=state, epoch=epoch, ports=(9092,), members=("10.0.0.0/24",))


def with_door(door: DoorDocument | None, epoch: int = 1) -> Document:
    wanted = document(broker()).model_copy(update={"epoch": epoch})
    return wanted.model_copy(update={"wire": OVERLAY_WIRE_VERSION, "door": door}) if door is not None else wanted


def test_the_servers_word_alone_opens_a_door(tmp_path: Path) -> None:
    """A document that came, and one that is kept from before, count once the server says that this is the one."""
    door = FakeDoor()
    vm = Vm(tmp_path, door=door.follow)
    vm.serve(with_door(ordered()), "e1")
    vm.settle()
    assert door.asked[-1] == (ordered(), False)
    vm.inbox.put_confirmed("e1")
    vm.settle()
    assert door.asked[-1] == (ordered(), True)
    assert vm.reports[-1].door == DoorReport(pair="p1", state="open", epoch=3, in_force=True)

    vm.start_agent()
    vm.inbox.put_confirmed("")
    vm.settle()
    assert door.asked[-1] == (ordered(), False), "another agent has heard nobody yet"
    vm.inbox.put_confirmed("e1")
    vm.settle()
    assert door.asked[-1] == (ordered(), True)


def test_a_document_that_is_refused_confirms_none_before_it(tmp_path: Path) -> None:
    """A leader of before still talks: its document is refused, and that it says so again is no word for the other."""
    door = FakeDoor()
    vm = Vm(tmp_path, door=door.follow)
    vm.serve(with_door(ordered("shut", 4), epoch=5), "e1")
    vm.inbox.put_confirmed("e1")
    vm.settle()
    vm.serve(with_door(ordered(), epoch=4), "old")
    vm.inbox.put_confirmed("old")
    vm.settle()
    assert door.asked[-1] == (ordered("shut", 4), False)


def test_no_broker_starts_before_the_door_that_keeps_clients_out_is_in_force(tmp_path: Path) -> None:
    door = FakeDoor()
    door.in_force, door.problem = False, "nft is not on this VM"
    vm = Vm(tmp_path, door=door.follow)
    vm.serve(with_door(ordered("shut")))
    said = vm.settle()
    assert (said.state, vm.kafka.launches) == ("waiting", [])
    assert said.message == "waiting for the door, which is not in force: nft is not on this VM"
    door.in_force = True
    assert vm.settle().state == "running"
    door.in_force = False
    assert vm.settle().state == "running", "what runs is left alone"


def test_a_primarys_broker_starts_where_its_vm_could_not_be_shut(tmp_path: Path) -> None:
    door = FakeDoor()
    door.in_force, door.problem = False, "nft is not on this VM"
    vm = Vm(tmp_path, door=door.follow)
    vm.serve(with_door(ordered("open")), "e1")
    assert vm.settle().state == "waiting", "nobody has said since its boot that it is the primary's"
    vm.inbox.put_confirmed("e1")
    assert vm.settle().state == "running"
    assert vm.reports[-1].door is not None
    assert vm.reports[-1].door.problem == "nft is not on this VM"


def test_a_change_of_the_door_is_told_at_once(tmp_path: Path) -> None:
    door = FakeDoor()
    vm = Vm(tmp_path, door=door.follow)
    vm.serve(with_door(ordered()))
    vm.settle()
    before = len(vm.reports)
    door.problem = "an order of epoch 2 came after one of 3; it is not followed"
    vm.settle(1)
    assert len(vm.reports) == before + 1


@pytest.mark.parametrize(
    "wrong",
    [{"ports": ()}, {"ports": (0,)}, {"members": ()}, {"members": ("here",)}, {"members": ("10.0.0.1/8",)}],
)
def test_a_door_that_would_part_a_cluster_is_refused_whole(wrong: dict[str, object]) -> None:
    raw = with_door(ordered().model_copy(update=wrong)).model_dump_json().encode()
    verdict = judge_document(raw, boot=boot_data(), current=None)
    assert isinstance(verdict, DocumentRejected)
    assert "the door" in verdict.reason
