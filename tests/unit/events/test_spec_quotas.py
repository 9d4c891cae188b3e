"""Quotas in specs: of everybody, of client ids, by tier, of a user with one client id; each problem names its place."""

from typing import Any

import pytest

from controlplane.cluster.client_quotas import declared_quotas
from controlplane.commands.user_declaration import user_declaration_of
from events.spec.conversion import from_data, to_data
from events.spec.external import External
from events.spec.model import KafkaClusterDocument
from events.spec.problems import Problem
from events.spec.quotas import ClusterQuotas
from events.spec.rules import check
from events.spec.user_model import KafkaUserDocument
from events.spec.user_rules import check_user, check_user_in
from planner.rights.wanted import client_entity, entity_words, user_entity
from tests.builders import a_document, a_tls_document


def saying(quotas: dict[str, Any], document: KafkaClusterDocument | None = None) -> KafkaClusterDocument:
    document = document or a_document()
    told = ClusterQuotas.model_validate(quotas)
    return document.model_copy(update={"spec": document.spec.model_copy(update={"quotas": told})})


def a_user(quotas: dict[str, Any], tier: str | None = None) -> KafkaUserDocument:
    spec = {"cluster": "orders", "authentication": {"type": "none"}, "quotas": quotas, "tier": tier}
    return KafkaUserDocument.model_validate({"metadata": {"name": "alice"}, "spec": spec})


def told(problems: list[Problem]) -> list[tuple[str, str]]:
    return [(one.code, one.path) for one in problems]


@pytest.mark.parametrize(
    ("quotas", "code", "path"),
    [
        ({"defaultUser": {}}, "KEDGE-SPEC-130", "spec.quotas.defaultUser"),
        ({"defaultClientId": {}}, "KEDGE-SPEC-130", "spec.quotas.defaultClientId"),
        ({"tiers": {"critical": {}}}, "KEDGE-SPEC-130", "spec.quotas.tiers.critical"),
        ({"clientIds": [{"clientId": "app"}]}, "KEDGE-SPEC-130", "spec.quotas.clientIds[0]"),
        (
            {"clientIds": [{"clientId": "", "producerByteRate": 1}]},
            "KEDGE-SPEC-130",
            "spec.quotas.clientIds[0].clientId",
        ),
        (
            {"clientIds": [{"clientId": "<default>", "producerByteRate": 1}]},
            "KEDGE-SPEC-130",
            "spec.quotas.clientIds[0].clientId",
        ),
        (
            {"clientIds": [{"clientId": "app", "producerByteRate": 1}, {"clientId": "app", "requestPercentage": 1}]},
            "KEDGE-SPEC-036",
            "spec.quotas.clientIds[1].clientId",
        ),
        (
            {"defaultUser": {"byClientId": [{"clientId": " app", "producerByteRate": 1}]}},
            "KEDGE-SPEC-130",
            "spec.quotas.defaultUser.byClientId[0].clientId",
        ),
    ],
)
def test_a_quota_of_nobody_or_of_nothing_is_refused_at_its_place(quotas: dict[str, Any], code: str, path: str) -> None:
    found = [one for one in check(saying(quotas)) if one.severity == "error"]
    assert told(found) == [(code, path)]
    assert found[0].fix


@pytest.mark.parametrize("value", [0, -5, "many", 1.5])
def test_a_rate_is_a_whole_number_of_one_at_least(value: object) -> None:
    with pytest.raises(ValueError, match="producerByteRate"):
        ClusterQuotas.model_validate({"defaultUser": {"producerByteRate": value}})


def test_a_users_quotas_are_judged_alike_and_it_may_have_none() -> None:
    assert check_user(a_user({})) == []
    silent = a_user({"byClientId": [{"clientId": "app"}], "defaultClientId": {}})
    assert told(check_user(silent)) == [
        ("KEDGE-SPEC-130", "spec.quotas.defaultClientId"),
        ("KEDGE-SPEC-130", "spec.quotas.byClientId[0]"),
    ]


def test_a_tier_that_the_cluster_gives_no_quotas_is_warned_of() -> None:
    cluster = saying({"tiers": {"standard": {"producerByteRate": 5}}}, a_tls_document())
    assert check_user_in(a_user({}, "standard"), cluster) == []
    (problem,) = check_user_in(a_user({}, "critical"), cluster)
    assert (problem.code, problem.severity, problem.path) == ("KEDGE-SPEC-131", "warning", "spec.tier")


def test_whom_they_are_for_is_told_in_kafkas_terms() -> None:
    document = saying(
        {
            "defaultUser": {"requestPercentage": 50, "byClientId": [{"clientId": "app", "producerByteRate": 1}]},
            "defaultClientId": {"controllerMutationRate": 2},
            "clientIds": [{"clientId": "app", "consumerByteRate": 3}],
        }
    )
    everybody = user_entity(None)
    assert declared_quotas(document) == {
        everybody: {"request_percentage": 50},
        client_entity("app", everybody): {"producer_byte_rate": 1},
        client_entity(None): {"controller_mutation_rate": 2},
        client_entity("app"): {"consumer_byte_rate": 3},
    }
    assert entity_words(client_entity("app", everybody)) == "client id app of every user without its own"
    assert from_data(to_data(document)) == document


def test_a_users_document_says_all_of_its_quotas_and_an_old_one_means_what_it_did() -> None:
    document = a_user(
        {
            "producerByteRate": 1,
            "defaultClientId": {"consumerByteRate": 2},
            "byClientId": [{"clientId": "app", "producerByteRate": 3}],
        },
        "critical",
    )
    declared = user_declaration_of(document)
    assert declared.quotas == {"producer_byte_rate": 1}
    assert declared.client_quotas == {"app": {"producer_byte_rate": 3}, "": {"consumer_byte_rate": 2}}
    assert declared.tier == "critical"
    old = user_declaration_of(a_user({"producerByteRate": 1}))
    assert (old.quotas, old.client_quotas, old.tier) == ({"producer_byte_rate": 1}, {}, "")


def test_clusters_that_others_run_in_part_get_none() -> None:
    document = saying({"defaultUser": {"producerByteRate": 5}})
    parts = {"external": External.model_construct(brokers=(), controllers=())}
    found = check(document.model_copy(update={"spec": document.spec.model_copy(update=parts)}))
    assert "spec.quotas" in [one.path for one in found]
