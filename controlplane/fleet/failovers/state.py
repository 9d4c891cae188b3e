"""All pairs as they are recorded: which clusters were given to which, and each pair's own stream."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from controlplane.fleet.failovers.fold import evolve
from controlplane.fleet.failovers.view import PairView
from controlplane.runtime.once import once
from controlplane.storage.streams import FAILOVERS, pair_uid_of
from events.codec import decode
from events.envelope import Recorded
from events.errors import EventsError
from events.failover_facts import PairRegistered


@dataclass(frozen=True, slots=True)
class RegisteredPair:
    """A pair with the clusters that were given to it. Between its registration and its declaration, which a crash can
    part, `view` has no name."""

    uid: str
    name: str
    clusters: tuple[str, ...]
    view: PairView


@dataclass(frozen=True, slots=True)
class PairsView:
    """Every pair that was ever registered, by uid, the oldest first. `version` is that of the stream of all pairs."""

    version: int = 0
    by_uid: Mapping[str, RegisteredPair] = field(default_factory=lambda: MappingProxyType({}))
    unreadable: str = ""
    """Why it is not known which clusters are paired: none is given to a pair then."""
    _answers: dict[Any, Any] | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def living(self) -> tuple[RegisteredPair, ...]:
        """Those that were not withdrawn, by name."""
        return tuple(sorted((p for p in self.by_uid.values() if not p.view.is_withdrawn), key=lambda p: p.name))

    def named(self, name: str) -> RegisteredPair | None:
        """The living one of that name."""
        return next((pair for pair in self.living if pair.name == name), None)

    def holder(self, cluster: str) -> RegisteredPair | None:
        """The living pair that a cluster, by uid, is of."""
        return next((pair for pair in _of_cluster(self).get(cluster, ()) if not pair.view.is_withdrawn), None)

    def last_declared(self, cluster: str) -> RegisteredPair | None:
        """The last pair that a cluster was declared to be of; it may be withdrawn."""
        return next((pair for pair in _of_cluster(self).get(cluster, ()) if pair.view.name), None)

    def last_warm(self, cluster: str) -> RegisteredPair | None:
        """The last warm pair that a cluster was declared to be of; it may be withdrawn."""
        return next((pair for pair in _of_cluster(self).get(cluster, ()) if pair.view.name and pair.view.is_warm), None)

    def pair_of(self, cluster: str) -> str:
        """The name of that pair, "" where there is none."""
        holder = self.holder(cluster)
        return holder.name if holder is not None else ""


@once
def _of_cluster(pairs: PairsView) -> Mapping[str, tuple[RegisteredPair, ...]]:
    """By cluster, the newest first. Every agent's question asks for one."""
    found: dict[str, tuple[RegisteredPair, ...]] = {}
    for pair in pairs.by_uid.values():
        for cluster in pair.clusters:
            found[cluster] = (pair, *found.get(cluster, ()))
    return found


class PairCache:
    """Keeps them folded. Thread-safe; events come in the order of the log."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pairs = PairsView()
        self._heard: list[Callable[[str], object]] = []

    def also_tell(self, heard: Callable[[str], object]) -> None:
        """From here on `heard` is called for each cluster of a pair that has changed: what its agents are told may be
        another thing."""
        self._heard.append(heard)

    def pairs(self) -> PairsView:
        """As of what was taken in."""
        return self._pairs

    def take_in(self, recorded: Recorded) -> bool:
        """Folds an event of these streams; whether it was one, and new."""
        uid = pair_uid_of(recorded.stream)
        if uid is None and recorded.stream != FAILOVERS:
            return False
        with self._lock:
            changed = _registered(self._pairs, recorded) if uid is None else _evolved(self._pairs, uid, recorded)
            is_new, self._pairs = changed is not self._pairs, changed
        pair = changed.by_uid.get(uid) if uid is not None and is_new else None
        for cluster in pair.clusters if pair is not None else ():
            for heard in self._heard:
                heard(cluster)
        return is_new


def _registered(pairs: PairsView, recorded: Recorded) -> PairsView:
    if recorded.version <= pairs.version:
        return pairs
    try:
        fact = decode(recorded)
    except EventsError as error:
        fact = error
    if not isinstance(fact, PairRegistered):
        why = f"event {recorded.version} ({recorded.type}) of the stream {recorded.stream} is no registration: {fact}"
        return replace(pairs, version=recorded.version, unreadable=pairs.unreadable or why)
    pair = RegisteredPair(fact.uid, fact.pair, fact.clusters, PairView(uid=fact.uid))
    return replace(pairs, version=recorded.version, by_uid=MappingProxyType({**pairs.by_uid, fact.uid: pair}))


def _evolved(pairs: PairsView, uid: str, recorded: Recorded) -> PairsView:
    known = pairs.by_uid.get(uid)
    if known is None or recorded.version <= known.view.version:
        return pairs  # of no registration: nothing is told of it, and nothing is done to it
    after = replace(known, view=evolve(known.view, recorded))
    return replace(pairs, by_uid=MappingProxyType({**pairs.by_uid, uid: after}))
