"""The fold of a migration from ZooKeeper to KRaft: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules, frozen
from controlplane.cluster.lifecycle import ALIVE, Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.migration import MigrationView
from controlplane.cluster.views.security import at_rest
from controlplane.kafka.zookeeper.migration import Goal, Knows
from events import facts
from events.spec.model import KafkaClusterDocument


def declared(view: ClusterView, document: KafkaClusterDocument) -> KafkaClusterDocument | None:
    """The spec of mode `zookeeper` to keep beside this one, which comes into force now."""
    return document if document.spec.kafka.mode == "zookeeper" else view.quorum.ensemble_spec


def _begun(view: ClusterView, e: facts.MigrationBegun, at: datetime) -> ClusterView:
    if view.quorum.migration is not None or not view.in_zookeeper_mode:
        raise ValueError("only a cluster in ZooKeeper mode migrates, and only once at a time")
    if view.document is None or view.document.spec.kafka.mode != "kraft" or view.quorum.ensemble_spec is None:
        raise ValueError("the spec does not ask for mode kraft")
    return replace(
        view,
        quorum=replace(view.quorum, left_voters=(), migration=MigrationView("kraft", e.generation, at, view.document)),
    )


def _quorum_founded(view: ClusterView, e: facts.MigrationQuorumFounded, at: datetime) -> ClusterView:
    migration = in_hand(view)
    if migration.founding is not None or view.quorum.founding is None:
        raise ValueError("the controllers of this migration are fixed already")
    founding = facts.QuorumFounded(view.quorum.founding.kafka_cluster_id, e.metadata_level, e.voters)
    return replace(view, quorum=replace(view.quorum, migration=replace(migration, founding=founding, since=at)))


def _started(view: ClusterView, e: facts.MigrationServiceStarted, at: datetime) -> ClusterView:
    """Another start of each; a controller's very first is the one it was made for, on a disk that is new."""
    migration, knows = in_hand(view), Knows(e.knows)
    instances = dict(view.instances)
    for key, one in view.instances.items():
        if one.phase not in ALIVE or one.planned.service != e.service or one.service_id not in e.ids:
            continue
        is_first = one.phase is Phase.LAUNCHED and one.service_id not in migration.knows
        instances[key] = one if is_first else replace(one, start=replace(one.start, count=one.start.count + 1))
    sent = {**migration.knows, **dict.fromkeys(e.ids, knows)}
    after = replace(
        migration,
        knows=frozen(sent),
        last=e.ids,
        since=at,
        has_no_way_back=migration.has_no_way_back or e.ends_way_back,
    )
    view = replace(view, instances=frozen(instances))
    return replace(
        view, quorum=replace(view.quorum, migration=replace(after, krafts_since=_krafts_since(view, after, at)))
    )


def _krafts_since(view: ClusterView, migration: MigrationView, at: datetime) -> datetime | None:
    sent = {migration.last_sent("broker", i.service_id) for i in view.brokers()}
    return (migration.krafts_since or at) if sent == {Knows.QUORUM} else None


def _stopped(view: ClusterView, e: facts.MigrationServiceStopped, at: datetime) -> ClusterView:
    migration = in_hand(view)
    sent = frozen({**migration.knows, **dict.fromkeys(e.ids, Knows.STOPPED)})
    gone = migration.has_stopped_controllers or e.service == "controller"
    after = replace(migration, knows=sent, last=e.ids, since=at, krafts_since=None, has_stopped_controllers=gone)
    return replace(view, quorum=replace(view.quorum, migration=after))


def _turned(view: ClusterView, e: facts.MigrationTurned, at: datetime) -> ClusterView:
    migration = in_hand(view)
    if e.goal == "zookeeper" and migration.has_no_way_back:
        raise ValueError("there is no way back to ZooKeeper any more")
    goal: Goal = "zookeeper" if e.goal == "zookeeper" else "kraft"
    return replace(
        view, quorum=replace(view.quorum, migration=replace(migration, goal=goal, generation=e.generation, since=at))
    )


def _ended(view: ClusterView, e: facts.MigrationEnded, at: datetime) -> ClusterView:
    """In KRaft the controllers are the cluster's quorum from here on, and brokers know all of them; whoever has no
    work any more is told its own quorum until it is retired."""
    migration = in_hand(view)
    if e.mode == "zookeeper":
        return replace(view, quorum=replace(view.quorum, migration=None, left_voters=migration.voters))
    if migration.founding is None:
        raise ValueError("no controller has taken over the metadata")
    left = tuple(view.quorum.voters[i] for i in sorted(view.quorum.voters))
    ids = frozenset(v.id for v in migration.voters)
    instances = {
        key: i
        if i.launched_at is None or i.planned.service == "zookeeper"
        else replace(i, start=replace(i.start, listed=ids, protocol=""))
        for key, i in view.instances.items()
    }
    known = view.settings.security  # the steps between plaintext and TLS are those of who votes
    settings = view.settings if known is None else replace(view.settings, security=at_rest(known.to, "controller"))
    return replace(
        view,
        instances=frozen(instances),
        settings=settings,
        quorum=replace(
            view.quorum,
            migration=None,
            left_voters=left,
            founding=migration.founding,
            voters=frozen({v.id: v for v in migration.voters}),
            protocol="",
            cluster_id_fixed=False,
            ensemble_spec=None,
        ),
    )


def in_hand(view: ClusterView) -> MigrationView:
    """Raises ValueError where none is."""
    if view.quorum.migration is None:
        raise ValueError("no migration is in hand")
    return view.quorum.migration


RULES: Rules = {
    facts.MigrationBegun: _begun,
    facts.MigrationQuorumFounded: _quorum_founded,
    facts.MigrationServiceStarted: _started,
    facts.MigrationServiceStopped: _stopped,
    facts.MigrationTurned: _turned,
    facts.MigrationEnded: _ended,
}
