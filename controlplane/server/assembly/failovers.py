"""Builds what carries pairs of clusters on."""

import threading
from dataclasses import dataclass

from controlplane.background.failovers.copies import CopyWatch
from controlplane.background.failovers.look import PairLook
from controlplane.background.failovers.reconciler import PairReconciler
from controlplane.cluster.gateways import Gateways, judged
from controlplane.cluster.server_identities import ServerIdentities
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
COPIES = "copies of pairs"
_EVERY_S, _COPIES_EVERY_S = 0.5, 0.3
_PAIRS_AT_A_TIME = 8
_CONNECTIONS = 2 * _PAIRS_AT_A_TIME


@dataclass(frozen=True, slots=True)
class PairsRoom:
    """What carries pairs on, and what looks at their logs beside it: brokers that do not answer hold no step up that
    needs none of their words. Nothing is started."""

    poller: Poller
    copies: Poller
    watch: CopyWatch
    gateways: Gateways

    def start(self) -> None:
        """Begins to look."""
        self.copies.start()
        self.poller.start()

    def close(self) -> None:
        """No look begins after this; connections are closed."""
        self.poller.stop()
        self.copies.stop()
        self.watch.close()
        self.gateways.close()


def look_of(fleet: PairedFleet, latest: LatestStore) -> PairLook:
    """What is seen of pairs, by any process that has all clusters folded."""
    return PairLook(fleet, latest, lambda pair, now: names_seen(latest, pair.view, now), utc_now)


def pairs_of(
    ground: Ground, loop: Loop, asking: CommandParts, names: Poller, identities: ServerIdentities
) -> PairsRoom:
    """What an order waits for takes seconds: looking twice a second costs little where no pair is."""

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
    gateways = judged(ground.settings.allow.brokers_allowed, keep=_CONNECTIONS, identities=identities)
    watch = CopyWatch(
        loop.pairs,
        loop.converger,
        gateways.pair_logs,
        ground.latest,
        leads=lambda: ground.candidate.held_epoch() is not None,
        clock=utc_now,
        threads=_PAIRS_AT_A_TIME,
    )
    return PairsRoom(
        Poller({PAIRS: reconciler}, {PAIRS: _EVERY_S}, leadership=ground.candidate, stop=threading.Event()),
        Poller({COPIES: watch}, {COPIES: _COPIES_EVERY_S}, leadership=ground.candidate, stop=threading.Event()),
        watch,
        gateways,
    )
