"""`make soak` runs every soak test in one go: lanes beside each other, sweeps by turns, resumed where it was killed."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from tests.behind import ENDED
from tests.recorder import Result
from tests.sim.sweep import Cut, chosen, cut_to
from tests.soak import sweeps
from tests.soak.__main__ import main
from tests.soak.durations import ROOT, Durations, files_of_soak, read
from tests.soak.kept import Kept
from tests.soak.page import Figures, page, standings
from tests.soak.processes import DIES_WITH_US, Processes
from tests.soak.sweeps import ALL, TURNS, Chosen
from tests.soak.whole import LANES, PROCESSOR, TIMED, WAITING, Job, Streams, about_s, free_gib, jobs, told
from tests.turns import Turn
from tests.waiting import until

SIM, E2E, PORTAL = "tests/sim/test_s.py", "tests/e2e/test_e.py", "tests/portal/test_p.py"
THIRD = Chosen(Turn(3, TURNS), "number 2, commit abc")


def test_every_file_of_soak_is_in_one_call_of_one_lane_and_its_sweeps_have_the_turn() -> None:
    everything = jobs(read(), THIRD, ROOT)
    assert sorted(j.file for j in everything) == [f for f in files_of_soak() if "/unit/workshop/" not in f]
    assert {j.lane for j in everything} == set(LANES)
    assert {j.sweeps for j in everything} == {f"2/{TURNS}"}
    assert all(j.selection.has(f"{j.file}::anything") for j in everything)
    assert all(j.selection.patience > 1 for j in everything), "others run beside it"


def test_the_longest_file_of_a_lane_begins_first_and_a_sweep_takes_its_turn_s_share(tmp_path: Path) -> None:
    for file, words in ((SIM, "sweep("), (E2E, ""), ("tests/sim/test_a.py", "")):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(f"@pytest.mark.soak\n{words}")
    known = Durations({f"{SIM}::t": 700.0, "tests/sim/test_a.py::t": 200.0, f"{E2E}::t": 50.0}, {})
    made = jobs(known, THIRD, tmp_path)
    assert [(j.file, j.took_s) for j in made] == [("tests/sim/test_a.py", 205.0), (SIM, 105.0), (E2E, 55.0)]
    assert jobs(known, Chosen(ALL, ""), tmp_path)[0] == Job(SIM, PROCESSOR, 705.0)


def test_consecutive_landings_take_every_turn_and_a_person_may_name_one(tmp_path: Path) -> None:
    numbers = {Turn(n % TURNS + 1, TURNS).number for n in range(100, 100 + TURNS)}
    assert numbers == set(range(1, TURNS + 1))
    assert sweeps.chosen(tmp_path, "all").parts == ""
    assert sweeps.chosen(tmp_path, "2/5").parts == "1/5"
    assert "for want of git" in str(sweeps.chosen(tmp_path, ""))
    for wrong in ("some", "6/5", "0/3"):
        with pytest.raises(SystemExit, match="say all, or which of how many turns"):
            sweeps.chosen(tmp_path, wrong)


def test_all_turns_of_a_sweep_are_all_its_cases_and_none_has_nothing() -> None:
    for count in (1, 2, 6, 7, 30):
        had: Counter[int] = Counter()
        for part in range(TURNS):
            with cut_to(Cut(frozenset({part}), TURNS)):
                there = chosen(range(count))
            assert there
            had.update(there)
        assert set(had) == set(range(count))
        assert count < TURNS or set(had.values()) == {1}
    with cut_to(Cut(frozenset({0}), TURNS)):
        assert chosen(()) == []


def test_streams_wait_beside_the_processor_s_lane_and_what_has_clocks_comes_after() -> None:
    two = Streams.best(2, 20.0)
    assert (two.processor, two.waiting, two.timed) == (2, 3, 2)
    assert Streams.best(2, 20.0, waiting=1).waiting == 1
    waiting = [Job(f"{E2E}{n}", WAITING, 300.0) for n in range(6)]
    assert about_s(waiting, two, 2) == 600
    assert about_s([*waiting, Job(SIM, PROCESSOR, 200.0)], two, 2) == 600
    busy = [*waiting, *(Job(f"{SIM}{n}", PROCESSOR, 500.0) for n in range(4))]
    assert about_s(busy, two, 2) == (2000 + 0.5 * 1800) / 2
    assert about_s([*busy, Job(PORTAL, TIMED, 60.0)], two, 2) == about_s(busy, two, 2) + 60
    assert about_s([], two, 2) == 0
    lines = told([*busy, Job(PORTAL, TIMED, 60.0)], 7, two, 2)
    assert [line.split()[0] for line in lines[:3]] == [PROCESSOR, WAITING, TIMED]
    assert lines[3:] == ["  7 files are done already", "about 0.4 h on 2 cores"]


def test_a_machine_with_little_memory_has_fewer_streams(tmp_path: Path) -> None:
    small = Streams.best(8, 7.0)
    assert (small.processor, small.waiting, small.timed) == (8, 2, 2)
    assert Streams.best(2, 0.5).waiting == 1
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    3145728 kB\n")
    assert free_gib(tmp_path / "meminfo") == 3
    assert Streams.best(2, free_gib(tmp_path / "none")).waiting == 3


def test_an_unknown_lane_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pared"]) == 2
    assert "no lane pared, nor a file of soak; lanes are: processor, waiting, timed" in capsys.readouterr().out


def figures(name: str, code: int = 0, *results: Result, alone: bool = False) -> Figures:
    return Figures(name, "2026-11-28T10:00:00+00:00", code, 60.0, list(results), alone)


def test_a_soak_that_was_killed_has_what_ended_before_and_keeps_its_turn(tmp_path: Path) -> None:
    file = tmp_path / "soak" / "abc.jsonl"
    kept = Kept.of(file, THIRD)
    assert not file.exists(), "to look leaves nothing"
    kept.add(figures(SIM, 0, Result("t", "passed", 1.0, cpu_s=0.5)))
    kept.add(figures(E2E, 1, Result("u", "failed", 1.0)))
    with file.open("a") as cut_short:
        cut_short.write('{"name": "tests/x.py", "at"')
    later = Kept.of(file, Chosen(Turn(4, TURNS), "number 3, commit def"))
    assert later.sweeps == THIRD
    assert (later.figures, later.done()) == (kept.figures, {SIM})
    later.add(figures(E2E, 0, Result("u", "passed", 1.0), alone=True))
    assert Kept.of(file, THIRD).done() == {SIM, E2E}


def test_a_soak_of_another_machine_goes_on_here_and_is_begun_once(tmp_path: Path) -> None:
    begun, here = tmp_path / "unfinished" / "tree.jsonl", tmp_path / "cache" / "tree.jsonl"
    Kept.of(begun, THIRD).add(figures(SIM, 0, Result("t", "passed", 1.0)))
    later = Kept.of(here, Chosen(Turn(4, TURNS), "number 3"), begun)
    assert (later.done(), later.sweeps) == ({SIM}, THIRD)
    later.add(figures(E2E, 0, Result("u", "passed", 1.0)))
    assert Kept.of(here, THIRD, begun).done() == {SIM, E2E}
    assert Kept.of(begun, THIRD).done() == {SIM}


def test_what_failed_once_is_told_though_it_passed_later_and_what_broke_is_not_done() -> None:
    bad, good, other = Result("u", "failed", 1.0, "late"), Result("u", "passed", 1.0), Result("v", "passed", 1.0)
    stand = standings(
        [
            figures(E2E, 1, bad, other),
            figures(E2E, 0, good, alone=True),
            figures(SIM, 1, bad),
            figures(SIM, 1, bad, alone=True),
            figures("killed", -9, other),
            figures("empty", 5),
            figures("resumed", 3),
            figures("resumed", 0, good),
        ]
    )
    assert {name for name, s in stand.items() if s.ok} == {E2E, "resumed"}
    assert (stand[E2E].second, stand[SIM].second) == ([bad], [])
    assert [stand[name].words for name in (E2E, SIM, "killed", "empty")] == [
        "passed",
        "1 failed",
        "pytest broke",
        "pytest broke",
    ]


def test_results_with_one_node_id_are_one_that_failed_if_any_did() -> None:
    several = [Result("u", "passed", 1.0), Result("u", "failed", 2.0, "no"), Result("u", "passed", 4.0, cpu_s=1.0)]
    stand = standings([figures(SIM, 1, *several)])[SIM]
    assert not stand.ok
    assert stand.failed == [Result("u", "failed", 7.0, "no", cpu_s=1.0)]


def test_the_page_tells_what_failed_what_needed_a_second_try_and_what_was_not_run() -> None:
    failed = Result(f"{SIM}::long", "failed", 9.0, "1 of 300 failed:; roll, seed 39280: Violation: P1 | x", "2/7", 8.0)
    second = Result(f"{E2E}::t", "failed", 9.0, "too late")
    calls = [
        figures(SIM, 1, failed),
        figures(E2E, 1, second),
        figures(E2E, 0, Result(f"{E2E}::t", "passed", 9.0), alone=True),
        figures(PORTAL, 3),
    ]
    planned = [SIM, E2E, PORTAL, "tests/kafka/test_k.py"]
    text = page("abc", date(2026, 11, 28), calls, planned=planned, sweeps=str(THIRD), wall_s=7200.0)
    for line in (
        "| commit | `abc` |",
        "| sweeps | turn 3/7 of sweeps (number 2, commit abc) |",
        "| files | 3 of 4 |",
        "| hours | 2.0 by the clock, 0.1 one after the other |",
        "| failed twice | 2 |",
        "| passed at their second try | 1 |",
        "| not run | tests/kafka/test_k.py |",
        f"- `{SIM}::long`: 1 of 300 failed:; roll, seed 39280: Violation: P1 / x",
        f"- `{PORTAL}`: pytest broke",
        f"- `{E2E}::t`: too late",
        "| tests/e2e | 1 | 1 | 0 | 2 | 0 |",
        f"| {SIM} | 1 | 60 | 1 failed |",
    ):
        assert line in text.splitlines()


def test_a_call_has_its_log_and_its_exit_status_and_after_the_end_none_begins(tmp_path: Path) -> None:
    processes, log = Processes(), tmp_path / "logs" / "a.log"
    for _ in range(2):
        assert processes.run((sys.executable, "-c", "print('said'); raise SystemExit(3)"), os.environ, log) == 3
    assert log.read_text() == "said\nsaid\n"
    begun = tmp_path / "begun"
    waits = f"import pathlib, time; pathlib.Path({str(begun)!r}).touch(); time.sleep(600)"
    codes: list[int] = []
    running = threading.Thread(
        target=lambda: codes.append(processes.run((sys.executable, "-c", waits), os.environ, log, behind=True))
    )
    running.start()
    until(begun.exists)
    processes.end()
    running.join()
    assert codes == [ENDED]
    assert processes.run(("true",), os.environ, log) == ENDED


@pytest.mark.skipif(sys.platform != "linux", reason="does not apply: processes die with their parent on Linux alone")
def test_a_runner_that_is_killed_takes_its_calls_with_it(tmp_path: Path) -> None:
    pid, log = tmp_path / "pid", tmp_path / "log"
    waits = f"import os, pathlib, time; pathlib.Path({str(pid)!r}).write_text(str(os.getpid()) + '.'); time.sleep(600)"
    runner = (
        "import os, pathlib, sys; from tests.soak.processes import Processes\n"
        f"Processes().run((sys.executable, '-c', {waits!r}), os.environ, pathlib.Path({str(log)!r}), network=True)"
    )
    with subprocess.Popen((sys.executable, "-c", runner), cwd=ROOT) as started:
        until(lambda: pid.exists() and pid.read_text().endswith("."))
        started.send_signal(signal.SIGKILL)
    call = Path(f"/proc/{pid.read_text().removesuffix('.')}")
    until(lambda: not call.exists() or "Z" in (call / "stat").read_text().rpartition(")")[2])
    assert DIES_WITH_US[0] == "setpriv"


def test_every_line_of_the_resume_file_is_whole_on_disk_before_the_next_call_ends(tmp_path: Path) -> None:
    kept = Kept.of(tmp_path / "a.jsonl", THIRD)
    for number in range(3):
        kept.add(figures(f"tests/x{number}.py"))
        lines = [json.loads(line) for line in kept.file.read_text().splitlines()]
        assert [line.get("name", line.get("sweeps")) for line in lines] == [
            "3/7",
            *(f"tests/x{n}.py" for n in range(number + 1)),
        ]
