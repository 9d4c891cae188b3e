"""A replicator over the death of agents, over boots, and over its own: what runs, and what is said."""

import logging
from pathlib import Path

import pytest

from agent.exit_reason import ExitReason
from tests.unit.agent.replicator_vm import ReplicatorVm, wanted

STOPPED = wanted(state="stopped")


@pytest.fixture
def vm(tmp_path: Path) -> ReplicatorVm:
    return ReplicatorVm(tmp_path)


def test_a_vm_that_no_document_names_a_replicator_for_does_and_says_nothing(vm: ReplicatorVm) -> None:
    for _ in range(3):
        assert vm.follower.follow(None, is_confirmed=True, leaving="") is None
    assert (vm.mirror_maker.searches, vm.file.read(), vm.follower.is_alive) == (0, None, False)


def test_it_starts_and_runs_once_its_log_says_that_it_copies(vm: ReplicatorVm) -> None:
    said = vm.follow(wanted())
    assert (said.state, said.start_id, said.pid) == ("starting", "r-1", 500)
    said = vm.follow(wanted(), 30)
    assert (said.state, said.message) == ("starting", "its log does not say yet that a partition is copied")
    vm.mirror_maker.has_copied = True
    said = vm.follow(wanted(), 3)
    assert (said.state, said.message, said.unexpected_exits) == ("running", "", 0)
    since, vm.mirror_maker.has_copied = said.since, False
    assert vm.follow(wanted(), 3).since == since, "it is asked once"
    assert len(vm.mirror_maker.launches) == 1


def test_a_it_starts_only_on_a_document_that_the_server_confirmed(vm: ReplicatorVm) -> None:
    said = vm.follow(wanted(), 5, is_confirmed=False)
    assert (said.state, said.start_id, vm.mirror_maker.launches) == ("waiting", "r-1", [])
    assert "the server" in said.message
    assert vm.follow(wanted()).state == "starting"
    vm.mirror_maker.launches[-1].exit_code = 137
    vm.agent("boot-2")
    assert vm.follow(wanted(), 5, is_confirmed=False).state == "waiting", "a VM that boots with an old document"
    assert len(vm.mirror_maker.launches) == 1


def test_a_one_that_runs_is_kept_over_an_agents_restart(vm: ReplicatorVm) -> None:
    process = vm.running(wanted())
    vm.mirror_maker.has_copied = False
    vm.agent()
    said = vm.follow(wanted(), is_confirmed=False)
    assert (said.state, said.pid, process.signals) == ("running", process.pid, [])
    assert len(vm.mirror_maker.launches) == 1


def test_b_another_start_id_restarts_it_in_order_with_the_new_flow(vm: ReplicatorVm) -> None:
    process = vm.running(wanted())
    other = wanted("r-2", topics=("orders", "clicks"))
    process.obeys = False
    said = vm.follow(other, 3)
    assert (said.state, said.start_id, said.pid) == ("stopping", "r-1", process.pid)
    assert (process.signals, len(vm.mirror_maker.launches)) == (["TERM"], 1)
    process.exit_code = 143
    said = vm.follow(other)
    assert (said.state, said.start_id, said.unexpected_exits) == ("starting", "r-2", 0)
    assert vm.mirror_maker.rendered == [wanted(), other]


def test_b_the_old_flow_ends_before_the_server_confirms_the_new_one(vm: ReplicatorVm) -> None:
    vm.running(wanted())
    assert vm.follow(wanted("r-2"), 5, is_confirmed=False).state == "waiting"
    assert vm.mirror_maker.alive == []


@pytest.mark.parametrize("leaving", ["", "retired", "shutting down"])
def test_c_it_is_terminated_and_behind_the_deadline_killed(vm: ReplicatorVm, leaving: str) -> None:
    process = vm.running(wanted())
    process.obeys = False
    document = wanted() if leaving else STOPPED
    said = vm.follow(document, 20, leaving=leaving)  # type: ignore[arg-type]
    assert (said.state, process.signals) == ("stopping", ["TERM"])
    said = vm.follow(document, leaving=leaving)  # type: ignore[arg-type]
    assert (said.state, process.signals) == ("stopping", ["TERM", "KILL"])
    assert said.message == "no orderly exit in 20 s, SIGKILL sent"
    said = vm.follow(document, 3, leaving=leaving)  # type: ignore[arg-type]
    assert (said.state, said.pid) == ("stopping" if leaving == "shutting down" else "stopped", 0)
    assert (said.unexpected_exits, vm.follower.is_alive, len(vm.mirror_maker.launches)) == (0, False, 1)


