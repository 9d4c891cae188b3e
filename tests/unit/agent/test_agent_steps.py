"""The agent's decisions as a table: what is wanted, what is there, the one step that follows."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from agent.records import End, Launch, ServiceRecord
from agent.steps import (
    AwaitExit,
    Fail,
    FormatDisk,
    HoldOff,
    Keep,
    Kill,
    LocalState,
    NoteExit,
    RecordEnd,
    Rest,
    ServiceFacts,
    Start,
    Step,
    StorageFacts,
    Terminate,
    WaitForOthers,
    plan_steps,
)
from agent.wire import ServiceDocument
from tests.unit.agent.wanted import broker, controller, document

AT = datetime(2026, 1, 1, tzinfo=UTC)
BLANK = StorageFacts("blank")


def launched(start_id: str = "s-1", boot_id: str = "boot-1", number: int = 1) -> ServiceRecord:
    return ServiceRecord(launch=Launch(number, start_id, boot_id, "4.1.1", AT))


def ended(*start_ids: str, record: ServiceRecord | None = None) -> ServiceRecord:
    return replace(record or ServiceRecord(), ended=tuple(End(i, 143, AT) for i in start_ids))


def local(facts: ServiceFacts, **changes: object) -> LocalState:
    state = LocalState(
        now_s=100.0,
        boot_id="boot-1",
        services={"broker": facts},
        attached={"data": "brokers-a-0.data.v1"},
        addresses=frozenset({"10.0.0.9"}),
    )
    return replace(state, **changes)  # type: ignore[arg-type]


def step(wanted: ServiceDocument | None, facts: ServiceFacts, **changes: object) -> Step:
    (only,) = plan_steps(document(wanted) if wanted else None, local(facts, **changes))
    return only


STOPPED = broker(state="stopped")

TABLE: dict[str, tuple[ServiceDocument | None, ServiceFacts, type[Step] | Step]] = {
    # a start
    "fresh volume": (broker(), ServiceFacts(storage=BLANK), FormatDisk("broker")),
    "formatted volume": (broker(), ServiceFacts(), Start("broker")),
    "a foreign volume": (broker(), ServiceFacts(storage=StorageFacts("refused", "foreign")), Fail("broker", "foreign")),
    "the version is not there": (broker(), ServiceFacts(is_installed=False), Fail),
    "after a reboot": (broker(), ServiceFacts(record=launched(boot_id="boot-0")), Start("broker")),
    "in its back-off": (broker(), ServiceFacts(hold=HoldOff(101.0, "died")), Fail("broker", "died")),
    "back-off over": (broker(), ServiceFacts(hold=HoldOff(100.0, "died")), Start("broker")),
    "exit not noted": (broker(), ServiceFacts(record=launched()), NoteExit("broker")),
    "exit noted": (broker(), ServiceFacts(record=replace(launched(), noted_exit=1)), Start("broker")),
    "second exit": (broker(), ServiceFacts(record=replace(launched(number=2), noted_exit=1)), NoteExit("broker")),
    "that start is over": (broker(), ServiceFacts(record=ended("s-1", record=launched())), Rest),
    # a running process
    "as wanted": (broker(), ServiceFacts(running="s-1"), Keep("broker")),
    "adopted without a record": (broker(), ServiceFacts(running="s-1", record=ServiceRecord()), Keep("broker")),
    "other start wanted": (broker("s-2"), ServiceFacts(running="s-1"), Terminate("broker")),
    "restart under way": (broker("s-2"), ServiceFacts(running="s-1", stop_asked_s=99.0), AwaitExit("broker")),
    "old start gone": (broker("s-2"), ServiceFacts(record=launched()), RecordEnd("broker", ("s-1",))),
    "old start recorded": (broker("s-2"), ServiceFacts(record=ended("s-1", record=launched())), Start("broker")),
    "an ended start wanted while a later one runs": (
        broker("s-1"),
        ServiceFacts(running="s-2", record=ended("s-1", record=launched("s-2"))),
        Keep,
    ),
    # a stop
    "to be stopped": (STOPPED, ServiceFacts(running="s-1", record=launched()), Terminate("broker")),
    "stopping": (STOPPED, ServiceFacts(running="s-1", stop_asked_s=40.1), AwaitExit("broker")),
    "stop overdue": (STOPPED, ServiceFacts(running="s-1", stop_asked_s=40.0), Kill("broker")),
    "gone, not recorded": (STOPPED, ServiceFacts(record=launched()), RecordEnd("broker", ("s-1",))),
    "gone, recorded": (STOPPED, ServiceFacts(record=ended("s-1", record=launched())), Rest("broker")),
    "never ran": (STOPPED, ServiceFacts(), RecordEnd("broker", ("s-1",))),
    "stopped under another id": (
        broker("s-2", state="stopped"),
        ServiceFacts(record=launched("s-1")),
        RecordEnd("broker", ("s-2", "s-1")),
    ),
    # records damaged: nothing on a guess
    "unreadable, down": (broker(), ServiceFacts(unreadable="damaged"), Fail("broker", "damaged")),
    "unreadable, running": (broker(), ServiceFacts(unreadable="damaged", running="s-1"), Keep("broker", "damaged")),
    "unreadable, to stop": (STOPPED, ServiceFacts(unreadable="damaged", running="s-1"), Fail("broker", "damaged")),
    # no document
    "nothing known, running": (None, ServiceFacts(running="s-1"), Keep),
    "nothing known, down": (None, ServiceFacts(), Rest),
}


@pytest.mark.parametrize("case", TABLE)
def test_the_step_that_follows(case: str) -> None:
    wanted, facts, expected = TABLE[case]
    found = step(wanted, facts)
    if isinstance(expected, type):
        assert isinstance(found, expected), found
    else:
        assert found == expected


def test_a_service_that_the_document_forgets_is_not_stopped() -> None:
    facts = {"broker": ServiceFacts(running="s-1"), "controller": ServiceFacts(running="c-1")}
    steps = plan_steps(document(controller()), local(ServiceFacts(), services=facts))
    assert steps == (Keep("broker", "not in the document; left running"), Keep("controller"))


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"attached": {}}, "volume brokers-a-0.data.v1 to be attached as `data`"),
        ({"attached": {"data": "brokers-a-9.data.v1"}}, "`data` holds brokers-a-9.data.v1"),
        ({"addresses": frozenset()}, "address 10.0.0.9"),
    ],
)
def test_a_start_waits_for_what_others_bring(changes: dict[str, object], what: str) -> None:
    found = step(broker(), ServiceFacts(storage=StorageFacts("refused", "not attached")), **changes)
    assert isinstance(found, WaitForOthers)
    assert what in found.reason


def test_a_running_service_is_kept_when_its_volume_seems_gone() -> None:
    assert step(broker(), ServiceFacts(running="s-1"), attached={}, addresses=frozenset()) == Keep("broker")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (ServiceFacts(running="s-1"), Terminate("broker")),
        (ServiceFacts(record=launched()), RecordEnd("broker", ("s-1",))),
        (ServiceFacts(record=ended("s-1", record=launched())), Rest("broker", "this instance is retired")),
    ],
)
def test_a_retired_instance_goes_down_for_good_whatever_its_document_says(facts: ServiceFacts, expected: Step) -> None:
    assert step(broker(), facts, retired=True) == expected


def test_a_shut_down_stops_brokers_before_controllers_and_records_nothing() -> None:
    both = {"broker": ServiceFacts(running="s-1"), "controller": ServiceFacts(running="c-1")}
    wanted = document(broker(), controller())
    steps = plan_steps(wanted, local(ServiceFacts(), services=both, shutting_down=True))
    assert steps == (Terminate("broker"), Keep("controller", "stops after the broker"))
    one = {"broker": ServiceFacts(record=launched()), "controller": ServiceFacts(running="c-1")}
    steps = plan_steps(wanted, local(ServiceFacts(), services=one, shutting_down=True))
    assert steps == (Rest("broker", "the VM is shutting down"), Terminate("controller"))


def test_every_launch_of_one_start_counts_as_one_exit() -> None:
    record = ServiceRecord().launched(broker("s-1"), boot_id="b", at=AT)
    assert record.launch is not None
    once = record.crashed(after_long_run=False)
    twice = once.launched(broker("s-1"), boot_id="b", at=AT).crashed(after_long_run=False)
    assert (twice.exits_in_a_row, twice.unexpected_exits, twice.noted_exit) == (2, 2, 2)
    assert twice.crashed(after_long_run=True).exits_in_a_row == 1
    other = twice.launched(controller("s-2"), boot_id="b", at=AT)
    assert (other.exits_in_a_row, other.unexpected_exits) == (0, 2)
    assert set(other.used_directories) == {d.directory_id for d in (*broker().log_dirs, *controller().log_dirs)}
