"""Specs of clusters that others run, wholly or in part: what is taken and refused, and what a change may ask for."""

import json
from typing import Any

import pytest

from events.spec.change import differences
from events.spec.conversion import shortest_data
from events.spec.document import load_documents
from events.spec.rules import check_change
from tests.external_clusters import an_external_document, an_external_spec


def refused(**overrides: Any) -> list[tuple[str, str]]:
    """(code, message) of the problems of such a spec."""
    return [(p.code, p.message) for p in load_documents(an_external_spec(**overrides), file="orders.yaml").problems]


def refused_change(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    before, after = an_external_document(**old), an_external_document(**new)
    return [p.message for p in check_change(before, after, data_bytes_per_pool=None)]


def test_a_cluster_without_any_pool_of_ours_is_a_whole_spec() -> None:
    assert refused() == []
    assert an_external_document().spec.pools == ()
    assert an_external_document().spec.quorum_size == 0


def test_brokers_of_ours_may_join_and_theirs_may_all_have_left() -> None:
    assert [code for code, _ in refused(ours=3)] == []
    assert [code for code, _ in refused(ours=3, theirs=())] == []


@pytest.mark.parametrize(
    ("overrides", "code", "words"),
    [
        ({"theirs": ()}, "KEDGE-SPEC-032", "nothing would hold data"),
        ({"theirs": (1, 1)}, "KEDGE-SPEC-036", "`1` is listed twice"),
        ({"ours": 3, "rollout": ""}, "KEDGE-SPEC-080", "nothing bounds what moves take"),
        ({"ours": 3, "listener": "INTERNAL"}, "KEDGE-SPEC-080", "neither would find the other"),
        ({"ours": 3, "client_properties": "orders"}, "KEDGE-SPEC-080", "VMs of Kedge's could not join them"),
        ({"quorum": "dynamic", "client_properties": "orders"}, "KEDGE-SPEC-080", "is for pools that join"),
        ({"client_properties": "/etc/orders"}, "KEDGE-SPEC-025", ""),
        ({"deletion": "destroy"}, "KEDGE-SPEC-080", "would take disks"),
        ({"kafka": ", metadataVersion: 4.1"}, "KEDGE-SPEC-080", "`kafka.metadataVersion` is not offered"),
        ({"version": "3.9.1", "kafka": ", mode: zookeeper"}, "KEDGE-SPEC-080", "within KRaft quorums only"),
        ({"cluster_id": "x" * 256}, "KEDGE-SPEC-025", "at most 255 characters"),
    ],
)
def test_what_is_not_offered_there_is_refused_in_words(overrides: dict[str, Any], code: str, words: str) -> None:
    assert [(c, words in message) for c, message in refused(**overrides)] == [(code, True)]


def test_a_listener_of_another_name_only_keeps_pools_away() -> None:
    assert refused(listener="INTERNAL") == []


def test_a_cluster_spoken_to_by_client_properties_is_watched_and_no_spec_before_knows_them() -> None:
    assert refused(client_properties="orders", listener="INTERNAL") == []
    assert an_external_document(client_properties="orders").spec.external != an_external_document().spec.external
    assert "clientProperties" not in json.dumps(shortest_data(an_external_document()))


def test_voters_of_ours_are_refused() -> None:
    text = an_external_spec(ours=3).replace("services: [broker]", "services: [controller]")
    assert "stays with who runs it" in str(load_documents(text, file="x.yaml").problems)


def test_the_first_pool_and_the_last_broker_of_theirs_are_steps_like_others() -> None:
    assert refused_change({}, {"ours": 3}) == []
    assert refused_change({"ours": 3}, {"ours": 3, "theirs": (2,)}) == []
    assert refused_change({"ours": 3, "theirs": (2,)}, {"ours": 3, "theirs": ()}) == []


def test_no_broker_of_theirs_leaves_while_nobody_would_take_over() -> None:
    (message,) = refused_change({}, {"theirs": (1, 2)})
    assert message == "external broker 3 leaves, and no pool would take what it holds"


def test_settings_of_a_shared_cluster_are_not_kedges_to_change() -> None:
    (message,) = refused_change({}, {"kafka": ", config: {log.retention.hours: 9}"})
    assert "Kedge sets nothing live" in message


def test_a_cluster_never_becomes_another_one() -> None:
    (message,) = refused_change({}, {"cluster_id": "A" * 22})
    assert message.startswith("`spec.external.clusterId` was")


def test_what_others_run_comes_and_goes_with_the_cluster_alone() -> None:
    theirs = an_external_document(ours=3)
    without = theirs.model_copy(update={"spec": theirs.spec.model_copy(update={"external": None})})
    problems = check_change(theirs, without, data_bytes_per_pool=None)
    assert [p.code for p in problems] == ["KEDGE-SPEC-070"]


def test_a_broker_of_theirs_is_compared_by_its_id() -> None:
    changes = differences(an_external_document(ours=3), an_external_document(ours=3, theirs=(3, 2)))
    assert [(c.path, c.new) for c in changes] == [("spec.external.brokers[1]", None)]
