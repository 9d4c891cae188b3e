"""Who is not in the overlay as they should be is named with the reason, and silence is no reason."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from agent.wire import OverlayPeerReport, OverlayReport
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.converger.conditions.lasting_troubles import LOOK_EVERY, PATIENCE
from controlplane.converger.conditions.overlay import (
    OVERLAY_NOT_READY,
    OverlayWatch,
    overlay_condition,
    overlay_troubles,
)
from events.spec.network import NetworkSpec, OverlaySpec
from tests.builders import BEFORE, NOW, a_document, a_report, a_situation, a_view, an_instance

A, B, C = "brokers-a-0.g1", "brokers-b-0.g1", "brokers-c-0.g1"
KEY = b64encode(bytes([1]) * 32).decode()


def a_network(*instances: object, **changes: object) -> ClusterView:
    document = a_document()
    spec = document.spec.model_copy(update={"network": NetworkSpec(overlay=OverlaySpec(type="wireguard"))})
    return a_view(*instances, document=document.model_copy(update={"spec": spec}), **changes)  # type: ignore[arg-type]


VIEW = a_network()


def reported(view: ClusterView, **overlays: OverlayReport | None) -> Mapping[str, ReportSeen]:
    """By the letter of the rack of the broker that says so."""
    found = {}
    for letter, overlay in overlays.items():
        instance = view.instances[f"brokers-{letter}-0.g1"]
        report = a_report(instance).report.model_copy(update={"overlay": overlay})
        found[instance.key] = ReportSeen(report, NOW)
    return found


def to(*nodes: str, up: bool = False) -> OverlayReport:
    return OverlayReport(kept=True, peers=tuple(OverlayPeerReport(node=n, generation=1, up=up) for n in nodes))


def troubles(view: ClusterView = VIEW, **overlays: OverlayReport | None) -> Mapping[str, str]:
    return overlay_troubles(view, reported(view, **overlays), NOW)


@pytest.mark.parametrize(
    ("overlay", "why"),
    [
        (None, "its agent (test) keeps none"),
        (OverlayReport(unable="IPv6 is off", problem="ip failed"), "IPv6 is off"),
        (OverlayReport(problem="brokers-b-0.g1: ip failed", kept=True), "brokers-b-0.g1: ip failed"),
        (OverlayReport(), "its tunnels are not set up yet"),
        (to("brokers-b-0", "brokers-c-0"), "no path to brokers-b-0.g1, brokers-c-0.g1"),
    ],
)
def test_what_keeps_a_vm_from_it_is_told_in_its_own_words(overlay: OverlayReport | None, why: str) -> None:
    assert troubles(a=overlay) == {A: why}


def test_a_key_that_is_another_vms_is_told() -> None:
    view = a_network(overlay_keys={B: {1: KEY}})
    (why,) = troubles(view, a=OverlayReport(kept=True, epoch=1, public_key=KEY)).values()
    assert why.startswith("brokers-a-0.g1 has the key of brokers-b-0.g1")


def test_what_nobody_knows_is_nobodys_to_tell() -> None:
    """Who is silent, on its way, or was called gone."""
    assert troubles(a=to("brokers-b-0", up=True)) == {}
    old = {A: replace(reported(VIEW, a=OverlayReport())[A], received_at=NOW - timedelta(hours=1))}
    assert overlay_troubles(VIEW, old, NOW) == {}
    for other in (an_instance("brokers-b-0", phase=Phase.LAUNCHED), an_instance("brokers-b-0", lost_at=NOW)):
        assert troubles(a_network(other), a=to("brokers-b-0"), b=OverlayReport()) == {}


def test_it_is_told_after_a_while_and_reports_are_read_once_a_minute() -> None:
    reads: list[int] = []

    def read() -> Mapping[str, ReportSeen]:
        reads.append(1)
        at = NOW + timedelta(seconds=second)
        return {key: replace(seen, received_at=at) for key, seen in reported(VIEW, a=OverlayReport()).items()}

    watch, said = OverlayWatch(), []
    for second in range(0, int(PATIENCE.total_seconds()) + 1, 20):
        said.append(watch.look(VIEW, NOW + timedelta(seconds=second), read))
    assert said[:-1] == [{}] * 6
    assert said[-1] == {A: "its tunnels are not set up yet"}
    assert len(reads) == 1 + PATIENCE // LOOK_EVERY


def test_a_cluster_without_an_overlay_is_not_asked() -> None:
    def unread() -> Mapping[str, ReportSeen]:
        raise AssertionError("nothing is read")

    assert OverlayWatch().look(a_view(), NOW, unread) is None
    assert overlay_condition(a_situation(a_view())) is None


def test_the_condition_names_who_and_why_and_ends_once_all_are_in() -> None:
    told = overlay_condition(a_situation(VIEW, overlay_troubles={A: "IPv6 is off", B: "no path to brokers-c-0.g1"}))
    assert told is not None
    assert (told.type, told.status) == (OVERLAY_NOT_READY, True)
    assert "2 VMs are not in the overlay as they should be: brokers-a-0.g1: IPv6 is off; brokers-b-0.g1" in told.message
    had = replace(VIEW, conditions={OVERLAY_NOT_READY: ConditionView(True, told.reason, told.message, BEFORE)})
    for found in ({}, None):
        over = overlay_condition(a_situation(had, overlay_troubles=found))
        assert over is not None
        assert not over.status
