"""The controller nodes as seats of the quorum, who is due for a vote, and who still has to be told of it. Pure."""

from collections.abc import Collection
from dataclasses import replace

from controlplane.cluster.bootstrap_controllers import known_to
from controlplane.cluster.cohosted_zookeeper import stays, votes, voting_on
from controlplane.cluster.lifecycle import ALIVE, Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.controller_moves import is_waiting
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import member_of, members_of
from controlplane.cluster.views.vms import FIRST_CONTROLLER_ID
from controlplane.kafka.gates import Gate
from controlplane.kafka.voters import ForeignVoter, Seat, VoterStep, listed_enough, next_voter_change
from controlplane.runtime.once import once
from planner.observed import KafkaSnapshot
from planner.rollout.desired import desired_nodes
from planner.rollout.passing import LEAST_TO_MOVE

_STOPPED = (Phase.FENCED, Phase.RELEASED, Phase.RETIRING, Phase.RETIRED)
_HANDED = (Phase.FENCING, Phase.FENCED, Phase.RELEASED)


@once
def seats(view: ClusterView) -> tuple[Seat, ...]:
    """The cluster's controller nodes, by id. One whose VM is on its way in gets its vote even if the spec has changed
    its mind meanwhile: it leaves in order afterwards."""
    wanted, service = wanted_nodes(view), view.quorum_service
    had: dict[int, list[InstanceView]] = {}
    for instance in view.instances.values():
        if instance.planned.service == service:
            had.setdefault(instance.service_id, []).append(instance)
    if service == "zookeeper":
        for member in members_of(view.instances.values()):
            had.setdefault(member.service_id, []).append(member)
    there = {number: [i for i in held if _may_sit(view, i)] for number, held in sorted(had.items())}
    return tuple(_with_others(_seat(view, those, wanted), had[number]) for number, those in there.items() if those)


def voter_change_due(view: ClusterView, kafka: KafkaSnapshot, *, only: Collection[int] = ()) -> VoterStep | None:
    """The next change for the view as it is, of those that leave `only` these where ids are named; its gate is closed
    while a person, or another change, has to be waited for."""
    step = next_voter_change(kafka.quorum, seats(view), only=only)
    if step is None or isinstance(step, ForeignVoter):
        return None
    held = _held_by(view, kafka, step)
    return VoterStep(step.adds, step.seat, step.directory_id, Gate(False, held)) if held else step


def foreign_voter_among(view: ClusterView, kafka: KafkaSnapshot) -> str:
    """A voter that is none of ours, in words; "" where there is none."""
    step = next_voter_change(kafka.quorum, seats(view))
    if not isinstance(step, ForeignVoter):
        return ""
    return (
        f"voter {step.id} with directory {step.directory_id} is none of this cluster's controllers: the voters are not "
        "changed before it is gone"
    )


def address_of_seat(view: ClusterView, seat: Seat) -> str:
    """Where the directory that votes, or is to, is spoken to; "" where nobody runs on it."""
    there = (i for i in view.controllers() if i.planned.volumes[0].directory_id == seat.directory_id)
    return next((view.seat_address(i) for i in there if i.service_id == seat.id), "")


def lacks_majority(view: ClusterView) -> str:
    """Why nobody can change the quorum, and what it needs, where so many voters have lost their disks that the others
    are no majority; "" while they are one."""
    voting = [i for i in view.controllers() if _votes_from_its_disk(view, i)]
    broken = sorted(i.node for i in voting if view.is_broken(i))
    voters = len(view.quorum.voters)
    intact, needed = voters - len(broken), voters // 2 + 1
    if not broken or intact >= needed:
        return ""
    return (
        f"{' and '.join(broken)} have lost their disks, and {intact} of {voters} voters is no majority: "
        f"{needed - intact} of them must serve again with the disk it had. Until then nobody is stopped, and no vote "
        "is removed"
    )


def _votes_from_its_disk(view: ClusterView, instance: InstanceView) -> bool:
    voter = view.quorum.voters.get(instance.service_id)
    return voter is not None and voter.directory_id == instance.planned.volumes[0].directory_id


def must_leave_first(view: ClusterView, successor: InstanceView) -> bool:
    """Whether the directory this successor does not take over still has a vote, as far as is recorded."""
    voter = view.quorum.voters.get(successor.service_id)
    return (
        successor.planned.new_disk
        and voter is not None
        and voter.directory_id != successor.planned.volumes[0].directory_id
    )


