"""Makes DNS say what it should, one look after another: reads what a zone holds, changes what differs, and only ours.

Level-triggered like a tick: what was written before is no proof that it still stands, so everything is read again
from time to time. The names a cluster had are remembered beside the other observations, so that one whose spec names
another is taken away. Whose a name is its owner record says; a name without one is a person's and is left alone.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from controlplane.background.dns.wanted import Names, bootstrap_name, wanted_names
from controlplane.background.rounds import Round
from controlplane.cluster.view import ClusterView
from controlplane.fleet.ports import FoldedFleet
from controlplane.storage.latest_values import LatestStore, LatestValue, Subject
from providers.dns.zone import NOTHING, DnsZone, HeldName
from providers.errors import ProviderError, ResourceConflict

DNS_NAME = "dns-name"
"""Kind of the latest-value rows that say what became of a name."""

READ_AGAIN = timedelta(minutes=10)
"""Names at rest are read so often: a person may have changed one."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KeptZone:
    """A zone of the settings, and how long its records may live in caches."""

    zone: DnsZone
    ttl_s: int


@dataclass(slots=True)
class NameReconciler:
    """One look at a time. `may_act` is asked before each change: only the leader writes."""

    zones: Sequence[KeptZone]
    fleet: FoldedFleet
    latest: LatestStore
    installation_id: str
    clock: Callable[[], datetime]
    may_act: Callable[[], bool]
    _at_rest: dict[str, tuple[Names, datetime]] = field(default_factory=dict)
    _failing: set[str] = field(default_factory=set)
    """Zones that did not answer during this look: nobody waits for them a second time."""

    def poll(self) -> None:
        """Looks at every cluster that has a name or had one. The deleted go first: another may want their names.

        Raises StoreUnavailable, RoundIncomplete.
        """
        self._failing.clear()
        this_round = Round("names in DNS")
        for view in sorted(self.fleet.views(), key=lambda v: (not v.deleted, v.name, v.uid)):
            with this_round.apart(view.name):
                self._keep(view)
        this_round.close()

    def _keep(self, view: ClusterView) -> None:
        wanted = self._wanted(view)
        known = self._at_rest.get(view.uid)
        if not wanted:
            return
        if known is not None and known[0] == wanted and (view.deleted or self.clock() - known[1] < READ_AGAIN):
            return
        settled = {name: self._settle(view, name, addresses) for name, addresses in wanted.items()}
        if all(is_settled for is_settled in settled.values()):
            self._at_rest[view.uid] = (wanted, self.clock())
        else:
            self._at_rest.pop(view.uid, None)

    def _wanted(self, view: ClusterView) -> Names:
        """What a cluster should be called, and what it was called before and should be no more."""
        wanted = wanted_names(view)
        bootstrap = bootstrap_name(view)
        if bootstrap is None and not view.instances:
            return wanted
        had = [o.subject.name for o in self.latest.of_cluster(view.uid, DNS_NAME) if o.value.get("addresses")]
        own = {bootstrap, *(f"{i.node}.{bootstrap}" for i in view.instances.values())}
        return {**{name: frozenset() for name in had if name not in own}, **wanted}

    def _settle(self, view: ClusterView, name: str, addresses: frozenset[str]) -> bool:
        """Whether the name says what it should now. What stands in the way is recorded and logged once."""
        kept = self._zone_of(name)
        if kept is None:
            return True
        if kept.zone.name in self._failing:
            return False
        owner = f"installation={self.installation_id} cluster={view.uid}"
        try:
            held = kept.zone.read(name)
            if held.owner not in ("", owner) or (held.addresses and not held.owner):
                if not addresses:
                    return self._tell(view, name, frozenset(), "")
                raise ResourceConflict(_foreign_records(name, held))
            after = HeldName(addresses, kept.ttl_s, owner, kept.ttl_s) if addresses else NOTHING
            if held != after:
                if not self.may_act():
                    return False
                kept.zone.replace(name, held, after)
                _log.info("%s: %s -> %s", name, _words(held.addresses), _words(addresses))
        except ProviderError as error:
            if not isinstance(error, ResourceConflict):
                self._failing.add(kept.zone.name)
            self._tell(view, name, None, str(error))
            return False
        return self._tell(view, name, addresses, "")

    def _zone_of(self, name: str) -> KeptZone | None:
        """The longest zone a name is in."""
        fitting = [k for k in self.zones if name == k.zone.name or name.endswith(f".{k.zone.name}")]
        return max(fitting, key=lambda k: len(k.zone.name), default=None)

    def _tell(self, view: ClusterView, name: str, addresses: frozenset[str] | None, problem: str) -> bool:
        """Writes down what became of a name, if that is news. `addresses` None: as they were, as far as is known."""
        subject = Subject(DNS_NAME, view.uid, name)
        before = self.latest.get(subject)
        old: Mapping[str, object] = before.value if before else {}
        value = {
            "addresses": old.get("addresses", []) if addresses is None else sorted(addresses),
            "problem": problem,
        }
        if value != dict(old) and (before is not None or value["addresses"] or problem):
            self.latest.put(LatestValue(subject, value, source="dns", observed_at=self.clock()))
            if problem:
                _log.warning("%s: %s", name, problem)
        return not problem


def _foreign_records(name: str, held: HeldName) -> str:
    if not held.owner:
        return f"{name} has records that Kedge did not make ({_words(held.addresses)}): remove them, or name another"
    return f"{name} belongs to {held.owner}: give this cluster another name"


def _words(addresses: Iterable[str]) -> str:
    return ", ".join(sorted(addresses)) or "nothing"
