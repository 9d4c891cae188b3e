"""The converger with a fake Kafka: what it starts, stops, persists and says, pass by pass, on a clock of our own."""

from pathlib import Path

import pytest

from agent.inbox import Inbox
from agent.metrics_duty import MeasuredBroker
from agent.probes import ProbeResult
from agent.services.storage import FormatFailed
from agent.wire import MetricsTopic
from tests.unit.agent.loop_vm import Vm
from tests.unit.agent.wanted import broker, document


@pytest.fixture
def vm(tmp_path: Path) -> Vm:
    return Vm(tmp_path)


def test_a_broker_is_formatted_started_and_reported_on(vm: Vm) -> None:
    vm.serve(document(broker()))
    said = vm.settle()
    assert vm.states() == ["formatting", "starting", "running"]
    assert (said.state, said.start_id, said.pid, said.metrics) == (
        "running",
        "s-1",
        100,
        {"leaders": 2, "unexpected_exits": 0},
    )
    report = vm.reports[-1]
    assert (report.epoch, report.attachments, report.addresses) == (7, ("brokers-a-0.data.v1",), ("10.0.0.9",))
    assert said.log_dirs[0].partitions == 3


def test_formatting_is_said_before_it_is_done(vm: Vm) -> None:
    vm.serve(document(broker()))
    vm.converger.tick()
    assert [report.services[0].state for report in vm.reports] == ["formatting"]


def test_a_broker_that_does_not_answer_yet_is_starting(vm: Vm) -> None:
    vm.kafka.health = ProbeResult("down", "no listener yet")
    vm.serve(document(broker()))
    said = vm.settle()
    assert (said.state, said.message) == ("starting", "no listener yet")


def test_levels_of_loggers_reach_a_process_that_runs_and_what_keeps_them_from_it_is_said(vm: Vm) -> None:
    vm.serve(document(broker()))
    vm.settle()
    assert vm.kafka.levels[-1] == {}
    vm.serve(document(broker(log_levels={"kafka.log": "DEBUG"}), epoch=8), etag="e2")
    said = vm.settle()
    assert (vm.kafka.levels[-1], said.start_id, len(vm.kafka.launches)) == ({"kafka.log": "DEBUG"}, "s-1", 1)
    vm.kafka.follow_error = OSError("no space left")
    vm.settle()
    assert vm.reports[-1].message == "broker: how it logs cannot be written: no space left"
    vm.kafka.follow_error = None
    vm.settle()
    assert vm.reports[-1].message == ""


def test_a_process_that_was_up_and_takes_no_connection_any_more_hangs_and_one_that_starts_does_not(vm: Vm) -> None:
    """A process that stands still (SIGSTOP) takes connections until its backlog is full: some 100 s of probes."""
    vm.kafka.health = ProbeResult("down", "no listener yet")
    vm.serve(document(broker()))
    starting = vm.settle()
    assert (starting.state, starting.hangs) == ("starting", False)
    vm.kafka.health = ProbeResult("up")
    assert (vm.settle().state, vm.said.hangs) == ("running", False)
    vm.kafka.health = ProbeResult("down", "does not accept connections yet")
    assert (vm.settle().state, vm.said.hangs) == ("starting", True)
    vm.kafka.health = ProbeResult("up")
    assert (vm.settle().state, vm.said.hangs) == ("running", False)


def test_a_silent_metrics_port_does_not_unmake_a_running_broker(vm: Vm) -> None:
    vm.kafka.health = ProbeResult("unknown", "silent")
    vm.serve(document(broker()))
    assert vm.settle().state == "starting", "it was never seen up"
    vm.kafka.health = ProbeResult("up")
    assert vm.settle().state == "running"
    vm.kafka.health = ProbeResult("unknown", "silent")
    said = vm.settle()
    assert (said.state, said.message) == ("running", "silent")


def test_a_broker_is_measured_while_it_is_up_and_the_document_says_where_to(vm: Vm) -> None:
    topic = MetricsTopic(name="m", replication=1)
    told = document(broker()).model_copy(update={"metrics": topic})
    measured = []
    vm.kafka.health = ProbeResult("down", "no listener yet")
    vm.serve(told)
    vm.settle()
    measured.append(vm.converger.measured)
    vm.kafka.health = ProbeResult("up")
    vm.settle()
    measured.append(vm.converger.measured)
    vm.serve(document(broker()), etag="e-2")
    vm.settle()
    measured.append(vm.converger.measured)
    assert measured == [None, MeasuredBroker(broker(), told.cluster_uid, told.node, topic), None]
    assert vm.kafka.process is not None, "a change of where metrics go restarts nothing"
    assert vm.said.pid == 100


