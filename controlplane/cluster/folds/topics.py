"""The fold of what happens to topics: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds import kept
from controlplane.cluster.folds.kept import frozen, without
from controlplane.cluster.folds.steps import Rules
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.rebalances import with_spent
from controlplane.cluster.views.topics import FactorView, ReplicationView, TopicChangeView, TopicsView, TopicView
from events import topic_facts as facts


def declared(view: ClusterView, e: facts.TopicsDeclared, at: datetime) -> ClusterView:
    """A tombstoned topic is declared anew only once it is gone. Trouble is judged anew."""
    topics, by_name, pending = view.topics, dict(view.topics.by_name), set(view.topics.pending)
    for one in e.topics:
        known = by_name.get(one.name)
        if known is not None and known.tombstone:
            raise ValueError(f"the topic {one.name} is being deleted")
        # What was found is as it was found: nothing of it can differ.
        owned = one.config is None or (known is not None and known.owned)
        by_name[one.name] = TopicView(one, e.source, e.path, e.commit, at, owned=owned)
        if known is None or not _asks_the_same(known.declared, one) or one.name in topics.troubles:
            pending.add(one.name)
    troubles = without(topics.troubles, (one.name for one in e.topics))
    return _with(view, replace(topics, by_name=by_name, pending=frozenset(pending), troubles=troubles))


def undeclared(view: ClusterView, e: facts.TopicsUndeclared, at: datetime) -> ClusterView:
    """They stay as they are."""
    gone = {name: replace(_known(view, name), undeclared=True) for name in e.names}
    return _with(view, replace(view.topics, by_name={**view.topics.by_name, **gone}))


def adopted(view: ClusterView, e: facts.TopicsAdopted, at: datetime) -> ClusterView:
    """From here on they are Kedge's to keep."""
    topics = view.topics
    ours = {name: replace(_known(view, name), owned=True) for name in e.names}
    troubles = without(topics.troubles, e.names)
    pending = topics.pending | frozenset(e.names)
    return _with(view, replace(topics, by_name={**topics.by_name, **ours}, pending=pending, troubles=troubles))


def change_requested(view: ClusterView, e: facts.TopicsChangeRequested, at: datetime) -> ClusterView:
    """One change at a time."""
    topics = view.topics
    if topics.change is not None:
        raise ValueError(f"the change {topics.change.id} of topics is still in hand")
    change = TopicChangeView(e.change, e.create, e.grow, e.configure, e.delete, at)
    for name in change.names:
        _known(view, name)
    return _with(view, replace(topics, change=change, changes=topics.changes + 1))


def changed(view: ClusterView, e: facts.TopicsChanged, at: datetime) -> ClusterView:
    """What was created is owned; what was deleted is forgotten, and its name is free."""
    topics = view.topics
    if e.change and (topics.change is None or topics.change.id != e.change):
        raise ValueError(f"the change {e.change} of topics is not the one in hand")
    by_name = dict(topics.by_name)
    for name in (*e.created, *e.settled):
        by_name[name] = replace(_known(view, name), owned=True)
    for name in e.deleted:
        by_name.pop(name, None)
    over = frozenset((*e.settled, *e.deleted))
    return _with(
        view,
        replace(
            topics,
            by_name=by_name,
            pending=topics.pending - over,
            change=None if e.change else topics.change,
            troubles=without(topics.troubles, over),
        ),
    )


def troubled(view: ClusterView, e: facts.TopicsTroubled, at: datetime) -> ClusterView:
    """Trouble takes a topic out of what is waited for; the end of it puts it back."""
    topics = view.topics
    troubles, pending = kept.troubled(topics.troubles, topics.pending, e.troubles)
    return _with(view, replace(topics, troubles=troubles, pending=pending & topics.by_name.keys()))


def replication_requested(view: ClusterView, e: facts.ReplicationRequested, at: datetime) -> ClusterView:
    """One batch at a time. What nobody asked for counts against the budget of the day."""
    topics = view.topics
    if topics.replication is not None:
        raise ValueError(f"the batch {topics.replication.id} of replicas is still in hand")
    batch = ReplicationView(e.batch, e.moves, at, e.cause)
    handed = at if e.cause == "hot" else topics.handed_over_at
    begun = _with(view, replace(topics, replication=batch, batches=topics.batches + 1, handed_over_at=handed))
    if not e.bytes:
        return begun
    spent = with_spent(view.moves.rebalance_spent, at, e.bytes)
    return replace(begun, moves=replace(begun.moves, rebalance_spent=spent))


def replication_ended(view: ClusterView, e: facts.ReplicationEnded, at: datetime) -> ClusterView:
    """What is left of it is seen in Kafka."""
    if view.topics.replication is None or view.topics.replication.id != e.batch:
        raise ValueError(f"the batch {e.batch} of replicas is not the one in hand")
    return _with(view, replace(view.topics, replication=None))


def factor_requested(view: ClusterView, e: facts.ReplicationFactorRequested, at: datetime) -> ClusterView:
    """The last word of a topic holds."""
    fresh = dict.fromkeys(e.topics, FactorView(e.factor, e.reason, at, e.below_min_isr))
    return _with(view, replace(view.topics, factors=frozen({**view.topics.factors, **fresh})))


def factor_ended(view: ClusterView, e: facts.ReplicationFactorEnded, at: datetime) -> ClusterView:
    """What moved stays."""
    return _with(view, replace(view.topics, factors=frozen(dict(without(view.topics.factors, e.topics)))))


def deletion_requested(view: ClusterView, e: facts.TopicDeletionRequested, at: datetime) -> ClusterView:
    """The tombstone."""
    topics = view.topics
    dying = replace(_known(view, e.name), tombstone=e.reason or "asked for", policy=e.policy)
    by_name = {**topics.by_name, e.name: dying}
    troubles = without(topics.troubles, (e.name,))
    return _with(view, replace(topics, by_name=by_name, pending=topics.pending | {e.name}, troubles=troubles))


def released(view: ClusterView, e: facts.TopicReleased, at: datetime) -> ClusterView:
    """Forgotten; it stays in Kafka."""
    _known(view, e.name)
    return _with(view, kept.forgotten(view.topics, e.name))


def forgiven(view: ClusterView) -> ClusterView:
    """A person lets what was in trouble be tried again at once."""
    return _with(view, kept.tried_again(view.topics))


def _asks_the_same(one: facts.TopicDeclaration, other: facts.TopicDeclaration) -> bool:
    return (one.partitions, one.replicas, one.config) == (other.partitions, other.replicas, other.config)


def _known(view: ClusterView, name: str) -> TopicView:
    return kept.known("topic", view.topics.by_name, name)


def _with(view: ClusterView, topics: TopicsView) -> ClusterView:
    fixed = replace(topics, by_name=frozen(topics.by_name), troubles=frozen(topics.troubles))
    return replace(view, topics=fixed)


RULES: Rules = {
    facts.TopicsDeclared: declared,
    facts.TopicsUndeclared: undeclared,
    facts.TopicsAdopted: adopted,
    facts.TopicsChangeRequested: change_requested,
    facts.TopicsChanged: changed,
    facts.TopicsTroubled: troubled,
    facts.ReplicationRequested: replication_requested,
    facts.ReplicationEnded: replication_ended,
    facts.ReplicationFactorRequested: factor_requested,
    facts.ReplicationFactorEnded: factor_ended,
    facts.TopicDeletionRequested: deletion_requested,
    facts.TopicReleased: released,
}
