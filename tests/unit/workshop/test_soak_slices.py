"""Soak is cut into slices of about seven minutes, each test in exactly one place, and landings walk through all."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.recorder import Result
from tests.soak import commit
from tests.soak.durations import ROOT, Durations, all_pieces, all_slices, files_of_soak, read, whole_pieces
from tests.soak.lanes import calls
from tests.soak.slices import ALONE_S, SLICE_S, WHOLE, Piece, cut, is_prime, length_s, pieces_of, selection_of

SIM, E2E, TERRAFORM = "tests/sim/test_s.py", "tests/e2e/test_e.py", "tests/terraform/test_t.py"


def piece(took_s: float, *, file: str = SIM, test: str = "t") -> Piece:
    return Piece(file, (f"{file}::{test}",), took_s)


def test_every_piece_of_soak_is_in_exactly_one_slice_that_keeps_to_its_time() -> None:
    pieces, slices = all_pieces(read()), all_slices()
    assert Counter(p for s in slices for p in s.pieces) == Counter(pieces)
    assert all(s.took_s <= SLICE_S or len(s.pieces) == 1 for s in slices)
    assert [s for s in slices if s.took_s > ALONE_S] == [], "cut it, or name it in WHOLE with the reason"


def test_every_file_with_a_soak_test_has_its_place_and_what_is_listed_is_there() -> None:
    pieces, files = all_pieces(read()), {f for f in files_of_soak() if not f.startswith("tests/unit/workshop/")}
    assert {p.file for p in pieces} | {name.partition("::")[0] for name in WHOLE} == files
    known = {test.partition("::")[0] for test in read().all}
    assert known <= files, "a file of durations.json is gone"
    assert {f for f in files if sum(p.rest for p in pieces if p.file == f) > 1} == set()
    assert all(p.took_s > 0 for p in whole_pieces(read()))


def test_slices_are_the_same_each_time_and_their_number_is_a_prime() -> None:
    assert all_slices() == all_slices()
    assert is_prime(len(all_slices()))
    assert [n for n in range(20) if is_prime(n)] == [2, 3, 5, 7, 11, 13, 17, 19]


@pytest.mark.parametrize("commits_each", [1, 2, 3, 4, 6, 10, 30])
def test_landings_of_as_many_commits_each_walk_through_all_slices(commits_each: int) -> None:
    number = len(cut([piece(300, test=str(n)) for n in range(20)]))
    assert {landing * commits_each % number for landing in range(number)} == set(range(number))


def test_what_runs_in_pairs_takes_half_its_sum_and_never_less_than_its_longest() -> None:
    assert length_s([piece(100), piece(60)]) == 100
    assert length_s([piece(100), piece(60), piece(80)]) == 120
    assert length_s([piece(100, file=E2E), piece(60, file=E2E), piece(80)]) == 240
    other = TERRAFORM.replace("test_t", "test_other")
    assert length_s([piece(100, file=TERRAFORM), piece(60, file=TERRAFORM), piece(20, file=other)]) == 160


def test_a_sweep_longer_than_a_slice_is_cut_and_all_its_parts_are_the_whole() -> None:
    pieces = pieces_of({f"{SIM}::long": 450.0, f"{SIM}::short": 50.0}, [SIM], [SIM], 1.0)
    assert [(p.tests, p.part, p.of, p.took_s) for p in pieces] == [
        *((((f"{SIM}::long",), part, 4, 112.5)) for part in range(4)),
        ((f"{SIM}::short",), 0, 1, 50.0),
    ]
    chosen = selection_of(pieces[1:3], pieces)
    assert chosen.tests == {f"{SIM}::long": "1,2/4"}
    assert not chosen.has(f"{SIM}::new"), "the file's rest is with its last piece"
    assert selection_of(pieces[4:], pieces).has(f"{SIM}::new")
    assert not selection_of(pieces[4:], pieces).has(f"{SIM}::long")


def test_tests_that_go_on_from_each_other_stay_together_and_others_share_a_file_up_to_a_slice() -> None:
    of_one = {f"{E2E}::{n}": 200.0 for n in "abc"}
    assert [p.tests for p in pieces_of(of_one, [], [E2E], 1.0)] == [tuple(of_one)]
    modes = {f"{E2E}::{n}[{mode}]": 200.0 for n in "ab" for mode in ("kraft", "zookeeper")}
    by_mode = pieces_of(modes, [], [E2E], 1.0)
    assert [p.tests for p in by_mode] == [tuple(modes)[::2], tuple(modes)[1::2]], "each mode has its own cluster"
    assert [p.rest for p in by_mode] == [False, True]
    of_two = {f"{TERRAFORM}::{n}": 100.0 for n in "abc"}
    assert [p.tests for p in pieces_of(of_two, [], [TERRAFORM], 1.0)] == [tuple(of_two)[:2], tuple(of_two)[2:]]


def test_a_file_of_which_nothing_is_known_runs_whole_at_a_guess() -> None:
    (new,) = pieces_of({}, [], [SIM], 77.0)
    assert (new.tests, new.took_s) == ((), 77.0)
    (call,) = calls([new], [new])
    assert call.command[-1] == SIM
    assert call.selection.has(f"{SIM}::whatever")


def test_each_lane_is_a_call_of_its_own_and_brokers_are_alone() -> None:
    pieces = [piece(1), piece(1, file=E2E), piece(1, file=TERRAFORM)]
    assert [c.command[c.command.index("soak") + 1 :] for c in calls(pieces, pieces)] == [
        ("-n", "2", SIM),
        ("-n", "2", "--dist", "loadfile", TERRAFORM),
        (E2E,),
    ]


def test_measured_durations_take_the_place_of_estimates_and_of_a_cut_sweep_only_when_all_parts_are_there() -> None:
    before = Durations({"a": 5.0}, {"b": 60.0, "c": 60.0, "d": 60.0})
    after = before.with_results(
        [
            Result("a", "passed", 7.0),
            Result("b", "passed", 20.0, parts="0/2"),
            Result("b", "passed", 30.0, parts="1/2"),
            Result("c", "passed", 20.0, parts="0/2"),
            Result("d", "failed", 1.0),
            Result("new", "passed", 3.0),
            Result(f"{SIM}::behind", "passed", 90.0, cpu_s=30.0),
            Result(f"{E2E}::waits", "passed", 90.0, cpu_s=30.0),
        ]
    )
    assert after.measured == {"a": 7.0, "b": 50.0, "new": 3.0, f"{SIM}::behind": 30.0, f"{E2E}::waits": 90.0}
    assert after.estimated == {"c": 40.0, "d": 60.0}, "the other half of c takes as long"


def git(folder: Path, *words: str) -> str:
    told = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, check=True)
    return told.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Three commits."""
    there = tmp_path / "there"
    git(tmp_path, "init", "-q", str(there))
    for name, value in (("user.name", "x"), ("user.email", "x@example.com")):
        git(there, "config", name, value)
    for number in range(3):
        (there / "file").write_text(str(number))
        git(there, "add", "file")
        git(there, "commit", "-qm", str(number))
    return there


