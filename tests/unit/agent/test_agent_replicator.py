"""The replicator in an agent's loop: whose word counts, when it stops, what a server is told, and what waits for it."""

from pathlib import Path

from agent.steps import Leaving
from agent.wire import Document, DoorReport, ReplicatorDocument, ReplicatorReport
from tests.unit.agent.loop_vm import FakeClock, FakeProcess, Vm
from tests.unit.agent.replicator_vm import wanted
from tests.unit.agent.wanted import broker, document


class FakeReplicator:
    """What was asked of it, and what it says; it lives until a test ends it."""

    def __init__(self) -> None:
        self.asked: list[tuple[ReplicatorDocument | None, bool, Leaving]] = []
        self.brokers_signals: list[int] = []
        self.broker: FakeProcess | None = None
        self.is_alive, self.state, self.message = True, "running", ""

    def follow(
        self, wanted: ReplicatorDocument | None, *, is_confirmed: bool, leaving: Leaving
    ) -> ReplicatorReport | None:
        self.asked.append((wanted, is_confirmed, leaving))
        self.brokers_signals.append(len(self.broker.signals) if self.broker else 0)
        if wanted is None:
            return None
        pid, since = 500 if self.is_alive else 0, FakeClock().now()
        return ReplicatorReport(
            state=self.state,
            start_id=wanted.start_id,
            pid=pid,
            since=since,
            message=self.message,
        )


def copying(replicator: ReplicatorDocument | None = None) -> Document:
    return document(broker()).model_copy(update={"replicator": replicator or wanted()})


def test_the_replicator_hears_whether_the_server_confirmed_its_document(tmp_path: Path) -> None:
    replicator = FakeReplicator()
    vm = Vm(tmp_path, replicator=replicator)
    vm.serve(copying(), "e1")
    vm.settle()
    assert replicator.asked[-1] == (wanted(), False, "")
    vm.inbox.put_confirmed("e1")
    vm.settle()
    assert replicator.asked[-1] == (wanted(), True, "")
    vm.start_agent()
    vm.inbox.put_confirmed("")
    vm.settle()
    assert replicator.asked[-1] == (wanted(), False, ""), "another agent has heard nobody yet"


def test_a_document_without_the_part_asks_for_nothing_and_nothing_is_reported(tmp_path: Path) -> None:
    replicator = FakeReplicator()
    vm = Vm(tmp_path, replicator=replicator)
    vm.serve(document(broker()), "e1")
    vm.settle()
    assert replicator.asked[-1] == (None, False, "")
    assert vm.reports[-1].replicator is None


def test_a_change_of_the_replicator_is_told_at_once(tmp_path: Path) -> None:
    replicator = FakeReplicator()
    vm = Vm(tmp_path, replicator=replicator)
    vm.serve(copying())
    vm.settle()
    before = len(vm.reports)
    replicator.state, replicator.message = "failed", "exited unexpectedly with code 1"
    vm.settle(1)
    assert len(vm.reports) == before + 1
    assert vm.reports[-1].replicator is not None
    assert (vm.reports[-1].replicator.state, vm.reports[-1].replicator.pid) == ("failed", 500)
    assert vm.reports[-1].digest != vm.reports[-2].digest, "and sent at once"


def test_a_retired_vm_copies_nothing(tmp_path: Path) -> None:
    replicator = FakeReplicator()
    vm = Vm(tmp_path, replicator=replicator)
    vm.serve(copying())
    vm.settle()
    vm.inbox.put_retired()
    vm.settle()
    assert replicator.asked[-1] == (wanted(), False, "retired")


def test_at_a_shut_down_it_is_stopped_no_later_than_the_broker_and_waited_for(tmp_path: Path) -> None:
    replicator = FakeReplicator()
    vm = Vm(tmp_path, replicator=replicator)
    vm.serve(copying())
    vm.settle()
    replicator.broker = vm.kafka.process
    assert not vm.converger.is_down
    vm.converger.shutting_down = True
    vm.settle(3)
    first = next(n for n, (_, _, leaving) in enumerate(replicator.asked) if leaving == "shutting down")
    assert replicator.brokers_signals[first] == 0, "it heard before the broker did"
    assert replicator.broker is not None
    assert replicator.broker.signals == ["TERM"], "a replicator that does not end delays no broker"
    assert not vm.converger.is_down
    replicator.is_alive = False
    assert vm.converger.is_down


def test_a_replicator_that_stops_is_looked_at_often(tmp_path: Path) -> None:
    replicator = FakeReplicator()
    vm = Vm(tmp_path, replicator=replicator)
    vm.serve(copying())
    vm.settle()
    assert vm.converger.tick() == 1.0
    replicator.state = "stopping"
    assert vm.converger.tick() == 0.2


def test_nothing_is_copied_to_a_cluster_that_lets_clients_in_whatever_the_document_says(tmp_path: Path) -> None:
    """It may be of a server on a backup, which knows less of the pair than the VM's door does."""
    replicator = FakeReplicator()
    opened = DoorReport(pair="p1", state="open", epoch=5, in_force=True)
    vm = Vm(tmp_path, replicator=replicator, door=lambda order, is_confirmed: opened)
    vm.serve(copying(), "e1")
    vm.inbox.put_confirmed("e1")
    vm.settle()
    said, is_confirmed, _ = replicator.asked[-1]
    assert said is not None
    assert (said.state, said.start_id, is_confirmed) == ("stopped", wanted().start_id, True)


def test_nothing_begins_to_copy_behind_a_door_that_is_not_in_force(tmp_path: Path) -> None:
    replicator = FakeReplicator()
    ajar = DoorReport(pair="p1", state="shut", epoch=5, in_force=False, problem="no nft")
    vm = Vm(tmp_path, replicator=replicator, door=lambda order, is_confirmed: ajar)
    vm.serve(copying(), "e1")
    vm.inbox.put_confirmed("e1")
    vm.settle()
    assert replicator.asked[-1] == (wanted(), False, "")
