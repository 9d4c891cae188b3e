"""A form that changes what is declared: a cluster, or a topic of it, filled from what is in force.

It carries what it was filled from: where something newer is in force by then, nothing is recorded and both are shown.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from controlplane.api.access.bindings import traits_of
from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.approvals import in_force_digest
from controlplane.api.auth import actor_of
from controlplane.api.change_requests import declared_file, request_change
from controlplane.api.cluster_lookup import living
from controlplane.api.presenters.judged_text import words_of
from controlplane.api.problems import ApiError
from controlplane.api.pull_requests import Requester
from controlplane.api.read_models.change_form import (
    FormField,
    changed_fields,
    changed_text,
    cluster_fields,
    diff_lines,
    moved_on,
    topic_data,
    topic_fields,
)
from controlplane.api.read_models.spec_form import placed_by, text_of
from controlplane.api.request_identity import asked_id
from controlplane.api.schemas.sources import PullRequestOut
from controlplane.api.services import PortalServices, Services
from controlplane.api.specs import Judged, judge
from controlplane.cluster.commands import CommandRefused
from controlplane.cluster.spec_source import SourceRefusal, refuse_declaration
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.source import API
from controlplane.commands.deciders.topics import refuse_topic
from controlplane.portal.declaring import declared_or_proposed, taken_along
from controlplane.portal.frame import CsrfChecked, onwards, page
from events.spec.conversion import shortest_data

router = APIRouter(prefix="/clusters/{name}", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked])

_MOST = 20_000
"""Characters of one field."""
_WAS = "was:"


@dataclass(frozen=True, slots=True)
class ChangeSubject:
    """What is changed. `topic` is "" for the cluster itself; `elsewhere` says where it is changed, None for here."""

    view: ClusterView
    topic: str
    data: Mapping[str, Any]
    fields: tuple[FormField, ...]
    elsewhere: SourceRefusal | None

    @property
    def home(self) -> str:
        return f"/clusters/{self.view.name}"

    @property
    def seen(self) -> str:
        """Stands for what is in force."""
        return in_force_digest(self.view, self.topic)

    @property
    def declared(self) -> dict[str, str]:
        return {f.path: f.declared for f in self.fields}


async def form_of(request: Request) -> dict[str, str]:
    """The fields as they were sent. Raises ApiError for one that is no text, or a book."""
    fields = dict((await request.form()).items())
    for name, text in fields.items():
        if not isinstance(text, str) or len(text) > _MOST:
            raise ApiError(422, "field", f"the field {name[:80]} is not a text of at most {_MOST} characters")
    return {name: text for name, text in fields.items() if isinstance(text, str)}


Typed = Annotated[dict[str, str], Depends(form_of)]


@router.get("/change")
def change_cluster(request: Request, name: str, services: Services, rights: Caller) -> Response:
    """The form of a cluster."""
    return _shown(request, services, _cluster(services, rights, name))


@router.post("/change")
def changed_cluster(request: Request, name: str, services: Services, rights: Caller, typed: Typed) -> Response:
    """What the fields come to. Nothing is recorded before the second button, and only what was shown then."""
    return _answer(request, services, rights, _cluster(services, rights, name), typed)


@router.get("/topics/{topic}/change")
def change_topic(request: Request, name: str, topic: str, services: Services, rights: Caller) -> Response:
    """The form of a topic."""
    return _shown(request, services, _topic(services, rights, name, topic))


@router.post("/topics/{topic}/change")
def changed_topic(
    request: Request, name: str, topic: str, services: Services, rights: Caller, typed: Typed
) -> Response:
    """As for a cluster."""
    return _answer(request, services, rights, _topic(services, rights, name, topic), typed)


def _cluster(services: PortalServices, rights: Rights, name: str) -> ChangeSubject:
    view = _declarable(services, rights, name)
    assert view.document is not None
    data = shortest_data(view.document)
    return ChangeSubject(view, "", data, cluster_fields(data), refuse_declaration(view, None, is_change=True))


def _topic(services: PortalServices, rights: Rights, name: str, topic: str) -> ChangeSubject:
    view = _declarable(services, rights, name)
    known = view.topics.by_name.get(topic)
    if known is None or view.document is None:
        then = f"To have one kept that is in Kafka: kedge topic adopt {name} {topic}. To make one: /new?kind=topic"
        raise ApiError(409, "topic-not-kept", f"{name} has no declared topic called {topic}", next_step=then)
    data = topic_data(view.document, known.declared)
    return ChangeSubject(view, topic, data, topic_fields(data), refuse_topic(view, topic, API))


def _declarable(services: PortalServices, rights: Rights, name: str) -> ClusterView:
    """The cluster as its stream says now, for somebody who may declare it."""
    living(services, name)
    view = services.cluster.commands.current(name)
    rights.require(Verb.DECLARE, traits_of(view.document), name)
    if view.document is None:
        raise ApiError(409, "not-declared", f"{name} is not declared yet", next_step="Declare it first.")
    return view


def _answer(
    request: Request, services: PortalServices, rights: Rights, subject: ChangeSubject, typed: Mapping[str, str]
) -> Response:
    do, key = typed.get("do", "preview"), typed.get("key", "")
    known = {f.path: typed[f.path] for f in subject.fields if f.path in typed}
    if typed.get("seen", "") != subject.seen:
        was = {name.removeprefix(_WAS): text for name, text in typed.items() if name.startswith(_WAS)}
        return _shown(request, services, subject, moved_on(subject.fields, was, known), was=was, mine=known, status=409)
    text = changed_text(subject.data, subject.fields, known)
    if do == "download":
        return taken_along(text, subject.topic or subject.view.name)
    judged = judge(services, text, file=f"{subject.topic or subject.view.name}.yaml")
    rights.trail.refused = judged.refusal
    if do not in ("apply", "request") or not judged.ok:
        return _shown(request, services, subject, known, text=text, judged=judged, status=200 if judged.ok else 422)
    if do == "apply" and subject.elsewhere is not None:
        raise CommandRefused(subject.elsewhere.code, subject.elsewhere.message, subject.elsewhere.what_next)
    if judged.digest != typed.get("digest", ""):
        return _shown(request, services, subject, known, text=text, judged=judged, has_moved=True, status=422)
    if do == "request":
        file = declared_file(services, subject.view, subject.topic, judged)
        asked = Requester(rights, actor_of(rights), _key(key))
        opened = request_change(services, file, text, judged, asked, words_of(judged))
        return _shown(request, services, subject, known, text=text, judged=judged, opened=opened)
    made = declared_or_proposed(services, judged, text, actor=actor_of(rights), key=asked_id(rights, _key(key)))
    is_topic = subject.topic and not judged.reserved
    return onwards(request, f"{subject.home}/topics" if is_topic else made)


def _shown(
    request: Request,
    services: PortalServices,
    subject: ChangeSubject,
    typed: Mapping[str, str] | None = None,
    *,
    text: str = "",
    judged: Judged | None = None,
    has_moved: bool = False,
    was: Mapping[str, str] | None = None,
    mine: Mapping[str, str] | None = None,
    opened: PullRequestOut | None = None,
    status: int = 200,
) -> Response:
    """The page. `was` and `mine`: what a form was filled from that is not in force any more, and what it said."""
    can_request = judged is not None and subject.elsewhere is not None and opened is None
    values = {**subject.declared, **(typed or {})}
    problems, others = placed_by(judged.problems, [(f.path, f.path) for f in subject.fields]) if judged else ({}, [])
    return page(
        request,
        "changespec.html",
        status=status,
        cluster=subject.view.name,
        topic=subject.topic,
        home=subject.home,
        generation=subject.view.generation,
        seen=subject.seen,
        elsewhere=subject.elsewhere,
        file=declared_file(services, subject.view, subject.topic, judged) if judged and can_request else None,
        opened=opened,
        fields=subject.fields,
        values=values,
        changed=frozenset(f.path for f in changed_fields(subject.fields, values)),
        key=uuid.uuid4().hex,
        text=text,
        diff=diff_lines(text_of(subject.data), text) if text else [],
        judged=judged,
        plan=words_of(judged) if judged is not None and judged.ok else [],
        problems=problems,
        others=others,
        has_moved=has_moved,
        was=was,
        overtaken=_overtaken(subject, was, mine or {}) if was is not None else [],
    )


def _overtaken(
    subject: ChangeSubject, was: Mapping[str, str], mine: Mapping[str, str]
) -> list[tuple[FormField, str, str, str]]:
    """Fields that differ: as the form was filled, as in force now, as it was sent."""
    rows = [(f, was.get(f.path, ""), f.declared, mine.get(f.path, "")) for f in subject.fields]
    return [row for row in rows if len({*row[1:]}) > 1]


def _key(text: str) -> str:
    if len(text) != 32 or not set(text) <= set("0123456789abcdef"):
        raise ApiError(422, "key", "the form has no id", next_step="Reload the page.")
    return text
