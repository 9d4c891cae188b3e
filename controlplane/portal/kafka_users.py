"""The users of a cluster's Kafka: those that documents declare, a page for each, and who has rights without one."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.cluster_lookup import living
from controlplane.api.presenters.kafka_users import user_out
from controlplane.api.problems import ApiError
from controlplane.api.read_models.kafka_users import (
    COLLECT,
    TROUBLE,
    UNDECLARED,
    changes_of_user,
    counts_of,
    declared_quota_texts,
    names_in,
    rights_text,
    undeclared_principals,
)
from controlplane.api.routes.kafka_users import known_user
from controlplane.api.routes.queries import asked
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.super_users import super_users_anywhere
from controlplane.cluster.view import ClusterView
from controlplane.portal.cluster import head_of
from controlplane.portal.frame import page
from controlplane.storage.streams import cluster_stream

router = APIRouter(prefix="/clusters/{name}/users", tags=["pages"], include_in_schema=False)

MOST_ROWS = 200
MOST_SKIPPED = 10_000_000
MOST_CHANGES = 20

Text = Annotated[str, Query(max_length=250)]
Skipped = Annotated[int, Query(ge=0, le=MOST_SKIPPED)]

STATE_TONES = {"Declared": "busy", "Changing": "busy", "InSync": "good", "Degraded": "bad", "Deleting": "warn"}
KINDS = (("", "declared"), (TROUBLE, "not as declared"), (COLLECT, "password to collect"))


@router.get("")
def kafka_users(
    request: Request, name: str, services: Services, rights: Caller, q: Text = "", only: Text = "", skip: Skipped = 0
) -> Response:
    """Declared users by name; `only`: those in trouble, or whose password can be collected, for which nobody is asked;
    or, by the word of the brokers, who has something in Kafka that no document declares."""
    view = living(services, name)
    if only == UNDECLARED:
        return _undeclared_page(request, services, rights, view, q, skip)
    kind = only if only in dict(KINDS) else ""
    found = names_in(view, only=kind, text=q.strip())
    begin = skip if skip < len(found) else 0
    return page(
        request,
        "users.html",
        head=head_of(request, services, rights, view),
        tab="users",
        rows=[user_out(view, view.users.by_name[one]) for one in found[begin : begin + MOST_ROWS]],
        found=len(found),
        begin=begin,
        most_rows=MOST_ROWS,
        counts=counts_of(view),
        kinds=KINDS,
        only=kind,
        q=q,
        tones=STATE_TONES,
        rights_text=rights_text,
        quota_texts=declared_quota_texts,
    )


@router.get("/{user}")
def kafka_user(request: Request, name: str, user: str, services: Services, rights: Caller) -> Response:
    """One user: what is declared, what keeps Kafka from it, its credentials, and what happened to it."""
    view = living(services, name)
    known = known_user(view, user)
    changes = changes_of_user(services.store.read_stream(cluster_stream(view.uid)), user)
    return page(
        request,
        "user.html",
        head=head_of(request, services, rights, view),
        tab="users",
        user=user_out(view, known),
        is_dying=bool(known.tombstone),
        gives_passwords=services.access.user_credentials is not None,
        changes=changes[:MOST_CHANGES],
        happened=len(changes),
        tones=STATE_TONES,
        quota_texts=declared_quota_texts,
    )


def _undeclared_page(
    request: Request, services: PortalServices, rights: Rights, view: ClusterView, q: str, skip: int
) -> Response:
    """Its brokers are asked, which may take some seconds."""
    seen, why = None, ""
    try:
        seen = asked(view, lambda: services.brokers.kafka_queries.user_rights(view))
    except ApiError as error:
        why = error.body.title
    every = undeclared_principals(view, seen) if seen is not None else []
    found = [one for one in every if q.strip() in one.principal]
    begin = skip if skip < len(found) else 0
    return page(
        request,
        "usersundeclared.html",
        head=head_of(request, services, rights, view),
        tab="users",
        rows=found[begin : begin + MOST_ROWS],
        found=len(found),
        total=len(every),
        begin=begin,
        most_rows=MOST_ROWS,
        counts=counts_of(view),
        kinds=KINDS,
        only=UNDECLARED,
        is_known=seen is not None,
        has_authorizer=seen is not None and seen.acls is not None,
        super_users=sorted(super_users_anywhere(view)),
        why=why,
        q=q,
    )
