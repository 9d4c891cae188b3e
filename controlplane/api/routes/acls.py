"""/v1/clusters/NAME/acls: who may do what, by the brokers' word at the moment somebody asks."""

from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.api.cluster_lookup import living
from controlplane.api.paging import MOST_ON_A_PAGE, AfterId, Most, PartOf, Turning, following
from controlplane.api.presenters.acls import acls_out, explain_out
from controlplane.api.problems import ApiError
from controlplane.api.routes.queries import asked
from controlplane.api.schemas import acls as acl_api, messages as message_api
from controlplane.api.services import Services
from planner.rights.acls import ANY, OPERATIONS, AclRequest, principal_of

router = APIRouter(prefix=message_api.API_PREFIX, tags=["users"])

_Word = Annotated[str, Query(min_length=1, max_length=255)]


@router.get("/clusters/{name}/acls")
def list_acls(
    name: str, services: Services, turn: Turning, q: PartOf = "", after: AfterId = "", limit: Most = MOST_ON_A_PAGE
) -> acl_api.AclsOut:
    """Every ACL of a cluster, with what documents say of it. Answers are kept for 10 seconds."""
    view = living(services, name)
    out = acls_out(view, asked(view, lambda: services.brokers.kafka_queries.user_rights(view)), part=q)
    left = following(out.acls, lambda acl: acl.id, after)
    return out.model_copy(update={"acls": turn.page(left, lambda acl: acl.id, limit)})


@router.get("/clusters/{name}/acls/explain")
def explain_acl(
    name: str,
    services: Services,
    user: _Word,
    resource: _Word,
    operation: _Word,
    on: _Word,
    host: Annotated[str, Query(max_length=64, description="an address; `*`: one that no ACL names")] = ANY,
) -> acl_api.AclExplainOut:
    """Whether a user may do something, and why, as Kafka's authorizer decides."""
    view, request = living(services, name), acl_request(user, resource, operation, on, host)
    return explain_out(view, asked(view, lambda: services.brokers.kafka_queries.user_rights(view)), request)


def acl_request(user: str, resource: str, operation: str, on: str, host: str) -> AclRequest:
    """For the API and the page. 422 for an operation that is asked of no such resource."""
    if operation not in OPERATIONS.get(resource, ()):
        known = ", ".join(OPERATIONS.get(resource, tuple(OPERATIONS)))
        said = f"{operation} is asked of no {resource}" if resource in OPERATIONS else f"nothing is called {resource}"
        raise ApiError(422, "operation-unknown", said, next_step=f"One of {known}.")
    return AclRequest(principal_of(user), resource, on, operation, host)
