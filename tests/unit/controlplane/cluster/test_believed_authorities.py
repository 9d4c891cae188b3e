"""Who signs and who is believed, phase by phase of the replacement of a CA; and which ways there are between them."""

from typing import Literal

import pytest

from controlplane.cluster.believed_authorities import believed, given_up_authority
from controlplane.cluster.fold import evolve
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.certificates import AuthorityPhase
from events import codec, facts
from events.certificate_facts import AuthorityPhaseName
from events.envelope import Recorded
from tests.builders import NOW, a_tls_document, a_view

OLD, NEW, USERS = "old", "new", "users"
BORN = a_view(document=a_tls_document(), authorities=facts.AuthoritiesMade(OLD, USERS))
ASKED = facts.AuthorityReplaceRequested("ca-1", "cluster", "asked by anna")


def told(*events: object, view: ClusterView = BORN) -> ClusterView:
    for number, event in enumerate(events, view.version + 1):
        new = codec.encode(event, f"e{number}")
        view = evolve(
            view,
            Recorded(
                position=number,
                stream="cluster-c0ffee",
                version=number,
                event_id=new.event_id,
                type=new.type,
                schema=new.schema,
                data=new.data,
                actor="test",
                cause=None,
                command_id=None,
                epoch=1,
                recorded_at=NOW,
            ),
        )
    return view


def to(*phases: AuthorityPhaseName) -> list[object]:
    return [facts.AuthorityPhaseRequested("ca-1", phase, "") for phase in phases]


MADE = (ASKED, facts.NextAuthorityMade("ca-1", NEW))


@pytest.mark.parametrize(
    ("events", "signer", "everybody"),
    [
        ([], OLD, (OLD,)),
        ([ASKED], OLD, (OLD,)),
        ([*MADE], OLD, (OLD, NEW)),
        ([*MADE, *to("reissue")], NEW, (NEW, OLD)),
        ([*MADE, *to("reissue", "trust-both")], OLD, (OLD, NEW)),
        ([*MADE, *to("reissue", "new-alone")], NEW, (NEW,)),
        ([*MADE, *to("old-alone")], OLD, (OLD,)),
    ],
)
def test_each_phase_has_its_signer_and_its_believed(
    events: list[object], signer: str, everybody: tuple[str, ...]
) -> None:
    view = told(*events)
    found = believed(view, "cluster")
    assert found is not None
    assert not view.history.unreadable
    assert (found.signer, found.all) == (signer, everybody)
    others = believed(view, "clients")
    assert others is not None
    assert others.all == (USERS,), "the other CA is not concerned"


def test_the_last_phase_ends_it_and_the_new_one_is_the_ca_from_then_on() -> None:
    view = told(*MADE, *to("reissue", "new-alone"), facts.AuthorityPhaseReached("ca-1", "new-alone"))
    assert view.vms.authority_change is None
    assert view.vms.authorities == facts.AuthoritiesMade(NEW, USERS)
    back = told(*MADE, *to("old-alone"), facts.AuthorityPhaseReached("ca-1", "old-alone"))
    assert (back.vms.authority_change, back.vms.authorities) == (None, facts.AuthoritiesMade(OLD, USERS))


@pytest.mark.parametrize(
    "events",
    [
        [*MADE, *to("new-alone")],
        [*MADE, *to("reissue", "new-alone", "reissue")],
        [*MADE, *to("reissue", "old-alone")],
        [*MADE, ASKED],
        [facts.AuthorityPhaseReached("ca-2", "reissue")],
        [*MADE, facts.NextAuthorityMade("ca-1", "another")],
    ],
    ids=["no reissue", "back from the end", "old alone while new ones are shown", "two", "another", "two CAs"],
)
def test_no_other_way_is_taken(events: list[object]) -> None:
    assert told(*events).history.unreadable


@pytest.mark.parametrize(
    ("phases", "gone"),
    [((), ""), (("reissue",), ""), (("reissue", "new-alone"), OLD), (("old-alone",), NEW)],
)
def test_a_key_is_given_up_once_no_phase_leads_back_to_it(
    phases: tuple[AuthorityPhaseName, ...], gone: Literal["", "old", "new"]
) -> None:
    assert given_up_authority(told(*MADE, *to(*phases))) == gone


def test_rounds_of_restarts_are_counted_for_each_phase() -> None:
    key = "brokers-a-0.g1"
    round_ = facts.CertificateRestartRequested("r1", (key,), "cluster CA to be replaced", replacement="ca-1")
    view = told(*MADE, round_)
    assert view.vms.authority_change is not None
    assert (view.vms.authority_change.restarts, view.vms.certificates_renewed_at) == (1, None)
    assert view.requests.rolling_restart is not None
    assert view.requests.rolling_restart.left == (key,)
    there = told(facts.RollingRestartCompleted("r1"), *to("reissue"), view=view).vms.authority_change
    assert there is not None
    assert (there.phase, there.restarts, there.is_reached) == (AuthorityPhase.REISSUE, 0, False)


def test_who_waits_for_a_window_is_taken_along_by_who_may_not_wait() -> None:
    a, b = "brokers-a-0.g1", "brokers-b-0.g1"
    waits = facts.CertificateRestartRequested("r1", (a,), "certificates end")
    now = facts.CertificateRestartRequested("r2", (a, b), "certificates end", at_once=True)
    view = told(waits, now)
    assert view.requests.rolling_restart is not None
    assert (view.requests.rolling_restart.id, view.requests.rolling_restart.at_once) == ("r2", True)
    assert told(waits, facts.CertificateRestartRequested("r3", (b,), "", at_once=True)).history.unreadable
    assert told(waits, facts.CertificateRestartRequested("r3", (a, b), "")).history.unreadable
    assert told(waits).vms.certificates_renewed_at == NOW
