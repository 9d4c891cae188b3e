"""Builds what the bindings of the settings ask for: a clone and a sync for each, one poller, one desk."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from controlplane.fleets import FreshFleet
from controlplane.gitsync.board import Board
from controlplane.gitsync.clone import Clone
from controlplane.gitsync.desk import SourceDesk
from controlplane.gitsync.sync import Commands, SourceSync, SyncParts
from controlplane.poller import Leadership, Poller
from controlplane.proposals.gitproposals import GitProposals
from controlplane.settings import Settings
from events.clock import Clock
from events.store import EventStore


@dataclass(frozen=True, slots=True)
class Sources:
    """Git sync of one server. Nothing runs before `poller.start`."""

    desk: SourceDesk
    poller: Poller

    def ring_all(self) -> None:
        """Whoever begins to lead looks at once."""
        for standing in self.desk.board.all():
            self.poller.ring(standing.binding.name)


def sources_of(
    settings: Settings,
    *,
    store: EventStore,
    commands: Commands,
    fleet: FreshFleet,
    leadership: Leadership,
    wake: Callable[[str], None],
    clock: Clock,
    proposals: GitProposals | None = None,
) -> Sources:
    """The sources of these settings; their clones are in `git/` of the home."""
    board, stop = Board(settings.git), threading.Event()
    parts = SyncParts(
        store=store,
        commands=commands,
        fleet=fleet,
        wake=wake,
        may_act=lambda: leadership.may_act and not stop.is_set(),
        board=board,
        clock=clock,
        proposals=proposals,
    )
    folder = settings.home / "git"
    syncs = {
        binding.name: SourceSync(
            binding, Clone(binding, folder / binding.name, local_paths=settings.git_local_paths, stop=stop), parts
        )
        for binding in settings.git
    }
    poller = Poller(syncs, {b.name: b.poll_s for b in settings.git}, leadership=leadership, stop=stop)
    return Sources(SourceDesk(board, store, poller.ring), poller)
