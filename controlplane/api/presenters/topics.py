"""Topics as the API and the pages tell them: what is declared beside what the last metadata has. Pure, but for what was
learned."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from controlplane.api.read_models.partitions import Chosen, id_of
from controlplane.api.read_models.topics import BELOW, NO_LEADER, OUT_OF_SYNC, PartitionRow, TopicRow
from controlplane.api.schemas import topics as topic_api
from controlplane.background.anomalies.rate_learning import learned_now
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.topics import TopicView
from controlplane.storage.latest_values import LatestStore
from events.ids import ClusterUid
from events.quantities import counted
from events.spec.topic_names import owner_of
from planner.observed import KafkaSnapshot

OBSERVED, DECLARED, IN_SYNC = "Observed", "Declared", "InSync"
CHANGING, DEGRADED, DELETING = "Changing", "Degraded", "Deleting"


class TopicState(NamedTuple):
    """The word for one topic, and why: as an identifier and as people read it, "" where there is nothing to say."""

    state: str
    reason: str
    message: str


def topics_out(
    view: ClusterView,
    snapshot: KafkaSnapshot | None,
    found: Sequence[TopicRow],
    *,
    now: datetime,
    part: str = "",
    after: str = "",
    most: int | None = None,
    recorded: bool = False,
) -> topic_api.TopicsOut:
    """The topics with `part` in their name, by name: those that are declared and those `found` in the snapshot.

    Of these a page: at most so many, after that name. `total` counts them all.
    """
    rows = {row.name: row for row in found}
    names = sorted(name for name in {*rows, *view.topics.by_name} if part in name)
    age_s = max(0.0, (now - snapshot.at).total_seconds()) if snapshot else None
    topics = [topic_out(view, name, rows.get(name)) for name in [n for n in names if n > after][:most]]
    return topic_api.TopicsOut(
        cluster=view.name,
        metadata_age_s=age_s,
        topics=topics,
        total=len(names),
        recorded=recorded and snapshot is not None,
        sizes_age_s=max(0.0, (now - snapshot.sizes_at).total_seconds()) if snapshot and snapshot.sizes_at else None,
    )


def topic_out(view: ClusterView, name: str, row: TopicRow | None) -> topic_api.TopicOut:
    """One topic; either of declaration and row may be missing."""
    known = view.topics.by_name.get(name)
    state, reason, message = state_of(view, name)
    return topic_api.TopicOut(
        cluster=view.name,
        name=name,
        state=state,
        reason=reason,
        message=message,
        internal=row.internal if row else bool(owner_of(name)),
        declared=_declared(known) if known else None,
        observed=_observed(row) if row else None,
    )


def partitions_out(
    view: ClusterView,
    topic: str,
    rows: Sequence[PartitionRow],
    *,
    age_s: float,
    recorded: bool,
    after: int = -1,
    most: int | None = None,
) -> topic_api.PartitionsOut:
    """A page of `rows`, which come by number."""
    shown = [topic_api.PartitionOut(**_partition(row)) for row in [row for row in rows if row.number > after][:most]]
    return topic_api.PartitionsOut(
        cluster=view.name, topic=topic, metadata_age_s=age_s, recorded=recorded, partitions=shown, total=len(rows)
    )


def unhealthy_out(
    view: ClusterView, chosen: Chosen, rows: Sequence[PartitionRow], *, age_s: float | None, recorded: bool
) -> topic_api.UnhealthyPartitionsOut:
    """A page of `rows`, of those that were chosen."""
    shown = [
        topic_api.UnhealthyPartitionOut(id=id_of(row.seen), topic=row.seen.name.topic, **_partition(row))
        for row in rows
    ]
    return topic_api.UnhealthyPartitionsOut(
        cluster=view.name,
        metadata_age_s=age_s,
        recorded=recorded,
        partitions=shown,
        total=len(chosen.found),
        no_leader=chosen.by_word[NO_LEADER],
        below_min_isr=chosen.by_word[BELOW],
        out_of_sync=chosen.by_word[OUT_OF_SYNC],
    )


def with_learned(out: topic_api.TopicOut, latest: LatestStore, uid: ClusterUid, now: datetime) -> topic_api.TopicOut:
    """With what was learned of its rate, where it asks for that: a read of one row. Raises StoreUnavailable."""
    if out.declared is None or not out.declared.rate_learn:
        return out
    return out.model_copy(update={"learned_rate": learned_now(latest, uid, out.name, now).sentence})


def state_of(view: ClusterView, name: str) -> TopicState:
    """How a topic stands, by what is declared and decided alone: pages with hundreds of them need no more."""
    known = view.topics.by_name.get(name)
    if known is None:
        asked = view.topics.factors.get(name)
        if asked is not None:
            words = f"to have {counted(asked.factor, 'replica')}: {asked.reason}"
            return TopicState(CHANGING, "ReplicationFactor", words)
        return TopicState(OBSERVED, "", "not kept by Kedge")
    if known.tombstone:
        return TopicState(DELETING, "", known.tombstone)
    trouble = view.topics.troubles.get(name)
    if trouble is not None:
        return TopicState(DEGRADED, trouble.reason, trouble.message)
    undeclared = ("NotDeclared", f"no file of {known.source} declares it any more") if known.undeclared else ("", "")
    if name in view.topics.pending:
        return TopicState(CHANGING if known.owned else DECLARED, *undeclared)
    return TopicState(IN_SYNC, *undeclared)


def _declared(topic: TopicView) -> topic_api.DeclaredTopicOut:
    declared = topic.declared
    return topic_api.DeclaredTopicOut.like(
        declared,
        config=None if declared.config is None else dict(declared.config),
        source=topic.source,
        path=topic.path,
        commit=topic.commit,
        since=topic.declared_at,
    )


def _partition(row: PartitionRow) -> dict[str, Any]:
    return {
        "partition": row.number,
        "state": row.word,
        "leader": row.seen.leader,
        "replicas": list(row.seen.replicas),
        "isr": list(row.seen.isr),
        "min_isr": row.seen.min_isr,
        "adding": list(row.seen.adding),
        "removing": list(row.seen.removing),
        "size_bytes": row.size_bytes,
        "behind_since": dict(row.behind_since),
    }


def _observed(row: TopicRow) -> topic_api.ObservedTopicOut:
    return topic_api.ObservedTopicOut.like(row)
