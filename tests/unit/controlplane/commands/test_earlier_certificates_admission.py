"""The name of a deleted user is nobody else's while certificates that were signed for it count."""

from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster import commands, user_commands
from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.judge import SpecJudge
from controlplane.commands.deciders import users
from controlplane.commands.deciders.lookups import Lookups
from events import user_facts as facts
from events.certificate_facts import (
    AuthoritiesMade,
    AuthorityPhaseReached,
    AuthorityPhaseRequested,
    AuthorityReplaceRequested,
    NextAuthorityMade,
)
from events.spec.problems import Problem
from tests.builders import NOW, a_tls_document, a_view
from tests.unit.controlplane.commands.test_user_commands import WHO, _after, _command, _declare
from tests.user_texts import user_text

CAS = AuthoritiesMade("pem of nodes", "pem of users")


@pytest.fixture
def view() -> ClusterView:
    return a_view(document=a_tls_document())


def _deleted_with_certificates(view: ClusterView, *days: int) -> ClusterView:
    """`bob` got certificates for so many days, and was deleted."""
    there = _declare(_after(view, CAS), user_text("bob", type_="tls"))
    issued = [facts.UserCertificateIssued("bob", f"1{n}", NOW, NOW + timedelta(days=n)) for n in days]
    gone = facts.UsersChanged("", {}, (), (), ("bob",), ())
    return _after(there, *issued, facts.UserDeletionRequested("bob", "gone"), gone)


def _declared_at(view: ClusterView, days: int, *texts: str) -> list[Problem]:
    known = Lookups(judge=SpecJudge(now=lambda: NOW + timedelta(days=days)))
    try:
        assert users.users_declared(view, _command(*texts), known).fact is not None
    except commands.SpecRefused as refused:
        return list(refused.problems)
    return []


@pytest.mark.parametrize("type_", ["tls", "scram-sha-512", "none"])
def test_spec_123_a_deleted_users_name_waits_for_the_end_of_its_certificates(view: ClusterView, type_: str) -> None:
    """A principal is a name to Kafka, whichever way it proves itself."""
    gone, again = _deleted_with_certificates(view, 365, 30), user_text("bob", type_=type_)
    (refused,) = _declared_at(gone, 100, again)
    assert (refused.code, refused.line) == ("KEDGE-SPEC-123", 3)
    assert "count until 2027-01-01" in refused.message
    assert "kedge replace-ca orders --clients" in refused.fix
    assert "earlierCertificates: accept" in refused.fix
    assert not _declared_at(gone, 100, user_text("carol", type_=type_))
    assert not _declared_at(gone, 366, again)


def test_who_may_come_in_all_the_same_is_written_down(view: ClusterView) -> None:
    gone = _deleted_with_certificates(view, 365)
    words = user_text("bob", type_="tls, earlierCertificates: accept")
    assert not _declared_at(gone, 1, words)
    there = _declare(gone, words)
    assert not _declared_at(there, 1, user_text("bob", type_="tls", quotas="{producerByteRate: 5}"))


def test_a_name_whose_certificates_nobody_asked_for_is_free_at_once(view: ClusterView) -> None:
    gone = _deleted_with_certificates(view)
    assert not _declared_at(gone, 0, user_text("bob", type_="tls"))


def test_a_user_that_was_only_let_go_of_is_the_same_one_again(view: ClusterView) -> None:
    there = _declare(_after(view, CAS), user_text("bob", type_="tls"))
    there = _after(there, facts.UserCertificateIssued("bob", "1f", NOW, NOW + timedelta(days=365)))
    assert not _declared_at(_after(there, facts.UserReleased("bob", "theirs")), 1, user_text("bob", type_="tls"))
    again = _declare(_after(there, facts.UserReleased("bob", "theirs")), user_text("bob", type_="tls"))
    dying = _after(again, facts.UserDeletionRequested("bob", "gone"))
    for gone in (facts.UsersChanged("", {}, (), (), ("bob",), ()), facts.UserReleased("bob", "as it is")):
        (refused,) = _declared_at(_after(dying, gone), 1, user_text("bob", type_="tls"))
        assert refused.code == "KEDGE-SPEC-123"


def test_once_another_clients_ca_is_believed_alone_its_name_is_free(view: ClusterView) -> None:
    gone = _deleted_with_certificates(view, 365)
    there = _after(
        gone, AuthorityReplaceRequested("ca-1", "clients", "leaked"), NextAuthorityMade("ca-1", "pem of others")
    )
    for phase in ("trust-both", "reissue"):
        if phase != "trust-both":
            there = _after(there, AuthorityPhaseRequested("ca-1", "reissue", "asked"))
        (refused,) = _declared_at(there, 1, user_text("bob", type_="tls"))
        assert refused.code == "KEDGE-SPEC-123", phase
        there = _after(there, AuthorityPhaseReached("ca-1", phase))  # type: ignore[arg-type]
    there = _after(there, AuthorityPhaseRequested("ca-1", "new-alone", "asked"))
    assert _declared_at(there, 1, user_text("bob", type_="tls")), "brokers that are not started anew yet believe both"
    there = _after(there, AuthorityPhaseReached("ca-1", "new-alone"))
    assert not _declared_at(there, 1, user_text("bob", type_="tls"))


def test_who_deletes_one_is_told_until_when_its_name_is_not_given_out(view: ClusterView) -> None:
    there = _declare(_after(view, CAS), user_text("bob", type_="tls"))
    there = _after(there, facts.UserCertificateIssued("bob", "1f", NOW, NOW + timedelta(days=365)))
    order: dict[str, Any] = {**WHO, "reason": "", "user": "bob", "confirm": "bob"}
    said = users.user_deleted(there, user_commands.DeleteUser(**order)).sentence
    assert "Its certificates count until 2027-01-01" in said