def test_a_commit_has_the_slice_of_its_number(repository: Path) -> None:
    assert commit.turn(repository)[0] == 3
    assert commit.chosen(2, repository)[0] == 1


def test_a_shallow_clone_does_not_run_the_same_slice_for_ever(repository: Path, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", str(shallow))
    assert commit.turn(shallow)[0] == int(git(repository, "rev-parse", "HEAD")[:12], 16)


def test_without_git_the_day_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(commit.SLICE, raising=False)
    number, why = commit.turn(tmp_path)
    assert number > 20_000
    assert "for want of git" in why


@pytest.mark.parametrize(("named", "slice_"), [("1", 0), ("7", 6), ("0", None), ("8", None), ("x", None)])
def test_a_person_may_name_the_slice(monkeypatch: pytest.MonkeyPatch, named: str, slice_: int | None) -> None:
    monkeypatch.setenv(commit.SLICE, named)
    if slice_ is None:
        with pytest.raises(SystemExit, match="1 to 7"):
            commit.chosen(7, ROOT)
    else:
        assert commit.chosen(7, ROOT)[0] == slice_


def test_results_are_of_a_tree_and_pages_and_what_soak_writes_itself_change_none(repository: Path) -> None:
    before = commit.tree(repository)
    (repository / "docs").mkdir()
    (repository / "docs" / "soak.md").write_text("old")
    git(repository, "add", "docs")
    git(repository, "commit", "-qm", "page")
    (repository / "docs" / "soak.md").write_text("new")
    assert commit.tree(repository) == before
    unfinished = repository / commit.UNFINISHED / f"{before}.jsonl"
    unfinished.parent.mkdir(parents=True)
    unfinished.write_text("begun")
    assert commit.tree(repository) == before, "not in git yet"
    git(repository, "add", commit.UNFINISHED)
    git(repository, "commit", "-qm", "begun elsewhere")
    unfinished.write_text("further")
    assert commit.tree(repository) == before
    (repository / "file").write_text("other")
    changed = commit.tree(repository)
    assert changed != before
    git(repository, "add", "file")
    git(repository, "commit", "-qm", "another file")
    assert commit.tree(repository) not in (before, changed)
