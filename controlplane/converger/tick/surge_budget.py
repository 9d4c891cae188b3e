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

from controlplane.cluster.places import places_of
from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.decision import SurgeAsk
from controlplane.converger.situation.situation import SurgeShare
from controlplane.runtime.once import once

_NEVER = datetime.min.replace(tzinfo=UTC)


@once
def accounts_of(view: ClusterView) -> tuple[str, ...]:
    """`<cloud>/<account>` of each account the cluster's VMs live in. What it has and asks for counts in all of them:
    nobody can tell which one a successor is made in before it is planned."""
    return tuple(dict.fromkeys(f"{place.cloud}/{place.account}" for place in places_of(view))) or ("",)


def surge_vms(view: ClusterView) -> int:
    """VMs of the cluster beyond one per node."""
    return sum(len(there) - 1 for there in view.nodes().values())


@dataclass(frozen=True, slots=True)
class _Holding:
    accounts: tuple[str, ...]
    name: str
    vms: int


@dataclass(frozen=True, slots=True)
class _Ask:
    accounts: tuple[str, ...]
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
            self._holdings[view.uid] = _Holding(accounts_of(view), view.name, vms)
        else:
            self._holdings.pop(view.uid, None)

    def hear(self, view: ClusterView, ask: SurgeAsk | None) -> None:
        """What the cluster's tick ended in: it waits for surge VMs, or it does not (any more)."""
        if ask is None:
            self._asks.pop(view.uid, None)
            return
        rank = self._rank(view, mends=ask.mends)
        self._asks[view.uid] = _Ask(accounts_of(view), view.name, ask.vms, rank)

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
        if self.limit > 0 and not self._holdings and not self._asks:
            return SurgeShare(self.limit)
        shares = [self._share_of(view, account, mends=mends) for account in accounts_of(view)]
        return min(shares, key=lambda share: share.vms)

    def words(self, view: ClusterView) -> str:
        """How much of the cluster's account is in use, and by whom."""
        return "; ".join(self._words(account, self._there(account)) for account in accounts_of(view))

    def _there(self, account: str) -> list[_Holding]:
        return [h for h in self._holdings.values() if account in h.accounts]

    def _share_of(self, view: ClusterView, account: str, *, mends: bool) -> SurgeShare:
        there = self._there(account)
        own = self._holdings.get(view.uid)
        used = sum(h.vms for h in there)
        if mends and own is not None:
            return self._share(account, there, self.limit - (used - own.vms), ())
        ahead = self._ahead(view, account, mends=mends)
        return self._share(account, there, self.limit - used - sum(a.vms for a in ahead), ahead)

    def _rank(self, view: ClusterView, *, mends: bool) -> tuple[bool, datetime, str]:
        """Order in the queue. Nothing but conditions is recorded while a cluster waits: it stays where it is."""
        known = self._asks.get(view.uid)
        since = view.history.progressed_at or _NEVER
        return (not mends, min(since, known.rank[1]) if known else since, view.uid)

    def _ahead(self, view: ClusterView, account: str, *, mends: bool) -> list[_Ask]:
        rank = self._rank(view, mends=mends)
        queue = sorted((a for a in self._asks.values() if account in a.accounts), key=lambda a: a.rank)
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
