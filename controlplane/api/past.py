"""A cluster as it was: the fold of its events up to a position, and nothing that was only observed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Annotated

from fastapi import Query

from controlplane.api.event_log import position_at, redacted_event
from controlplane.api.moments import moment_in
from controlplane.api.presenters.clusters import cluster_detail
from controlplane.api.problems import ApiError
from controlplane.api.schemas import clusters as api
from controlplane.api.schemas.past import PastOut
from controlplane.api.services import PortalServices
from controlplane.cluster.fold import evolve
from controlplane.cluster.observed.moves import MoveProgress
from controlplane.cluster.observed.replica_lag import Replica
from controlplane.cluster.observed.traffic import UNKNOWN, Traffic
from controlplane.cluster.view import ClusterView, empty_view
from controlplane.converger.tick.report import Said
from controlplane.storage.streams import cluster_stream
from events.envelope import Recorded
from events.ids import ClusterUid
from events.store import EventStore
from planner.observed import KafkaSnapshot

At = Annotated[str, Query(max_length=64, description="a position of the log, or a time in ISO 8601")]


@dataclass(frozen=True, slots=True)
class Past:
    """A cluster as of `position`, which was recorded `at`; `events` are its own up to there, oldest first.

    `moment` is what was asked for: `at`, or a later time by which nothing else was recorded.
    """

    view: ClusterView
    events: tuple[Recorded, ...]
    position: int
    at: datetime
    moment: datetime


@dataclass(frozen=True, slots=True)
class PastFleet:
    """A `Fleet` of that one cluster, of which nothing is observed."""

    past: ClusterView
    position: int
    """Of the log, as of which it is so."""

    def views(self) -> list[ClusterView]:
        return [self.past]

    def view(self, uid: ClusterUid) -> ClusterView | None:
        return self.past if uid == self.past.uid else None

    def said(self, uid: ClusterUid) -> Said | None:
        """Sentences are not recorded."""
        return None

    def last_snapshot(self, uid: ClusterUid) -> KafkaSnapshot | None:
        """Metadata is not recorded."""
        return None

    def last_moves(self, uid: ClusterUid) -> MoveProgress:
        """Nor are moves."""
        return MoveProgress()

    def traffic(self, uid: ClusterUid) -> Traffic:
        """Nor is traffic."""
        return UNKNOWN

    def behind(self, uid: ClusterUid) -> Mapping[Replica, datetime]:
        """Nor is who was behind."""
        return {}

    def catch_up(self) -> None:
        """The past is over."""


def past_of(services: PortalServices, name: str, at: str, zone: tzinfo = UTC) -> Past:
    """The cluster that had the name then, of those the caller may read now. `at` is a position of the log, or a moment
    in ISO 8601; without an offset it is of the zone.

    Raises ApiError 422 for what is neither, 404 where there was no such cluster.
    """
    store = services.store
    position, moment = _position(store, at, zone)
    asked = [view.uid for view in services.fleet.clusters.views() if view.name == name]
    found = [p for uid in asked if (p := _as_of(services, uid, position, moment)) is not None]
    if not found:
        title = f"there was no cluster {name!r} at position {position}"
        raise ApiError(404, "no-cluster-then", title, next_step="`kedge events` tells when it was declared.")
    return max(found, key=lambda past: past.events[0].position)


def past_detail(past: Past, placement: str) -> api.ClusterDetailOut:
    """What is known of it. Ages are as of then."""
    detail = cluster_detail(past.view, PastFleet(past.view, past.position), agents={}, now=past.at)
    return detail.model_copy(update={"past": past_out(past, placement)})


def past_out(past: Past, placement: str) -> PastOut:
    """That an answer is of the past, and what is known of the placement of then."""
    return PastOut(position=past.position, at=past.at, placement=placement)


def _as_of(services: PortalServices, uid: ClusterUid, position: int, moment: datetime | None) -> Past | None:
    """None where it was not there yet, or not any more."""
    store, without_others = services.store, services.cluster.without_others()
    view, own = empty_view(uid), []
    for event in store.read_stream(cluster_stream(uid)):
        if event.position > position:
            break
        redacted = redacted_event(event, without_others)
        view = evolve(view, redacted)
        own.append(redacted)
    if not own or view.deleted:
        return None
    recorded = store.read_all(position - 1, limit=1)
    recorded_at = recorded[0].recorded_at if recorded else own[-1].recorded_at
    return Past(view, tuple(own), position, recorded_at, moment or recorded_at)


def _position(store: EventStore, at: str, zone: tzinfo) -> tuple[int, datetime | None]:
    """The position, and the moment where one was asked for."""
    head = store.head()
    if at.isascii() and at.isdigit() and len(at) < 19:
        if not 1 <= int(at) <= head:
            raise _no_place(f"the log has the positions 1 to {head}")
        return int(at), None
    moment = moment_in(at, zone)
    if moment is None:
        raise _no_place(f"{at!r} is neither a position of the log nor a time as in 2026-01-31T14:00Z")
    found = position_at(store, moment, head=head)
    if not found:
        raise _no_place(f"nothing was recorded by {at}")
    return found, moment


def _no_place(why: str) -> ApiError:
    then = "Give a position as `kedge events -o json` has them, or a time."
    return ApiError(422, "no-such-moment", why, next_step=then)
