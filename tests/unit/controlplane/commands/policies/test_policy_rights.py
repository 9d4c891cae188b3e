"""Rights of users by the prefixes of their team, and those to names of everybody, which a second person says yes to."""

from typing import Any

import pytest
from pydantic import ValidationError

from controlplane.commands.policies.decision import PolicyDecision
from controlplane.commands.policies.judge import UsersChange, judge_users
from controlplane.commands.policies.model import Limits, Policy, Reserved
from events.spec.user_model import KafkaUserDocument
from tests.builders import a_tls_document

PREFIXES = {"payments": ("pay-", "payments."), "*": ("{team}-",)}


def acl(name: str, pattern: str = "literal", kind: str = "topic") -> dict[str, Any]:
    return {"resource": {"type": kind, "name": name, "patternType": pattern}, "operations": ["Read"]}


def judged(policy: Policy, owner: str, *acls: dict[str, Any]) -> PolicyDecision:
    spec = {"cluster": "orders", "authentication": {"type": "tls"}, "authorization": {"acls": acls}}
    user = KafkaUserDocument.model_validate({"metadata": {"name": "alice", "owner": owner}, "spec": spec})
    return judge_users([policy], UsersChange(a_tls_document(), (user,)))


def a_policy(*, limits: Limits | None = None, reserved: Reserved | None = None) -> Policy:
    head = {"apiVersion": "kedge/v1alpha1", "kind": "Policy", "metadata": {"name": "teams"}}
    return Policy.model_validate(head | {"limits": limits or Limits(), "reserved": reserved or Reserved()})


BY_TEAM = a_policy(limits=Limits(resource_prefixes=PREFIXES))
BOTH = a_policy(limits=Limits(resource_prefixes=PREFIXES), reserved=Reserved(wide_rights=True))


@pytest.mark.parametrize("kind", ["topic", "group", "transactional-id"])
def test_names_of_ones_own_team_are_free_whatever_they_are_of(kind: str) -> None:
    own = (acl("pay-in", kind=kind), acl("payments.", "prefix", kind), acl("pay-", kind=kind))
    told = judged(BY_TEAM, "payments", *own)
    assert told == PolicyDecision()
    assert judged(BY_TEAM, "search", acl("search-logs", "prefix", kind)) == PolicyDecision(), "by its own name"


@pytest.mark.parametrize("kind", ["topic", "group", "transactional-id"])
@pytest.mark.parametrize(
    ("name", "pattern", "words"),
    [
        ("orders", "literal", "orders is not payments's to give"),
        ("pa", "prefix", "s that begin with pa is not payments's to give"),
        ("*", "literal", "a right to every"),
        ("search-", "prefix", "s that begin with search- is not"),
    ],
)
def test_others_are_refused_at_their_place_with_the_prefixes_of_the_team(
    kind: str, name: str, pattern: str, words: str
) -> None:
    (refusal,) = judged(BY_TEAM, "payments", acl("pay-in", kind=kind), acl(name, pattern, kind)).refusals
    assert words in refusal.message
    assert refusal.path == ("spec", "authorization", "acls", 1, "resource", "name")
    assert (refusal.fix, refusal.subject) == ("Names of payments begin with pay- or payments..", "alice")


def test_the_cluster_is_nobodys_name() -> None:
    assert judged(BY_TEAM, "payments", acl("kafka-cluster", kind="cluster")) == PolicyDecision()


def test_who_is_nobodys_or_of_a_team_without_prefixes_has_no_such_right() -> None:
    (refusal,) = judged(BY_TEAM, "", acl("pay-in")).refusals
    assert (refusal.path, refusal.fix) == (("metadata", "owner"), "Write the team as `metadata.owner`.")
    alone = a_policy(limits=Limits(resource_prefixes={"payments": ("pay-",)}))
    (refusal,) = judged(alone, "search", acl("pay-in")).refusals
    assert "no name is search's by this policy" in refusal.message


def test_what_is_of_everybody_waits_for_a_second_person_and_is_not_refused_then() -> None:
    told = judged(BOTH, "payments", acl("*"), acl("pa", "prefix"), acl("pay-in"))
    assert told.refusals == ()
    assert [reason.what for reason in told.reasons] == [
        "the user alice may Read on every topic",
        "the user alice may Read on topics that begin with pa",
    ]
    (refusal,) = judged(BOTH, "payments", acl("search-", "prefix")).refusals
    assert "search-" in refusal.message, "another team's is not wide, but theirs"


def test_without_prefixes_only_all_names_are_wide() -> None:
    wide = a_policy(reserved=Reserved(wide_rights=True))
    assert judged(wide, "", acl("p", "prefix"), acl("orders")) == PolicyDecision()
    assert [one.what for one in judged(wide, "", acl("*", kind="group")).reasons] == [
        "the user alice may Read on every group"
    ]


@pytest.mark.parametrize("prefixes", [(), ("",)])
def test_a_team_has_prefixes_and_none_is_empty(prefixes: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError):
        Limits(resource_prefixes={"payments": prefixes})


def test_a_policy_without_either_says_nothing_of_rights() -> None:
    assert judged(a_policy(), "", acl("*")) == PolicyDecision()
