"""Builds what looks after agents from the settings."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from pydantic import SecretBytes

from controlplane.background.agent_upgrades.reconciler import AgentUpgradeReconciler
from controlplane.background.agent_upgrades.service import AgentReleaseService
from controlplane.background.agent_upgrades.signing import AgentSigner
from controlplane.fleet.freezes.state import FreezeCache
from controlplane.fleet.ports import FreshFleet
from controlplane.runtime.polling import Leadership, Poller
from controlplane.server.settings import Settings
from controlplane.storage.latest_values import LatestStore
from events.clock import Clock
from events.ids import Epoch
from events.store import EventStore

AGENTS = "agents"
"""The poller's name for the look."""


@dataclass(frozen=True, slots=True)
class AgentsRoom:
    """The service, and what looks beside it. Nothing is started."""

    service: AgentReleaseService
    poller: Poller


def agents_of(
    settings: Settings,
    *,
    store: EventStore,
    latest: LatestStore,
    fleet: FreshFleet,
    freezes: FreezeCache,
    server_key: SecretBytes,
    leadership: Leadership,
    epoch: Callable[[], Epoch | None],
    clock: Clock,
) -> AgentsRoom:
    """The room of agents. `fleet` folds what `freezes` keeps."""
    reconciler = AgentUpgradeReconciler(
        store,
        latest,
        fleet,
        epoch,
        clock,
        soak=timedelta(seconds=settings.agents.soak_s),
        at_once=settings.loop.max_rolling,
        freezes=freezes,
    )
    poller = Poller(
        {AGENTS: reconciler}, {AGENTS: settings.agents.poll_s}, leadership=leadership, stop=threading.Event()
    )
    signer = AgentSigner(server_key, settings.agents.signing_key)
    return AgentsRoom(AgentReleaseService(reconciler, signer, partial(_ring, poller)), poller)


def _ring(poller: Poller) -> None:
    poller.ring(AGENTS)
