"""Where it is written down what became of a name: beside the other observations, a row a name."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from controlplane.cluster.view import ClusterView
from controlplane.fleet.failovers.pair_name import (
    PairNameRow,
    about_to_change,
    failed,
    keep_row,
    looked,
    pair_name_row,
)
from controlplane.fleet.failovers.view import PairView
from controlplane.storage.latest_values import LatestStore, LatestValue, Subject
from providers.dns.zone import HeldName

DNS_NAME = "dns-name"
"""Kind of the latest-value rows that say what became of a name of a cluster."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ClusterNameRecord:
    """Of one name of a cluster."""

    latest: LatestStore
    clock: Callable[[], datetime]
    view: ClusterView
    name: str

    def changes(self, held: HeldName) -> None:
        """See NameRecord. Nobody waits for these."""

    def tell(self, addresses: frozenset[str] | None, problem: str, *, is_everywhere: bool = True) -> bool:
        """See NameRecord. Written where it is news."""
        subject = Subject(DNS_NAME, self.view.uid, self.name)
        before = self.latest.get(subject)
        old: Mapping[str, object] = before.value if before else {}
        value = {
            "addresses": old.get("addresses", []) if addresses is None else sorted(addresses),
            "problem": problem,
        }
        if value != dict(old) and (before is not None or value["addresses"] or problem):
            self.latest.put(LatestValue(subject, value, source="dns", observed_at=self.clock()))
            if problem:
                _log.warning("%s: %s", self.name, problem)
        return not problem


@dataclass(frozen=True, slots=True)
class PairNameRecord:
    """Of the name of a pair. `counts_for`: how long a look may be believed."""

    latest: LatestStore
    clock: Callable[[], datetime]
    view: PairView
    name: str
    counts_for: timedelta

    def changes(self, held: HeldName) -> None:
        """See NameRecord. Written before the zone is changed: whoever reads it meanwhile knows nothing."""
        old_ttl_s = held.ttl_s if held.addresses else 0
        self._keep(about_to_change(self._row(), self.view, old_ttl_s))

    def tell(self, addresses: frozenset[str] | None, problem: str, *, is_everywhere: bool = True) -> bool:
        """See NameRecord. While an order is in hand each look is written down, else what is news."""
        before = self._row()
        if problem or addresses is None:
            row = failed(before, self.view, problem)
        else:
            row = looked(before, self.view, addresses, is_everywhere=is_everywhere, now=self.clock())
        if self.view.order is not None or before is None or row != before:
            self._keep(row)
        if problem and (before is None or before.problem != problem):
            _log.warning("%s of the pair %s: %s", self.name, self.view.name, problem)
        return not problem and not row.is_pending

    def _row(self) -> PairNameRow | None:
        return pair_name_row(self.latest, self.view.uid)

    def _keep(self, row: PairNameRow) -> None:
        now = self.clock()
        keep_row(self.latest, self.view.uid, replace(row, counts_until=now + self.counts_for), now)
