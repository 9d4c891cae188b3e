"""What people may ask of the replacement of a CA, and what is refused of it."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from controlplane.cluster.commands import CommandRefused, ReplaceAuthority
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.certificates import AuthorityPhase, AuthorityReplacementView
from controlplane.commands.admission.judge import SpecJudge
from controlplane.commands.deciders.authorities import authority_replacement_asked
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.lookups import Lookups
from controlplane.storage.certificates.own_authorities import OwnAuthorities
from events import facts
from tests.builders import NOW, a_tls_document, a_view, with_own
from tests.own_ca import BEGUN, Pki
from tests.unit.controlplane.cluster.test_believed_authorities import MADE, to, told

CAS = facts.AuthoritiesMade("old", "users")


def view(phase: AuthorityPhase | None = None, *, reached: bool = True, kind: Any = "cluster") -> ClusterView:
    change = AuthorityReplacementView("ca-1", kind, phase, NOW, "", "new", reached) if phase is not None else None
    return a_view(document=a_tls_document(), authorities=CAS, authority_change=change)


def asked(
    of: ClusterView, step: Any = "begin", kind: Any = "cluster", own: OwnAuthorities | None = None
) -> CommandDecision:
    return authority_replacement_asked(
        of,
        ReplaceAuthority(name="orders", actor="person:anna", command_id="1", reason="", kind=kind, step=step),
        Lookups(judge=SpecJudge(own_authorities=own)),
    )


def test_the_plan_says_the_phases_whom_they_start_anew_and_what_clients_have_to_do() -> None:
    decided = asked(view())
    assert isinstance(decided.fact, facts.AuthorityReplaceRequested)
    assert (decided.fact.kind, decided.fact.reason) == ("cluster", "asked by anna")
    for words in (
        "1 trust-both: 6 nodes",
        "kedge endpoints orders --ca",
        "2 reissue",
        "shut out",
        "3 new-alone",
        "--back",
    ):
        assert words in decided.sentence, words
    users = asked(view(), kind="clients").sentence
    assert "1 trust-both: 3 brokers" in users
    assert "--clients --continue" in users


@pytest.mark.parametrize(
    ("of", "step", "kind", "code"),
    [
        (a_view(), "begin", "cluster", "no-ca"),
        # On its way to TLS its CAs were made, and it went back: no node has a certificate any more to be replaced.
        (a_view(authorities=CAS), "begin", "cluster", "no-ca"),
        (view(), "continue", "cluster", "no-ca-replace"),
        (view(), "back", "clients", "no-ca-replace"),
        (a_view(document=a_tls_document(), authorities=CAS, recycling=1), "begin", "cluster", "not-at-rest"),
        (view(AuthorityPhase.TRUST_BOTH), "begin", "clients", "ca-replace-running"),
        (view(AuthorityPhase.TRUST_BOTH, reached=False), "continue", "cluster", "phase-under-way"),
        (view(AuthorityPhase.NEW_ALONE, reached=False), "back", "cluster", "no-way-back"),
    ],
)
def test_what_is_refused_says_what_to_do(of: ClusterView, step: str, kind: str, code: str) -> None:
    with pytest.raises(CommandRefused) as refused:
        asked(of, step, kind)
    assert refused.value.code == code
    assert refused.value.what_next


@pytest.mark.parametrize(
    ("phase", "step", "kind", "to"),
    [
        (AuthorityPhase.TRUST_BOTH, "continue", "cluster", "reissue"),
        (AuthorityPhase.TRUST_BOTH, "back", "cluster", "old-alone"),
        (AuthorityPhase.REISSUE, "back", "cluster", "trust-both"),
        (AuthorityPhase.TRUST_BOTH, "continue", "clients", "reissue"),
        (AuthorityPhase.REISSUE, "continue", "clients", "new-alone"),
    ],
)
def test_a_person_goes_on_or_back_by_one_phase(phase: AuthorityPhase, step: str, kind: str, to: str) -> None:
    decided = asked(view(phase, kind=kind), step, kind)
    assert isinstance(decided.fact, facts.AuthorityPhaseRequested)
    assert (decided.fact.request, decided.fact.phase) == ("ca-1", to)


@pytest.mark.parametrize(("phase", "step"), [(AuthorityPhase.REISSUE, "begin"), (AuthorityPhase.OLD_ALONE, "back")])
def test_what_is_so_already_is_no_event(phase: AuthorityPhase, step: str) -> None:
    assert asked(view(phase), step).fact is None


def test_the_second_step_back_waits_until_every_node_shows_a_certificate_of_the_old_ca_again() -> None:
    """Who is started anew after it believes the old CA alone, and would refuse those that show the new one's."""
    begun = told(*MADE, *to("reissue"), facts.AuthorityPhaseReached("ca-1", "reissue"), *to("trust-both"))
    assert begun.vms.authority_change is not None
    with pytest.raises(CommandRefused) as refused:
        asked(begun, "back")
    assert refused.value.code == "phase-under-way"
    reached = told(facts.AuthorityPhaseReached("ca-1", "trust-both"), view=begun)
    fact = asked(reached, "back").fact
    assert isinstance(fact, facts.AuthorityPhaseRequested)
    assert fact.phase == "old-alone"


def test_one_that_has_signed_nothing_is_given_up_at_any_time() -> None:
    fact = asked(told(*MADE), "back").fact
    assert isinstance(fact, facts.AuthorityPhaseRequested)
    assert fact.phase == "old-alone"


def own_view(pki: Pki) -> ClusterView:
    document = with_own(a_tls_document(), cluster="corporate")
    return a_view(document=document, authorities=facts.AuthoritiesMade(pki.pem, "users", "corporate"))


def test_the_plan_says_which_ca_comes(tmp_path: Path) -> None:
    files = OwnAuthorities({"corporate": tmp_path}, lambda: NOW)
    Pki.root().below(days=100).put(tmp_path, "2026")
    view_of_kedge = a_view(document=with_own(a_tls_document(), cluster="corporate"), authorities=CAS)
    assert (
        "The successor is the user's own CA `corporate`, until 2026-04-11" in asked(view_of_kedge, own=files).sentence
    )
    assert "The successor is made by Kedge" in asked(view(), own=files).sentence
    assert "own CA `corporate`" in asked(view_of_kedge).sentence, "a portal apart reads no files"


def test_one_of_the_same_root_is_said_to_leave_the_old_certificates_as_they_are(tmp_path: Path) -> None:
    root = Pki.root()
    root.below("later", since=BEGUN + timedelta(hours=1)).put(tmp_path, "later")
    said = asked(own_view(root.below()), own=OwnAuthorities({"corporate": tmp_path}, lambda: NOW)).sentence
    assert "Both have the same root" in said
    assert "certificates of the one before open the cluster until they end" in said


def test_files_that_cannot_be_used_or_are_those_of_before_begin_nothing(tmp_path: Path) -> None:
    pki, files = Pki.root(), OwnAuthorities({"corporate": tmp_path}, lambda: NOW)
    with pytest.raises(CommandRefused, match="has no certificate with a key") as refused:
        asked(own_view(pki), own=files)
    assert (refused.value.code, bool(refused.value.what_next)) == ("own-ca-unusable", True)
    pki.put(tmp_path)
    with pytest.raises(CommandRefused, match="believe CA `corporate` already") as refused:
        asked(own_view(pki), own=files)
    assert (refused.value.code, bool(refused.value.what_next)) == ("same-ca", True)
