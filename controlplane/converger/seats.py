"""The controller nodes as seats of the quorum, who is due for a vote, and who still has to be told of it. Pure."""

from dataclasses import replace

from controlplane.kafka.gates import Gate
from controlplane.kafka.voters import Seat, Stranger, VoterStep, listed_enough, next_voter_change
from controlplane.replacement import Phase
from controlplane.view import ClusterView, InstanceView, once
from planner.observed import KafkaSnapshot
from planner.rollout.desired import desired_nodes

_STOPPED = (Phase.FENCED, Phase.RELEASED, Phase.RETIRING, Phase.RETIRED)
_HANDED = (Phase.FENCING, Phase.FENCED, Phase.RELEASED)


@once
def seats(view: ClusterView) -> tuple[Seat, ...]:
    """The cluster's controller nodes, by id. One whose VM is on its way in gets its vote even if the spec has changed
    its mind meanwhile: it leaves in order afterwards."""
    wanted = {n.node for n in desired_nodes(view.document)} if view.document else set()
    found = (_seat(there, wanted) for there in view.nodes().values())
    past = {n: [i for i in view.instances.values() if i.node == n] for n in view.nodes()}
    return tuple(sorted((_with_others(s, past[s.node]) for s in found if s is not None), key=lambda s: s.id))


def voter_change_due(view: ClusterView, kafka: KafkaSnapshot) -> VoterStep | None:
    """The next change for the view as it is; its gate is closed while a person, or another change, has to be waited
    for."""
    step = next_voter_change(kafka.quorum, seats(view))
    if step is None or isinstance(step, Stranger):
        return None
    held = _held_by(view, kafka, step)
    return VoterStep(step.adds, step.seat, step.directory_id, Gate(False, held)) if held else step


def stranger_among(view: ClusterView, kafka: KafkaSnapshot) -> str:
    """A voter that is none of ours, in words; "" where there is none."""
    step = next_voter_change(kafka.quorum, seats(view))
    if not isinstance(step, Stranger):
        return ""
    return (
        f"voter {step.id} with directory {step.directory_id} is none of this cluster's controllers: the voters are not "
        "changed before it is gone"
    )


def must_leave_first(view: ClusterView, heir: InstanceView) -> bool:
    """Whether the directory this successor does not take over still has a vote, as far as is recorded."""
    voter = view.voters.get(heir.service_id)
    return heir.planned.new_disk and voter is not None and voter.directory_id != heir.planned.volumes[0].directory_id


def remembered(view: ClusterView) -> tuple[InstanceView, ...]:
    """Controllers that left the quorum for good and never came back, as they last were. Kafka keeps their
    registrations, with the versions they supported, for ever: no message of 4.1 or 4.2 unregisters a controller."""
    there = {i.node for i in view.controllers()}
    left: dict[str, InstanceView] = {}
    for i in view.instances.values():
        if i.drained and not i.is_broker and i.node not in there:
            left[i.node] = max(i, left.get(i.node, i), key=lambda one: one.planned.generation)
    return tuple(left[n] for n in sorted(left))


def size_to_bring_back(view: ClusterView) -> int:
    """How many controllers the spec has to ask for so that those come back: the next size a quorum may have."""
    size = view.document.spec.quorum_size if view.document else 0
    return (size + len(remembered(view))) | 1


def thin_list(view: ClusterView, instance: InstanceView) -> str:
    """Why a broker is to be told the controllers anew, "" while the list of its last start does: once the spec's
    controllers vote, it has to name more of them than may fail at once."""
    if not instance.is_broker or instance.listed is None or view.document is None:
        return ""
    nodes = {n.node for n in desired_nodes(view.document) if n.service != "broker"}
    ids = {i for n, i in view.controller_ids.items() if n in nodes}
    # Nodes that are still to be made have ids nobody was ever told.
    voters = ids | {-k for k in range(1, len(nodes) - len(ids) + 1)}
    if listed_enough(instance.listed, voters):
        return ""
    named = len(instance.listed & voters)
    return f"it was told of {named} of the {len(voters)} controllers, {(len(voters) - 1) // 2 + 1} are needed"


@once
def has_thin_list(view: ClusterView) -> bool:
    """A cheap look, asked of every cluster at every tick."""
    size = view.document.spec.quorum_size if view.document else 0
    if not any(i.listed is not None and 2 * len(i.listed) <= size for i in view.brokers()):
        return False
    return any(thin_list(view, i) for i in view.brokers())


def _seat(there: tuple[InstanceView, ...], wanted: set[str]) -> Seat | None:
    holders = [i for i in there if i.phase not in (Phase.RETIRING, Phase.FAILED)] or list(there)
    newest = holders[-1]
    if newest.is_broker:
        return None
    arrives = newest.phase is Phase.LAUNCHED and not newest.drained
    stays = (newest.node in wanted and not newest.drained) or arrives
    planned = newest.planned
    return Seat(planned.node, planned.service_id, planned.index, planned.volumes[0].directory_id, stays)


def _with_others(seat: Seat, instances: list[InstanceView]) -> Seat:
    """Directories that older instances of the node had; those nobody can run on any more are lost."""
    had: dict[str, list[InstanceView]] = {}
    for i in instances:
        had.setdefault(i.planned.volumes[0].directory_id, []).append(i)
    others = frozenset(had) - {seat.directory_id}
    over = frozenset(d for d in others if all(i.lost or i.phase in _STOPPED for i in had[d]))
    return replace(seat, others=others, lost=over)


def _held_by(view: ClusterView, kafka: KafkaSnapshot, step: VoterStep) -> str:
    """What else is in hand, "" when nothing is. A static quorum (kraft.version 0) cannot be changed at all."""
    feature = kafka.features.get("kraft.version")
    if feature is not None and feature.finalised < 1:
        return "the quorum is static (kraft.version 0): it is made dynamic when the feature levels of 4.1 are finalised"
    handed = [i for i in view.in_phase(*_HANDED) if not i.is_broker and not i.drained]
    handed = [i for i in handed if i.node != step.seat.node and not view.of_node(i.node)[-1].bound]
    if handed:
        return f"{handed[0].key} is being handed over"
    if view.restart is not None:
        return f"{view.restart.key} is being restarted"
    # A feature level that was being raised is no reason: the controller takes one change after the other, and a spec
    # that came meanwhile has the raise wait for its own nodes first.
    return ""
