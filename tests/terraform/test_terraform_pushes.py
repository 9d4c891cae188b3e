"""States that Terraform could not push, of two clusters at once, while the run of a third goes on: each comes into the
database with the next run of its own cluster. Real Terraform, its `http` backend and the real app."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from providers.errors import TerraformFailed
from providers.tf.execute import RunResult
from providers.tf.state_body import targets_in
from providers.tf.states import StateKey, state_key
from tests.databases import sqlite_template
from tests.fakes.resources import PLACE, attachment, instance, resources, surge, targets, volume
from tests.terraform.conftest import Bench
from tests.terraform.served import Server, serving

pytestmark = [pytest.mark.soak, pytest.mark.terraform]

CUT = ("c0ffee01", "c0ffee02")
WELL = "c0ffee03"
RUNS = {
    uid: surge(resources(instance("b-0"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"), uid=uid), intent=uid)
    for uid in (*CUT, WELL)
}
WHOLE = targets(RUNS[WELL].resources)


@pytest.fixture
def server(tmp_path: Path, bench: Bench) -> Iterator[Server]:
    with serving(f"sqlite:///{sqlite_template(tmp_path)}", tmp_path / "homes", bench.cloud) as made:
        yield made


def key(uid: str) -> StateKey:
    return state_key(uid, PLACE)


def all_at_once(server: Server) -> dict[str, RunResult | TerraformFailed]:
    """How the run of each cluster ended, the three side by side."""

    def ended(uid: str) -> RunResult | TerraformFailed:
        try:
            return server.execute(RUNS[uid])
        except TerraformFailed as error:
            return error

    with ThreadPoolExecutor(len(RUNS)) as threads:
        return dict(zip(RUNS, threads.map(ended, RUNS), strict=True))


def test_two_failed_pushes_are_each_recovered_by_the_next_run_of_their_own_cluster(
    server: Server, bench: Bench
) -> None:
    def is_made(uid: str) -> bool:
        record = bench.vm_dir("b-0.g1", uid) / "vm.json"
        return record.exists() and json.loads(record.read_text())["launched"] is not None

    # From the moment a VM stands its run may write nothing any more: what it made is in no state of the database.
    server.passes.refuses = lambda asked: asked.cluster_uid in CUT and is_made(asked.cluster_uid)
    first = all_at_once(server)
    made_by_well = first[WELL]
    assert isinstance(made_by_well, RunResult)
    assert set(made_by_well.changed) == WHOLE
    for uid in CUT:
        assert isinstance(first[uid], TerraformFailed)
        assert "instance/b-0.g1" not in targets_in(server.states.of(key(uid)).read())
        (left,) = server.states.of(key(uid)).folder.errored_states()
        assert targets_in(left.read_bytes()) == WHOLE
    pids = {uid: bench.first_pid("b-0.g1", uid) for uid in RUNS}

    server.passes.refuses = lambda _: False
    for uid, ended in all_at_once(server).items():
        assert isinstance(ended, RunResult), f"{uid}: {ended}"
        assert (ended.changed, frozenset(ended.done_before)) == ((), WHOLE)
    for uid in RUNS:
        state = server.states.of(key(uid))
        assert targets_in(state.read()) == WHOLE
        assert uid in (state.read() or b"").decode()
        assert not any(other in (state.read() or b"").decode() for other in RUNS if other != uid)
        assert state.folder.errored_states() == ()
    assert {uid: bench.first_pid("b-0.g1", uid) for uid in RUNS} == pids, "each VM was made once"
