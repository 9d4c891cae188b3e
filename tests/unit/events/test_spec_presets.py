"""`preset` says in one word what else stands in many fields; what a file says itself goes before it."""

from typing import Any

import pytest

from events.spec.conversion import from_data, shortest_data, to_data
from events.spec.document import LoadResult, load_documents
from events.spec.model import ClusterSpec
from events.spec.presets import PRESETS, spelt_out, words
from tests.builders import a_spec

ON_AWS = {
    "zones": "eu-west-1a, eu-west-1b, eu-west-1c",
    "quorum_place": "cloud: aws, region: eu-west-1, zones: [eu-west-1a, eu-west-1b, eu-west-1c]",
}


def _load(preset: str, more: str = "", **overrides: Any) -> LoadResult:
    text = a_spec(**overrides).replace("spec:\n", f"spec:\n  preset: {preset}\n{more}", 1)
    return load_documents(text.replace("  healing: {}\n", "").replace("  balance: {}\n", ""), file="orders.yaml")


def _spec(preset: str, more: str = "", **overrides: Any) -> ClusterSpec:
    loaded = _load(preset, more, **overrides)
    assert loaded.ok, loaded.problems
    return loaded.documents[0].spec


def test_production_switches_on_what_keeps_data_safe() -> None:
    spec = _spec("production", deletion="retain")
    assert spec.health.heartbeats
    assert spec.health.watch_groups
    assert spec.balance.continuous
    assert spec.balance.placement.correct
    assert (spec.balance.after, spec.balance.preferred_leaders) == ("scale-up", "restore")
    assert (spec.kafka.image.follow, spec.kafka.image.critical) == ("security", "waits")
    assert (spec.healing.restart, spec.healing.replace, spec.healing.lost_disk) == (True, True, "reattach")


def test_production_promises_no_disk_of_a_lost_vm_where_none_outlives_it() -> None:
    loaded = _load("production", disk="ephemeral", deletion="retain")
    assert loaded.ok, loaded.problems
    assert loaded.documents[0].spec.healing.lost_disk == "copy"
    assert not [one for one in loaded.problems if one.code == "KEDGE-SPEC-084"]


def test_development_and_no_preset_leave_all_of_it_off() -> None:
    for spec in (_spec("development"), load_documents(a_spec(), file="orders.yaml").documents[0].spec):
        assert not spec.health.heartbeats
        assert not spec.health.watch_groups
        assert not spec.balance.continuous
        assert not spec.balance.placement.correct
        assert spec.kafka.image.follow == "none"


def test_what_the_file_says_goes_before_its_preset() -> None:
    more = "  health: {heartbeats: false}\n  balance: {continuous: false, thresholdPercent: 50}\n"
    spec = _spec("production", more)
    assert (spec.health.heartbeats, spec.health.watch_groups) == (False, True)
    assert (spec.balance.continuous, spec.balance.threshold_percent, spec.balance.placement.correct) == (
        False,
        50,
        True,
    )


def test_an_unknown_preset_is_refused_with_those_there_are() -> None:
    (found,) = _load("prodution").errors
    assert (found.line, found.path) == (6, "spec.preset")
    assert "production" in found.message + found.fix
    assert "development" in found.message + found.fix


@pytest.mark.parametrize("preset", ["3", "[production]", "{a: b}"])
def test_a_preset_that_is_no_word_is_refused_and_nothing_breaks(preset: str) -> None:
    assert [one.path.partition("[")[0] for one in _load(preset).errors] == ["spec.preset"]


def test_sections_of_another_shape_are_refused_at_their_own_place() -> None:
    found = _load("production", "  health: 3\n").errors
    assert [(one.line, one.path) for one in found] == [(7, "spec.health")]


@pytest.mark.parametrize("preset", sorted(PRESETS))
@pytest.mark.parametrize("more", ["", "  health: {heartbeats: false}\n", "  balance: {continuous: true}\n"])
def test_the_shortest_file_of_a_document_reads_as_that_document(preset: str, more: str) -> None:
    document = _load(preset, more).documents[0]
    shortest = shortest_data(document)
    assert shortest["spec"]["preset"] == preset
    again = {**shortest, "spec": dict(shortest["spec"])}
    assert from_data(spelt_out(again)) == document
    if not more:
        assert "health" not in shortest["spec"]


def test_a_stored_document_says_all_itself_and_is_read_without_its_preset() -> None:
    document = _load("production", "  health: {heartbeats: false}\n").documents[0]
    assert from_data(to_data(document)) == document


def test_a_plan_tells_what_the_word_stands_for_and_what_the_spec_says_itself() -> None:
    document = _load("production", "  health: {heartbeats: false}\n", deletion="retain").documents[0]
    sets, own, _ = words(to_data(document)["spec"])
    assert sets.startswith("production stands for kafka.image.follow=security")
    assert "balance.placement.correct=true" in sets
    assert own == "the spec says itself health.heartbeats=false"
    assert list(words(to_data(load_documents(a_spec(), file="").documents[0])["spec"])) == []


def test_what_others_run_in_part_is_not_asked_for_what_is_not_offered_there() -> None:
    spec = {"preset": "production", "external": {"bootstrap": []}}
    told = spelt_out({"spec": spec})["spec"]
    assert "kafka" not in told
    assert told["health"] == {"watchGroups": True}
    assert told["balance"] == {"after": "scale-up", "preferredLeaders": "restore"}


def test_a_build_of_ones_own_is_of_no_revision_and_production_asks_for_none() -> None:
    own = f", distribution: {{url: 'https://mirror.example/kafka.tgz', sha256: '{'c' * 64}'}}"
    loaded = _load("production", cloud="aws", brokers_in="eu-west-1", config=own, **ON_AWS)
    assert loaded.ok, loaded.problems
    assert loaded.documents[0].spec.kafka.image.follow == "none"


@pytest.mark.parametrize(
    ("overrides", "words_of_it"),
    [
        ({"brokers": 2}, "2 brokers"),
        ({"brokers": 1}, "1 broker serves"),
        ({"zones": "a, b", "config": ", config: {default.replication.factor: 2}"}, "in 2 zones"),
        ({"controllers": 1}, "one voter"),
    ],
    ids=["two-brokers", "one-broker", "two-zones", "one-voter"],
)
def test_too_little_for_production_is_warned_of(overrides: dict[str, Any], words_of_it: str) -> None:
    loaded = _load("production", **overrides)
    (found,) = [one for one in loaded.warnings if one.code == "KEDGE-SPEC-098"]
    assert words_of_it in found.message
    assert found.line == 6
    assert [one for one in _load("development", **overrides).warnings if one.code == "KEDGE-SPEC-098"] == []


def test_a_whole_production_cluster_is_not_warned_of() -> None:
    assert _load("production").problems == ()


def test_every_field_a_preset_names_is_one_of_the_spec() -> None:
    """Each is read, and a word of its own would be refused."""
    for preset in PRESETS:
        assert _load(preset, deletion="retain").ok
