"""Builds what carries pairs of clusters on."""

import threading
from datetime import datetime

from controlplane.background.failovers.look import PairLook, PairNames
from controlplane.background.failovers.reconciler import PairReconciler
from controlplane.fleet.failovers.seen import NamesSeen
from controlplane.fleet.failovers.state import RegisteredPair
from controlplane.runtime.polling import Poller
from controlplane.server.assembly.commands import CommandParts
from controlplane.server.assembly.core import Ground
from controlplane.server.assembly.loop import Loop
from events.clock import utc_now

PAIRS = "failovers"
"""The poller's name for it."""
_EVERY_S = 0.5


def pairs_of(ground: Ground, loop: Loop, asking: CommandParts, names: PairNames) -> Poller:
    """Not started yet. What an order waits for takes seconds: looking twice a second costs little where no pair is."""
    look = PairLook(loop.converger, ground.latest, names, utc_now)
    reconciler = PairReconciler(
        ground.store,
        loop.pairs,
        look,
        epoch=ground.candidate.held_epoch,
        catch_up=loop.converger.catch_up,
        ask=asking.commands.handle,
        wake=loop.hands.bell.ring,
        latest=ground.latest,
        clock=utc_now,
    )
    return Poller({PAIRS: reconciler}, {PAIRS: _EVERY_S}, leadership=ground.candidate, stop=threading.Event())


def unnamed(pair: RegisteredPair, now: datetime) -> NamesSeen | None:
    return None
