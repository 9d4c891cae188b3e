"""Users, bindings and sessions: one suite over memory, SQLite and PostgreSQL."""

import threading
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.access.sessions import (
    IDLE,
    BrowserSession,
    SessionStore,
    SqlSessionStore,
    begin_session,
    session_of,
)
from controlplane.api.access.users import SqlUserStore, User, UserStore
from tests.fakes.people import MemorySessionStore, MemoryUserStore

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
ADMIN = Binding("user:ada", Role.ADMIN, "*")
VIEWER = Binding("user:ada", Role.VIEWER, "team:payments")


@pytest.fixture
def users(engine_or_memory: Engine | None) -> UserStore:
    return MemoryUserStore() if engine_or_memory is None else SqlUserStore(engine_or_memory)


@pytest.fixture
def sessions(engine_or_memory: Engine | None) -> SessionStore:
    return MemorySessionStore() if engine_or_memory is None else SqlSessionStore(engine_or_memory)


def user(name: str = "ada") -> User:
    return User(name, f"hash of {name}", True, NOW)


def test_a_user_is_kept_as_it_was_made(users: UserStore) -> None:
    assert users.add(user())
    assert users.get("ada") == user()
    assert users.get("bob") is None


def test_a_name_is_taken_once(users: UserStore) -> None:
    assert users.add(user())
    assert not users.add(User("ada", "another hash", False, NOW))
    assert users.all() == [user()]


def test_the_first_user_is_made_only_where_there_is_none(users: UserStore) -> None:
    assert users.add_first(user(), ADMIN)
    assert not users.add_first(user("bob"), Binding("user:bob", Role.ADMIN, "*"))
    assert (users.all(), users.bindings()) == ([user()], [ADMIN])


def test_of_servers_that_start_together_one_makes_the_first_user(users: UserStore) -> None:
    made: list[bool] = []
    starting = [threading.Thread(target=lambda: made.append(users.add_first(user(), ADMIN))) for _ in range(6)]
    for thread in starting:
        thread.start()
    for thread in starting:
        thread.join()
    assert sorted(made) == [False] * 5 + [True]


def test_a_password_is_changed_where_there_is_a_user(users: UserStore) -> None:
    users.add(user())
    assert users.set_password("ada", "new hash", must_change=False)
    assert not users.set_password("bob", "new hash", must_change=False)
    assert users.get("ada") == User("ada", "new hash", False, NOW)


def test_bindings_are_a_set(users: UserStore) -> None:
    assert users.bind(ADMIN)
    assert not users.bind(ADMIN)
    assert users.bind(VIEWER)
    assert users.bindings() == sorted([ADMIN, VIEWER])
    assert users.unbind(ADMIN)
    assert not users.unbind(ADMIN)
    assert users.bindings() == [VIEWER]


def test_with_a_user_go_their_bindings_and_no_others(users: UserStore) -> None:
    other = Binding("user:adam", Role.VIEWER, "*")
    users.add(user())
    users.bind(ADMIN)
    users.bind(other)
    assert users.remove("ada")
    assert not users.remove("ada")
    assert users.bindings() == [other]


def test_a_session_is_found_by_its_cookie_alone(sessions: SessionStore) -> None:
    cookie, begun = begin_session(sessions, "ada", NOW)
    assert session_of(sessions, cookie, NOW) == begun
    assert session_of(sessions, begun.key, NOW) is None
    assert session_of(sessions, "", NOW) is None


def test_an_ended_session_opens_nothing_and_ending_it_again_is_fine(sessions: SessionStore) -> None:
    cookie, begun = begin_session(sessions, "ada", NOW)
    sessions.end(begun.key)
    sessions.end(begun.key)
    assert session_of(sessions, cookie, NOW) is None


def test_all_sessions_of_a_person_end_and_no_others(sessions: SessionStore) -> None:
    first, _ = begin_session(sessions, "ada", NOW)
    second, _ = begin_session(sessions, "ada", NOW)
    other, _ = begin_session(sessions, "bob", NOW)
    sessions.end_all_of("ada")
    assert [session_of(sessions, c, NOW) is None for c in (first, second, other)] == [True, True, False]


def test_a_request_keeps_a_session_alive_and_is_noted_once_a_minute(sessions: SessionStore) -> None:
    cookie, begun = begin_session(sessions, "ada", NOW)
    session_of(sessions, cookie, NOW + timedelta(seconds=30))
    assert sessions.get(begun.key) == begun
    session_of(sessions, cookie, NOW + timedelta(hours=7))
    assert session_of(sessions, cookie, NOW + timedelta(hours=14)) is not None


def test_sessions_that_are_over_are_swept_away(sessions: SessionStore) -> None:
    _, old = begin_session(sessions, "ada", NOW)
    _, new = begin_session(sessions, "bob", NOW + IDLE)
    assert sessions.get(old.key) is None
    assert sessions.get(new.key) == new
    assert isinstance(new, BrowserSession)
