"""A login costs the same work whether there is such a user or not: time tells nobody who is one."""

import time
from statistics import median

import pytest
from argon2 import PasswordHasher

from controlplane.api.access.passwords import Passwords


class Counted(PasswordHasher):
    """Remembers the parameters of every hash a password was held against."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)
        self.held: list[str] = []

    def verify(self, hash: str | bytes, password: str | bytes) -> bool:  # type: ignore[override]  # noqa: A002
        self.held.append(str(hash).rpartition("$")[0].rpartition("$")[0])
        return super().verify(hash, password)


def test_an_unknown_name_is_held_against_a_hash_as_costly_as_a_users() -> None:
    hasher = Counted()
    passwords = Passwords(hasher)
    of_a_user = passwords.hashed("a good password")
    assert not passwords.matches(None, "warm")  # the first makes the hash that nobody's password has
    hasher.held.clear()
    assert not passwords.matches(of_a_user, "wrong")
    assert not passwords.matches(None, "wrong")
    (user, dummy) = hasher.held
    assert user == dummy
    assert "$argon2id$" in user


def test_even_the_right_guess_at_the_hash_of_nobody_lets_nobody_in(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("controlplane.api.access.passwords.secrets.token_urlsafe", lambda length: "known")
    passwords = Passwords(Counted())
    assert not passwords.matches(None, "known")


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_an_unknown_name_takes_as_long_as_a_wrong_password() -> None:
    """With the real parameters, in turns, so that what else the machine does falls on both alike. Without the hash of
    nobody the ratio is near 0."""
    passwords = Passwords()
    of_a_user = passwords.hashed("a good password")
    assert not passwords.matches(None, "warm")
    took: dict[str | None, list[float]] = {of_a_user: [], None: []}
    for turn in range(40):
        for who in (of_a_user, None) if turn % 2 else (None, of_a_user):
            began = time.perf_counter()
            assert not passwords.matches(who, "wrong")
            took[who].append(time.perf_counter() - began)
    ratio = median(took[None]) / median(took[of_a_user])
    print(f"\nunknown name / wrong password: {ratio:.3f} of {median(took[of_a_user]) * 1000:.1f} ms")
    assert 0.8 < ratio < 1.25
