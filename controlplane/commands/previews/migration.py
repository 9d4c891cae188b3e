"""The plan of a migration from ZooKeeper to KRaft, of what is left of it, or of the way back: phases for people. Pure.

The order is that of `controlplane.kafka.zookeeper.migration`; which controller leads, and so goes last, is known in
its turn.
"""

from collections.abc import Iterable, Sequence

from controlplane.cluster.quorum_config import knows
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.kafka.zookeeper.migration import Knows
from events.facts import PlannedInstance
from events.spec.model import KafkaClusterDocument
from planner.rollout.desired import DesiredNode, desired_nodes
from planner.rollout.diff import Change
from planner.rollout.steps import BOOT_S, RESTART_S, RolloutPhase, RolloutStep

NO_WAY_BACK = (
    "it has a point of no return: from the first controller told of the quorum alone on there is no way back to "
    "ZooKeeper. Until then the spec of before, applied again, takes the cluster back"
)
_RESTARTED = ("stop", "start", "back in sync")


def is_planned(view: ClusterView, document: KafkaClusterDocument) -> bool:
    """Whether this document takes that cluster to KRaft, on the way there, or back."""
    if not view.in_zookeeper_mode or view.quorum.ensemble_spec is None:
        return False
    return document.spec.kafka.mode == "kraft" or view.quorum.migration is not None


def migration_phases(view: ClusterView, document: KafkaClusterDocument) -> tuple[RolloutPhase, ...]:
    """What is left to do for it, in order. Each broker is started anew twice on the way there, each controller once
    after its first start."""
    phases = _forward(view, document) if document.spec.kafka.mode == "kraft" else _back(view)
    return tuple(phase for phase in phases if phase.steps)


def migration_warnings(view: ClusterView, document: KafkaClusterDocument) -> list[str]:
    """The point of no return, while it lies ahead."""
    ahead = view.quorum.migration is None or not view.quorum.migration.has_no_way_back
    return [NO_WAY_BACK] if ahead and document.spec.kafka.mode == "kraft" else []


def _forward(view: ClusterView, document: KafkaClusterDocument) -> Iterable[RolloutPhase]:
    brokers, wanted = _brokers(view), [n for n in desired_nodes(document) if n.service == "controller"]
    sent = {b.key: knows(view, b) for b in brokers}
    there = {i.node for i in view.beside_quorum()}
    made = [n for n in wanted if n.node not in there]
    yield RolloutPhase(f"create {len(made)} controllers", len(made) > 1, tuple(map(_created, made)))
    started = _controllers(view, wanted, Knows.STOPPED)
    why = "told of the ensemble and of one another, they wait; brokers are as they were"
    title = f"start {len(started)} controllers beside the ensemble"
    yield RolloutPhase(title, True, tuple(_restart(n, why, ("start", "elect a leader")) for n in started))
    bridged = [b for b in brokers if sent[b.key] in (Knows.ENSEMBLE, Knows.STOPPED)]
    why = "told of both; after the last one the quorum takes the metadata over, and writes it to ZooKeeper, too"
    yield _restart_phase(bridged, ", one at a time, told of both", why)
    moved = [b for b in brokers if sent[b.key] is not Knows.QUORUM]
    why = "told of the quorum alone: it is a KRaft broker with the same id and disks"
    yield _restart_phase(moved, " once more, one at a time, told of the quorum alone", why)
    released = _controllers(view, wanted, Knows.STOPPED, Knows.BOTH)
    title = f"restart {len(released)} controllers, one at a time, the leader last, told of the quorum alone "
    ends = view.quorum.migration is None or not view.quorum.migration.has_no_way_back
    title += "(no way back from the first one on)" if ends else "(there is no way back any more)"
    why = "told of the quorum alone: what changes from here on is not written to ZooKeeper"
    steps = [_restart(n, why) for n in released]
    if steps and ends:
        soak = document.spec.rollout.soak_s
        steps[0] = _restart(released[0], why, ("soak", *_RESTARTED), soak)
    yield RolloutPhase(title, False, tuple(steps))
    servers = [i for i in view.alive() if i.planned.service == "zookeeper"]
    why = "nobody needs the ensemble any more"
    removed = tuple(_removed(i, why) for i in sorted(servers, key=lambda i: i.node))
    yield RolloutPhase(f"remove {len(removed)} ZooKeeper servers, one at a time", False, removed)


def _back(view: ClusterView) -> Iterable[RolloutPhase]:
    brokers = _brokers(view)
    sent = {b.key: knows(view, b) for b in brokers}
    krafts = [b for b in brokers if sent[b.key] is Knows.QUORUM]
    yield _restart_phase(krafts, ", one at a time, told of both again", "told of both again")
    back = [b for b in brokers if sent[b.key] is not Knows.ENSEMBLE]
    why = "told of the ensemble alone; where the quorum leads the first one stops before it does, and leads after it"
    yield _restart_phase(back, ", one at a time, told of the ensemble alone", why)
    there = sorted((i for i in view.beside_quorum()), key=lambda i: i.node)
    why = "the cluster keeps its metadata in ZooKeeper"
    yield RolloutPhase(f"remove {len(there)} controllers", False, tuple(_removed(i, why) for i in there))


def _restart_phase(brokers: Sequence[InstanceView], how: str, why: str) -> RolloutPhase:
    return RolloutPhase(f"restart {len(brokers)} brokers{how}", False, tuple(_restart(b.planned, why) for b in brokers))


def _brokers(view: ClusterView) -> list[InstanceView]:
    newest = {i.service_id: i for i in sorted(view.brokers(), key=lambda i: i.planned.generation)}
    return [newest[b] for b in sorted(newest)]


def _controllers(view: ClusterView, wanted: Sequence[DesiredNode], *sent: Knows) -> list[DesiredNode]:
    """Those that were told no more than that; one that is still to be made was told nothing."""
    there = {i.node: knows(view, i) for i in view.beside_quorum()} if view.quorum.migration is not None else {}
    return [n for n in wanted if there.get(n.node, Knows.STOPPED) in sent]


def _created(node: DesiredNode) -> RolloutStep:
    reason = f"{node.node} does not exist yet"
    return RolloutStep(Change.CREATE, node.node, node.rack, node.service, reason, ("create",), 0, BOOT_S)


def _restart(
    node: DesiredNode | PlannedInstance, reason: str, how: tuple[str, ...] = _RESTARTED, waits_s: float = 0.0
) -> RolloutStep:
    title = f"{node.node}: {reason}"
    return RolloutStep(Change.RESTART, node.node, node.rack, node.service, title, how, 0, RESTART_S + waits_s)


def _removed(instance: InstanceView, reason: str) -> RolloutStep:
    p = instance.planned
    how = ("stop", "retire")
    return RolloutStep(Change.REMOVE, p.node, p.rack, p.service, f"{p.node}: {reason}", how, 0, RESTART_S)