def test_what_is_wrong_inside_a_running_broker_is_reported_with_the_time_it_began(vm: Vm) -> None:
    vm.serve(document(broker()))
    assert vm.settle(20).findings == ()
    vm.kafka.offline_log_dirs = 1
    first = vm.settle(20).findings
    assert [(f.name, f.numbers) for f in first] == [("log_dir_failed", {"log_dirs": 1.0})]
    assert vm.settle(40).findings[0].since == first[0].since
    assert vm.said.log_lines == {"errors": 4}
    vm.kafka.offline_log_dirs = 0
    assert vm.settle(20).findings == ()


def test_nothing_is_found_in_a_broker_that_does_not_run(vm: Vm) -> None:
    vm.kafka.offline_log_dirs = 1
    vm.serve(document(broker()))
    assert vm.settle(20).findings
    vm.serve(document(broker(state="stopped")), "e2")
    said = vm.settle(20)
    assert (said.state, said.findings, said.log_lines) == ("stopped", (), {})


def test_the_document_is_on_disk_before_it_is_acted_on_and_used_after_a_reboot(vm: Vm) -> None:
    vm.serve(document(broker()), etag="e-5")
    vm.settle()
    vm.power_cut("boot-2")
    assert vm.converger.etag == "e-5"
    assert vm.settle().state == "running", "nobody served a document since"
    assert [p.start_id for p in vm.kafka.launches] == ["s-1", "s-1"]
    assert vm.said.metrics["unexpected_exits"] == 0, "a reboot is not a crash"


def test_a_stop_is_on_disk_before_it_is_reported(vm: Vm) -> None:
    vm.serve(document(broker()))
    vm.settle()
    vm.serve(document(broker(state="stopped")))
    said = vm.settle()
    assert vm.on_disk_when_said["stopping"] is False
    assert vm.on_disk_when_said["stopped"] is True
    assert (said.state, said.exit_code, said.pid) == ("stopped", 143, 0)
    assert vm.states()[-2:] == ["stopping", "stopped"]


def test_a_stopped_start_never_runs_again_whatever_happens(vm: Vm) -> None:
    vm.serve(document(broker()))
    vm.settle()
    vm.serve(document(broker(state="stopped")))
    vm.settle()
    vm.serve(document(broker()))
    assert vm.settle().state == "stopped"
    vm.start_agent()
    assert vm.settle().state == "stopped"
    vm.power_cut("boot-2")
    said = vm.settle()
    assert said.state == "stopped"
    assert "new start_id" in said.message
    assert len(vm.kafka.launches) == 1
    vm.serve(document(broker("s-2")))
    assert vm.settle().state == "running"


def test_a_stop_that_is_cut_by_a_power_cut_is_finished_after_it(vm: Vm) -> None:
    vm.serve(document(broker()))
    vm.settle()
    assert vm.kafka.process is not None
    vm.kafka.process.obeys = False
    vm.serve(document(broker(state="stopped")))
    assert vm.settle().state == "stopping"
    vm.power_cut("boot-2")
    said = vm.settle()
    assert (said.state, said.exit_code) == ("stopped", None)
    assert len(vm.kafka.launches) == 1


def test_a_broker_that_ignores_sigterm_is_killed_after_the_deadline(vm: Vm) -> None:
    vm.serve(document(broker()))
    vm.settle()
    process = vm.kafka.process
    assert process is not None
    process.obeys = False
    vm.serve(document(broker(state="stopped")))
    vm.settle(passes=55)
    assert process.signals == ["TERM"]
    said = vm.settle(passes=10)
    assert process.signals == ["TERM", "KILL"]
    assert (said.state, said.exit_code) == ("stopped", 137)


def test_a_new_start_id_restarts_in_order(vm: Vm) -> None:
    vm.serve(document(broker()))
    vm.settle()
    vm.serve(document(broker("s-2")))
    said = vm.settle()
    assert (said.state, said.start_id) == ("running", "s-2")
    assert vm.kafka.launches[0].signals == ["TERM"]
    assert vm.records.service("broker").end_of("s-1") is not None


def test_the_version_reported_is_the_one_that_runs(vm: Vm) -> None:
    vm.serve(document(broker()))
    vm.settle()
    assert vm.kafka.process is not None
    vm.kafka.process.obeys = False
    vm.serve(document(broker("s-2", kafka_version="4.2.0")))
    said = vm.settle()
    assert (said.state, said.start_id, said.kafka_version) == ("stopping", "s-1", "4.1.1")


def test_a_new_epoch_restarts_nothing(vm: Vm) -> None:
    vm.serve(document(broker(), epoch=7))
    vm.settle()
    vm.serve(document(broker(), epoch=8))
    vm.settle()
    assert len(vm.kafka.launches) == 1
    assert vm.reports[-1].epoch == 8
    kept = vm.records.document()
    assert kept is not None
    assert kept.document.epoch == 8


def test_an_old_leader_is_refused_also_after_a_restart_of_the_agent(vm: Vm) -> None:
    vm.serve(document(broker(), epoch=8))
    vm.settle()
    vm.start_agent()
    vm.serve(document(broker(state="stopped"), epoch=7))
    assert vm.settle().state == "running"
    assert "document of epoch 7 refused" in vm.reports[-1].message
    vm.serve(document(broker(), epoch=9))
    vm.settle()
    assert vm.reports[-1].message == ""


