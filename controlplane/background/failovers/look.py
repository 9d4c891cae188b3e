"""What is seen of a pair: the words of agents, and the brokers of its standby. Where nobody has told it is None."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import AGENT_REPORT, ReportSeen, reports_by_key
from controlplane.cluster.producer_ids import WIDTH
from controlplane.cluster.spec_source import source_name
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.source import API
from controlplane.fleet.failovers.copy_rows import copy_row
from controlplane.fleet.failovers.doors import OpenOrder, ShutOrder, ShutProof, is_let_in, shut_proof
from controlplane.fleet.failovers.pair_name import pair_name_row, wish_of
from controlplane.fleet.failovers.paired_topics import paired_topics, topic_obstacles, topics_left
from controlplane.fleet.failovers.replicators import replicators_seen
from controlplane.fleet.failovers.seen import CopySeen, DoorSeen, NamesSeen, PairSeen, ReplicatorsSeen, StandbyBuild
from controlplane.fleet.failovers.standby_size import declared_brokers, grown_to
from controlplane.fleet.failovers.state import RegisteredPair
from controlplane.fleet.failovers.troubles import PairTroubles, standby_trouble
from controlplane.fleet.failovers.view import Door, DoorState, PairView
from controlplane.fleet.failovers.wanted import takeover_brokers
from controlplane.fleet.ports import PairedFleet
from controlplane.storage.latest_values import LatestStore
from events.clock import Clock
from events.failover_facts import EpochsMissed, TopicEnds
from events.ids import ClusterUid

PairNames = Callable[[RegisteredPair, datetime], NamesSeen | None]
"""Where the pair's name leads by what was seen last."""

SNAPSHOT_IS_YOUNG_S = 30.0
"""What brokers said before that is not known any more."""


class _ByViews(TypedDict):
    obstacles: tuple[str, ...]
    may_share_ids: bool


class _OfCopy(TypedDict):
    replicators: ReplicatorsSeen | None
    copy: CopySeen | None
    seeds: Mapping[str, int] | None
    aligned: Mapping[str, int] | None
    ends: Mapping[str, TopicEnds] | None
    only_there: Mapping[str, int] | None


@dataclass(frozen=True, slots=True)
class PairLook:
    """For any thread. Raises StoreUnavailable."""

    fleet: PairedFleet
    latest: LatestStore
    names: PairNames
    clock: Clock

    def of(self, pair: RegisteredPair) -> PairSeen:
        """As of now."""
        now = self.clock()
        reports = {cluster: self._reports_of(cluster) for cluster in pair.view.doors}
        doors = {
            cluster: seen
            for cluster, door in pair.view.doors.items()
            if (seen := self._door(pair.uid, cluster, door, reports[cluster], now)) is not None
        }
        return PairSeen(
            doors=doors,
            names=self.names(pair, now),
            standby=self._standby(pair.view, now),
            **self._of_copy(pair, reports, now),
            pause_s=pause_of(pair.view, now),
            missed=missed_epoch(pair, reports),
            **self._by_views(pair.view, reports),
        )

    def _of_copy(self, pair: RegisteredPair, reports: Mapping[str, Mapping[str, ReportSeen]], now: datetime) -> _OfCopy:
        standby = self.fleet.view(ClusterUid(pair.view.standby)) if pair.view.is_warm else None
        row = copy_row(self.latest, pair.view, now) if standby is not None else None
        return {
            "replicators": replicators_seen(pair, standby, reports.get(standby.uid, {}), now) if standby else None,
            "copy": row.copy if row is not None else None,
            "seeds": row.seeds if row is not None else None,
            "aligned": row.aligned if row is not None else None,
            "ends": row.ends if row is not None else None,
            "only_there": row.only_there if row is not None else None,
        }

    def primary_brokers(self, pair: RegisteredPair) -> int | None:
        """How many brokers its primary is to have; None where that is unknown."""
        return declared_brokers(self.fleet.view(ClusterUid(pair.view.primary)))

    def _door(
        self, pair_uid: str, cluster: str, door: Door, reports: Mapping[str, ReportSeen], now: datetime
    ) -> DoorSeen | None:
        view = self.fleet.view(ClusterUid(cluster))
        if view is None:
            return None
        brokers = _all_brokers(view)
        if door.state is DoorState.CLOSING and door.at is not None:
            proof = shut_proof(ShutOrder(pair_uid, door.epoch, door.at), brokers, reports, now)
            return DoorSeen(door.epoch, True, "agents", str(proof)) if proof.is_proved else None
        if door.state is DoorState.OPENING and is_let_in(OpenOrder(pair_uid, door.epoch), brokers, reports, now):
            return DoorSeen(door.epoch, False, "agents", "")
        return None

    def lacking_proof(self, pair: RegisteredPair) -> ShutProof:
        """Of the doors that are closing, by VM, why it is not known to be shut."""
        lacking: dict[str, str] = {}
        heard_open: set[str] = set()
        for cluster, door in pair.view.doors.items():
            view = self.fleet.view(ClusterUid(cluster))
            if view is not None and door.state is DoorState.CLOSING and door.at is not None:
                order = ShutOrder(pair.uid, door.epoch, door.at)
                proof = shut_proof(order, _all_brokers(view), self._reports_of(cluster), self.clock())
                lacking |= proof.lacking
                heard_open |= proof.heard_open
        return ShutProof(lacking, frozenset(heard_open))

    def troubles(self, pair: RegisteredPair) -> PairTroubles:
        """What stands in its way, for people. What was found of its name for another step says nothing of this one."""
        if pair.view.unreadable or not pair.view.name:
            return PairTroubles()
        row, now = pair_name_row(self.latest, pair.uid), self.clock()
        proof, standby = self.lacking_proof(pair), self.fleet.view(ClusterUid(pair.view.standby))
        copies = pair.view.is_warm and standby is not None
        return PairTroubles(
            proof.lacking,
            row.problem if row is not None and row.wish == wish_of(pair.view) else "",
            standby_trouble(self.latest, pair.view, now),
            proof.heard_open,
            replicators_seen(pair, standby, self._reports_of(standby.uid), now) if copies and standby else None,
            copy_row(self.latest, pair.view, now) if copies else None,
        )

    def _reports_of(self, cluster: str) -> Mapping[str, ReportSeen]:
        return reports_by_key(self.latest.of_cluster(ClusterUid(cluster), AGENT_REPORT))

    def _standby(self, pair: PairView, now: datetime) -> StandbyBuild | None:
        primary, standby = (self.fleet.view(ClusterUid(uid)) for uid in (pair.primary, pair.standby))
        seen = self.fleet.last_snapshot(ClusterUid(pair.standby))
        if primary is None or standby is None or pair.declaration is None or seen is None:
            return None
        if (now - seen.at).total_seconds() > SNAPSHOT_IS_YOUNG_S:
            return None
        wanted = paired_topics(pair.declaration.document, primary)
        serving = [one for one in standby.brokers() if one.phase is Phase.JOINED and not one.lost]
        return StandbyBuild(
            brokers=sum(1 for one in serving if one.service_id in seen.live_brokers()),
            topics=len(wanted),
            topics_left=topics_left(wanted, standby, seen, planned=pair.order is None or pair.order.planned),
            has_own_ids=have_own_ids(primary, standby),
        )

    def _by_views(self, pair: PairView, reports: Mapping[str, Mapping[str, ReportSeen]]) -> _ByViews:
        """What needs no broker's word."""
        primary, standby = (self.fleet.view(ClusterUid(uid)) for uid in (pair.primary, pair.standby))
        if primary is None or standby is None or pair.declaration is None:
            return {"obstacles": (), "may_share_ids": False}
        obstacles = topic_obstacles(paired_topics(pair.declaration.document, primary), standby)
        wanted = takeover_brokers(pair, declared_brokers(primary)) or 0
        grows = standby.document is not None and grown_to(standby.document, wanted) != standby.document
        if grows and source_name(standby) != API:
            obstacles = (*obstacles, f"it is to grow to {wanted} brokers, which {source_name(standby)} declares")
        if pair.order is None or pair.order.planned:
            obstacles = (*obstacles, *unshuttable(primary, reports.get(pair.primary, {}), self.clock()))
        return {"obstacles": obstacles, "may_share_ids": not have_own_ids(primary, standby)}


