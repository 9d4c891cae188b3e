"""`kedge confirm-loss`: which VMs it means, and when it is refused."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controlplane.cluster.commands import CommandRefused, ConfirmLoss
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.confirmed_losses import LossesView
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.lookups import Lookups
from controlplane.commands.deciders.losses import loss_confirmed
from events import facts
from planner.observed import KafkaSnapshot
from tests.builders import NOW, a_partition, a_report, a_snapshot, a_view
from tests.changed_view import changed_view

KEYS = ("brokers-a-0.g1", "brokers-b-0.g1", "controllers-a-0.g1", "controllers-b-0.g1")
DOUBTED = changed_view(a_view(), losses=LossesView(KEYS, ("a", "b"), NOW - timedelta(minutes=5)))


def ask(
    view: ClusterView = DOUBTED,
    *racks: str,
    confirm: str = "orders",
    reports: dict[str, ReportSeen] | None = None,
    kafka: KafkaSnapshot | None = None,
) -> CommandDecision:
    command = ConfirmLoss(
        name="orders", actor="person:anna", command_id="c1", racks=racks, confirm=confirm, reason="fire"
    )
    return loss_confirmed(view, command, Lookups(reports=lambda: reports or {}, kafka=kafka, now=lambda: NOW))


def test_of_the_vms_in_doubt_those_of_the_racks_named_are_meant() -> None:
    assert ask(DOUBTED, "a", "b").fact == facts.LossesConfirmed(KEYS, ("a", "b"), "asked by anna: fire")
    one = ask(DOUBTED, "a")
    assert one.fact == facts.LossesConfirmed((KEYS[0], KEYS[2]), ("a",), "asked by anna: fire")
    assert one.sentence.endswith("2 others stay in doubt")


@pytest.mark.parametrize(
    ("view", "racks", "confirm", "code"),
    [
        (DOUBTED, ("a", "b"), "", "name-mismatch"),
        (DOUBTED, ("a", "b"), "clicks", "name-mismatch"),
        (a_view(), ("a", "b"), "orders", "nothing-doubted"),
        (DOUBTED, (), "orders", "unknown-rack"),
        (DOUBTED, ("a", "c"), "orders", "unknown-rack"),
    ],
)
def test_what_is_not_in_doubt_is_not_confirmed(
    view: ClusterView, racks: tuple[str, ...], confirm: str, code: str
) -> None:
    with pytest.raises(CommandRefused) as refused:
        ask(view, *racks, confirm=confirm)
    assert refused.value.code == code


def test_a_vm_whose_agent_is_heard_is_not_gone() -> None:
    heard = {KEYS[2]: a_report(DOUBTED.instances[KEYS[2]], received_at=NOW - timedelta(seconds=20))}
    with pytest.raises(CommandRefused, match=r"agents of controllers-a-0\.g1 were heard") as refused:
        ask(DOUBTED, "a", reports=heard)
    assert refused.value.code == "agents-heard"
    assert ask(DOUBTED, "b", reports=heard).fact is not None, "it is of another rack"
    long_ago = {KEYS[2]: a_report(DOUBTED.instances[KEYS[2]], received_at=NOW - timedelta(seconds=60))}
    assert ask(DOUBTED, "a", reports=long_ago).fact is not None


def test_a_broker_that_kafka_has_serving_is_not_gone() -> None:
    serving = a_snapshot(a_partition(), at=NOW - timedelta(seconds=50))
    with pytest.raises(CommandRefused, match=r"50 s ago has brokers-a-0\.g1, brokers-b-0\.g1 serving") as refused:
        ask(DOUBTED, "a", "b", kafka=serving)
    assert refused.value.code == "brokers-serve"
    fenced = {k: replace(b, fenced=b.id in (1000, 1001)) for k, b in serving.brokers.items()}
    assert ask(DOUBTED, "a", "b", kafka=replace(serving, brokers=fenced)).fact is not None


@pytest.mark.parametrize("age", [timedelta(minutes=2), timedelta(minutes=6)], ids=["old", "from before the doubt"])
def test_metadata_that_says_nothing_of_now_refuses_nothing(age: timedelta) -> None:
    assert ask(DOUBTED, "a", kafka=a_snapshot(a_partition(), at=NOW - age)).fact is not None
