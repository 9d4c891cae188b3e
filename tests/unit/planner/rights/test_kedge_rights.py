"""The table of Kedge's own rights, and what is amiss beside it."""

from pathlib import Path

import pytest

from planner.rights.acls import OPERATIONS, Acl
from planner.rights.kedge import KEDGE_RIGHTS, KedgeRight, Member, kedge_acls, kedge_rights_seen, right_asked_for

ROOT = Path(__file__).parents[4]
OWN: dict[Member, str] = {
    "server": "User:CN=kedge-server-1",
    "portal": "User:CN=kedge-portal-1",
    "metrics": "User:CN=kedge-metrics-1",
}
ALL = kedge_acls(OWN)
SERVER, EVERYBODY = OWN["server"], "User:*"


def test_nobody_of_kedge_reads_or_writes_what_is_in_topics_of_others() -> None:
    for member, rights in KEDGE_RIGHTS.items():
        assert len({(right.resource, right.name, right.operation) for right in rights}) == len(rights)
        for right in rights:
            assert right.operation in OPERATIONS[right.resource]
            assert right.operation not in ("All", "Write", "ClusterAction"), (member, right)
            if right.operation == "Read":
                assert right.name.startswith("__kedge_"), (member, right)


def test_a_portal_looks_and_the_pipeline_reads_samples_alone() -> None:
    assert {right.operation for right in KEDGE_RIGHTS["portal"]} == {"Describe", "DescribeConfigs", "Read"}
    assert set(KEDGE_RIGHTS["portal"]) < set(KEDGE_RIGHTS["server"])
    assert [(right.name, right.operation) for right in KEDGE_RIGHTS["metrics"]] == [("__kedge_metrics", "Read")]


def test_with_all_of_them_nothing_is_amiss_whatever_others_have() -> None:
    others = (
        Acl("User:alice", "topic", "*", "literal", "Read"),
        Acl("User:alice", "topic", "*", "literal", "All", "deny"),
        Acl(EVERYBODY, "topic", "*", "literal", "Write", "deny"),
        Acl(EVERYBODY, "topic", "public", "literal", "Read"),
        Acl("User:CN=kedge-server-2", "topic", "*", "literal", "Read"),
    )
    assert not kedge_rights_seen(OWN, (*ALL, *others))


@pytest.mark.parametrize("gone", sorted(ALL), ids=str)
def test_what_is_gone_is_told_and_without_sight_nothing_is_believed(gone: Acl) -> None:
    seen = kedge_rights_seen(OWN, ALL - {gone})
    assert (seen.lacking, seen.surplus, seen.denied) == ((gone,), (), ())
    sight = {(SERVER, "cluster", "Describe"), (SERVER, "topic", "Describe")}
    assert seen.is_blind is ((gone.principal, gone.resource, gone.operation) in sight)


def test_what_is_too_much_goes_and_what_denies_kedge_itself_too() -> None:
    more = Acl(SERVER, "topic", "*", "literal", "Read")
    assert kedge_rights_seen(OWN, (*ALL, more)).surplus == (more,)
    deny = Acl(SERVER, "topic", "pay", "literal", "Describe", "deny")
    seen = kedge_rights_seen(OWN, (*ALL, deny))
    assert (seen.surplus, seen.is_blind) == ((deny,), True)


@pytest.mark.parametrize(
    ("acl", "blind"),
    [
        (Acl(EVERYBODY, "topic", "pay", "literal", "Describe", "deny"), True),
        (Acl(EVERYBODY, "topic", "pa", "prefix", "All", "deny"), True),
        (Acl(EVERYBODY, "cluster", "kafka-cluster", "literal", "Describe", "deny", "10.0.0.7"), True),
        (Acl(EVERYBODY, "topic", "pay", "literal", "Delete", "deny"), False),
        (Acl(EVERYBODY, "cluster", "kafka-cluster", "literal", "Alter", "deny"), False),
        (Acl(EVERYBODY, "topic", "__kedge_", "prefix", "Read", "deny"), False),
    ],
)
def test_what_everybody_is_denied_kedge_is_too(acl: Acl, blind: bool) -> None:
    seen = kedge_rights_seen(OWN, (*ALL, acl))
    assert (seen.lacking, seen.surplus, seen.denied, seen.is_blind) == ((), (), (acl,), blind)


@pytest.mark.parametrize(
    ("call", "resource", "right"),
    [
        ("DescribeConfigs", "topic", "DescribeConfigs on that topic"),
        ("DescribeConfigs", "cluster", "DescribeConfigs on the cluster"),
        ("CreateTopics", "topic", "Create on the cluster"),
        ("OffsetFetch", "group", "Describe on that group"),
        ("ElectLeaders", "cluster", "Alter on the cluster"),
        ("Nonsense", "cluster", ""),
        ("ElectLeaders", "", ""),
    ],
)
def test_a_refusal_names_the_right(call: str, resource: str, right: str) -> None:
    assert right_asked_for(call, resource) == right


def test_the_page_on_security_has_the_table_as_it_is_made() -> None:
    page = (ROOT / "docs" / "kafka-users.md").read_text()
    found = [line for line in page.splitlines() if line.startswith(("| `Cluster`", "| `Topic ", "| `Group "))]
    rights = dict.fromkeys(right for each in KEDGE_RIGHTS.values() for right in each)
    assert found == [_row(right) for right in rights]


def _row(right: KedgeRight) -> str:
    on = "Cluster" if right.resource == "cluster" else f"{right.resource.capitalize()} {right.name}"
    marks = " | ".join("yes" if right in rights else "" for rights in KEDGE_RIGHTS.values())
    return f"| `{on}` | `{right.operation}` | {right.purpose} | {marks} |"
