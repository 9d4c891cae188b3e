"""What people ask for at once, of a cluster that is frozen: refused, unless they say that they mean it."""

import pytest

from controlplane.cluster.commands import Command, CommandRefused, DeclareCluster, DeleteCluster, InjectChaos, StartGame
from controlplane.commands.handler import CommandHandler
from events.spec.model import KafkaClusterDocument
from tests.builders import a_document
from tests.fakes.event_store import MemoryEventStore

WORDS = "frozen until 2026-12-01 05:00 UTC by anna: black friday"


def _frozen(document: KafkaClusterDocument) -> CommandHandler:
    handler = CommandHandler(MemoryEventStore(), frozen=lambda view: WORDS)
    handler.handle(DeclareCluster(name="orders", actor="p", command_id="c1", document=document, source="orders.yaml"))
    return handler


def _delete(**more: bool) -> DeleteCluster:
    return DeleteCluster(name="orders", actor="p", command_id="c2", confirm="orders", reason="", **more)


def _refusal(handler: CommandHandler, command: Command) -> CommandRefused:
    with pytest.raises(CommandRefused) as refused:
        handler.handle(command)
    return refused.value


def test_a_frozen_cluster_is_not_destroyed_unless_somebody_says_that_it_is_meant() -> None:
    handler = _frozen(a_document(deletion="destroy"))
    refused = _refusal(handler, _delete())
    assert refused.code == "frozen"
    assert str(refused).startswith(f"orders is {WORDS}")
    assert "kedge delete orders --despite-freeze" in refused.what_next
    assert handler.handle(_delete(despite_freeze=True)).changed


def test_a_frozen_cluster_whose_vms_stay_is_deleted_as_ever() -> None:
    assert _frozen(a_document(deletion="retain")).handle(_delete()).changed


def test_a_frozen_cluster_is_not_harmed_without_force() -> None:
    handler = _frozen(a_document())
    values = {"name": "orders", "actor": "p", "command_id": "c2", "reason": "game day"}
    fault = {**values, "fault": "pause", "for_s": 60.0, "keys": ("brokers-a-0.g1",)}
    game = {
        **values, "seed": 1, "wanted": 1, "within_s": 600.0, "lasts_s": 60.0, "heal_within_s": 60.0, "subject": "anna",
    }  # fmt: skip
    for command in (InjectChaos(**fault), StartGame(**game)):  # type: ignore[arg-type]
        assert _refusal(handler, command).code == "frozen"
    forced = _refusal(handler, InjectChaos(**fault, force=True))  # type: ignore[arg-type]
    assert forced.code != "frozen", "there is no such VM, which is another matter"
