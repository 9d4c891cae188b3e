"""Builds what carries pairs of clusters on."""

import threading

from controlplane.background.failovers.look import PairLook
from controlplane.background.failovers.reconciler import PairReconciler
from controlplane.fleet.failovers.pair_name import names_seen
from controlplane.fleet.ports import PairedFleet
from controlplane.runtime.polling import Poller
from controlplane.server.assembly.commands import CommandParts
from controlplane.server.assembly.core import Ground
from controlplane.server.assembly.dns import DNS
from controlplane.server.assembly.loop import Loop
from controlplane.storage.latest_values import LatestStore
from events.clock import utc_now

PAIRS = "failovers"
"""The poller's name for it."""
_EVERY_S = 0.5


def look_of(fleet: PairedFleet, latest: LatestStore) -> PairLook:
    """What is seen of pairs, by any process that has all clusters folded."""
    return PairLook(fleet, latest, lambda pair, now: names_seen(latest, pair.view, now), utc_now)


def pairs_of(ground: Ground, loop: Loop, asking: CommandParts, names: Poller) -> Poller:
    """Not started yet. What an order waits for takes seconds: looking twice a second costs little where no pair is."""

    def wake(cluster: str) -> None:
        loop.hands.bell.ring(cluster)
        names.ring(DNS)

    look = look_of(loop.converger, ground.latest)
    reconciler = PairReconciler(
        ground.store,
        loop.pairs,
        look,
        epoch=ground.candidate.held_epoch,
        catch_up=loop.converger.catch_up,
        ask=asking.commands.handle,
        wake=wake,
        look_again=loop.converger.look_again,
        latest=ground.latest,
        clock=utc_now,
    )
    return Poller({PAIRS: reconciler}, {PAIRS: _EVERY_S}, leadership=ground.candidate, stop=threading.Event())
