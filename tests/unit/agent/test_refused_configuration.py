"""Case 3 of issue 27, on the VM: Kafka refuses a configuration, at its formatting or at its start, and says why."""

import sys
from pathlib import Path

import pytest

from agent.exit_reason import ExitReason
from agent.probes import ProbeResult
from agent.services.last_run import LastRun
from agent.services.storage import FormatFailed, run_storage_tool
from tests.unit.agent.loop_vm import Vm
from tests.unit.agent.test_exit_reason import BROKER_LOG, PORT_TAKEN, STORAGE_TOOL
from tests.unit.agent.wanted import broker, document

_RULE = ExitReason("replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms", True)


@pytest.fixture
def vm(tmp_path: Path) -> Vm:
    return Vm(tmp_path)


def _tool(tmp_path: Path, output: str) -> tuple[str, ...]:
    program = tmp_path / "tool.py"
    program.write_text(f"import sys\nsys.stderr.write({output!r})\nsys.exit(1)\n")
    return (sys.executable, str(program))


def test_the_storage_tools_first_line_is_told_and_not_the_end_of_its_stack(tmp_path: Path) -> None:
    long_stack = STORAGE_TOOL + "\tat kafka.tools.StorageTool.main(StorageTool.scala)\n" * 30
    with pytest.raises(FormatFailed, match="exit code 1") as told:
        run_storage_tool(_tool(tmp_path, long_stack), env={}, timeout_s=30)
    assert "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms" in str(told.value)
    assert "StorageTool.scala" not in str(told.value)
    assert told.value.refused.endswith("to prevent unnecessary socket timeouts")


def test_a_storage_tool_that_fails_for_something_else_refuses_no_configuration(tmp_path: Path) -> None:
    with pytest.raises(FormatFailed, match="No space left") as told:
        run_storage_tool(_tool(tmp_path, "java.io.IOException: No space left on device\n"), env={}, timeout_s=30)
    assert told.value.refused == ""


def test_a_format_that_kafka_refuses_is_reported_with_its_words_and_as_never_started(vm: Vm) -> None:
    vm.kafka.format_error = FormatFailed(f"exit code 1: {_RULE.words}", refused=_RULE.words)
    vm.serve(document(broker()))
    said = vm.settle()
    assert (said.state, said.refuses, said.started) == ("failed", _RULE.words, False)
    assert said.message.count(_RULE.words) == 1


def test_a_start_that_kafka_refuses_is_reported_while_the_next_try_comes_up_too(vm: Vm) -> None:
    vm.kafka.health, vm.kafka.reason = ProbeResult("down", "no listener yet"), _RULE
    vm.serve(document(broker()))
    vm.settle()
    told = []
    for _ in range(40):
        if vm.kafka.process is not None and vm.kafka.process.exit_code is None:
            vm.kafka.process.exit_code = 1
        vm.settle(1)
        told.append((vm.said.state, vm.said.refuses))
    assert {state for state, _ in told[2:]} == {"failed", "starting"}
    assert {words for _, words in told[2:]} == {_RULE.words}
    assert vm.said.started is True


def test_a_refusal_is_still_known_after_a_restart_of_the_agent(vm: Vm) -> None:
    vm.kafka.format_error = FormatFailed("no", refused=_RULE.words)
    vm.serve(document(broker()))
    vm.settle()
    vm.start_agent()
    before = len(vm.reports)
    vm.settle()
    since = [s.refuses for report in vm.reports[before:] for s in report.services]
    assert since
    assert set(since) == {_RULE.words}, "also while the next format is tried"


def test_another_start_with_settings_that_are_taken_ends_the_refusal(vm: Vm) -> None:
    vm.kafka.format_error = FormatFailed("no", refused=_RULE.words)
    vm.serve(document(broker()))
    vm.settle()
    vm.kafka.format_error = None
    vm.serve(document(broker("s-2")), "e-2")
    said = vm.settle()
    assert (said.state, said.refuses, said.start_id) == ("running", "", "s-2")


def test_an_exit_for_another_reason_is_told_with_it_and_is_no_refusal(vm: Vm) -> None:
    vm.kafka.reason = ExitReason("Address already in use")
    vm.serve(document(broker()))
    vm.settle()
    assert vm.kafka.process is not None
    vm.kafka.process.exit_code = 1
    said = vm.settle(1)
    assert said.message.startswith("exited unexpectedly with code 1: Address already in use (1 in a row)")
    assert said.refuses == ""


def test_a_damaged_record_claims_nothing_of_what_was_started(vm: Vm) -> None:
    vm.serve(document(broker()))
    vm.settle()
    (vm.layout.state / "records" / "broker.json").write_text("{")
    vm.kafka.process = None
    assert vm.settle().started is None


def test_what_a_log_says_of_an_earlier_start_is_not_the_reason_of_the_last(tmp_path: Path) -> None:
    log, output = tmp_path / "broker.log", tmp_path / "broker.out"
    log.write_text(BROKER_LOG)
    run = LastRun(log=log, output=output)
    run.begins()
    log.write_text(BROKER_LOG + PORT_TAKEN)
    output.write_text("")
    assert "replica.socket" not in run.written()
    assert "Address already in use" in run.written()


def test_after_a_restart_of_the_agent_the_last_start_is_found_by_its_first_line(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    log.write_text(PORT_TAKEN + BROKER_LOG)
    run = LastRun(log=log, output=tmp_path / "broker.out")
    assert "Address already in use" not in run.written()
    assert "replica.socket" in run.written()


def test_a_log_that_was_rolled_meanwhile_is_read_from_its_beginning(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    log.write_text(BROKER_LOG)
    run = LastRun(log=log, output=tmp_path / "broker.out")
    run.begins()
    log.replace(tmp_path / "broker.log.1")
    log.write_text(PORT_TAKEN)
    assert "Address already in use" in run.written()


def test_what_java_itself_says_is_in_the_output_alone(tmp_path: Path) -> None:
    run = LastRun(log=tmp_path / "broker.log", output=tmp_path / "broker.out")
    run.begins()
    (tmp_path / "broker.out").write_text("Invalid maximum heap size: -Xmx10q\n")
    assert "Invalid maximum heap size" in run.written()
