"""A broker and a ZooKeeper server on one VM: who starts and stops first, and that neither takes the other with it."""

from dataclasses import replace

import pytest

from agent.steps import (
    AwaitExit,
    Fail,
    FormatDisk,
    HoldOff,
    Keep,
    LocalState,
    NoteExit,
    RecordEnd,
    ServiceFacts,
    Start,
    Step,
    StorageFacts,
    Terminate,
    WaitForOthers,
    plan_steps,
)
from agent.wire import ServiceDocument
from tests.unit.agent.test_agent_steps import launched
from tests.unit.agent.wanted import document, old_broker, server

AFTER = WaitForOthers("broker", "starts after the ZooKeeper server of this VM")
KEPT = Keep("zookeeper", "stops after the broker")
UP = ServiceFacts(running="z-1")


def member(start_id: str = "z-1", **changes: object) -> ServiceDocument:
    """The server, on the broker's address and volume."""
    beside = {"address": "10.0.0.9", "log_dirs": old_broker().log_dirs}
    return server(start_id, **{**beside, **changes})


def vm(broker: ServiceFacts, zookeeper: ServiceFacts, **changes: object) -> LocalState:
    state = LocalState(
        now_s=100.0,
        boot_id="boot-1",
        services={"broker": broker, "zookeeper": zookeeper},
        attached={"data": "brokers-a-0.data.v1"},
        addresses=frozenset({"10.0.0.9"}),
    )
    return replace(state, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("zookeeper", "expected"),
    [
        (ServiceFacts(storage=StorageFacts("blank")), (AFTER, FormatDisk("zookeeper"))),
        (ServiceFacts(), (AFTER, Start("zookeeper"))),
        (ServiceFacts(record=launched("z-1")), (AFTER, NoteExit("zookeeper"))),
        (ServiceFacts(record=launched("z-0")), (AFTER, RecordEnd("zookeeper", ("z-0",)))),
        (ServiceFacts(running="z-0"), (AFTER, Terminate("zookeeper"))),
        (ServiceFacts(running="z-1", unready_since_s=71.0), (AFTER, Keep("zookeeper"))),
    ],
    ids=["blank", "not started", "died", "old start", "is to restart", "booting"],
)
def test_a_broker_starts_after_the_server_beside_it(zookeeper: ServiceFacts, expected: tuple[Step, ...]) -> None:
    assert plan_steps(document(old_broker(), member()), vm(ServiceFacts(), zookeeper)) == expected


@pytest.mark.parametrize(
    "zookeeper",
    [
        UP,
        ServiceFacts(running="z-1", unready_since_s=70.0),
        ServiceFacts(hold=HoldOff(200.0, "died")),
        ServiceFacts(storage=StorageFacts("refused", "foreign")),
    ],
    ids=["serves", "without a majority for 30 s", "in its back-off", "cannot start"],
)
def test_a_broker_does_not_wait_for_a_server_that_serves_or_cannot(zookeeper: ServiceFacts) -> None:
    broker, _ = plan_steps(document(old_broker(), member()), vm(ServiceFacts(), zookeeper))
    assert broker == Start("broker")


def test_a_broker_starts_where_the_server_beside_it_has_left_the_ensemble() -> None:
    gone = ServiceFacts(running="z-1")
    steps = plan_steps(document(old_broker(), member(state="stopped")), vm(ServiceFacts(), gone))
    assert steps == (Start("broker"), Terminate("zookeeper"))


def test_a_broker_is_formatted_while_its_server_boots() -> None:
    blank = ServiceFacts(storage=StorageFacts("blank"))
    steps = plan_steps(document(old_broker(), member()), vm(blank, ServiceFacts()))
    assert steps == (FormatDisk("broker"), Start("zookeeper"))


def test_both_stop_in_the_order_broker_then_server() -> None:
    wanted = document(old_broker(state="stopped"), member(state="stopped"))
    running, stopping = ServiceFacts(running="s-1"), ServiceFacts(running="s-1", stop_asked_s=99.0)
    assert plan_steps(wanted, vm(running, UP)) == (Terminate("broker"), KEPT)
    assert plan_steps(wanted, vm(stopping, UP)) == (AwaitExit("broker"), KEPT)
    assert plan_steps(wanted, vm(ServiceFacts(), UP)) == (RecordEnd("broker", ("s-1",)), Terminate("zookeeper"))


def test_a_retired_vm_stops_both_in_the_same_order() -> None:
    wanted = document(old_broker(), member())
    assert plan_steps(wanted, vm(ServiceFacts(running="s-1"), UP, retired=True)) == (Terminate("broker"), KEPT)


def test_a_restart_of_one_leaves_the_other_alone() -> None:
    both = vm(ServiceFacts(running="s-1"), UP)
    assert plan_steps(document(old_broker("s-2"), member()), both) == (Terminate("broker"), Keep("zookeeper"))
    assert plan_steps(document(old_broker(), member("z-2")), both) == (Keep("broker"), Terminate("zookeeper"))


def test_a_restart_of_both_has_the_broker_stop_first_and_start_last() -> None:
    wanted = document(old_broker("s-2"), member("z-2"))
    assert plan_steps(wanted, vm(ServiceFacts(running="s-1"), UP)) == (Terminate("broker"), KEPT)
    over = ServiceFacts(record=launched("s-2", boot_id="boot-0"))
    assert plan_steps(wanted, vm(over, UP)) == (AFTER, Terminate("zookeeper"))


def test_one_that_dies_does_not_take_the_other_with_it() -> None:
    wanted = document(old_broker(), member())
    died = ServiceFacts(record=launched("z-1"))
    assert plan_steps(wanted, vm(ServiceFacts(running="s-1"), died)) == (Keep("broker"), NoteExit("zookeeper"))
    died = ServiceFacts(record=launched("s-1"))
    assert plan_steps(wanted, vm(died, UP)) == (NoteExit("broker"), Keep("zookeeper"))
    broken = ServiceFacts(storage=StorageFacts("refused", "its disk is gone"))
    assert plan_steps(wanted, vm(ServiceFacts(running="s-1"), broken))[1] == Fail("zookeeper", "its disk is gone")
