"""Upgrades of agents: releases in the fleet's stream `agents`, and what each VM was asked for in its cluster's own."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from events.registry import fact


@dataclass(frozen=True, slots=True)
class AgentBuilt:
    """An archive for one Python and processor, as in `cp311-x86_64`, and its signature (base64)."""

    platform: str
    url: str
    sha256: str
    size_bytes: int
    signature: str


@fact("agents.published", schema=1)
@dataclass(frozen=True, slots=True)
class AgentPublished:
    """Agents of this version are what every VM is to run from here on. `public_key` (base64) is that of the builds."""

    version: str
    public_key: str
    builds: tuple[AgentBuilt, ...]
    notes: str = ""


@fact("agents.withdrawn", schema=1)
@dataclass(frozen=True, slots=True)
class AgentWithdrawn:
    """No VM is to run it any more: the one published before it counts, where there is one."""

    version: str
    reason: str


@fact("agents.resumed", schema=1)
@dataclass(frozen=True, slots=True)
class AgentRolloutResumed:
    """A person lets the upgrade go on after VMs whose upgrade failed; those are asked again."""

    reason: str


@fact("agent.upgrade_requested", schema=1)
@dataclass(frozen=True, slots=True)
class AgentUpgradeRequested:
    """A VM is told to run this agent. `processes`: the pids of its services then, which are to stay."""

    order: str
    key: str
    version: str
    public_key: str
    builds: tuple[AgentBuilt, ...]
    processes: Mapping[str, int] = field(default_factory=dict)


@fact("agent.upgraded", schema=1)
@dataclass(frozen=True, slots=True)
class AgentUpgraded:
    """Its new agent has reported, its services run on."""

    order: str
    key: str


@fact("agent.upgrade_failed", schema=1)
@dataclass(frozen=True, slots=True)
class AgentUpgradeFailed:
    """It is back with the agent it had, or has not answered. No other VM is asked until a person resumes."""

    order: str
    key: str
    reason: str
