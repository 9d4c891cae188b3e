"""A drain whose only move hangs, and what it is seen beside."""

from datetime import timedelta
from typing import Any

from controlplane.cluster.views.migration import MigrationView
from controlplane.converger.situation.cure_budget import FleetCures
from controlplane.converger.situation.situation import Situation
from planner.observed import PartitionSeen, QuorumSeen, VoterSeen
from planner.pulse import MovePulse, felt
from tests.builders import (
    BEFORE,
    NOW,
    a_document,
    a_drain,
    a_move,
    a_partition,
    a_plan,
    a_situation,
    a_snapshot,
    a_view,
    a_zookeeper_document,
    an_instance,
)

LONG_AGO = NOW - timedelta(seconds=400)
ALL = (1000, 1001, 1002, 1010)
SUCCESSOR = an_instance("brokers-a-0", 2, service_id=1010)
MOVE = a_move("orders-0")


REIGN = {"mode": "zookeeper", "controller": 1001, "controller_epoch": 7}
A_MIGRATION = MigrationView("kraft", 2, BEFORE, a_document())
BRAKED = FleetCures(1, ((BEFORE, "another"),))
"""The fleet has had its cures of the day."""


def zookeeper_view(**changes: Any) -> dict[str, Any]:
    return {"document": a_zookeeper_document(), "protocol": "3.8", **changes}


def quorum_with(**one: Any) -> QuorumSeen:
    """Three servers that follow, the last one but for what is said of it."""
    told = {"lag": 0, "is_voter": True, **one}
    return QuorumSeen(100, 1, (VoterSeen(100, "a", 0, True), VoterSeen(101, "b", 0, True), VoterSeen(102, "c", **told)))


def moving(**about: Any) -> PartitionSeen:
    values: dict[str, Any] = {
        "isr": (1000, 1001, 1002),
        "adding": (1010,),
        "removing": (1000,),
        "leader": 1001,
        "arrived_bytes": (500,),
        "leader_bytes": 1000,
    }
    return a_partition("orders-0", (*MOVE.after, 1000), **{**values, **about})


def still(partition: PartitionSeen) -> dict[Any, MovePulse]:
    return {partition.name: felt(None, partition, LONG_AGO)}


def situation(partition: PartitionSeen, *, view: Any = None, drain: bool = True, **about: Any) -> Situation:
    own = {"drain": a_drain()} if drain else {}
    tried = {"taken_back": about.pop("taken_back")} if "taken_back" in about else {}
    seen = {"kafka": a_snapshot(partition, **{"brokers": ALL, **about}), "pulses": still(partition), **tried}
    plan = {"plan": a_plan([MOVE]), "plan_sha256": "sha"} if drain else {}
    return a_situation(a_view(SUCCESSOR, **{**own, **(view or {})}), **seen, **plan)
