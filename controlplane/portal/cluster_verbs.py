"""Deleting a cluster: what would happen, then the yes, then the command itself."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.approvals import in_force_digest
from controlplane.api.given_commands import carry_out
from controlplane.api.request_identity import heading_of
from controlplane.api.routes.topics import topics_seen
from controlplane.api.services import PortalServices, Services
from controlplane.background.dns.wanted import bootstrap_name
from controlplane.cluster.commands import DeleteCluster
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.deletions import cluster_deleted, destroys
from controlplane.converger.steps.deletion import STOP_WITHIN_S
from controlplane.portal import confirmation
from controlplane.portal.frame import CsrfChecked, onwards
from controlplane.runtime.quantities import ago
from events.quantities import counted

router = APIRouter(prefix="/clusters/{name}", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked])

Yes = Annotated[confirmation.YesForm, Form()]


@router.get("/delete")
def asks_to_delete(request: Request, name: str, services: Services, rights: Caller) -> Response:
    """What a deletion would do. Records nothing; raises CommandRefused for one that would be refused."""
    view = confirmation.judged_now(services, rights, name, Verb.DELETE)
    return confirmation.show_asking(request, _deletion(services, view, _delete(view, rights, confirmation.YesForm())))


@router.post("/delete")
def deletes(request: Request, name: str, services: Services, rights: Caller, form: Yes) -> Response:
    """The tombstone, or a proposal of it where a policy leaves that to a second person."""
    view = confirmation.judged_now(services, rights, name, Verb.DELETE)
    command = _delete(view, rights, form)

    def done() -> Response:
        out = carry_out(services, command)
        return onwards(request, f"/proposals/{out.proposal}" if out.proposal else f"/clusters/{name}")

    return confirmation.asked_and_answered(request, _deletion(services, view, command), form, done)


def _delete(view: ClusterView, rights: Rights, form: confirmation.YesForm) -> DeleteCluster:
    """Of the generation that was looked at. The page judges what was typed, and says at its field what is wrong."""
    return DeleteCluster(
        **heading_of(rights, view.name, form.key),
        confirm=view.name,
        reason=form.reason,
        only_at=view.generation,
    )


def _deletion(services: PortalServices, view: ClusterView, command: DeleteCluster) -> confirmation.Asking:
    """By the function the handler asks. Raises CommandRefused, SpecRefused."""
    asked = cluster_deleted(view, command)
    crumbs = ((f"/clusters/{view.name}", view.name),)
    title, pin = f"Delete {view.name}", in_force_digest(view)
    if asked.fact is None:
        return confirmation.Asking(title=title, crumbs=crumbs, pin=pin, sentences=(asked.sentence,))
    dns = bootstrap_name(view)
    sentences = (
        *(_DESTROYED if destroys(view) else _LET_GO),
        *((f"The names under {dns} that Kedge keeps are taken out of DNS",) if dns else ()),
        "Its name is free when it is gone; its history stays readable until the name is used again",
    )
    return confirmation.Asking(
        title=title,
        crumbs=crumbs,
        pin=pin,
        sentences=sentences,
        figures=_figures(services, view),
        button="Delete the cluster",
        typed=view.name,
        reasons=confirmation.reserved_reasons(services.cluster.judge.gate.deletion(view)),
        is_grave=True,
    )


_DESTROYED = (
    "Its deletion policy is “destroy”: all its VMs and disks are destroyed, with every record of every topic. Nothing "
    "brings them back",
    f"Its brokers are told to stop first, then its controllers or ZooKeeper servers, and get {STOP_WITHIN_S:.0f} s "
    "each time; the VMs are destroyed then, whatever still runs. It cannot be called off",
)
_LET_GO = (
    "Its deletion policy is “retain”: its VMs and disks stay, Kafka goes on as it was last told, and both cost what "
    "they cost",
    "Kedge stops managing it: no VM is replaced, no setting corrected, no topic changed. To have the VMs "
    "destroyed with it, change “deletionPolicy” in its spec to “destroy” first",
)


def _figures(services: PortalServices, view: ClusterView) -> tuple[str, ...]:
    vms = f"It has {counted(len(view.alive()), 'VM')}"
    snapshot = topics_seen(services, view.uid)
    if snapshot is None:
        return (f"{vms}. Kafka was not read yet: what is in it is not known",)
    topics = counted(len(snapshot.by_topic), "topic")
    parts = counted(len(snapshot.partitions), "partition")
    return (f"{vms}, and Kafka {topics} with {parts}; its metadata is of {ago(snapshot.at, services.clock())}",)
