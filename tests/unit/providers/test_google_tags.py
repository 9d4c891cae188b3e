"""What a label of Google cannot hold is spelled out, comes back as it was, and is never the same for two values."""

import re

import pytest
from hypothesis import given, strategies as st

from providers.google.tags import address_filter, address_owner, decoded, encoded, volume_key
from tests.fakes.clouds.google_names import name_of

KEY = "kedge-intent"


def test_what_is_legal_already_stays_as_it_is() -> None:
    told = {"kedge-node": "brokers-a-0", KEY: "0123456789abcdef0123456789abcdef", "kedge-generation": "12"}
    assert encoded(told) == told


def test_what_is_not_is_spelled_byte_by_byte() -> None:
    assert encoded({"kedge-image": "4.2.0"}) == {"kedge-image": "4_2e2_2e0"}
    assert encoded({KEY: "A_ü"}) == {KEY: "_41_5f_c3_bc"}


def test_what_is_too_long_goes_on_in_the_next_label() -> None:
    labels = encoded({KEY: "x" * 130, "kedge-node": "b-0"})
    assert {k: len(v) for k, v in labels.items()} == {KEY: 63, f"{KEY}-2": 63, f"{KEY}-3": 4, "kedge-node": 3}
    assert decoded(labels) == {KEY: "x" * 130, "kedge-node": "b-0"}


def test_a_spelling_that_is_cut_in_two_is_read_whole() -> None:
    assert decoded(encoded({KEY: "x" * 62 + ".y"})) == {KEY: "x" * 62 + ".y"}


@given(st.dictionaries(st.sampled_from([KEY, "kedge-node", "kedge-image"]), st.text(max_size=200)))
def test_every_value_is_legal_and_comes_back(told: dict[str, str]) -> None:
    labels = encoded(told)
    assert all(re.fullmatch(r"[a-z0-9_-]{0,63}", value) for value in labels.values())
    assert all(re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", key) for key in labels)
    assert decoded(labels) == told


def test_more_than_google_takes_is_refused_and_not_cut() -> None:
    with pytest.raises(ValueError, match="65 labels are more than the 64"):
        encoded({KEY: "x" * 63 * 65})


def test_foreign_labels_raise_nothing() -> None:
    assert decoded({"owner": "_zz", "cost-2": "x", "odd": "_ff"}) == {
        "owner": "_zz",
        "cost-2": "x",
        "odd": "\N{REPLACEMENT CHARACTER}",
    }


def test_a_disk_is_a_volume_by_three_labels() -> None:
    assert volume_key({"kedge-dir": "data", "kedge-version": "2"}, "b-0") == "b-0.data.v2"
    assert volume_key({"kedge-dir": "data"}, "b-0") is None
    assert volume_key({"kedge-dir": "data", "kedge-version": "two"}, "b-0") is None
    assert volume_key({}, "b-0") is None


def test_an_addresss_owner_stands_in_its_description() -> None:
    assert address_owner("kedge test c0ffee c-0") == ("test", "c0ffee", "c-0")
    assert address_owner("of the kedge in the harbour") is None
    assert address_owner("") is None


def test_the_filter_of_addresses_finds_an_installation_and_none_whose_name_begins_alike() -> None:
    pattern = address_filter("test").removeprefix('description eq "').removesuffix('"')
    assert re.fullmatch(pattern, "kedge test c0ffee c-0")
    assert not re.fullmatch(pattern, "kedge test-2 c0ffee c-0")


@given(st.text("abc-", min_size=1, max_size=80), st.text("abc-.", min_size=1, max_size=80))
def test_a_name_is_always_one_google_takes(cluster: str, key: str) -> None:
    assert re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", name_of("test", "uid", cluster, "instance", key))


def test_two_things_never_have_one_name_though_their_words_are_cut_alike() -> None:
    long = "x" * 80
    names = {
        name_of(installation, uid, "orders", kind, key)
        for installation in ("one", "two")
        for uid in ("aaa", "bbb")
        for kind in ("instance", "volume", "address")
        for key in (f"{long}-0.g1", f"{long}-1.g1", f"{long}-1-g1")
    }
    assert len(names) == 2 * 2 * 3 * 3