def _all_brokers(view: ClusterView) -> list[InstanceView]:
    """Those that are gone for good, too: what may have started counts."""
    return [instance for instance in view.instances.values() if instance.is_broker]


def unshuttable(primary: ClusterView, reports: Mapping[str, ReportSeen], now: datetime) -> tuple[str, ...]:
    """Brokers' VMs of the primary whose own agents say that a door would not be in force there."""
    found = []
    for vm in primary.brokers():
        seen = reports.get(vm.key)
        door = seen.report.door if seen is not None and seen.is_young(now) else None
        if door is not None and not door.in_force and vm.phase is Phase.JOINED:
            found.append(f"{vm.key} of the primary could not be shut: {door.problem or 'its kernel has no rules'}")
    return tuple(found)


def missed_epoch(pair: RegisteredPair, reports: Mapping[str, Mapping[str, ReportSeen]]) -> EpochsMissed | None:
    """An order of this pair that a VM has and no event gave: the newest one. Who restored a backup may know less than
    the VMs, and what it orders next would be another order of an epoch that was given."""
    kept = [
        EpochsMissed(cluster, key, seen.report.door.epoch)
        for cluster, of_cluster in reports.items()
        for key, seen in of_cluster.items()
        if seen.report.door is not None and seen.report.door.pair == pair.uid
    ]
    newest = max(kept, key=lambda one: one.epoch, default=None)
    return newest if newest is not None and newest.epoch > pair.view.last_epoch else None


def have_own_ids(one: ClusterView, other: ClusterView) -> bool:
    """Whether producer ids of the two never meet, as far as that is known."""
    firsts = [v.quorum.founding.first_producer_id if v.quorum.founding is not None else None for v in (one, other)]
    first, second = firsts
    return first is not None and second is not None and abs(first - second) >= WIDTH


def pause_of(pair: PairView, now: datetime) -> float | None:
    """How long producers have been held by the order in hand, seconds; None while nobody holds them."""
    door = pair.doors.get(pair.primary)
    if pair.order is None or door is None or door.at is None or door.epoch < pair.order.first_epoch:
        return None
    return (now - door.at).total_seconds() if door.state in (DoorState.CLOSING, DoorState.CLOSED) else None
