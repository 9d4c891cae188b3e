"""Where a door is kept: by whose network it is."""

from pathlib import Path

import pytest

from agent.door.start import followed_door
from agent.settings import AgentSettings
from agent.wire_door import DoorDocument

SHUT = DoorDocument(pair="p-1", state="shut", epoch=3, ports=(9092,), members=("10.0.0.0/24",))


def settings(tmp_path: Path, **environ: str) -> AgentSettings:
    return AgentSettings.from_env(root=tmp_path, environ={"KEDGE_KAFKA_DIR": "/kafka", **environ})


@pytest.mark.parametrize(
    ("environ", "network"),
    [
        ({}, "shared"),
        ({"KEDGE_AGENT_DISKS": "devices"}, "own"),
        ({"KEDGE_AGENT_NETWORK": "own"}, "own"),  # a VM of `local` in a namespace
        ({"KEDGE_AGENT_DISKS": "devices", "KEDGE_AGENT_NETWORK": "shared"}, "shared"),
    ],
)
def test_a_network_is_shared_where_nobody_says_that_it_is_the_vms_own(
    tmp_path: Path, environ: dict[str, str], network: str
) -> None:
    assert settings(tmp_path, **environ).network == network


def test_where_the_network_is_shared_a_door_is_answered_with_the_reason_and_proves_nothing(tmp_path: Path) -> None:
    follow = followed_door(settings(tmp_path), tmp_path, "boot", lambda: 0.0)
    told = follow(SHUT, True)
    assert told is not None
    assert (told.in_force, told.connections) == (False, None)
    assert "namespaces" in told.problem
    assert follow(None, True) is None
    assert follow(SHUT.model_copy(update={"state": "none"}), True) is None, (
        "a cluster of no pair any more is as any other"
    )
