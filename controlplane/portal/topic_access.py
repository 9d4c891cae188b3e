"""Who may do what on a topic, by the ACLs that brokers have when somebody looks; and whether one user may, and why."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.cluster_lookup import living
from controlplane.api.presenters.acls import acls_on, explain_out
from controlplane.api.problems import ApiError
from controlplane.api.read_models.topic_access import access_rows
from controlplane.api.routes.acls import acl_request
from controlplane.api.routes.queries import asked
from controlplane.api.services import Services
from controlplane.cluster.super_users import super_users_anywhere
from controlplane.portal.cluster import head_of
from controlplane.portal.frame import page
from planner.rights.acls import ANY, OPERATIONS, READ

router = APIRouter(prefix="/clusters/{name}/topics/{topic}", tags=["pages"], include_in_schema=False)

MOST_ROWS = 500
_TOPIC = "topic"

Word = Annotated[str, Query(max_length=255)]


@router.get("/access")
def topic_access(
    request: Request,
    name: str,
    topic: str,
    services: Services,
    rights: Caller,
    user: Word = "",
    operation: Word = READ,
    host: Annotated[str, Query(max_length=64)] = "",
) -> Response:
    """A page of its own: its brokers are asked for it. With a `user`, whether it may; what is not known is said."""
    view = living(services, name)
    wanted = acl_request(user.strip(), _TOPIC, operation, topic, host.strip() or ANY)
    seen, why = None, ""
    try:
        seen = asked(view, lambda: services.brokers.kafka_queries.user_rights(view))
    except ApiError as error:
        why = error.body.title
    rows = access_rows(acls_on(view, seen, _TOPIC, topic)) if seen is not None else []
    return page(
        request,
        "topicaccess.html",
        head=head_of(request, services, rights, view),
        tab="topics",
        topic=topic,
        rows=rows[:MOST_ROWS],
        found=len(rows),
        has_authorizer=seen is not None and seen.acls is not None,
        super_users=sorted(super_users_anywhere(view)),
        why=why,
        answer=explain_out(view, seen, wanted) if seen is not None and user.strip() else None,
        operations=OPERATIONS[_TOPIC],
        user=user,
        operation=operation,
        host=host,
    )
