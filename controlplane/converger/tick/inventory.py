"""One listing of a place serves all its clusters. Who is missing is asked for by id: only an answer means `gone`."""

import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from controlplane.cluster.places import place_of, places_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.situation.observation import InventorySeen, NoPlaceAnswers
from controlplane.converger.tick.announcements import Announcements
from events.clock import Clock
from providers.base import CloudInstance, CloudProvider, CloudVolume, InstanceState, Listing, Place
from providers.errors import AuthFailed, NotPermitted, ProviderError
from providers.notices import MaintenanceNotice
from providers.tf.abilities import SharesCalls
from providers.twins import existing, kept_twin

Cloud = Callable[[str], CloudProvider]

SILENCE = timedelta(seconds=5)
"""How long a place whose listing failed is left alone."""

REFUSAL = timedelta(seconds=60)
"""The same for one that does not permit it: another answer comes when a person has done something."""

CALLS_OF_A_LISTING = 3
"""Of a small fleet; each has one page."""


@dataclass(frozen=True, slots=True)
class _Indexed:
    """A listing, cut up by cluster."""

    listing: Listing
    instances: Mapping[str, Sequence[CloudInstance]]
    volumes: Mapping[str, Mapping[str, CloudVolume]]
    addresses: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaggedVms:
    """VMs of this installation in a place by their tags: of which cluster, and which `ids`, at the listing's time."""

    place: str
    uid: str
    name: str
    ids: tuple[str, ...]
    at: datetime


