"""The surge budget: at most so many surge VMs per cloud account, over all clusters, given out in a fair order.

A surge VM is one beyond the first of its node: the successor from its intent on, until what it replaces is retired.
New nodes are none, they are what a spec declares; so a birth or a scale-up neither waits nor counts.

Who finds the budget spent asks, and is asked back in this order: repairs before upgrades, then who waits longest.
What is free is kept for those ahead, so a steady stream of small rolls cannot starve anybody; an ask is forgotten at
the first tick that does not repeat it, so a cluster that is held up by something else keeps nothing from the others.

A repair in a cluster that has surge VMs itself waits for other clusters' only, and for nobody in the queue: the repair
may be what its own surge VMs wait for.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from controlplane.converger.rendering import places_of
from controlplane.converger.verdict import SurgeAsk, SurgeShare
from controlplane.view import ClusterView

_NEVER = datetime.min.replace(tzinfo=UTC)


def account_of(view: ClusterView) -> str:
    """`<cloud>/<account>` the cluster's VMs live in, "" for a cluster that was never declared."""
    place = next(iter(places_of(view)), None)
    return f"{place.cloud}/{place.account}" if place else ""


def surge_vms(view: ClusterView) -> int:
    """VMs of the cluster beyond one per node."""
    return sum(len(there) - 1 for there in view.nodes().values())


@dataclass(frozen=True, slots=True)
class _Holding:
    account: str
    name: str
    vms: int


@dataclass(frozen=True, slots=True)
class _Ask:
    account: str
    name: str
    vms: int
    rank: tuple[bool, datetime, str]


@dataclass(slots=True)
class SurgeBudget:
    """`limit` surge VMs per account. What is held follows from views; only the queue is remembered."""

    limit: int
    _holdings: dict[str, _Holding] = field(default_factory=dict)
    _asks: dict[str, _Ask] = field(default_factory=dict)

    def note(self, view: ClusterView) -> None:
        """Counts a cluster as it is now."""
        vms = 0 if view.deleted else surge_vms(view)
        if vms:
            self._holdings[view.uid] = _Holding(account_of(view), view.name, vms)
        else:
            self._holdings.pop(view.uid, None)

    def hear(self, view: ClusterView, ask: SurgeAsk | None) -> None:
        """What the cluster's tick ended in: it waits for surge VMs, or it does not (any more)."""
        if ask is None:
            self._asks.pop(view.uid, None)
            return
        rank = self._rank(view, mends=ask.mends)
        self._asks[view.uid] = _Ask(account_of(view), view.name, ask.vms, rank)

    def forget(self, uid: str) -> None:
        """The cluster is gone, or its tick failed: it holds its place in the queue no longer."""
        self._asks.pop(uid, None)

    def keep_only(self, uids: Iterable[str]) -> None:
        """Forgets every cluster but these."""
        for uid in {*self._holdings, *self._asks} - set(uids):
            self._holdings.pop(uid, None)
            self._asks.pop(uid, None)

    def share(self, view: ClusterView, *, mends: bool) -> SurgeShare:
        """How many surge VMs the cluster may make now, for a repair or for an upgrade, and who has the others."""
        account = account_of(view)
        there = [h for h in self._holdings.values() if h.account == account]
        own = self._holdings.get(view.uid)
        used = sum(h.vms for h in there)
        if mends and own is not None:
            return self._share(account, there, self.limit - (used - own.vms), ())
        ahead = self._ahead(view, account, mends=mends)
        return self._share(account, there, self.limit - used - sum(a.vms for a in ahead), ahead)

    def words(self, view: ClusterView) -> str:
        """How much of the cluster's account is in use, and by whom."""
        account = account_of(view)
        return self._words(account, [h for h in self._holdings.values() if h.account == account])

    def _rank(self, view: ClusterView, *, mends: bool) -> tuple[bool, datetime, str]:
        """Order in the queue. Nothing but conditions is recorded while a cluster waits: it stays where it is."""
        known = self._asks.get(view.uid)
        since = view.progressed_at or _NEVER
        return (not mends, min(since, known.rank[1]) if known else since, view.uid)

    def _ahead(self, view: ClusterView, account: str, *, mends: bool) -> list[_Ask]:
        rank = self._rank(view, mends=mends)
        queue = sorted((a for a in self._asks.values() if a.account == account), key=lambda a: a.rank)
        return [a for a in queue if a.rank[2] != view.uid and a.rank < rank]

    def _share(self, account: str, there: Iterable[_Holding], free: int, ahead: Iterable[_Ask]) -> SurgeShare:
        if free > 0:
            return SurgeShare(free)
        holders = sorted(there, key=lambda h: h.name)
        names = ", ".join(a.name for a in ahead)
        behind = f"; {names} waits longer" if names else ""
        return SurgeShare(0, self._words(account, holders) + behind, tuple(h.name for h in holders))

    def _words(self, account: str, there: Iterable[_Holding]) -> str:
        holders = sorted(there, key=lambda h: h.name)
        named = ", ".join(f"{h.name} {h.vms}" for h in holders)
        used = sum(h.vms for h in holders)
        return f"{used} of {self.limit} surge VMs of account {account} are in use{f' ({named})' if named else ''}"
