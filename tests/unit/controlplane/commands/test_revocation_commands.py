"""What people may ask of a node whose VM somebody else may have, and what is said of it."""

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from controlplane.cluster.commands import CommandRefused, RevokeCertificates
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.revocations import revocation_asked
from events import facts
from tests.builders import NOW, a_tls_document, a_view
from tests.unit.controlplane.cluster.test_believed_authorities import told

CAS = facts.AuthoritiesMade("old", "users")
REVOKED = facts.CertificatesRevoked("brokers-a-0.g1", "asked by anna: stolen")


def view(**changes: Any) -> ClusterView:
    return a_view(document=a_tls_document(), authorities=CAS, **changes)


def after(of: ClusterView, *said: object) -> ClusterView:
    of = told(*said, view=of)
    assert not of.history.unreadable, of.history.unreadable
    return of


def asked(of: ClusterView, **changes: Any) -> CommandDecision:
    order = {"node": "brokers-a-0", "confirm": "orders", "reason": "stolen", **changes}
    return revocation_asked(of, RevokeCertificates(name="orders", actor="person:anna", command_id="1", **order))


def as_it_is(of: ClusterView, **changes: Any) -> ClusterView:
    there = replace(of.instances["brokers-a-0.g1"], **changes)
    return replace(of, instances=MappingProxyType({**of.instances, there.key: there}))


def test_the_plan_says_what_happens_and_what_it_does_not_do() -> None:
    decided = asked(view())
    assert (decided.fact, decided.before) == (REVOKED, None)
    for words in (
        "agent of brokers-a-0.g1 is not recognised",
        "replaced by a new VM",
        "power this one off in the cloud",
        "Kafka asks no revocation list",
        "kedge replace-ca orders",
    ):
        assert words in decided.sentence, words


def test_with_it_the_ca_is_replaced_in_the_same_append() -> None:
    decided = asked(view(), replace_ca=True)
    assert decided.before == REVOKED
    assert isinstance(decided.fact, facts.AuthorityReplaceRequested)
    assert "1 trust-both" in decided.sentence
    both = after(view(), decided.before, decided.fact)
    assert both.vms.authority_change is not None
    assert both.requests.to_replace.keys() == both.vms.revoked.keys() == {"brokers-a-0.g1"}


def test_what_keeps_the_ca_from_being_replaced_does_not_keep_the_vm_from_being_revoked() -> None:
    decided = asked(view(recycling=1), replace_ca=True)
    assert (decided.fact, decided.before) == (REVOKED, None)
    assert "The CA is not replaced now" in decided.sentence


def test_one_that_cannot_be_replaced_now_is_revoked_all_the_same() -> None:
    for changes, words in (({"phase": Phase.LAUNCHED}, "launched"), ({"lost_at": NOW}, "without being asked")):
        decided = asked(as_it_is(view(), **changes))
        assert decided.fact == replace(REVOKED, replaces=False)
        assert words in decided.sentence
        assert not after(view(), decided.fact).requests.to_replace


def test_a_second_time_changes_nothing_unless_its_replacement_was_given_up() -> None:
    once = after(view(), REVOKED)
    again = asked(once)
    assert again.fact is None
    assert "is revoked since" in again.sentence
    assert isinstance(asked(once, replace_ca=True).fact, type(None)), "the cluster has work"
    given_up = replace(once, requests=replace(once.requests, to_replace=MappingProxyType({})))
    assert asked(given_up).fact == REVOKED


def test_it_is_not_waited_for_in_a_rolling_restart() -> None:
    restart = facts.RollingRestartRequested("r", ("brokers-a-0.g1", "brokers-b-0.g1"), "asked by anna")
    rolling = after(view(), restart, REVOKED).requests.rolling_restart
    assert rolling is not None
    assert rolling.left == ("brokers-b-0.g1",)


@pytest.mark.parametrize(
    ("changes", "code"), [({"confirm": "payments"}, "name-mismatch"), ({"node": "brokers-z-0"}, "unknown-node")]
)
def test_what_is_refused_says_what_to_do(changes: dict[str, str], code: str) -> None:
    with pytest.raises(CommandRefused) as refused:
        asked(view(), **changes)
    assert refused.value.code == code
    assert refused.value.what_next


def test_of_two_vms_of_a_node_one_has_to_be_named() -> None:
    of = view()
    newer = replace(of.instances["brokers-a-0.g1"].planned, generation=2)
    second = replace(of.instances["brokers-a-0.g1"], planned=newer)
    two = replace(of, instances=MappingProxyType({**of.instances, second.key: second}))
    with pytest.raises(CommandRefused, match="has 2 VMs"):
        asked(two)
    assert asked(two, node="brokers-a-0.g1").fact is not None
