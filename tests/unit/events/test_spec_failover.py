"""Pairs of clusters: each document alone, and beside the clusters and topics of its file."""

from collections.abc import Mapping

import pytest

from events.spec.document import LoadResult, load_documents
from events.spec.problems import Problem
from tests.external_clusters import an_external_spec
from tests.unit.events.spec_texts import ORDERS

US = ORDERS.replace("name: orders", "name: orders-us").replace("local-1", "local-2")
WARM = {"mode": "warm", "replication": "{}"}
COLD = {"mode": "cold", "standby": "{size: 3}"}
LOCAL = "{cloud: local, region: local-2, zones: [a, b, c]}"


def pair(name: str = "both", *, clusters: str = "[orders, orders-us]", dns: str = "both.example", **spec: str) -> str:
    """A pair's document. The values of `spec` are written as YAML writes them; a warm one where nothing is said."""
    said: Mapping[str, str] = spec if "mode" in spec else {**WARM, **spec}
    more = "".join(f"  {key}: {value}\n" for key, value in said.items() if value)
    return (
        f"apiVersion: kedge/v1alpha1\nkind: KafkaFailover\nmetadata: {{name: {name}}}\nspec:\n  clusters: {clusters}\n"
        f"  bootstrap: {{dns: {dns}}}\n{more}"
    )


def topic(name: str, cluster: str, **spec: str) -> str:
    more = "".join(f"  {key}: {value}\n" for key, value in spec.items())
    return (
        f"apiVersion: kedge/v1alpha1\nkind: KafkaTopic\nmetadata: {{name: {name}}}\nspec:\n  cluster: {cluster}\n"
        f"  partitions: 3\n{more}"
    )


def checked(*texts: str) -> LoadResult:
    return load_documents("---\n".join(texts), file="pair.yaml", takes_pairs=True)


def problems(*texts: str) -> list[Problem]:
    """The problems of a file that are about its pairs."""
    return [p for p in checked(*texts).problems if p.code[-3:] >= "160"]


def only(*texts: str) -> tuple[str, int]:
    """Code and line of the one problem."""
    found = problems(*texts)
    assert len(found) == 1, found
    assert found[0].fix
    return found[0].code, found[0].line


def test_a_pair_of_two_clusters_elsewhere_is_accepted() -> None:
    loaded = checked(ORDERS, US, pair())
    assert (loaded.ok, [f.pair for f in loaded.failovers]) == (True, ["both"])
    assert loaded.problems == ()
    spec = loaded.failovers[0].spec
    assert (spec.bootstrap.ttl, spec.failover.after, spec.failover.divergence) == (5, None, "recopy")
    assert problems(ORDERS, US, pair(**COLD)) == []


def test_a_pair_whose_clusters_are_in_other_files_is_accepted() -> None:
    assert problems(pair()) == []


def test_a_pair_where_none_is_taken_is_refused_with_all_else_of_its_file() -> None:
    loaded = load_documents("---\n".join((ORDERS, US, pair())), file="pair.yaml")
    assert [(p.code, p.line) for p in loaded.problems] == [("KEDGE-SPEC-160", 2 + 2 * (ORDERS.count("\n") + 1))]
    assert "`kedge apply`" in loaded.problems[0].message
    assert not loaded.ok


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (pair(clusters="[orders, orders]"), ("KEDGE-SPEC-161", 5)),
        (pair(mode="warm"), ("KEDGE-SPEC-163", 7)),
        (pair(mode="cold"), ("KEDGE-SPEC-163", 7)),
        (pair(**COLD, replication=WARM["replication"]), ("KEDGE-SPEC-163", 9)),
        (pair(**WARM, standby="{size: 3}"), ("KEDGE-SPEC-163", 9)),
        (pair(mode="cold", standby="{size: 3, resizeTo: 2}"), ("KEDGE-SPEC-163", 8)),
        (pair(topics="{include: [__consumer_offsets]}"), ("KEDGE-SPEC-165", 9)),
        (pair(topics="{include: ['*', __kedge_heartbeats]}"), ("KEDGE-SPEC-165", 9)),
        (pair(topics="{include: [mm2-offsets.eu.internal]}"), ("KEDGE-SPEC-165", 9)),
        (pair(topics="{exclude: [a, '*']}"), ("KEDGE-SPEC-165", 9)),
    ],
)
def test_what_is_wrong_with_the_document_alone_is_told_at_its_line(text: str, expected: tuple[str, int]) -> None:
    assert only(text) == expected


@pytest.mark.parametrize(
    "spec",
    [
        {"bootstrap": "{dns: both.example, ttl: 61s}"},
        {"failover": "{maxPause: 2m}"},
        {"failover": "{after: 5s}"},
        {"mode": "hot"},
        {"clusters": "[orders]"},
    ],
)
def test_values_that_no_pair_can_have_are_refused(spec: dict[str, str]) -> None:
    text = pair().replace("  bootstrap: {dns: both.example}\n", "") if "bootstrap" in spec else pair()
    key = next(iter(spec))
    kept = [line for line in text.splitlines() if not line.startswith(f"  {key}:")]
    loaded = checked("\n".join([*kept, f"  {key}: {spec[key]}", ""]))
    assert [p.line for p in loaded.errors] == [len(kept) + 1]


