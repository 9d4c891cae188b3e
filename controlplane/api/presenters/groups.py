"""Consumer groups as the API and the pages tell them. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import asdict

from controlplane.api.schemas import groups as group_api
from controlplane.background.consumer_groups.resets import reset_words
from controlplane.cluster.views.offset_resets import ResetView
from planner.consumers import reported
from planner.consumers.history import LagPoint

TONES = {
    reported.STUCK: "bad",
    reported.UNREAD: "bad",
    reported.BEYOND: "bad",
    reported.NO_MEMBERS: "warn",
    reported.UNKNOWN: "warn",
    reported.REBALANCING: "busy",
    reported.READING: "good",
}
"""The colour of a word; others have none."""

SORTS: dict[str, Callable[[reported.GroupStatus], tuple[float, str]]] = {
    "name": lambda g: (0, g.name),
    "members": lambda g: (len(g.members), g.name),
    "partitions": lambda g: (len(g.partitions), g.name),
    "lag": lambda g: (-1 if g.lag is None else g.lag, g.name),
    "trend": lambda g: (0 if g.trend_per_s is None else g.trend_per_s, g.name),
    "stuck": lambda g: (len(g.stuck), g.name),
    "unread": lambda g: (len(g.unread), g.name),
}


def chosen_groups(
    groups: Sequence[reported.GroupStatus], *, text: str, topic: str = "", sort: str = "name", down: bool = False
) -> list[reported.GroupStatus]:
    """Those with the text in their name, of one topic those with a partition of it, in the order asked for."""
    found = [g for g in groups if text.casefold() in g.name.casefold()]
    if topic:
        found = [g for g in found if any(p.topic == topic for p in g.partitions)]
    return sorted(found, key=SORTS.get(sort, SORTS["name"]), reverse=down)


def groups_out(
    cluster: str, groups: reported.GroupsStatus, *, text: str, topic: str = "", after: str, limit: int
) -> group_api.GroupsOut:
    """One page, behind the group called `after`."""
    found = chosen_groups(groups.groups, text=text, topic=topic)
    behind = [g for g in found if g.name > after]
    shown = behind[:limit]
    return group_api.GroupsOut(
        cluster=cluster,
        read_at=groups.at,
        groups=[group_out(cluster, g) for g in shown],
        total=len(found),
        next=shown[-1].name if len(behind) > limit else "",
        silent=list(groups.silent),
        left_out=groups.left_out,
    )


def group_out(cluster: str, group: reported.GroupStatus) -> group_api.GroupOut:
    return group_api.GroupOut.like(
        group,
        cluster=cluster,
        members=len(group.members),
        partitions=len(group.partitions),
        stuck=len(group.stuck),
        unread=len(group.unread),
    )


def group_detail(
    cluster: str, group: reported.GroupStatus, *, history: Sequence[LagPoint] = (), last_reset: ResetView | None = None
) -> group_api.GroupDetailOut:
    """One group with its members and partitions, by topic."""
    return group_api.GroupDetailOut(
        group=group_out(cluster, group),
        history=[group_api.LagPointOut(at=p.at, lag=p.lag) for p in history],
        last_reset=last_reset and group_api.LastResetOut(at=last_reset.at, words=reset_words(last_reset)),
        read_at=group.at,
        members=[group_api.GroupMemberOut(**asdict(m)) for m in group.members],
        partitions=[_partition(p) for p in group.partitions],
    )


def _partition(p: reported.PartitionStatus) -> group_api.GroupPartitionOut:
    return group_api.GroupPartitionOut.like(p)