def test_c_a_vm_that_stays_after_all_copies_again(vm: ReplicatorVm) -> None:
    vm.running(wanted())
    assert vm.follow(wanted(), 3, leaving="shutting down").state == "stopping"
    assert vm.follow(wanted()).state == "starting"
    assert len(vm.mirror_maker.alive) == 1


def test_c_an_agent_that_is_restarted_in_a_stop_ends_it(vm: ReplicatorVm) -> None:
    process = vm.running(wanted())
    process.obeys = False
    vm.follow(STOPPED)
    vm.agent()
    assert vm.follow(STOPPED, 20).state == "stopping"
    assert process.is_alive()
    said = vm.follow(STOPPED, 3)
    assert (said.state, said.unexpected_exits, process.signals) == ("stopped", 0, ["TERM", "TERM", "KILL"])


def test_c_a_stop_that_ends_while_no_agent_runs_is_no_exit_unasked(vm: ReplicatorVm) -> None:
    process = vm.running(wanted())
    process.obeys = False
    vm.follow(STOPPED)
    process.exit_code = 143
    vm.agent()
    said = vm.follow(STOPPED)
    assert (said.state, said.unexpected_exits) == ("stopped", 0)


def test_d_an_absent_part_leaves_running_what_runs_and_starts_nothing(vm: ReplicatorVm) -> None:
    process = vm.running(wanted())
    said = vm.follow(None, 3)
    assert (said.state, said.pid, said.start_id) == ("running", process.pid, "r-1")
    assert "left running" in said.message
    process.exit_code = 1
    vm.follow(None)
    said = vm.follow(None, 100)
    assert (said.state, said.start_id, said.unexpected_exits) == ("stopped", "r-1", 1)
    assert len(vm.mirror_maker.launches) == 1
    vm.agent()
    assert vm.follow(None).unexpected_exits == 1, "the report goes on where one was ever wanted"


def test_e_an_exit_nobody_asked_for_is_counted_told_and_followed_by_a_start(vm: ReplicatorVm) -> None:
    process = vm.running(wanted())
    process.exit_code = 3
    vm.mirror_maker.reason = ExitReason("Failed to start MirrorMaker: no source")
    said = vm.follow(wanted())
    assert (said.state, said.unexpected_exits, said.pid) == ("failed", 1, 0)
    assert said.message == (
        "exited unexpectedly with code 3: Failed to start MirrorMaker: no source (1 in a row);"
        " next start in 1 s; see its log"
    )
    said = vm.follow(wanted())
    assert (said.state, said.pid) == ("starting", 501)


def test_e_the_pauses_between_starts_double_and_a_new_document_waits_for_none(vm: ReplicatorVm) -> None:
    vm.follow(wanted())
    for pause_s in (1, 2, 4, 8, 16, 32, 60, 60):
        vm.mirror_maker.launches[-1].exit_code = 1
        assert f"next start in {pause_s} s" in vm.follow(wanted(), every_s=0.25).message
        assert vm.follow(wanted(), every_s=pause_s - 0.25).state == "failed"
        assert vm.follow(wanted(), every_s=0.25).state == "starting"
    vm.mirror_maker.launches[-1].exit_code = 1
    assert vm.follow(wanted(), every_s=0.25).unexpected_exits == 9
    assert vm.follow(wanted("r-2"), every_s=0.25).state == "starting"
    vm.mirror_maker.launches[-1].exit_code = 1
    assert "(1 in a row)" in vm.follow(wanted("r-2"), every_s=0.25).message


def test_e_one_that_ran_for_long_waits_a_short_while_again(vm: ReplicatorVm) -> None:
    vm.follow(wanted())
    for _ in range(2):
        vm.mirror_maker.launches[-1].exit_code = 1
        vm.follow(wanted(), 4)
    vm.follow(wanted(), every_s=300.0)
    vm.mirror_maker.launches[-1].exit_code = 1
    assert "(1 in a row)" in vm.follow(wanted()).message