def test_a_cluster_is_in_one_pair_and_a_pair_in_one_document() -> None:
    other = pair("more", clusters="[orders, elsewhere]", dns="more.example")
    assert only(pair(), other) == ("KEDGE-SPEC-161", 14)
    assert only(pair(), pair()) == ("KEDGE-SPEC-161", 12)


def test_two_pairs_have_two_names() -> None:
    assert only(pair(), pair("more", clusters="[a, b]")) == ("KEDGE-SPEC-164", 15)


def test_a_pairs_name_is_neither_clusters_own() -> None:
    own = US.replace("  rollout:\n", "  bootstrap: {dns: both.example}\n  rollout:\n")
    found = problems(ORDERS, own, pair())
    assert [p.code for p in found] == ["KEDGE-SPEC-164"]
    assert "orders-us" in found[0].message


def test_a_cluster_in_zookeeper_mode_is_of_no_pair() -> None:
    old = US.replace("version: 4.1.1", "version: 3.9.1\n    mode: zookeeper").replace("controller", "zookeeper")
    assert [p.code for p in problems(ORDERS, old, pair())] == ["KEDGE-SPEC-162"]


def test_a_cluster_that_others_run_in_plaintext_cannot_be_fenced_nor_proved_gone() -> None:
    theirs = an_external_spec().replace("name: orders", "name: orders-us", 1)
    assert [p.code for p in problems(ORDERS, theirs, pair(**COLD))] == ["KEDGE-SPEC-162"]


def test_a_warm_pair_in_one_place_is_told_and_accepted() -> None:
    found = problems(ORDERS, US.replace("local-2", "local-1"), pair())
    assert [(p.code, p.severity) for p in found] == [("KEDGE-SPEC-169", "warning")]
    assert problems(ORDERS, US.replace("local-2", "local-1"), pair(**COLD)) == []


def test_who_copies_reaches_the_brokers_of_both() -> None:
    far = "{cloud: aws, region: us-east-1, zones: [us-east-1a, us-east-1b, us-east-1c]}"
    found = problems(ORDERS, US.replace(LOCAL, far), pair())
    assert [p.code for p in found] == ["KEDGE-SPEC-168"]
    assert "orders and of orders-us do not reach each other" in found[0].message
    assert "`route`" in found[0].fix
    assert problems(ORDERS, US.replace(LOCAL, far), pair(**COLD)) == []


@pytest.mark.parametrize(("policy", "field"), [("{after: 5m}", "after"), ("{divergence: keep}", "divergence")])
def test_what_this_release_does_not_do_by_itself_is_refused(policy: str, field: str) -> None:
    found = problems(ORDERS, US, pair(**COLD, failover=policy))
    assert [(p.code, p.path) for p in found] == [("KEDGE-SPEC-179", f"spec.failover.{field}")]


def test_what_this_release_does_not_copy_by_is_refused() -> None:
    pool = "{pool: {size: 1, machine: small, place: PLACE}}".replace("PLACE", LOCAL)
    found = problems(ORDERS, US, pair(mode="warm", replication=pool))
    assert [(p.code, p.path) for p in found] == [("KEDGE-SPEC-177", "spec.replication.pool")]
    secured = US + "  security: {internal: tls}\n"
    found = problems(ORDERS, secured, pair())
    assert [(p.code, p.path) for p in found] == [("KEDGE-SPEC-178", "spec.clusters[1]")]
    assert "orders-us speak TLS" in found[0].message
    assert problems(ORDERS, secured, pair(**COLD)) == []


def test_topics_are_declared_of_one_of_the_two() -> None:
    clicks = (topic("clicks", "orders"), topic("clicks", "orders-us"))
    found = problems(ORDERS, US, pair(), *clicks)
    assert [p.code for p in found] == ["KEDGE-SPEC-165"]
    assert found[0].path == "spec.cluster"
    assert "`both`" in found[0].fix
    assert not problems(ORDERS, US, pair(topics="{exclude: [cli*]}"), *clicks)
    assert not problems(ORDERS, US, pair(), *(text + "  tier: scratch\n" for text in clicks))


def test_each_replica_of_a_pairs_topic_finds_a_broker_on_the_standby() -> None:
    small = US.replace("size: 3\n      machine: medium", "size: 2\n      machine: medium").replace(
        "[a, b, c]", "[a, b]"
    )
    small = small.replace("size: 3\n      machine: small", "size: 1\n      machine: small")
    three = topic("clicks", "orders", replicas="3")
    assert [p.code for p in problems(ORDERS, small, pair(), three)] == ["KEDGE-SPEC-166"]
    assert not problems(ORDERS, small, pair(topics="{include: [pay]}"), three)
    assert not problems(ORDERS, small, pair(**COLD), three), "it grows to what the primary has"
    cold = pair(mode="cold", standby="{size: 1, resizeTo: 2}")
    assert [p.code for p in problems(ORDERS, small, cold, three)] == ["KEDGE-SPEC-166"]
