"""Terraform's states move between files and the database when asked, whole, and while nobody leads; never silently."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from sqlalchemy import Engine

from controlplane.server.assembly.terraform_states import Storage, first_state, settle, still_in_force
from controlplane.storage.home import HomeIdentity
from controlplane.storage.home_binding import HTTP, LOCAL, HomeRefused, claim_home, homes_of
from controlplane.storage.lease import SqlLeaseStore
from events.engine import writing
from providers.errors import StateUnreadable
from providers.tf.state_file import LocalStates
from providers.tf.states import StateStorage
from tests.fakes.states import KEY, OTHER_KEY, Served, body

OURS = HomeIdentity("home-1", "installation-1", "alpha", "/var/lib/kedge")


@dataclass
class Installation:
    """One home with both storages, and the states it has."""

    engine: Engine
    root: Path

    def storage(self, chosen: str) -> Storage:
        served = Served(self.engine, self.root).server(home="terraform")
        return Storage(LocalStates(self.root / "terraform"), served, chosen)

    def start(self, chosen: str, *, move: bool = False) -> Storage:
        """What a server does with its storages when it starts."""
        storage = self.storage(chosen)
        claimed = claim_home(self.engine, OURS, state=first_state(storage), keys_print="keys")
        settle(self.engine, storage, recorded=claimed.state, move=move, leases=self.leases, term_s=30)
        return storage

    @property
    def leases(self) -> SqlLeaseStore:
        return SqlLeaseStore(self.engine, longest_call_s=10)

    @property
    def recorded(self) -> str:
        return homes_of(self.engine)[0].state


@pytest.fixture
def installation(engine: Engine, tmp_path: Path) -> Installation:
    return Installation(engine, tmp_path)


def fill(states: StateStorage) -> None:
    for key, serial in ((KEY, 3), (OTHER_KEY, 8)):
        state = states.of(key)
        with state.locked("run", on_lost=lambda: None):
            state.write(body(serial, instances=("b-0.g1",)))


def test_a_new_installation_begins_where_it_is_set_to(installation: Installation) -> None:
    assert installation.start(HTTP).chosen == HTTP
    assert installation.recorded == HTTP
    installation.start(HTTP)


def test_another_setting_is_refused_until_the_move_is_asked_for(installation: Installation) -> None:
    fill(installation.start(LOCAL).states)
    with pytest.raises(HomeRefused, match=r"are in `local`, and terraform.state says `http`.*--move-terraform-state"):
        installation.start(HTTP)
    assert installation.recorded == LOCAL
    assert installation.storage(HTTP).served.keys() == (), "nothing was moved"


def test_states_are_moved_into_the_database_and_the_files_are_kept_under_another_name(
    installation: Installation,
) -> None:
    files = installation.start(LOCAL)
    fill(files.states)
    storage = installation.start(HTTP, move=True)
    assert storage.states.keys() == (KEY, OTHER_KEY)
    assert storage.states.of(KEY).read() == body(3, instances=("b-0.g1",))
    assert installation.recorded == HTTP
    assert files.files.keys() == ()
    (aside,) = files.files.of(KEY).directory.glob("terraform.tfstate.moved-*")
    assert aside.read_bytes() == body(3, instances=("b-0.g1",))
    installation.start(HTTP)
    with pytest.raises(HomeRefused, match=r"are in `http`"):
        installation.start(LOCAL)


def test_they_move_back_as_well(installation: Installation) -> None:
    served = installation.start(HTTP)
    fill(served.states)
    served.served.chosen.keep("aws-1", b"checksums", instead_of=None)
    storage = installation.start(LOCAL, move=True)
    assert storage.states.of(KEY).chosen.read("aws-1") == b"checksums"
    assert storage.states.keys() == (KEY, OTHER_KEY)
    assert storage.states.of(OTHER_KEY).read() == body(8, instances=("b-0.g1",))
    assert (installation.recorded, storage.served.keys()) == (LOCAL, ())


def test_moving_what_is_there_already_changes_nothing(installation: Installation) -> None:
    fill(installation.start(HTTP).states)
    before = installation.storage(HTTP).served.versions.versions(KEY)
    installation.start(HTTP, move=True)
    assert installation.storage(HTTP).served.versions.versions(KEY) == before


def test_files_of_a_home_are_not_left_behind_by_a_new_database(installation: Installation) -> None:
    fill(installation.storage(LOCAL).files)
    with pytest.raises(HomeRefused, match="--move-terraform-state"):
        installation.start(HTTP)
    assert installation.start(HTTP, move=True).states.keys() == (KEY, OTHER_KEY)


def test_nothing_is_moved_while_a_server_leads_or_may_still_act(installation: Installation) -> None:
    fill(installation.start(LOCAL).states)
    lease = installation.leases.acquire("converge", "alpha:1:aa", term_s=30)
    assert lease is not None
    with pytest.raises(HomeRefused, match="a server leads"):
        installation.start(HTTP, move=True)
    installation.leases.release(lease)
    installation.start(HTTP, move=True)
    assert installation.leases.acquire("converge", "alpha:2:bb", term_s=30), "the mover gave the lease back"


def test_nothing_is_moved_while_a_run_is_at_work(installation: Installation) -> None:
    files = installation.start(LOCAL)
    fill(files.states)
    run = files.states.of(OTHER_KEY).locked("run-9", on_lost=lambda: None)
    with run, pytest.raises(HomeRefused, match=r"cannot be moved.*run-9"):
        installation.start(HTTP, move=True)
    assert installation.recorded == LOCAL
    assert files.states.keys() == (KEY, OTHER_KEY), "the files are in force, and in their places"
    installation.start(HTTP, move=True)
    assert installation.recorded == HTTP


def test_a_damaged_state_stops_the_move(installation: Installation) -> None:
    files = installation.start(LOCAL)
    fill(files.states)
    files.files.of(OTHER_KEY).path.write_text('{"version": 4, "li')
    with pytest.raises(HomeRefused, match="cannot be moved"):
        installation.start(HTTP, move=True)
    assert installation.recorded == LOCAL


def test_what_an_attempt_that_failed_left_in_the_other_storage_is_in_nobodys_way(installation: Installation) -> None:
    files = installation.start(LOCAL)
    fill(files.states)
    run = files.states.of(OTHER_KEY).locked("run-9", on_lost=lambda: None)
    with run, pytest.raises(HomeRefused):
        installation.start(HTTP, move=True)
    assert installation.storage(HTTP).served.keys() == (KEY,)
    files.files.of(KEY).set_aside("rebuilt")
    state = files.states.of(KEY)
    with state.locked("run-10", on_lost=lambda: None):
        state.write(body(1, lineage="line-2"))
    assert installation.start(HTTP, move=True).states.of(KEY).read() == body(1, lineage="line-2")


def test_a_state_that_terraform_could_not_write_has_to_be_pushed_first(installation: Installation) -> None:
    files = installation.start(LOCAL)
    fill(files.states)
    left = files.files.of(KEY).folder.workspaces / "a-run"
    left.mkdir(parents=True)
    (left / "errored.tfstate").write_bytes(body(4, instances=("b-0.g1", "b-1.g1")))
    with pytest.raises(HomeRefused, match=r"errored\.tfstate.*could not write"):
        installation.start(HTTP, move=True)
    assert installation.recorded == LOCAL
    (left / "errored.tfstate").write_bytes(body(2))
    installation.start(HTTP, move=True)


def test_a_server_that_was_running_during_the_move_begins_no_run(installation: Installation) -> None:
    old = installation.start(LOCAL)
    still_in_force(installation.engine, old)
    installation.start(HTTP, move=True)
    with pytest.raises(StateUnreadable, match="moved to `http` while this server was running on `local`"):
        still_in_force(installation.engine, old)


def test_states_do_not_go_back_to_files_while_several_homes_share_the_database(
    postgresql: Engine, tmp_path: Path
) -> None:
    installation = Installation(postgresql, tmp_path)
    fill(installation.start(HTTP).states)
    claim_home(postgresql, replace(OURS, home_id="home-2", host="beta"), state=HTTP, keys_print="keys")
    with pytest.raises(HomeRefused, match="several homes"):
        installation.start(LOCAL, move=True)
    assert installation.recorded == HTTP


def test_a_database_from_before_there_was_a_choice_has_its_states_in_files(installation: Installation) -> None:
    installation.start(LOCAL)
    with writing(installation.engine) as transaction:
        transaction.exec_driver_sql("UPDATE home SET terraform_state = NULL, keys_print = NULL")
    assert installation.start(LOCAL).chosen == LOCAL
    with pytest.raises(HomeRefused, match="--move-terraform-state"):
        installation.start(HTTP)


def test_states_that_came_with_a_backup_are_in_force_whatever_is_set(installation: Installation) -> None:
    fill(installation.storage(HTTP).served)
    with pytest.raises(HomeRefused, match=r"are in `http`"):
        installation.start(LOCAL)
    assert installation.start(HTTP).states.keys() == (KEY, OTHER_KEY)
