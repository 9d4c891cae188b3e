"""Deleting a topic, and keeping one that was made outside: what would happen, then the yes, then the command itself."""

from dataclasses import replace
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.approvals import in_force_digest
from controlplane.api.cluster_lookup import living
from controlplane.api.given_commands import carry_out
from controlplane.api.read_models.change_form import topic_data
from controlplane.api.read_models.spec_form import text_of
from controlplane.api.request_identity import heading_of
from controlplane.api.routes.topics import topics_seen
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.commands import AdoptTopic, CommandRefused, DeleteTopic
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.lookups import Lookups
from controlplane.commands.deciders.topics import topic_adopted, topic_deleted
from controlplane.portal import confirmation
from controlplane.portal.frame import CsrfChecked, onwards
from controlplane.runtime.quantities import ago
from events import topic_facts as facts
from events.quantities import counted

router = APIRouter(
    prefix="/clusters/{name}/topics/{topic}", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked]
)

Yes = Annotated[confirmation.YesForm, Form()]

_DESTROYED = "Its deletion policy is “delete”: Kafka destroys it with all its records, and nothing brings them back"
_LET_GO = "It stays in Kafka with all its records, unmanaged: changes that others make are left as they are"
_KEEP = "Keep it in Kafka: its records stay, and Kedge stops managing it"
_AS_FOUND = (
    "Nothing of it changes now. Partitions that somebody adds are told; the number of its replicas is kept as found",
    "A file that declares it has the whole say later: applied as it stands here it takes back settings the topic has "
    "of its own, so write those under “config” first",
)


@router.get("/delete")
def asks_to_delete(request: Request, name: str, topic: str, services: Services, rights: Caller) -> Response:
    """What a deletion would do. Records nothing; raises CommandRefused for one that would be refused."""
    return confirmation.show_asking(request, _deletion(services, rights, name, topic, confirmation.YesForm()))


@router.post("/delete")
def deletes(request: Request, name: str, topic: str, services: Services, rights: Caller, form: Yes) -> Response:
    """The tombstone, or a proposal of it where a policy leaves that to a second person."""
    asking = _deletion(services, rights, name, topic, form)
    command = DeleteTopic(
        **heading_of(rights, name, form.key),
        topic=topic,
        confirm=form.confirm.strip(),
        reason=form.reason,
        retain=form.retain and bool(asking.retain),
    )

    def done() -> Response:
        out = carry_out(services, command)
        return onwards(request, f"/proposals/{out.proposal}" if out.proposal else _then(services, name, topic))

    return confirmation.asked_and_answered(request, asking, form, done)


@router.get("/adopt")
def asks_to_adopt(request: Request, name: str, topic: str, services: Services, rights: Caller) -> Response:
    """What keeping it would mean, and the declaration that would be recorded. Raises CommandRefused."""
    return confirmation.show_asking(request, _adoption(services, rights, name, topic, confirmation.YesForm()))


@router.post("/adopt")
def adopts(request: Request, name: str, topic: str, services: Services, rights: Caller, form: Yes) -> Response:
    """Kedge keeps it from here on."""
    command = AdoptTopic(**heading_of(rights, name, form.key), topic=topic, reason=form.reason)

    def done() -> Response:
        carry_out(services, command)
        return onwards(request, _then(services, name, topic))

    return confirmation.asked_and_answered(request, _adoption(services, rights, name, topic, form), form, done)


def _deletion(
    services: PortalServices, rights: Rights, name: str, topic: str, form: confirmation.YesForm
) -> confirmation.Asking:
    """By the functions the handler asks. Raises CommandRefused, SpecRefused, Forbidden."""
    view = confirmation.judged_now(services, rights, name, Verb.DELETE)
    command = DeleteTopic(
        **heading_of(rights, name, form.key),
        topic=topic,
        confirm=topic,
        reason="",
        retain=False,
    )
    asked = topic_deleted(view, command)
    begun = _begun(view, topic, f"Delete {topic}", asked.sentence)
    if not isinstance(asked.fact, facts.TopicDeletionRequested):
        return begun
    reasons = confirmation.reserved_reasons(services.cluster.judge.gate.deletion(view, topic))
    destroys = asked.fact.policy == "delete"
    fate = _DESTROYED if destroys else _LET_GO
    keep = _KEEP + ("; then no approval is needed" if reasons else "")
    return replace(
        begun,
        sentences=(fate, "Its declaration is no longer in force; what was declared of it stays in the history"),
        figures=_figures(services, view, topic),
        button="Delete it",
        typed=topic,
        reasons=reasons,
        retain=keep if destroys or reasons else "",
        is_grave=True,
    )


def _adoption(
    services: PortalServices, rights: Rights, name: str, topic: str, form: confirmation.YesForm
) -> confirmation.Asking:
    """As for a deletion."""
    view = confirmation.judged_now(services, rights, name, Verb.DECLARE)
    if view.document is None:
        raise CommandRefused("not-declared", f"{name} is not declared yet", "Declare the cluster first.")
    command = AdoptTopic(**heading_of(rights, name, form.key), topic=topic, reason="")
    asked = topic_adopted(view, command, Lookups(kafka=services.fleet.clusters.last_snapshot(view.uid)))
    begun = _begun(view, topic, f"Keep {topic}", asked.sentence)
    if asked.fact is None:
        return begun
    found = asked.fact.topics[0] if isinstance(asked.fact, facts.TopicsDeclared) else None
    declared = found or view.topics.by_name[topic].declared
    return replace(
        begun,
        sentences=(asked.sentence, *(_AS_FOUND if found else ("It becomes as the declaration below says",))),
        figures=_figures(services, view, topic),
        text=text_of(topic_data(view.document, declared)),
        button="Keep it",
        # What was found is recorded as a declaration, and that has no place for a reason.
        keeps_reason=found is None,
    )


def _figures(services: PortalServices, view: ClusterView, topic: str) -> tuple[str, ...]:
    snapshot = topics_seen(services, view.uid)
    if snapshot is None:
        return ("Kafka was not read yet: what is in it is not known",)
    parts = len(snapshot.by_topic.get(topic, ()))
    if not parts:
        return ("Kafka does not have it, as far as the last metadata says",)
    return (
        f"Kafka has it with {counted(parts, 'partition')}; its metadata is of {ago(snapshot.at, services.clock())}",
    )


def _begun(view: ClusterView, topic: str, title: str, sentence: str) -> confirmation.Asking:
    """A page that has nothing to ask yet."""
    home = f"/clusters/{view.name}"
    crumbs = ((home, view.name), (f"{home}/topics", "topics"), (_address(view.name, topic), topic))
    return confirmation.Asking(title=title, crumbs=crumbs, pin=in_force_digest(view, topic), sentences=(sentence,))


def _then(services: PortalServices, name: str, topic: str) -> str:
    """Where it can be watched: its page, or what was declared of it where Kafka does not have it."""
    snapshot = topics_seen(services, living(services, name).uid)
    is_there = snapshot is None or topic in snapshot.by_topic
    return _address(name, topic) + ("" if is_there else "/declarations")


def _address(name: str, topic: str) -> str:
    return f"/clusters/{name}/topics/{quote(topic, safe='')}"
