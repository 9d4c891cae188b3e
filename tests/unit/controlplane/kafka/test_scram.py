"""Credentials as Kafka wants them, and shown to nobody."""

import base64

from hypothesis import given, strategies as st

from controlplane.kafka.scram import scram_credential
from planner.rights.passwords import iterations_of, may_have

PENCIL = "exzdEwd5jUl5BSvHYRQr/S1axK8C7rMXQOC5/E4u9zndeFBlEQ06/tMSuG9KiGTkagnwG9c74mv9CJtulA40qQ=="


def test_the_salted_password_is_that_of_rfc_5802() -> None:
    # Hi() by SHA-512, 8192 rounds, as `openssl kdf -keylen 64 -kdfopt digest:SHA512 ... PBKDF2` has it
    made = scram_credential("pencil", salt=b"0123456789abcdef")
    assert made.iterations == 8192
    assert base64.b64encode(made.salted_password).decode() == PENCIL


def test_each_credential_has_a_salt_of_its_own_and_shows_none_of_it() -> None:
    one, other = scram_credential("pencil"), scram_credential("pencil")
    assert one.salt != other.salt
    assert one.salted_password != other.salted_password
    assert len(one.salt) == 24
    assert repr(one) == "ScramCredential(iterations=8192)"


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_the_rounds_of_a_password_tell_it_from_the_one_before_and_kafka_takes_them(number: int, before: int) -> None:
    rounds = iterations_of(number, before)
    assert 8192 < rounds <= 16384
    assert may_have(number, rounds)
    assert number == before or not before or rounds != iterations_of(before)
    assert not may_have(number, 4096)
    assert not may_have(number, 8192)