def test_a_crash_is_failed_then_started_again_ever_later(vm: Vm) -> None:
    vm.serve(document(broker()))
    vm.settle()
    pauses = []
    for _ in range(4):
        assert vm.kafka.process is not None
        vm.kafka.process.exit_code = 1
        before, crashed_s = len(vm.kafka.launches), vm.clock.s
        vm.settle(passes=1)
        assert vm.said.state == "failed"
        assert vm.said.exit_code == 1
        assert "exited unexpectedly with code 1" in vm.said.message
        while len(vm.kafka.launches) == before:
            vm.settle(passes=1)
        pauses.append(vm.clock.s - crashed_s - 1)
    assert pauses == [1, 2, 4, 8]
    assert vm.settle().metrics["unexpected_exits"] == 4
    assert {p.start_id for p in vm.kafka.launches} == {"s-1"}


def test_a_crash_while_no_agent_lived_is_counted(vm: Vm) -> None:
    vm.serve(document(broker()))
    vm.settle()
    vm.kafka.process = None
    vm.start_agent()
    assert vm.settle().state == "running"
    assert vm.said.metrics["unexpected_exits"] == 1


def test_a_failed_format_is_said_and_tried_again(vm: Vm) -> None:
    vm.kafka.format_error = FormatFailed("disk full")
    vm.serve(document(broker()))
    said = vm.settle(passes=2)
    assert said.state == "failed"
    assert "disk full" in said.message
    vm.kafka.format_error = None
    assert vm.settle(passes=8).state == "running"


def test_java_that_cannot_be_run_is_said_and_tried_again(vm: Vm) -> None:
    vm.kafka.start_error = FileNotFoundError("no java")
    vm.serve(document(broker()))
    said = vm.settle(passes=2)
    assert said.state == "failed"
    assert "no java" in said.message
    vm.kafka.start_error = None
    assert vm.settle().state == "running"


def test_a_missing_version_is_failed_until_it_is_there(vm: Vm) -> None:
    vm.serve(document(broker(kafka_version="9.9.9")))
    said = vm.settle()
    assert (said.state, said.message) == ("failed", "Kafka 9.9.9 is not installed on this VM")


def test_a_damaged_record_starts_nothing(vm: Vm) -> None:
    (vm.layout.state / "records" / "broker.json").write_text("{")
    vm.serve(document(broker()))
    said = vm.settle()
    assert said.state == "failed"
    assert "cannot be read" in said.message
    assert vm.kafka.launches == []


def test_a_damaged_document_starts_nothing_and_leaves_what_runs(vm: Vm) -> None:
    vm.serve(document(broker()))
    vm.settle()
    (vm.layout.state / "records" / "document.json").write_text("{")
    vm.start_agent()
    assert vm.settle().pid == 100
    assert "cannot be read" in vm.reports[-1].message
    assert vm.kafka.launches[0].signals == []
    vm.serve(document(broker()))
    assert vm.settle().state == "running"
    assert len(vm.kafka.launches) == 1


def test_retired_is_for_ever(vm: Vm) -> None:
    vm.serve(document(broker()))
    vm.settle()
    vm.inbox.put_retired()
    assert vm.settle().state == "stopped"
    vm.inbox = Inbox()
    vm.power_cut("boot-2")
    vm.serve(document(broker("s-2"), epoch=99))
    said = vm.settle()
    assert (said.state, said.message) == ("stopped", "this instance is retired")
    assert len(vm.kafka.launches) == 1


def test_a_shut_down_stops_without_recording_a_stop(vm: Vm) -> None:
    vm.serve(document(broker()))
    vm.settle()
    vm.converger.shutting_down = True
    is_down = vm.converger.is_down
    assert not is_down
    assert vm.settle().state == "stopping"
    assert vm.converger.is_down
    vm.power_cut("boot-2")
    assert vm.settle().state == "running"


def test_an_unchanged_vm_reports_only_now_and_then(vm: Vm) -> None:
    vm.serve(document(broker()))
    vm.settle()
    before = len(vm.reports)
    vm.settle(passes=9)
    assert len(vm.reports) - before == 3
    assert [r.seq for r in vm.reports] == sorted({r.seq for r in vm.reports})


def test_a_volume_that_comes_later_ends_the_wait(vm: Vm) -> None:
    key = vm.layout.root / "volumes" / "data.key"
    key.unlink()
    vm.serve(document(broker()))
    assert vm.settle().state == "waiting"
    key.write_text("brokers-a-0.data.v1")
    assert vm.settle().state == "running"


def test_an_agent_without_a_document_says_so_by_an_empty_report(vm: Vm) -> None:
    vm.inbox.put_problem("the server cannot be reached")
    vm.converger.tick()
    assert vm.reports[-1].services == ()
    assert vm.reports[-1].message == "the server cannot be reached"
