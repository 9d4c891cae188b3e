"""Which labels of a spec become tags of which cloud, as they are or not at all."""

import pytest
from hypothesis import given, strategies as st

from providers import tags
from providers.cost_tags import FORMS, MOST, cost_tags, list_problem, misfit
from providers.registry import names

KEDGES = (tags.INSTALLATION, tags.CLUSTER_UID, tags.CLUSTER_NAME, tags.NODE, tags.GENERATION, tags.INTENT)


def test_every_cloud_that_bills_has_a_form() -> None:
    assert {*names()} - {*FORMS} == {"local"}


def test_only_what_is_on_the_list_reaches_a_cloud() -> None:
    labels = {"team": "payments", "secret": "x", "cost-center": "4711"}
    assert cost_tags(labels, ["cost-center", "team", "absent"], "aws") == {"cost-center": "4711", "team": "payments"}
    assert cost_tags(labels, [], "aws") == {}
    assert cost_tags(labels, ["team"], "local") == {}


@pytest.mark.parametrize("cloud", FORMS)
def test_a_plain_label_is_taken_by_every_cloud_as_it_is(cloud: str) -> None:
    assert cost_tags({"cost-center": "cc-4711"}, ["cost-center"], cloud) == {"cost-center": "cc-4711"}


@pytest.mark.parametrize("cloud", FORMS)
@pytest.mark.parametrize("key", [*KEDGES, "Kedge-Node", "kedge"])
def test_kedges_own_names_are_nobodys_label(cloud: str, key: str) -> None:
    assert "Kedge's own" in misfit(cloud, key, "x")
    assert cost_tags({key: "x"}, [key], cloud) == {}


@pytest.mark.parametrize(
    ("cloud", "key", "value", "why"),
    [
        ("aws", "aws:createdBy", "x", "reserved on aws"),
        ("aws", "Name", "x", "Kedge gives the tag `Name` to each VM itself"),
        ("aws", "team", "a;b", "letters, digits, spaces"),
        ("aws", "team", "x" * 257, "256"),
        ("aws", "k" * 129, "x", "128"),
        ("google", "Team", "x", "lower-case"),
        ("google", "team", "Payments", "lower-case"),
        ("google", "team", "pay.ments", "63 lower-case"),
        ("google", "team", "x" * 64, "63"),
        ("google", "goog-x", "x", "reserved on google"),
        ("azure", "a/b", "x", "without < > %"),
        ("azure", "team", "x" * 257, "256"),
        ("azure", "team", "", "1 to 256"),
        ("azure", "Microsoft-x", "x", "reserved on azure"),
        ("azure", "windows.x", "x", "reserved on azure"),
        ("digitalocean", "team", "pay ments", "`key:value` of 255"),
        ("digitalocean", "team", "Payments", "differ by case"),
        ("digitalocean", "a.b", "x", "lower-case letters"),
        ("digitalocean", "team", "", "`key:value`"),
        ("digitalocean", "team", "x" * 251, "longer than the 255"),
        ("upcloud", "t", "x", "2 to 32"),
        ("upcloud", "k" * 33, "x", "2 to 32"),
        ("upcloud", "_x", "x", "begins with no _"),
        ("upcloud", "team", "x" * 256, "255"),
        ("hetzner", "team", "-x", "at both ends"),
        ("hetzner", "team", "a b", "63 letters"),
        ("hetzner", "team", "x" * 64, "63"),
    ],
)
def test_what_a_cloud_cannot_hold_is_refused_with_its_rule_and_is_on_nothing(
    cloud: str, key: str, value: str, why: str
) -> None:
    assert why in misfit(cloud, key, value)
    assert cost_tags({key: value, "env": "prod"}, [key, "env"], cloud) == {"env": "prod"}


@pytest.mark.parametrize(
    ("cloud", "value"),
    [
        ("aws", "Zahlungen & mehr".replace("&", "+")),
        ("aws", "Straße 1/2 = a@b"),
        ("aws", "x" * 256),
        ("google", "x_-9" + "y" * 59),
        ("azure", "a; b? <c> 100%"),
        ("digitalocean", "a:b_c-1"),
        ("digitalocean", "x" * 250),
        ("upcloud", "Ünï cödé" + "x" * 247),
        ("hetzner", "A.b_c-1"),
    ],
)
def test_what_a_cloud_can_hold_is_taken(cloud: str, value: str) -> None:
    assert cost_tags({"team": value}, ["team"], cloud) == {"team": value}


@given(st.sampled_from(sorted(FORMS)), st.text(min_size=1, max_size=70), st.text(max_size=300))
def test_a_label_arrives_as_it_is_written_or_not_at_all(cloud: str, key: str, value: str) -> None:
    told = cost_tags({key: value}, [key], cloud)
    assert told == ({} if misfit(cloud, key, value) else {key: value})
    assert not any(name.lower().startswith("kedge") for name in told)
    assert all("\n" not in text and "\0" not in text for pair in told.items() for text in pair)


@pytest.mark.parametrize(
    ("listed", "why"),
    [
        (["kedge-node"], "Kedge's own"),
        (["team", "KEDGE-x"], "Kedge's own"),
        ([""], "not a key of a label"),
        ([" team"], "not a key of a label"),
        (["team", "Team"], "differ by case"),
        (["team", "team"], "listed twice"),
        ([f"key-{n}" for n in range(MOST + 1)], "more than the 20"),
        (["\n"], "not a key of a label"),
        (["te\x07am"], "on no cloud"),
    ],
)
def test_a_list_that_makes_no_sense_is_refused(listed: list[str], why: str) -> None:
    assert why in list_problem(listed)


def test_a_list_that_makes_sense_is_not() -> None:
    assert list_problem([]) == ""
    assert list_problem(["team", "cost-center", "CostCenter", "aws.x", "Name"]) == ""