def remembered(view: ClusterView) -> tuple[InstanceView, ...]:
    """Controllers that left the quorum for good and never came back, as they last were. Kafka keeps their
    registrations, with the versions they supported, for ever: no message of 4.1 or 4.2 unregisters a controller."""
    there, ids = {i.node for i in view.controllers()}, {i.service_id for i in view.controllers()}
    left: dict[str, InstanceView] = {}
    for i in view.instances.values():
        if (
            i.departure.drained
            and i.planned.service == view.quorum_service
            and i.node not in there
            and i.service_id not in ids
        ):
            left[i.node] = max(i, left.get(i.node, i), key=lambda one: one.planned.generation)
    return tuple(left[n] for n in sorted(left))


def size_to_bring_back(view: ClusterView) -> int:
    """How many controllers the spec has to ask for so that those come back: the next size a quorum may have."""
    size = view.document.spec.quorum_size if view.document else 0
    return (size + len(remembered(view))) | 1


def id_for(view: ClusterView, node: str, given: Collection[int]) -> int:
    """The id of a controller's node that has no VM: its own, unless another node has taken that over; else one that
    Kafka remembers of a node that is not to come back; else the next one that nobody ever had. `given` are others of
    the same intent."""
    used = {i.service_id for i in (*view.controllers(), *view.beside_quorum())}.union(given)
    # Brokers know servers that were beside others by an address that is nobody's any more.
    used |= {n for i in view.brokers() if i.planned.member is not None for n in i.start.listed or ()}
    known = view.quorum.controller_ids.get(node)
    if known is not None and known not in used:
        return known
    wanted = wanted_nodes(view)
    left = (i.service_id for i in remembered(view) if i.node not in wanted)
    renewed = next((number for number in left if number not in used), None)
    if renewed is not None:
        return renewed
    used |= set(view.quorum.controller_ids.values())
    return next(i for i in range(FIRST_CONTROLLER_ID, FIRST_CONTROLLER_ID + 100) if i not in used)


def thin_list(view: ClusterView, instance: InstanceView) -> str:
    """Why a broker is to be told the controllers anew, "" while the list of its last start does: once the spec's
    controllers vote, it has to name more of them than may fail at once."""
    if not instance.is_broker or instance.start.listed is None or view.document is None:
        return ""
    voters, listed = _ids_to_be(view), known_to(view, instance)
    if _has_members(view):
        voters = frozenset(view.quorum.voters) - {m.service_id for m in members_to_leave(view)}
    if listed_enough(listed, voters):
        return ""
    named, needed = len(listed & voters), (len(voters) - 1) // 2 + 1
    if listed != instance.start.listed:
        return f"once the next controller has moved it knows {named} of the {len(voters)}, {needed} are needed"
    return f"it was told of {named} of the {len(voters)} controllers, {needed} are needed"


@once
def has_thin_list(view: ClusterView) -> bool:
    """Asked of every cluster at every tick: worked out once for each copy of the view."""
    return any(thin_list(view, i) for i in view.brokers())


@once
def members_to_leave(view: ClusterView) -> tuple[InstanceView, ...]:
    """Servers beside brokers that vote and are to leave while their VMs stay, since the spec has servers in a pool of
    their own: nobody before all of those vote."""
    if not view.in_zookeeper_mode or not _has_members(view):
        return ()
    alone, hosts = wanted_nodes(view, "zookeeper"), _wanted_hosts(view)
    if not alone or not alone <= {voter.node for voter in view.quorum.voters.values()}:
        return ()
    there = (m for m in members_of(view.brokers()) if m.phase is Phase.JOINED and not m.lost and m.node not in hosts)
    return tuple(m for m in there if votes(view, m))


@once
def brokers_to_tell(view: ClusterView) -> tuple[InstanceView, ...]:
    """Who has to be started anew before the servers on the emptied VMs leave, by key."""
    leaving = {m.service_id for m in voting_on(view, view.in_phase(Phase.LINGERING))}
    few = knowing_too_few(view, leaving) if leaving else ()
    return tuple(i for i in few if i.phase is Phase.JOINED)


def knowing_too_few(
    view: ClusterView, leaving: Collection[int], *, filled: Collection[int] = ()
) -> tuple[InstanceView, ...]:
    """Brokers with replicas that would know too few of those who stay, once these servers beside brokers leave; by key.
    One beside a server that stays knows that one, which lives as long as it does. `filled` are ids of brokers that were
    emptied and have replicas again."""
    left = view.quorum.voters.keys() - frozenset(leaving)
    if not left:
        return ()
    there = (i for i in view.brokers() if not i.lost)
    serving = (i for i in there if i.phase in (Phase.JOINED, Phase.DRAINING) or i.service_id in filled)
    # A server that has lost its directory is none that its broker could count on.
    elsewhere = (i for i in serving if (own := member_of(i)) is None or own.service_id in leaving or view.is_broken(i))
    short = (i for i in elsewhere if i.start.listed is not None and not listed_enough(i.start.listed, left))
    return tuple(sorted(short, key=lambda i: i.key))


