"""Passwords of users on their way: made once, the same for all who ask, given away once, sealed where they are kept."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, insert, select

from controlplane.storage.tables import USER_PASSWORD
from controlplane.storage.terraform_states.encryption import KeySeal
from controlplane.storage.user_passwords import PasswordNotAtHand, PendingPasswords, SqlPendingPasswords
from events.clock import utc_now
from events.ids import ClusterUid
from tests.fakes.pending_passwords import MemoryPendingPasswords

ONE, OTHER = ClusterUid("c1"), ClusterUid("c2")
SEAL = KeySeal(b"server key")


@pytest.fixture(params=["sql", "memory"])
def passwords(request: pytest.FixtureRequest, engine: Engine) -> PendingPasswords:
    return MemoryPendingPasswords() if request.param == "memory" else SqlPendingPasswords(engine, SEAL)


def test_a_password_is_made_once_and_is_the_same_for_whoever_asks(passwords: PendingPasswords) -> None:
    made = passwords.of(ONE, {"alice": 1, "bob": 2})
    assert made.keys() == {"alice", "bob"}
    assert passwords.of(ONE, {"alice": 1, "bob": 2}) == made
    assert made["alice"] != made["bob"]
    assert passwords.of(ONE, {}) == {}


def test_it_has_at_least_128_random_bits_and_nothing_that_is_quoted_anywhere(passwords: PendingPasswords) -> None:
    text = passwords.of(ONE, {"alice": 1})["alice"].get_secret_value()
    assert len(text) == 32
    assert text.replace("-", "").replace("_", "").isalnum()
    assert text.isascii()


def test_it_is_given_away_once(passwords: PendingPasswords) -> None:
    made = passwords.of(ONE, {"alice": 1})["alice"]
    assert passwords.take(ONE, 1) == made
    assert passwords.take(ONE, 1) is None


def test_it_is_read_as_often_as_wanted_and_never_made_by_that(passwords: PendingPasswords) -> None:
    assert passwords.read(ONE, 1) is None
    made = passwords.of(ONE, {"alice": 1})["alice"]
    assert passwords.read(ONE, 1) == passwords.read(ONE, 1) == made
    assert passwords.read(OTHER, 1) is None
    assert passwords.look(ONE, 1)


def test_a_number_is_of_its_cluster(passwords: PendingPasswords) -> None:
    passwords.of(ONE, {"alice": 1})
    assert passwords.take(OTHER, 1) is None
    passwords.keep_only(OTHER, (), up_to=1)
    assert passwords.take(ONE, 1) is not None


def test_what_is_not_needed_any_more_is_dropped(passwords: PendingPasswords) -> None:
    passwords.of(ONE, {"alice": 1, "bob": 2})
    passwords.keep_only(ONE, {2}, up_to=2)
    assert passwords.take(ONE, 1) is None
    assert passwords.take(ONE, 2) is not None


def test_one_of_a_higher_number_than_the_caller_knows_of_stays(passwords: PendingPasswords) -> None:
    """A password is collected while another one is asked for and made: who collects knows nothing of that one."""
    made = passwords.of(ONE, {"alice": 1, "bob": 2})
    passwords.keep_only(ONE, (), up_to=1)
    assert not passwords.look(ONE, 1)
    assert passwords.look(ONE, 2)
    assert passwords.take(ONE, 2) == made["bob"]


def test_no_repr_and_no_text_shows_it(passwords: PendingPasswords) -> None:
    made = passwords.of(ONE, {"alice": 1})
    assert made["alice"].get_secret_value() not in f"{made} {made!r} {passwords!r}"


def test_of_many_who_ask_at_once_all_get_the_same_one(engine: Engine) -> None:
    stores = [SqlPendingPasswords(engine, SEAL) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda store: store.of(ONE, {"alice": 1})["alice"].get_secret_value(), stores))
    assert len(set(found)) == 1


def test_of_many_who_take_it_at_once_one_gets_it(engine: Engine) -> None:
    SqlPendingPasswords(engine, SEAL).of(ONE, {"alice": 1})
    with ThreadPoolExecutor(4) as pool:
        taken = list(pool.map(lambda _: SqlPendingPasswords(engine, SEAL).take(ONE, 1), range(4)))
    assert sum(one is not None for one in taken) == 1


def test_the_row_does_not_show_it_and_opens_for_its_user_alone(engine: Engine) -> None:
    store = SqlPendingPasswords(engine, SEAL)
    secret = store.of(ONE, {"alice": 1})["alice"].get_secret_value()
    with engine.begin() as connection:
        row = connection.execute(select(USER_PASSWORD)).one()
        assert secret.encode() not in bytes(row.sealed)
        moved = {"cluster_uid": ONE, "number": 2, "user_name": "bob", "sealed": row.sealed, "made_at": utc_now()}
        connection.execute(insert(USER_PASSWORD), [moved])
    with pytest.raises(PasswordNotAtHand) as lost:
        store.of(ONE, {"bob": 2})
    assert secret not in str(lost.value)


def test_under_another_server_key_nothing_opens(engine: Engine) -> None:
    SqlPendingPasswords(engine, SEAL).of(ONE, {"alice": 1})
    with pytest.raises(PasswordNotAtHand, match="server-key"):
        SqlPendingPasswords(engine, KeySeal(b"another")).of(ONE, {"alice": 1})
    with pytest.raises(PasswordNotAtHand, match="server-key"):
        SqlPendingPasswords(engine, KeySeal(b"another")).look(ONE, 1)
