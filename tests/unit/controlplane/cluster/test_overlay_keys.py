"""Whose key of an overlay is believed: what a VM's own agent tells, once, and nobody's twice."""

from base64 import b64encode
from collections.abc import Mapping
from datetime import timedelta

import pytest

from agent.wire import OverlayReport
from controlplane.cluster.fold import evolve
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.overlay_keys import ReportedKeys, reported_keys
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from events import codec, facts
from events.envelope import Recorded
from tests.builders import NOW, a_report, a_view, an_instance

A, B = an_instance("brokers-a-0"), an_instance("brokers-b-0")


def a_key(number: int) -> str:
    return b64encode(bytes([number]) * 32).decode()


def told(instance: InstanceView, public_key: str, epoch: int = 1, **changes: object) -> ReportSeen:
    seen = a_report(instance)
    overlay = OverlayReport(kept=True, epoch=epoch, public_key=public_key)
    return ReportSeen(seen.report.model_copy(update={"overlay": overlay, **changes}), NOW)


def after(view: ClusterView, fact: object) -> ClusterView:
    new, version = codec.encode(fact, "e"), view.version + 1
    return evolve(
        view,
        Recorded(version, "cluster-c0ffee", version, "e", new.type, new.schema, new.data, "t", None, None, 1, NOW),
    )


def found(view: ClusterView, *reports: tuple[InstanceView, ReportSeen]) -> ReportedKeys:
    by_key: Mapping[str, ReportSeen] = {instance.key: seen for instance, seen in reports}
    return reported_keys(view, by_key, 1, NOW)


def test_a_key_is_recorded_once() -> None:
    view = a_view()
    (event,) = found(view, (A, told(A, a_key(1)))).new
    assert event == facts.OverlayKeyReported("brokers-a-0.g1", 1, a_key(1))
    view = after(view, event)
    assert view.vms.overlay_keys == {"brokers-a-0.g1": {1: a_key(1)}}
    assert found(view, (A, told(A, a_key(1)))) == ReportedKeys()


def test_the_key_of_the_next_epoch_is_beside_the_one_before() -> None:
    view = a_view()
    for epoch in (1, 2):
        view = after(view, facts.OverlayKeyReported(A.key, epoch, a_key(epoch)))
    assert view.vms.overlay_keys == {A.key: {1: a_key(1), 2: a_key(2)}}


@pytest.mark.parametrize(
    "seen",
    [
        told(A, a_key(1), node="brokers-b-0"),
        told(A, a_key(1), generation=2),
        told(A, a_key(1), cluster_uid="another"),
        told(A, ""),
        told(A, a_key(1), epoch=2),
        told(A, a_key(1), overlay=None),
        ReportSeen(told(A, a_key(1)).report, NOW - timedelta(hours=1)),
    ],
    ids=["another node", "another VM", "another cluster", "no key", "another epoch", "no overlay", "an old report"],
)
def test_what_is_not_this_vms_word_of_now_counts_for_nothing(seen: ReportSeen) -> None:
    assert found(a_view(), (A, seen)) == ReportedKeys()


def test_of_a_vm_that_is_revoked_or_gone_nothing_counts() -> None:
    revoked = a_view(revoked={A.key: NOW})
    gone = an_instance("brokers-a-0", phase=Phase.RETIRED)
    assert found(revoked, (A, told(A, a_key(1)))) == ReportedKeys()
    assert found(a_view(gone), (gone, told(gone, a_key(1)))) == ReportedKeys()


@pytest.mark.parametrize("public_key", ["short", a_key(0), a_key(1).replace("E=", "F="), a_key(1) + "\n"])
def test_what_is_no_key_in_its_one_spelling_is_refused(public_key: str) -> None:
    said = found(a_view(), (A, told(A, public_key)))
    assert (said.new, list(said.refused)) == ((), [A.key])
    assert "no key of WireGuard" in said.refused[A.key]


def test_another_key_of_one_epoch_is_refused_and_peers_stay_with_the_first() -> None:
    view = a_view()
    view = after(view, facts.OverlayKeyReported(A.key, 1, a_key(1)))
    said = found(view, (A, told(A, a_key(2))))
    assert said.new == ()
    assert "tells another key than before" in said.refused[A.key]


def test_two_vms_with_one_key_are_told_by_name_and_one_of_them_counts() -> None:
    said = found(a_view(), (A, told(A, a_key(1))), (B, told(B, a_key(1))))
    assert [event.key for event in said.new] == [A.key]
    assert said.refused == {
        B.key: "brokers-b-0.g1 has the key of brokers-a-0.g1, as a VM made from the same disk has: replace the node of"
        " one of them"
    }


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (facts.OverlayKeyReported("nobody.g1", 1, a_key(3)), "not known"),
        (facts.OverlayKeyReported(A.key, 1, a_key(2)), "another key of epoch 1"),
        (facts.OverlayKeyReported(B.key, 1, a_key(1)), "has this key"),
    ],
)
def test_a_history_that_says_otherwise_is_not_read(event: facts.OverlayKeyReported, words: str) -> None:
    view = a_view()
    view = after(view, facts.OverlayKeyReported(A.key, 1, a_key(1)))
    assert words in after(view, event).history.unreadable


def test_keys_of_vms_that_are_gone_are_forgotten() -> None:
    view = a_view(an_instance("brokers-a-0", phase=Phase.RETIRED), overlay_keys={A.key: {1: a_key(1)}})
    view = after(view, facts.OverlayKeyReported(B.key, 1, a_key(2)))
    assert list(view.vms.overlay_keys) == [B.key]
