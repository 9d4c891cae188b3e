"""Keys that agents made for an overlay are recorded, in clusters that are to have one alone."""

from base64 import b64encode
from dataclasses import replace
from datetime import timedelta

from agent.wire import OverlayReport
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.decision import Decision
from controlplane.converger.steps.running.overlay import overlay_step
from events import facts
from events.spec.network import NetworkSpec, OverlaySpec
from tests.builders import NOW, a_document, a_report, a_situation, a_view, an_inventory


def a_key(number: int) -> str:
    return b64encode(bytes([number]) * 32).decode()


def decided(view: ClusterView, **keys: str) -> Decision | None:
    reports = {}
    for node, public_key in keys.items():
        instance = view.instances[f"{node.replace('_', '-')}.g1"]
        report = a_report(instance).report
        told = OverlayReport(epoch=1, public_key=public_key)
        reports[instance.key] = ReportSeen(report.model_copy(update={"overlay": told}), NOW)
    return overlay_step(a_situation(view, reports=reports))


def with_overlay(**changes: object) -> ClusterView:
    document = a_document()
    network = NetworkSpec(overlay=OverlaySpec(type="wireguard"))
    spec = document.spec.model_copy(update={"network": network})
    return a_view(document=document.model_copy(update={"spec": spec}), **changes)


def test_keys_that_came_are_recorded_together_once() -> None:
    decision = decided(with_overlay(), brokers_a_0=a_key(1), brokers_b_0=a_key(2))
    assert decision is not None
    assert decision.events == (
        facts.OverlayKeyReported("brokers-a-0.g1", 1, a_key(1)),
        facts.OverlayKeyReported("brokers-b-0.g1", 1, a_key(2)),
    )
    assert "brokers-a-0.g1, brokers-b-0.g1 made their keys" in decision.sentence
    known = {"brokers-a-0.g1": {1: a_key(1)}}
    assert decided(with_overlay(overlay_keys=known), brokers_a_0=a_key(1)) is None


def test_a_key_that_is_refused_holds_nothing_up() -> None:
    known = {"brokers-a-0.g1": {1: a_key(1)}}
    assert decided(with_overlay(overlay_keys=known), brokers_a_0=a_key(9), brokers_b_0=a_key(1)) is None


def test_a_cluster_without_an_overlay_records_none() -> None:
    assert decided(a_view(), brokers_a_0=a_key(1)) is None


def test_a_public_address_that_the_cloud_tells_is_recorded_with_the_keys() -> None:
    view = with_overlay()
    one = view.instances["brokers-a-0.g1"]
    inventory = an_inventory(view)
    told = {**inventory.instances, one.key: replace(inventory.instances[one.key], public_address="203.0.113.7")}
    called = facts.PublicAddressesSeen(one.key, ("203.0.113.7",))
    decision = overlay_step(a_situation(view, inventory=replace(inventory, instances=told)))
    assert decision is not None
    assert decision.events == (called,)
    assert "brokers-a-0.g1 have other public addresses than before" in decision.sentence
    old = replace(inventory, instances=told, at=NOW - timedelta(hours=1))
    assert overlay_step(a_situation(view, inventory=old)) is None, "nobody knows what is there now"
    assert overlay_step(a_situation(a_view(), inventory=replace(inventory, instances=told))) is None