class ListedInventory:
    """An `Inventory` of listings, each read again once older than `max_age_s`; `rest_age_s` for who is at rest."""

    def __init__(self, cloud: Cloud, clock: Clock, *, max_age_s: float = 1.0, rest_age_s: float = 5.0) -> None:
        self._cloud = cloud
        self._clock = clock
        self._max_age = timedelta(seconds=max_age_s)
        self._rest_age = timedelta(seconds=rest_age_s)
        self._lock = threading.Lock()
        self._places: dict[Place, _Indexed] = {}
        self._silent: dict[Place, tuple[datetime, ProviderError]] = {}
        self._let_in: dict[Place, datetime] = {}
        self._reading: dict[Place, threading.Lock] = defaultdict(threading.Lock)
        self._notices = Announcements(cloud, clock)
        self._least: dict[Place, timedelta] = {}

    def seen(self, view: ClusterView, *, newer_than: datetime | None = None) -> InventorySeen:
        max_age = self._max_age if has_work(view) else self._rest_age
        places, silent = self._read(places_of(view), max_age, newer_than)
        instances: dict[str, CloudInstance] = {}
        volumes: dict[str, CloudVolume] = {}
        addresses: dict[str, str] = {}
        gone: set[str] = set()
        twins: dict[str, tuple[CloudInstance, ...]] = {}
        notices: dict[str, MaintenanceNotice] = {}
        for place in places:
            listed = place.instances.get(view.uid, ())
            try:
                gone |= self._answered_gone(view, place.listing.place, {i.id for i in listed})
            except ProviderError as error:
                self._note_refusal(place.listing.place, error, silent)
                if len(silent) == len(places_of(view)):
                    raise _of_all(silent) from error
                continue
            announced = self._notices.of(place.listing.place)
            gone |= {i.key for i in listed if i.state is InstanceState.GONE}
            for key, carrying in existing(listed).items():
                own = _own(view, key, carrying)
                if own is not None:
                    instances[key] = own
                    gone.discard(key)
                    if (notice := announced.get(own.id)) is not None:
                        notices[key] = notice
                if others := tuple(i for i in carrying if i is not own):
                    twins[key] = others
            volumes.update(place.volumes.get(view.uid, {}))
            addresses.update(place.addresses.get(view.uid, {}))
        several = places if len(places) > 1 else ()
        by_place = {str(p.listing.place): p.addresses.get(view.uid, {}) for p in several}
        at = min((p.listing.at for p in places), default=self._clock())
        let_in = self._let_in_since([place.listing.place for place in places])
        return InventorySeen(
            at,
            instances,
            frozenset(gone),
            volumes,
            addresses,
            twins,
            notices,
            silent,
            let_in,
            by_place,
        )

    def _read(
        self, places: Sequence[Place], max_age: timedelta, newer_than: datetime | None
    ) -> tuple[list[_Indexed], dict[str, ProviderError]]:
        """What each place says, and why others do not. Raises `ProviderError` where none says anything."""
        indexed: list[_Indexed] = []
        silent: dict[str, ProviderError] = {}
        for place in places:
            try:
                indexed.append(self._indexed(place, self._after(place, max_age, newer_than)))
            except ProviderError as error:
                self._note_refusal(place, error, silent)
                if len(silent) == len(places):
                    raise _of_all(silent) from error
        return indexed, silent

    def _note_refusal(self, place: Place, error: ProviderError, silent: dict[str, ProviderError]) -> None:
        silent[str(place)] = error
        if isinstance(error, AuthFailed | NotPermitted):
            with self._lock:
                self._let_in.pop(place, None)

    def _let_in_since(self, places: Sequence[Place]) -> dict[str, datetime]:
        with self._lock:
            return {str(p): since for p in places if (since := self._let_in.get(p)) is not None}

    def by_tag(self) -> tuple[TaggedVms, ...]:
        """By place and cluster, whatever the listings this server made last have that was not gone. Asks nobody."""
        with self._lock:
            places = list(self._places.values())
        found = []
        for indexed in places:
            for uid, carrying in indexed.instances.items():
                there = [i for i in carrying if i.state is not InstanceState.GONE]
                if there:
                    ids, place = tuple(sorted(i.id for i in there)), str(indexed.listing.place)
                    found.append(TaggedVms(place, uid, there[0].cluster_name, ids, indexed.listing.at))
        return tuple(sorted(found, key=lambda t: (t.place, t.uid)))

    def terminate(self, view: ClusterView, cloud_id: str) -> None:
        for place in self._holders(view, cloud_id):
            self._cloud(place.cloud).terminate(place, cloud_id)

    def _holders(self, view: ClusterView, cloud_id: str) -> Sequence[Place]:
        """Where a VM with that id is: no cloud is asked to delete what another one has named."""
        places = places_of(view)
        if len(places) == 1:
            return places
        with self._lock:
            known = {p: self._places[p].instances.get(view.uid, ()) for p in places if p in self._places}
        listed = [p for p, there in known.items() if any(i.id == cloud_id for i in there)]
        return listed or sorted({place_of(view, i) for i in view.alive() if i.cloud_id == cloud_id}, key=str)

    def _answered_gone(self, view: ClusterView, place: Place, listed: Collection[str]) -> set[str]:
        """`listed` are ids: a twin that lives says nothing of the VM it has its key from."""
        alone = len(places_of(view)) == 1
        missing = {
            i.cloud_id: i.key
            for i in view.alive()
            if i.cloud_id and i.cloud_id not in listed and (alone or place_of(view, i) == place)
        }
        if not missing:
            return set()
        answers = self._cloud(place.cloud).describe(place, sorted(missing))
        return {missing[i] for i, state in answers.items() if state is InstanceState.GONE}

    def _after(self, place: Place, max_age: timedelta, newer_than: datetime | None) -> datetime:
        """A listing from before that is read again: no oftener than half of the account's calls allow."""
        if place not in self._least:
            cloud = self._cloud(place.cloud)
            rate = cloud.calls(place).rate if isinstance(cloud, SharesCalls) else None
            self._least[place] = timedelta(seconds=0.0 if rate is None else CALLS_OF_A_LISTING / (rate.per_s / 2))
        oldest = self._clock() - max(max_age, self._least[place])
        return oldest if newer_than is None else max(oldest, newer_than)

    def _indexed(self, place: Place, after: datetime) -> _Indexed:
        with self._lock:
            known, lock = self._places.get(place), self._reading[place]
        if known is not None and known.listing.at > after:
            return known
        with lock:
            with self._lock:
                known = self._places.get(place)
            if known is not None and known.listing.at > after:
                return known
            self._refuse_while_silent(place)
            fresh = _index(self._listed(place))
            with self._lock:
                self._places[place] = fresh
                self._let_in.setdefault(place, fresh.listing.at)
            return fresh

    def _listed(self, place: Place) -> Listing:
        try:
            return self._cloud(place.cloud).list_place(place)
        except ProviderError as error:
            self._silent[place] = (self._clock(), error)
            raise

    def _refuse_while_silent(self, place: Place) -> None:
        """A cloud that does not answer takes its time not to: its clusters share one wait, not one each."""
        since, error = self._silent.get(place, (None, None))
        pause = REFUSAL if isinstance(error, NotPermitted) else SILENCE
        if since is not None and error is not None and self._clock() - since < pause:
            raise error.with_traceback(None)


def _of_all(silent: Mapping[str, ProviderError]) -> ProviderError:
    return next(iter(silent.values())) if len(silent) == 1 else NoPlaceAnswers(silent)


def _own(view: ClusterView, key: str, carrying: Sequence[CloudInstance]) -> CloudInstance | None:
    """Which of the VMs with that key is the instance: the recorded one, and, before one is recorded, the one kept."""
    instance = view.instances.get(key)
    if instance is None or not instance.cloud_id:
        return kept_twin(carrying)
    return next((i for i in carrying if i.id == instance.cloud_id), None)


def _index(listing: Listing) -> _Indexed:
    instances: dict[str, list[CloudInstance]] = defaultdict(list)
    volumes: dict[str, dict[str, CloudVolume]] = defaultdict(dict)
    addresses: dict[str, dict[str, str]] = defaultdict(dict)
    for instance in listing.instances:
        instances[instance.cluster_uid].append(instance)
    for volume in listing.volumes:
        volumes[volume.cluster_uid][volume.key] = volume
    for (uid, node), address in listing.node_addresses.items():
        addresses[uid][node] = address
    return _Indexed(listing, instances, volumes, addresses)
