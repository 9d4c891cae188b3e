"""Tests find processes by the id of a run, on the whole machine, and kill them: an id is of one test only."""

from pathlib import Path

from tests.fakes.resources import instance, own, resources, surge

RUN = surge(resources(instance("b-0")))


def test_runs_of_two_folders_never_share_an_id() -> None:
    assert own(RUN, Path("/one")).intent_id != own(RUN, Path("/two")).intent_id


def test_the_same_run_in_the_same_folder_is_the_same_in_any_process() -> None:
    assert own(RUN, Path("/one")).intent_id == "1e1d1696-run-1"
    assert own(RUN, Path("/one")).resources == RUN.resources
