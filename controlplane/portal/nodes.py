"""What a person asks for of single nodes: first told what would come of it, then recorded when they say yes."""

import uuid
from typing import Annotated, TypeVar

from fastapi import APIRouter, Form, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from controlplane.api.access.bindings import traits_of
from controlplane.api.access.caller import Caller
from controlplane.api.access.roles import Verb
from controlplane.api.cluster_lookup import living
from controlplane.api.given_commands import carry_out
from controlplane.api.problems import ApiError
from controlplane.api.request_identity import heading_of
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.commands import (
    CancelDiskMoves,
    Command,
    DemoteBrokers,
    EvacuateBrokers,
    FixOffline,
    MoveBetweenDisks,
    ReadmitBrokers,
    ReplaceNode,
    RestartServices,
    UndemoteBrokers,
)
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.lookups import Lookups
from controlplane.commands.deciders.table import DECIDERS
from controlplane.portal.frame import CsrfChecked, page
from planner.observed import KafkaSnapshot

router = APIRouter(prefix="/clusters/{name}", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked])


class NodeForm(BaseModel):
    """The fields of these forms; each verb reads its own. `key` is the command's id: sent twice it is recorded once.

    Without `sure` nothing is recorded.
    """

    reason: str = Field(default="", max_length=200)
    brokers: str = Field(default="", max_length=2000)
    pool: str = Field(default="", max_length=100)
    node: str = Field(default="", max_length=100)
    disk: str = Field(default="", max_length=4096)
    new_disk: bool = False
    sure: bool = False
    key: str = Field(default_factory=lambda: uuid.uuid4().hex, pattern="^[0-9a-f]{32}$")


Fields = Annotated[NodeForm, Form()]
_OfBrokers = TypeVar("_OfBrokers", EvacuateBrokers, ReadmitBrokers, FixOffline, DemoteBrokers, UndemoteBrokers)


@router.post("/restart")
def restart(request: Request, name: str, services: Services, rights: Caller, form: Fields) -> Response:
    """Start services anew where they are, one at a time."""
    command = RestartServices(
        **heading_of(rights, name, form.key),
        reason=form.reason,
        brokers=_brokers(form.brokers),
        pool=form.pool,
    )
    return _ask(request, services, rights, form, command, "Restart, one at a time")


@router.post("/replace")
def replace(request: Request, name: str, services: Services, rights: Caller, form: Fields) -> Response:
    """Give one node its next VM."""
    command = ReplaceNode(
        **heading_of(rights, name, form.key),
        reason=form.reason,
        node=form.node,
        new_disk=form.new_disk,
    )
    return _ask(request, services, rights, form, command, "Replace a node")


@router.post("/evacuate")
def evacuate(request: Request, name: str, services: Services, rights: Caller, form: Fields) -> Response:
    """Empty brokers and keep them empty."""
    command = _of_brokers(EvacuateBrokers, name, rights, form)
    return _ask(request, services, rights, form, command, "Evacuate brokers")


@router.post("/readmit")
def readmit(request: Request, name: str, services: Services, rights: Caller, form: Fields) -> Response:
    """Let brokers receive replicas again."""
    command = _of_brokers(ReadmitBrokers, name, rights, form)
    return _ask(request, services, rights, form, command, "Readmit brokers")


@router.post("/fix-offline")
def fix_offline(request: Request, name: str, services: Services, rights: Caller, form: Fields) -> Response:
    """Make replicas of brokers that do not serve anew on others."""
    command = _of_brokers(FixOffline, name, rights, form)
    return _ask(request, services, rights, form, command, "Make offline replicas anew")


@router.post("/empty-disk")
def empty_disk(request: Request, name: str, services: Services, rights: Caller, form: Fields) -> Response:
    """Move what is in a log directory onto the others of its broker."""
    broker = _one(_brokers(form.brokers))
    if not form.disk.strip():
        raise ApiError(422, "no-disk", "no disk was named", next_step="Name it by its path, or its volume.")
    command = MoveBetweenDisks(
        **heading_of(rights, name, form.key), reason=form.reason, broker=broker, disk=form.disk.strip()
    )
    return _ask(request, services, rights, form, command, "Empty a disk")


