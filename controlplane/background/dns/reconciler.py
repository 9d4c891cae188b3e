"""Makes DNS say what it should, one look after another: reads what a zone holds, changes what differs, and only ours.

Level-triggered like a tick: what was written before is no proof that it still stands, so everything is read again
from time to time. The names a cluster had are remembered beside the other observations, so that one whose spec names
another is taken away. Whose a name is its owner record says; a name without one is a person's and is left alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from controlplane.background.dns.records import DNS_NAME, ClusterNameRecord, PairNameRecord
from controlplane.background.dns.settling import KeptZone, NameClaim, NameWriter
from controlplane.background.dns.wanted import Names, bootstrap_name, pair_name, wanted_names, wanted_of_pair
from controlplane.background.rounds import Round
from controlplane.cluster.view import ClusterView
from controlplane.fleet.failovers.state import PairsView, RegisteredPair
from controlplane.fleet.ports import FoldedFleet
from controlplane.storage.latest_values import LatestStore

READ_AGAIN = timedelta(minutes=10)
"""Names at rest are read so often: a person may have changed one."""

_POLLS_BELIEVED = 3
_LEAST_BELIEVED_S = 30.0


@dataclass(slots=True)
class NameReconciler:
    """One look at a time. `may_act` is asked before each change: only the leader writes. `poll_s`: seconds between two
    looks. Without a zone no cluster has a name of ours; pairs are told that theirs has none."""

    zones: Sequence[KeptZone]
    fleet: FoldedFleet
    latest: LatestStore
    installation_id: str
    clock: Callable[[], datetime]
    may_act: Callable[[], bool]
    pairs: Callable[[], PairsView] = PairsView
    poll_s: float = 10.0
    _at_rest: dict[str, tuple[Names | NameClaim, datetime]] = field(default_factory=dict)

    def poll(self) -> None:
        """Looks at every cluster and pair that has a name or had one. The deleted go first: another may want their
        names. Those of withdrawn pairs come last: another may have taken one by then.

        Raises StoreUnavailable, RoundIncomplete.
        """
        writer = NameWriter(self.zones, self.may_act, self._released())
        this_round = Round("names in DNS")
        views = self.fleet.views()
        for view in sorted(views, key=lambda v: (not v.deleted, v.name, v.uid)) if self.zones else ():
            with this_round.apart(view.name):
                self._keep(writer, view)
        pairs = self.pairs().by_uid.values()
        clusters = {str(view.uid): view for view in views}
        for pair in sorted(pairs, key=lambda p: (p.view.is_withdrawn, p.name, p.uid)):
            with this_round.apart(f"the pair {pair.name}"):
                self._keep_pair(writer, pair, clusters)
        this_round.close()

    def _keep(self, writer: NameWriter, view: ClusterView) -> None:
        wanted = self._wanted(view)
        if not wanted or self._is_at_rest(view.uid, wanted, for_ever=view.deleted):
            return
        owner = f"installation={self.installation_id} cluster={view.uid}"
        settled = [
            writer.settle(NameClaim(name, addresses, owner), ClusterNameRecord(self.latest, self.clock, view, name))
            for name, addresses in wanted.items()
        ]
        self._remember(view.uid, wanted, is_at_rest=all(settled))

    def _wanted(self, view: ClusterView) -> Names:
        """What a cluster should be called, and what it was called before and should be no more."""
        wanted = wanted_names(view)
        bootstrap = bootstrap_name(view)
        if bootstrap is None and not view.instances:
            return wanted
        had = [o.subject.name for o in self.latest.of_cluster(view.uid, DNS_NAME) if o.value.get("addresses")]
        own = {bootstrap, *(f"{i.node}.{bootstrap}" for i in view.instances.values())}
        return {**{name: frozenset() for name in had if name not in own}, **wanted}

    def _keep_pair(self, writer: NameWriter, pair: RegisteredPair, clusters: Mapping[str, ClusterView]) -> None:
        view = pair.view
        wanted = wanted_of_pair(view, clusters)
        if wanted is None:
            return
        claim = NameClaim(
            wanted.name,
            wanted.addresses,
            self._owner(pair),
            wanted.ttl_s,
            is_followed=not view.is_withdrawn,
            takes=not view.is_withdrawn,
        )
        if view.order is None and self._is_at_rest(pair.uid, claim, for_ever=not claim.addresses):
            return
        believed = timedelta(seconds=max(_POLLS_BELIEVED * self.poll_s, _LEAST_BELIEVED_S))
        record = PairNameRecord(self.latest, self.clock, view, wanted.name, believed)
        self._remember(pair.uid, claim, is_at_rest=writer.settle(claim, record))

    def _released(self) -> Mapping[str, frozenset[str]]:
        """Names of withdrawn pairs, with whose they were: a living holder takes one over in one change, and no look-up
        in between finds nothing."""
        found: dict[str, frozenset[str]] = {}
        for pair in self.pairs().by_uid.values():
            name = pair_name(pair.view)
            if pair.view.is_withdrawn and name is not None:
                found[name] = found.get(name, frozenset()) | {self._owner(pair)}
        return found

    def _owner(self, pair: RegisteredPair) -> str:
        return f"installation={self.installation_id} failover={pair.uid}"

    def _is_at_rest(self, uid: str, wanted: Names | NameClaim, *, for_ever: bool) -> bool:
        known = self._at_rest.get(uid)
        return known is not None and known[0] == wanted and (for_ever or self.clock() - known[1] < READ_AGAIN)

    def _remember(self, uid: str, wanted: Names | NameClaim, *, is_at_rest: bool) -> None:
        if is_at_rest:
            self._at_rest[uid] = (wanted, self.clock())
        else:
            self._at_rest.pop(uid, None)