@once
def _has_members(view: ClusterView) -> bool:
    """Whether servers of the ensemble are on the VMs of brokers."""
    return bool(members_of(view.brokers()))


def _may_sit(view: ClusterView, instance: InstanceView) -> bool:
    """A hosted server whose VM was given up at a birth may have its vote still."""
    return instance.phase in ALIVE or (instance.hosted and votes(view, instance))


def _seat(view: ClusterView, there: list[InstanceView], wanted: set[str]) -> Seat:
    """Who waits to take over from another one sits nowhere yet."""
    holders = [i for i in there if i.phase not in (Phase.RETIRING, Phase.FAILED) and not is_waiting(i)] or there
    newest = holders[-1]
    if newest.hosted:
        directory, stay = newest.planned.volumes[0].directory_id, stays(view, newest, _wanted_hosts(view))
        return Seat(newest.node, newest.service_id, newest.planned.index, directory, stay, hosted=True)
    arrives = newest.phase is Phase.LAUNCHED and not newest.departure.drained
    stay = (newest.node in wanted and not newest.departure.drained) or arrives or newest.key in view.controller_moves()
    planned = newest.planned
    directory, swaps = planned.volumes[0].directory_id, bool(planned.relieves)
    return Seat(planned.node, planned.service_id, planned.index, directory, stay, swaps=swaps)


def _with_others(seat: Seat, instances: list[InstanceView]) -> Seat:
    """Directories that older instances of the node had; those nobody can run on any more are lost."""
    had: dict[str, list[InstanceView]] = {}
    for i in instances:
        had.setdefault(i.planned.volumes[0].directory_id, []).append(i)
    if seat.hosted:
        return seat  # its id was never anybody else's
    others = frozenset(had) - {seat.directory_id}
    over = frozenset(d for d in others if all(i.lost or i.phase in _STOPPED for i in had[d]))
    return replace(seat, others=others, lost=over)


@once
def _ids_to_be(view: ClusterView) -> frozenset[int]:
    """Ids of the controllers the spec asks for. Nodes that are still to be made take over those of nodes that leave;
    beyond them they have ids nobody was ever told."""
    nodes = wanted_nodes(view, view.quorum_service)
    ids = {i for n, i in view.quorum.controller_ids.items() if n in nodes}
    new = len(nodes) - len({n for n in view.quorum.controller_ids if n in nodes})
    left = sorted({i.service_id for i in view.controllers() if i.node not in nodes and not i.departure.drained} - ids)
    passed = left[:new] if len(view.quorum.voters) >= LEAST_TO_MOVE else []
    return frozenset(ids.union(passed, range(-1, len(passed) - new - 1, -1)))


def wanted_nodes(view: ClusterView, service: str = "") -> set[str]:
    """Names of the nodes that are to be there, of that service only where one is named."""
    spec = view.working_spec()
    return {n.node for n in desired_nodes(spec) if service in ("", n.service)} if spec else set()


@once
def _wanted_hosts(view: ClusterView) -> set[str]:
    """Names of the nodes that are to have a ZooKeeper server beside a broker."""
    spec = view.working_spec()
    return {n.node for n in desired_nodes(spec) if n.member_heap_mib} if spec else set()


def _held_by(view: ClusterView, kafka: KafkaSnapshot, step: VoterStep) -> str:
    """What else is in hand, "" when nothing is. A static quorum (kraft.version 0) cannot be changed at all."""
    feature = kafka.features.get("kraft.version")
    if feature is not None and feature.finalised < 1:
        return "the quorum is static (kraft.version 0): it is made dynamic when the feature levels of 4.1 are finalised"
    handed = [i for i in view.in_phase(*_HANDED) if not i.is_broker and not i.departure.drained]
    handed = [i for i in handed if i.node != step.seat.node and not view.of_node(i.node)[-1].bound]
    if handed:
        return f"{handed[0].key} is being handed over"
    if view.settings.restarts:
        return f"{min(view.settings.restarts)} is being restarted"
    # A feature level that was being raised is no reason: the controller takes one change after the other, and a spec
    # that came meanwhile has the raise wait for its own nodes first.
    return ""
