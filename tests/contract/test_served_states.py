"""What only states in the database have: passes, a lease that is kept, holds of the dead and of other machines."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from controlplane.storage.lease import LostLeadership
from controlplane.storage.terraform_states.lock import ServerProcess, this_process
from controlplane.storage.terraform_states.lock_rows import StateNotHeld
from controlplane.storage.terraform_states.storage import Leading
from events.errors import StoreUnavailable
from events.ids import Epoch
from providers import process
from providers.errors import RunInProgress, RunInterrupted
from providers.tf.run_folder import RUN_ID
from tests.fakes.states import ELSEWHERE, KEY, Served, body, claim, lead

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def served(engine: Engine, tmp_path: Path) -> Served:
    return Served(engine, tmp_path)


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process that lives until it is told to end."""
    started = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    yield started
    started.kill()
    started.communicate()


def server_in(pid: int) -> ServerProcess:
    seen = process.identify(pid)
    assert seen is not None
    return ServerProcess(this_process().machine, seen.pid, seen.start_ticks)


def never() -> None:
    raise AssertionError("the state was not lost")


def test_terraform_is_told_where_the_state_is_and_gets_a_pass_for_the_time_of_the_run(served: Served) -> None:
    server = served.server()
    with server.of(KEY).locked("run-1", on_lost=never) as access:
        told = {name: access.environment[f"TF_HTTP_{name}"] for name in ("ADDRESS", "LOCK_ADDRESS", "UNLOCK_ADDRESS")}
        assert set(told.values()) == {"http://127.0.0.1:8428/terraform/v1/states/c0ffee/local.default.local-1"}
        assert not any("address" in name for name in access.backend["http"]), "one `init` serves every cluster"
        user, password = access.environment["TF_HTTP_USERNAME"], access.environment["TF_HTTP_PASSWORD"]
        shown = server.passes.check(user, password)
        assert shown is not None
        assert shown.key == KEY
    assert server.passes.check(user, password) is None
    with server.of(KEY).locked("run-1", on_lost=never) as access:
        assert access.environment["TF_HTTP_PASSWORD"] != password


def test_the_hold_of_a_server_that_died_here_is_broken_at_once(
    served: Served, stranger: subprocess.Popen[bytes]
) -> None:
    server = served.server(epoch=2)
    server.locks.take(KEY, claim("one", epoch=1, process=server_in(stranger.pid)))
    with pytest.raises(RunInProgress, match="run-of-one"), server.of(KEY).locked("run-2", on_lost=never):
        raise AssertionError("it lives")
    stranger.kill()
    stranger.wait()
    with server.of(KEY).locked("run-2", on_lost=never):
        pass


def test_what_the_dead_servers_run_left_running_here_is_ended_first(
    served: Served, stranger: subprocess.Popen[bytes]
) -> None:
    server = served.server(epoch=2)
    hold = uuid4().hex  # found by its run's id, on the whole machine: no other test may have the same
    server.locks.take(KEY, claim(hold, epoch=1, process=server_in(stranger.pid)))
    environment = {RUN_ID: f"run-of-{hold}"}
    orphan = subprocess.Popen(["/bin/sleep", "600"], env=environment)
    try:
        stranger.kill()
        stranger.wait()
        with server.of(KEY).locked("run-2", on_lost=never):
            # Killed, it has no environment any more, and for a moment no end either: the kernel takes that long.
            assert process.wait_until(lambda: process.identify(orphan.pid) is None, timeout_s=10)
    finally:
        orphan.kill()
        orphan.wait()


def test_of_another_machine_nothing_is_proved_so_its_lease_is_waited_out(served: Served) -> None:
    now = [START]
    server = served.server(epoch=2, now=lambda _: now[0])
    server.locks.take(KEY, claim("one", epoch=1, process=ELSEWHERE, lease_s=60))
    now[0] += timedelta(seconds=59)
    with pytest.raises(RunInProgress, match="its lease lasts 1 s more"), server.of(KEY).locked("run-2", on_lost=never):
        raise AssertionError("its lease is not over")
    now[0] += timedelta(seconds=1)
    with server.of(KEY).locked("run-2", on_lost=never), pytest.raises(StateNotHeld):
        server.versions.put(KEY, body(1), hold_id="one", lock_id=None)


def test_a_run_of_this_server_that_could_not_give_the_state_back_blocks_no_later_one(served: Served) -> None:
    server = served.server()
    server.locks.take(KEY, claim("one", epoch=1))  # in nobody's hands here: its run is over
    with server.of(KEY).locked("run-2", on_lost=never):
        pass


def test_a_hold_that_was_broken_ends_the_run(served: Served) -> None:
    lost = threading.Event()
    server = served.server(renew_every_s=0.01)
    with server.of(KEY).locked("run-1", on_lost=lost.set):
        held = server.locks.holder(KEY)
        assert held is not None
        server.locks.take(KEY, claim("two", epoch=2, process=ELSEWHERE), proved_dead=held.claim.hold_id)
        assert lost.wait(20)
    still = server.locks.holder(KEY)
    assert still is not None
    assert still.claim.hold_id == "two", "giving back what is another's changes nothing"


def test_a_server_that_leads_no_more_lets_its_lease_run_out_and_ends_the_run(served: Served) -> None:
    lost, leads = threading.Event(), threading.Event()
    leads.set()
    leading = replace(lead(), leads=lambda _: leads.is_set())
    server = served.server(leading=leading, renew_every_s=0.01)
    with server.of(KEY).locked("run-1", on_lost=lost.set):
        before = server.locks.holder(KEY)
        assert process.wait_until(lambda: server.locks.holder(KEY) != before, timeout_s=20), "it is renewed"
        leads.clear()
        assert lost.wait(20)
        after = server.locks.holder(KEY)
        assert server.locks.holder(KEY) == after, "and is not any more"


@pytest.mark.parametrize("why", [LostLeadership("another server leads"), StoreUnavailable("no answer")])
def test_who_may_not_act_takes_nothing(served: Served, why: Exception) -> None:
    def epoch() -> Epoch:
        raise why

    server = served.server(leading=Leading("server-1", epoch, lambda _: False))
    with pytest.raises(RunInterrupted, match=str(why)), server.of(KEY).locked("run-1", on_lost=never):
        raise AssertionError("nobody may act")
    assert server.locks.holder(KEY) is None


def test_a_state_stays_held_while_processes_of_its_run_are_alive(served: Served) -> None:
    server = served.server(left_of={"run-1": (4242,)}.__getitem__)
    with server.of(KEY).locked("run-1", on_lost=never):
        pass
    assert server.locks.holder(KEY) is not None


def test_two_homes_on_one_machine_are_kept_apart_by_the_database(served: Served) -> None:
    one, two = served.server(home="one"), served.server(home="two", epoch=2, process=ELSEWHERE)
    theirs = two.of(KEY).locked("run-2", on_lost=never)
    with one.of(KEY).locked("run-1", on_lost=never), pytest.raises(RunInProgress, match="run-1 of server"), theirs:
        raise AssertionError("both hold it")
    assert one.of(KEY).folder != two.of(KEY).folder
