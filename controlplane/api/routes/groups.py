"""/v1/clusters/NAME/groups: consumer groups, asked of the brokers when a person asks."""

from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.api.cluster_lookup import living
from controlplane.api.paging import Most, Turning
from controlplane.api.presenters.groups import group_detail, groups_out
from controlplane.api.problems import ApiError
from controlplane.api.schemas import groups as group_api, messages as message_api
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.observed.consumer_groups import kept_lags
from controlplane.cluster.view import ClusterView
from controlplane.kafka.errors import KafkaFault
from planner.consumers.reported import GroupsStatus, GroupStatus

router = APIRouter(prefix=message_api.API_PREFIX, tags=["groups"])

Text = Annotated[str, Query(max_length=250)]
AnyName = Annotated[str, Query(max_length=32_767, description="its name, whatever characters it has")]


@router.get("/clusters/{name}/groups")
def list_groups(
    name: str,
    services: Services,
    turn: Turning,
    q: Text = "",
    topic: Text = "",
    after: Text = "",
    limit: Most = 100,
) -> group_api.GroupsOut:
    """A page of the groups by name: with `q` in their name, of one `topic` alone, behind the one called `after`."""
    view = living(services, name)
    out = groups_out(view.name, looked(services, view), text=q, topic=topic, after=after, limit=limit)
    if out.next:
        turn.follows("after", out.next)
    return out


@router.get("/clusters/{name}/groups/{group:path}")
def get_group(name: str, group: str, services: Services) -> group_api.GroupDetailOut:
    """One group: its members, and where it stands in each partition."""
    view = living(services, name)
    found = group_named(view, looked(services, view), group)
    lags = kept_lags(services.cluster.latest, view.uid).get(group, ())
    return group_detail(view.name, found, history=lags, last_reset=view.requests.resets.get(group))


@router.get("/clusters/{name}/group")
def get_group_of_any_name(name: str, services: Services, group: AnyName = "") -> group_api.GroupDetailOut:
    """The same of a group whose name cannot be a part of a path, such as `..` or one with a line break."""
    return get_group(name, group, services)


def looked(services: PortalServices, view: ClusterView) -> GroupsStatus:
    """The groups now, or some seconds ago. 503 while Kafka cannot be asked."""
    try:
        return services.brokers.groups.look(view)
    except KafkaFault as fault:
        then = f"kedge describe {view.name} says how its brokers are; then ask again."
        raise ApiError(
            503, "kafka-unavailable", f"the groups of {view.name} could not be read: {fault}", next_step=then
        ) from fault


def group_named(view: ClusterView, told: GroupsStatus, name: str) -> GroupStatus:
    """One of them. 404 where there is none of that name."""
    found = told.named(name)
    if found is None:
        unread = f" {told.left_out} groups were not read: one reading has a limit." if told.left_out else ""
        then = f"kedge groups {view.name} lists them.{unread}"
        raise ApiError(404, "group-not-found", f"{view.name} has no group called {name}", next_step=then)
    return found
