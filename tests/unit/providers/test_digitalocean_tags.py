"""Flat tags that give every value back: nothing is cut, and no two values share a word, whatever the case."""

import re

import pytest
from hypothesis import given, strategies as st

from providers.digitalocean.tags import LONGEST, decoded, encoded, encoded_values, tag, tags_of

TAKEN = re.compile(r"[a-z0-9:_-]*")


@given(st.text())
def test_every_value_comes_back_from_its_word(value: str) -> None:
    assert decoded(encoded(value)) == value
    assert TAKEN.fullmatch(encoded(value))


@given(st.text(max_size=20), st.text(max_size=20))
def test_two_values_never_have_the_same_word(first: str, second: str) -> None:
    assert (encoded(first) == encoded(second)) is (first == second)


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ("brokers-nyc3-a-0", "brokers-nyc3-a-0"),
        ("4.2.0", "4_2e2_2e0"),
        ("brokers-a-0.data.v1", "brokers-a-0_2edata_2ev1"),
        ("Upper", "_55pper"),
        ("a b:c_d", "a_20b_3ac_5fd"),
        ("ü", "_c3_bc"),
    ],
)
def test_words_are_what_the_module_writes(value: str, word: str) -> None:
    assert encoded(value) == word


@pytest.mark.parametrize("word", ["_", "_g0", "_2E", "a.b", "_61", "_c3", "A"])
def test_a_word_that_was_never_written_is_refused(word: str) -> None:
    with pytest.raises(ValueError):  # a `UnicodeDecodeError` is one
        decoded(word)


def test_a_tag_that_does_not_fit_is_refused_and_not_cut() -> None:
    key = "kedge-node"
    assert len(tag(key, "x" * (LONGEST - len(key) - 1))) == LONGEST
    with pytest.raises(ValueError, match="longer than the 255"):
        tag(key, "x" * (LONGEST - len(key)))


def test_a_module_gets_words_for_values() -> None:
    assert encoded_values({"kedge-image": "4.2.0"}) == {"kedge-image": "4_2e2_2e0"}


def test_what_others_wrote_is_no_tag_of_ours() -> None:
    assert tags_of(["web", "env:prod", "kedge-node", "kedge-node:_zz"]) == {}


def test_a_key_that_stands_twice_says_nothing() -> None:
    assert tags_of(["kedge-node:a", "kedge-node:b", "kedge-intent:i"]) == {"kedge-intent": "i"}


def test_capitals_of_an_older_spelling_do_not_matter() -> None:
    assert tags_of(["KEDGE-NODE:B-0"]) == {"kedge-node": "b-0"}
