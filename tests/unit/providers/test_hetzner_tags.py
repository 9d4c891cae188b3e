"""Labels hold every tag, take no sign a label may not have, and give each tag back."""

import re
from collections.abc import Mapping

import pytest
from hypothesis import given, strategies as st

from providers.hetzner.tags import labels_of, selector, tags_of

NAMES = st.sampled_from(["kedge-node", "kedge-intent", "kedge-cluster-name", "kedge-ephemeral-volumes"])
TAGS = st.dictionaries(NAMES, st.text(max_size=200))

LABEL = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")


@given(TAGS)
def test_what_is_written_is_a_label_and_comes_back(tags: Mapping[str, str]) -> None:
    labels = labels_of(tags)
    assert all(LABEL.fullmatch(value) for value in labels.values())
    assert tags_of(labels) == tags


@given(TAGS, TAGS)
def test_different_tags_are_different_labels(one: Mapping[str, str], other: Mapping[str, str]) -> None:
    assert (labels_of(one) == labels_of(other)) == (one == other)


@pytest.mark.parametrize("value", ["orders", "c-0", "4.1.1", "intent-b-0.g1", "", "a" * 63])
def test_a_value_that_is_a_label_stays_for_people_to_read(value: str) -> None:
    assert labels_of({"kedge-node": value}) == {"kedge-node": value}


def test_a_long_value_is_written_over_several_labels() -> None:
    keys = " ".join(f"brokers-a-{n}.data.v1" for n in range(5))
    labels = labels_of({"kedge-ephemeral-volumes": keys})
    assert sorted(labels) == [
        "kedge-ephemeral-volumes",
        "kedge-ephemeral-volumes.2",
        "kedge-ephemeral-volumes.3",
    ]


def test_a_value_that_looks_written_is_written_too() -> None:
    assert labels_of({"kedge-node": "b32.1.me"})["kedge-node"] != "b32.1.me"


@pytest.mark.parametrize("spoilt", ["b32.2.mfrgg", "b32.1.0189", "b32.9", "b32.1.mfrg2zdf77", "b32.1.7777777777"])
def test_a_label_nobody_here_wrote_is_no_tag(spoilt: str) -> None:
    assert tags_of({"kedge-node": spoilt, "kedge-intent": "why"}) == {"kedge-intent": "why"}


def test_parts_of_two_values_are_not_put_together() -> None:
    long, longer = labels_of({"k": "ä" * 60}), labels_of({"k": "ä" * 90})
    assert "k" not in tags_of(longer | {"k.2": long["k.2"]})


def test_a_selector_names_every_label_of_a_tag() -> None:
    assert selector({"kedge-installation": "test"}) == "kedge-installation=test"
    assert re.fullmatch(r"kedge-installation=b32\.1\.\w+", selector({"kedge-installation": "ends-with-"}))
