"""Pairs of clusters: the list of them, and one of them with its doors, how far it is, and what a failover would do."""

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.presenters.failovers import failover_of, failover_plan_of, failovers_out
from controlplane.api.presenters.fleet import FleetRow, fleet_row
from controlplane.api.read_models.changes import EventChange, changes_of
from controlplane.api.schemas import failovers as api
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.view import ClusterView
from controlplane.fleet.failovers.state import RegisteredPair
from controlplane.fleet.failovers.view import Door, DoorState, PairState, PairView
from controlplane.portal.frame import page
from controlplane.storage.streams import pair_stream

router = APIRouter(prefix="/failovers", tags=["pages"], include_in_schema=False)

_NEWEST = 30
"""Events of a pair that are shown."""

_TONES = {"Standby": "good", "Unreadable": "bad", "Registered": "warn"}
_DOOR_TONES = {"open": "good", "opening": "busy", "closing": "busy"}


@dataclass(frozen=True, slots=True)
class PairStage:
    """One step of the row. `mark` is `done`, `active` or `waiting`."""

    name: str
    mark: str


@dataclass(frozen=True, slots=True)
class PairVerbs:
    """What the caller may ask of it as it stands."""

    order: bool = False
    abort: bool = False
    certify: bool = False
    withdraw: bool = False


@dataclass(frozen=True, slots=True)
class PairMember:
    """One of its clusters. `role` is "" before the pair is declared; `row` is None where it is not there any more."""

    name: str
    role: str
    door: Door | None
    row: FleetRow | None = None

    @property
    def door_words(self) -> str:
        """What is known of its door."""
        if self.door is None:
            return "unknown"
        return "shut" if self.door.is_shut else str(self.door.state)

    @property
    def door_tone(self) -> str:
        """Of the chip of its door."""
        return _DOOR_TONES.get(self.door_words, "mute")


@router.get("")
def failovers(request: Request, services: Services) -> Response:
    """Those of which the caller may read both clusters, by name."""
    return page(request, "failovers.html", rows=failovers_out(services), tone_of=tone_of)


@router.get("/{name}")
def failover(request: Request, name: str, services: Services, rights: Caller) -> Response:
    """One pair. Raises PairNotFound."""
    pair = services.fleet.failovers.get(name)
    told = failover_of(services, pair)
    is_declared = bool(pair.view.name) and not pair.view.unreadable
    plan = failover_plan_of(services, pair, planned=True, accepts_loss=False) if is_declared else None
    return page(
        request,
        "failover.html",
        pair=told,
        tone=tone_of(told),
        stages=stages_of(pair.view) if is_declared else (),
        members=_members(services, pair),
        plan=plan if plan is not None and not told.order else None,
        verbs=verbs_of(pair, clusters_of(services, pair), rights),
        events=_events(services, pair),
        live=pair.clusters[0],
    )


def tone_of(told: api.FailoverOut) -> str:
    """Of the chip of its state."""
    if told.order and told.needs_person:
        return "warn"
    return _TONES.get(told.state, "busy")


def stages_of(view: PairView) -> tuple[PairStage, ...]:
    """The way of a pair with the step it is at. What is no step of a failover stands before its first."""
    path = [PairState.STANDBY, *_path(view)]
    if view.state not in path:
        path = [view.state, *path] if view.state is not PairState.ABORTING else [view.state, PairState.STANDBY]
    at = path.index(view.state)
    marks = ["done"] * at + ["active"] + ["waiting"] * (len(path) - at - 1)
    return tuple(PairStage(str(state), mark) for state, mark in zip(path, marks, strict=True))


def clusters_of(services: PortalServices, pair: RegisteredPair) -> list[ClusterView]:
    """Those of its clusters that the caller may read."""
    return [view for view in services.fleet.clusters.views() if view.uid in pair.clusters]


def member_of(pair: RegisteredPair, uid: str, name: str, row: FleetRow | None = None) -> PairMember:
    """A cluster as one of that pair; `name`: what it is called."""
    role = "" if not pair.view.name else "primary" if uid == pair.view.primary else "standby"
    return PairMember(name, role, pair.view.doors.get(uid), row)


def verbs_of(pair: RegisteredPair, clusters: Sequence[ClusterView], rights: Rights) -> PairVerbs:
    """What one may do to both of its clusters, where the pair stands so."""
    view = pair.view
    if view.unreadable or len(clusters) < len(pair.clusters):
        return PairVerbs()
    may_steer, may_delete = (all(rights.may_on(verb, one) for one in clusters) for verb in (Verb.STEER, Verb.DELETE))
    if view.missed:
        return PairVerbs(withdraw=may_delete)
    if view.order is None:
        return PairVerbs(order=may_steer and bool(view.name), withdraw=may_delete)
    is_closing = view.state is PairState.FENCING and view.doors[view.primary].state is DoorState.CLOSING
    return PairVerbs(
        abort=may_steer and not view.order.is_promoted and view.state is not PairState.ABORTING,
        certify=may_delete and is_closing,
    )


def _path(view: PairView) -> tuple[PairState, ...]:
    """Steps of the failover in hand, or of a planned one."""
    is_planned = view.order is None or view.order.planned
    copies = (PairState.DRAINING, PairState.ALIGNING) if view.is_warm and is_planned else ()
    return (PairState.PREPARING, PairState.FLIPPING, PairState.FENCING, *copies, PairState.PROMOTING)


def _members(services: PortalServices, pair: RegisteredPair) -> list[PairMember]:
    """The primary first."""
    there = {str(view.uid): view for view in clusters_of(services, pair) if not view.deleted}
    uids = (pair.view.primary, pair.view.standby) if pair.view.name else pair.clusters
    return [
        member_of(pair, uid, view.name, fleet_row(services, view))
        if (view := there.get(uid)) is not None
        else member_of(pair, uid, uid)
        for uid in uids
    ]


def _events(services: PortalServices, pair: RegisteredPair) -> list[EventChange]:
    """What was recorded of it last, the newest first."""
    return changes_of(services.store.read_stream(pair_stream(pair.uid), max(0, pair.view.version - _NEWEST)))