def test_e_one_that_dies_while_no_agent_runs_is_counted_once(vm: ReplicatorVm) -> None:
    vm.running(wanted()).exit_code = 137
    vm.agent()
    assert vm.follow(wanted()).unexpected_exits == 1
    vm.agent()
    said = vm.follow(wanted())
    assert (said.state, said.unexpected_exits) == ("starting", 1)


def test_e_a_boot_ends_it_and_is_no_exit_of_its_own(vm: ReplicatorVm) -> None:
    vm.running(wanted()).exit_code = 137
    vm.agent("boot-2")
    said = vm.follow(wanted())
    assert (said.state, said.unexpected_exits) == ("starting", 0)


def test_e_java_that_cannot_be_run_is_tried_again(vm: ReplicatorVm) -> None:
    vm.mirror_maker.start_error = FileNotFoundError("no java")
    said = vm.follow(wanted())
    assert (said.state, said.message) == (
        "failed",
        "could not be started: no java (1 in a row); next start in 1 s; see its log",
    )
    vm.mirror_maker.start_error = None
    assert vm.follow(wanted()).state == "starting"


def test_f_stopped_is_said_only_when_no_process_with_its_marks_is_alive(vm: ReplicatorVm) -> None:
    """Two are alive, as after a start that failed behind the spawn: the second is found when the first is gone."""
    first = vm.running(wanted())
    second = vm.mirror_maker.start(wanted())
    states = []
    for _ in range(6):
        states.append(vm.follow(STOPPED).state)
        assert states[-1] != "stopped" or not (first.is_alive() or second.is_alive())
    assert states[-1] == "stopped"
    assert second.signals
    vm.agent()
    before = vm.mirror_maker.searches
    assert vm.follow(STOPPED).state == "stopped"
    assert vm.mirror_maker.searches == before + 1, "another agent looks for itself"


def test_f_a_start_that_failed_behind_the_spawn_is_found_and_makes_no_second_one(vm: ReplicatorVm) -> None:
    vm.mirror_maker.start_error, vm.mirror_maker.starts_all_the_same = OSError("disk full"), True
    assert vm.follow(wanted()).state == "failed"
    vm.mirror_maker.start_error = None
    assert vm.follow(wanted(), 5).pid == 500
    assert len(vm.mirror_maker.launches) == 1


def test_f_nothing_is_said_of_a_stop_while_nobody_can_look(vm: ReplicatorVm, caplog: pytest.LogCaptureFixture) -> None:
    vm.mirror_maker.find_error = PermissionError("/proc")
    with caplog.at_level(logging.WARNING):
        said = vm.follow(STOPPED)
    assert (said.state, said.message) == ("failed", "it cannot be followed: /proc")
    vm.mirror_maker.find_error = None
    assert vm.follow(STOPPED).state == "stopped"


def test_g_without_its_jars_it_fails_and_says_what_to_do(vm: ReplicatorVm) -> None:
    vm.mirror_maker.missing = "MirrorMaker 2 of Kafka 4.2.0 is not on this VM"
    said = vm.follow(wanted(), 3)
    assert (said.state, said.message) == ("failed", "MirrorMaker 2 of Kafka 4.2.0 is not on this VM")
    vm.mirror_maker.missing = ""
    assert vm.follow(wanted()).state == "starting"


def test_a_damaged_record_costs_counts_and_no_process(vm: ReplicatorVm, tmp_path: Path) -> None:
    process = vm.running(wanted())
    (tmp_path / "replicator.json").write_text("{")
    vm.agent()
    assert vm.follow(wanted(), 3).pid == process.pid
    assert vm.follow(STOPPED, 3).state == "stopped"


def test_a_disk_that_takes_nothing_starts_nothing_and_holds_up_no_stop(vm: ReplicatorVm, tmp_path: Path) -> None:
    process = vm.running(wanted())
    (tmp_path / "replicator.json").unlink()
    (tmp_path / "replicator.json").mkdir()
    assert vm.follow(STOPPED, 2).state == "stopped"
    assert process.signals == ["TERM"]
    assert vm.follow(wanted("r-2"), 3).state == "failed"
    assert vm.mirror_maker.alive == []
