"""Storages of Terraform states: files of a home, and rows of a database, by one contract."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from events.engine import build_engine
from providers.errors import RunInProgress
from providers.tf.mirror import ProviderMirror
from providers.tf.state_body import StateRefused, serial_of, targets_in
from providers.tf.state_file import LocalStates
from providers.tf.states import StateStorage
from tests.contract.conftest import SQL
from tests.fakes.states import KEY, OTHER_KEY, Served, body


@pytest.fixture(params=["files", *SQL])
def storage(
    request: pytest.FixtureRequest, tmp_path: Path, wiped_database: Callable[[str], str]
) -> Iterator[StateStorage]:
    if request.param == "files":
        yield LocalStates(tmp_path / "states")
        return
    engine = build_engine(wiped_database(request.param))
    yield Served(engine, tmp_path).server()
    engine.dispose()


def never() -> None:
    raise AssertionError("the state was not lost")


def test_a_state_that_was_never_written_is_none_and_holds_nothing(storage: StateStorage) -> None:
    state = storage.of(KEY)
    with state.locked("run-1", on_lost=never):
        assert state.read() is None
        assert state.repair() is False
        assert targets_in(state.read()) == frozenset()
    assert storage.keys() == ()


def test_each_state_says_where_its_runs_get_providers_from(storage: StateStorage) -> None:
    mirror = ProviderMirror("/srv/mirror")
    assert storage.of(KEY).mirror is None
    told = replace(storage, mirror=mirror)  # type: ignore[type-var]  # both are dataclasses
    assert [told.of(key).mirror for key in (KEY, OTHER_KEY)] == [mirror, mirror]


def test_what_is_written_is_read_by_whoever_comes_next(storage: StateStorage) -> None:
    state = storage.of(KEY)
    with state.locked("run-1", on_lost=never):
        state.keep_copy()
        state.write(body(1))
        state.write(body(2, instances=("b-0.g1",)))
    found = storage.of(KEY).read()
    assert found == body(2, instances=("b-0.g1",))
    assert targets_in(found) == {"instance/b-0.g1"}


def test_states_are_apart(storage: StateStorage) -> None:
    for key, serial in ((KEY, 1), (OTHER_KEY, 5)):
        state = storage.of(key)
        with state.locked("run", on_lost=never):
            state.write(body(serial))
    assert storage.keys() == (KEY, OTHER_KEY)
    assert [serial_of(storage.of(key).read() or b"") for key in (KEY, OTHER_KEY)] == [1, 5]


def test_the_same_bytes_again_are_fine(storage: StateStorage) -> None:
    state = storage.of(KEY)
    with state.locked("run-1", on_lost=never):
        state.write(body(3))
        state.write(body(3))
    assert state.read() == body(3)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(body(2), id="a serial that goes back"),
        pytest.param(body(3, instances=("b-9.g1",)), id="the same serial with other content"),
        pytest.param(body(9, lineage="line-2"), id="another lineage"),
        pytest.param(b'{"version": 4, "serial": 9, "li', id="half a state"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_what_is_no_later_version_is_refused_and_the_state_stays(storage: StateStorage, wrong: bytes) -> None:
    state = storage.of(KEY)
    with state.locked("run-1", on_lost=never):
        state.write(body(3))
        with pytest.raises(StateRefused):
            state.write(wrong)
        assert state.read() == body(3)


def test_two_runs_do_not_hold_one_state(storage: StateStorage) -> None:
    with storage.of(KEY).locked("run-1", on_lost=never):
        with pytest.raises(RunInProgress, match="run-1"), storage.of(KEY).locked("run-2", on_lost=never):
            raise AssertionError("both hold it")
        with storage.of(OTHER_KEY).locked("run-3", on_lost=never):
            pass
    with storage.of(KEY).locked("run-2", on_lost=never):
        pass


def test_of_many_that_want_it_at_once_one_gets_it(storage: StateStorage) -> None:
    barrier, done, outcomes = threading.Barrier(4), threading.Barrier(4), list[str]()

    def want(run: str) -> None:
        barrier.wait(10)
        try:
            with storage.of(KEY).locked(run, on_lost=never):
                outcomes.append("held")
                done.wait(20)
        except RunInProgress:
            outcomes.append("refused")
            done.wait(20)

    threads = [threading.Thread(target=want, args=(f"run-{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(outcomes) == ["held", "refused", "refused", "refused"]


def test_a_run_that_fails_gives_the_state_back(storage: StateStorage) -> None:
    with pytest.raises(ZeroDivisionError), storage.of(KEY).locked("run-1", on_lost=never):
        raise ZeroDivisionError
    with storage.of(KEY).locked("run-2", on_lost=never):
        pass


def test_what_is_set_aside_is_not_found_any_more_and_the_next_begins_anew(storage: StateStorage) -> None:
    state = storage.of(KEY)
    assert state.set_aside("before") is False
    with state.locked("run-1", on_lost=never):
        state.write(body(7))
    assert state.set_aside("before") is True
    assert (state.read(), storage.keys()) == (None, ())
    with state.locked("run-2", on_lost=never):
        state.write(body(1, lineage="line-2"))
    assert state.read() == body(1, lineage="line-2")


def test_what_terraform_is_told_names_one_backend_and_no_secret_in_it(storage: StateStorage) -> None:
    with storage.of(KEY).locked("run-1", on_lost=never) as access:
        ((backend, block),) = access.backend.items()
        assert backend in ("local", "http")
        shown = f"{block} {access!r}"
        assert not any(secret in shown for secret in access.environment.values())


def test_what_a_run_leaves_is_in_a_folder_for_its_owner_only(storage: StateStorage) -> None:
    state = storage.of(KEY)
    with state.locked("run-1", on_lost=never):
        assert state.folder.directory.is_dir()
        assert state.folder.directory.stat().st_mode & 0o077 == 0