@router.post("/even-disks")
def even_disks(request: Request, name: str, services: Services, rights: Caller, form: Fields) -> Response:
    """Even out the disks of a broker."""
    broker = _one(_brokers(form.brokers))
    command = MoveBetweenDisks(**heading_of(rights, name, form.key), reason=form.reason, broker=broker)
    return _ask(request, services, rights, form, command, "Even out disks")


@router.post("/disk-moves")
def end_disk_moves(request: Request, name: str, services: Services, rights: Caller, form: Fields) -> Response:
    """Begin no more moves between the disks of a broker."""
    command = CancelDiskMoves(
        **heading_of(rights, name, form.key), reason=form.reason, broker=_one(_brokers(form.brokers))
    )
    return _ask(request, services, rights, form, command, "End moves between disks")


@router.post("/demote")
def demote(request: Request, name: str, services: Services, rights: Caller, form: Fields) -> Response:
    """Take leadership off brokers, and keep it off them."""
    command = _of_brokers(DemoteBrokers, name, rights, form)
    return _ask(request, services, rights, form, command, "Demote brokers")


@router.post("/undemote")
def undemote(request: Request, name: str, services: Services, rights: Caller, form: Fields) -> Response:
    """Let demoted brokers lead again."""
    command = _of_brokers(UndemoteBrokers, name, rights, form)
    return _ask(request, services, rights, form, command, "Undemote brokers")


def _of_brokers(command: type[_OfBrokers], name: str, rights: Caller, form: NodeForm) -> _OfBrokers:
    """The command about the brokers the form names. Raises ApiError where it names none."""
    return command(**heading_of(rights, name, form.key), reason=form.reason, brokers=_some(_brokers(form.brokers)))


def would_come_of(view: ClusterView, command: Command, kafka: KafkaSnapshot | None) -> CommandDecision:
    """What the handler would answer now, by the very functions it asks. Records nothing. Raises CommandRefused."""
    return DECIDERS[type(command)].decide(view, command, Lookups(kafka=kafka))


def _ask(
    request: Request, services: PortalServices, rights: Caller, form: NodeForm, command: Command, title: str
) -> Response:
    """Rights are judged before anything is told; the handler judges them again before it records."""
    view = living(services, command.name)
    rights.require(Verb.STEER, traits_of(view.document), command.name)
    if form.sure:
        outcome = carry_out(services, command)
        sentence, would_change, is_done = outcome.sentence, outcome.changed, True
    else:
        asked = would_come_of(view, command, services.fleet.clusters.last_snapshot(view.uid))
        sentence, would_change, is_done = asked.sentence, asked.fact is not None, False
    return page(
        request,
        "asked.html",
        cluster=view.name,
        title=title,
        sentence=sentence,
        changes=would_change,
        is_done=is_done,
        form=form,
    )


def _brokers(text: str) -> tuple[int, ...]:
    """`1000, 1001 1002` as ids. Raises ApiError."""
    words = text.replace(",", " ").split()
    wrong = next((word for word in words if not (word.isascii() and word.isdigit() and len(word) <= 10)), None)
    if wrong is not None:
        raise ApiError(
            422, "broker-id", f"{wrong} is not a broker id", next_step="Write ids, with commas between them."
        )
    return tuple(int(word) for word in words)


def _one(brokers: tuple[int, ...]) -> int:
    """Raises ApiError for none, and for several."""
    if len(brokers) != 1:
        raise ApiError(422, "no-broker", f"{len(brokers)} brokers were named", next_step="Name one by id.")
    return brokers[0]


def _some(brokers: tuple[int, ...]) -> tuple[int, ...]:
    """Raises ApiError for none: nobody means all of them here."""
    if not brokers:
        raise ApiError(422, "no-broker", "no broker was named", next_step="Name one or more by id.")
    return brokers
