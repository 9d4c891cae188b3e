"""The next VMs, fixed as an intent before anything is made: id, address, disks and settings, new or those of who they
follow."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from controlplane.cluster.cohosted_zookeeper import next_member_id
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.places import place_of, place_to_stay_in, planned_place
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import member_of
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.quorum import controller_moves
from controlplane.converger.questions.quorum.seats import id_for
from controlplane.converger.questions.rolls import founding, images, node_volumes, refusals
from controlplane.converger.questions.rolls.lost_disks import DiskOfLost, disks_of_lost
from controlplane.converger.questions.rolls.sizes import planned_sizes, unsized_machine
from controlplane.converger.questions.services.applied_settings import config_to_make, settings_to_make
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.rolls import tagging
from events import facts
from events.ids import intent_id, kafka_uuid
from events.spec.settings import spec_config
from planner.rollout.desired import DesiredNode
from planner.rollout.diff import NodeChange
from planner.rollout.order import Work
from providers.base import Place
from providers.handover import Handover

_HANDED_OVER = frozenset({Phase.FENCING, Phase.FENCED, Phase.RELEASED})


def surge(situation: Situation, work: Work) -> Decision:
    """Asks for the VMs of this work, with all that is to stay of who they follow."""
    view = situation.view
    next_broker = view.vms.next_broker_id
    given: set[int] = set()
    sizes: dict[str, facts.PlannedSize] = {}
    public: set[str] = set()
    planned: list[facts.PlannedInstance] = []
    if view.reattaches_lost and (unknown := _unknown_disk(situation, work)):
        return unknown
    for change in work.nodes:
        if change.desired is None:
            continue
        old = change.incumbent
        if change.service == "broker" and old is not None and _reattaches(situation, old.key, change.desired):
            service_id = old.service_id
        elif change.service == "broker":
            service_id, next_broker = next_broker, next_broker + 1
        else:
            service_id = old.service_id if old is not None else id_for(view, change.node, given)
            given.add(service_id)
        made = _plan_instance(situation, change, change.desired, service_id)
        sizes |= planned_sizes(made.key, change.desired)
        public |= {made.key} if change.desired.addresses.public else set()
        if change.desired.member_heap_mib:
            made = _with_member(view, made, change.desired, given)
            given.update({made.member.service_id} if made.member else ())
        planned.append(made)
    if refused := _controller_move_refused(situation, planned):
        return refused
    told = [p for p in planned if p.handover or p.service == "controller"]
    ways = {p.key: situation.seen.clouds.handover_on(_place_of_plan(view, p).cloud) for p in told}
    if None in ways.values():
        why = situation.seen.missing.get("handover", "its cloud does not tell")
        return wait(
            WaitReason.INVENTORY_UNKNOWN, f"not making {told[0].key}: how addresses pass there is unknown: {why}"
        )
    if successors := [p for p in planned if _inherits_address(p) and ways[p.key] is Handover.NONE]:
        sentence = (
            f"not replacing {successors[0].node}: on this cloud an address stays with its VM, and the other members "
            "would look for the controller where it was"
        )
        return wait(WaitReason.ADDRESS_STAYS, sentence, next_command=f"kedge describe {view.name}", patience_s=0)
    if unsized := unsized_machine(view, planned, sizes):
        return unsized
    planned = [images.with_image(situation, p, _place_of_plan(view, p)) for p in planned]
    keys = ",".join(p.key for p in planned)
    return record(f"creating {keys}: {work.reason}", *_surges(view, planned, work.reason, sizes, public))


def _controller_move_refused(situation: Situation, planned: Sequence[facts.PlannedInstance]) -> Decision | None:
    """Why a controller cannot be moved as things are, before anything is made for it."""
    successor = next((p for p in planned if p.relieves), None)
    if successor is None or not (reason := controller_moves.why_no_controller_move(situation)):
        return None
    sentence = f"not making {successor.key} in the place of {successor.relieves}: {reason}"
    next_command = f"kedge describe {situation.view.name}"
    return wait(WaitReason.CONTROLLER_STAYS, sentence, next_command=next_command, patience_s=0)


def _with_member(
    view: ClusterView, made: facts.PlannedInstance, want: DesiredNode, given: set[int]
) -> facts.PlannedInstance:
    """With a ZooKeeper server of its own id, which keeps its data on the broker's first disk."""
    directory = kafka_uuid("directory", view.uid, f"{made.volumes[0].key}.zookeeper")
    return replace(made, member=facts.PlannedMember(next_member_id(view, given), directory, want.member_heap_mib))


def _surges(
    view: ClusterView,
    planned: Sequence[facts.PlannedInstance],
    reason: str,
    sizes: Mapping[str, facts.PlannedSize],
    public: Collection[str],
) -> list[facts.SurgeRequested]:
    """One for each place: each has a Terraform state, and so a run, of its own."""
    places: dict[str, list[facts.PlannedInstance]] = {}
    for one in planned:
        places.setdefault(str(_place_of_plan(view, one)), []).append(one)
    return [
        facts.SurgeRequested(
            intent_id(view.uid, "surge", ",".join(p.key for p in there), 1),
            tuple(there),
            reason,
            {p.key: sizes[p.key] for p in there if p.key in sizes},
            tuple(p.key for p in there if p.key in public),
        )
        for there in places.values()
    ]


def _place_of_plan(view: ClusterView, planned: facts.PlannedInstance) -> Place:
    place = planned_place(view, planned)
    if place is None:
        raise LookupError(f"nothing tells where {planned.key} is to be")
    return place


def _inherits_address(planned: facts.PlannedInstance) -> bool:
    return planned.handover and planned.service != "broker" and not planned.relieves


def _plan_instance(
    situation: Situation, change: NodeChange, want: DesiredNode, service_id: int
) -> facts.PlannedInstance:
    view, way = situation.view, situation.seen.clouds.handover_on
    past = [i for i in view.instances.values() if i.node == want.node]
    spent = view.vms.spent.get(want.node)
    generation = max((*(i.planned.generation for i in past), spent.generation if spent else 0)) + 1
    holders = [i for i in past if i.phase not in (Phase.RETIRED, Phase.FAILED, Phase.RETIRING)]
    old = max(holders, key=lambda i: i.planned.generation, default=None)
    moves_from = controller_moves.controller_to_move(view, change, way)
    inherits = (
        _takes_over(view, past)
        if want.service != "broker"
        else old is not None and _reattaches(situation, old.key, want)
    )
    # A broker's disk is that of who holds the node now: a later VM that failed may have had one of its own elsewhere.
    line = past if want.service != "broker" or old is None else [old]
    stays = place_to_stay_in(view, line, want.place) if inherits and not moves_from else None
    new_disk = bool(moves_from) or (inherits and want.service != "broker" and node_volumes.disk_is_no_use(view, past))
    new_dirs = _new_dirs(view, old) if inherits and want.service == "broker" else ()
    volumes = (
        node_volumes.volumes_of_node(view, line)
        if inherits and not new_disk
        else node_volumes.new_volumes(view, want, past)
    )
    volumes = node_volumes.with_new_ones(view, want, volumes, new_dirs, past) if new_dirs else volumes
    cloud = stays.cloud if stays else want.place.partition("/")[0]
    cloud_way = way(cloud)
    config, settings = _config_to_make(view, want, refused=refusals.refused_settings(situation))
    if want.service == "zookeeper":
        config, settings = None, {}
    return facts.PlannedInstance(
        node=want.node,
        generation=generation,
        pool=want.pool,
        rack=want.rack,
        index=want.index,
        service=want.service,
        service_id=service_id,
        digest=node_volumes.digest_made_with(view, want, config, volumes),
        kafka_version=want.kafka_version,
        shape=want.shape,
        heap_mib=want.heap_mib,
        jvm_options=want.jvm.options,
        settings=settings,
        volumes=volumes,
        replaces=old.planned.generation if old else 0,
        handover=inherits or bool(moves_from),
        config=config,
        deferred=inherits and not moves_from and cloud_way is Handover.DELETE_FIRST,
        new_disk=new_disk,
        new_dirs=new_dirs,
        place=stays,
        spot=want.spot,
        ipv6=want.addresses.ipv6,
        relieves=moves_from,
        vm_address=want.service == "controller" and cloud_way is Handover.NONE,
        cost_tags=tagging.tags_to_make(situation, old if inherits and not moves_from else None, cloud),
    )


def _new_dirs(view: ClusterView, old: InstanceView | None) -> tuple[str, ...]:
    """Directories of a broker that begin anew on the VM that takes over the others."""
    asked = view.requests.to_replace.get(old.key) if old is not None else None
    return asked.disks if asked is not None else ()


def _takes_over(view: ClusterView, past: Sequence[InstanceView]) -> bool:
    """Whether a controller's node is still somebody's: one that left the quorum for good begins anew, as its old id,
    and so does one that never came up before there was a quorum."""
    if founding.is_unfounded(view):
        return False
    newest = max(past, key=lambda i: i.planned.generation, default=None)
    return newest is not None and not newest.departure.drained


def _config_to_make(
    view: ClusterView, want: DesiredNode, *, refused: frozenset[str]
) -> tuple[Mapping[str, str] | None, dict[str, str]]:
    """The spec's settings where they are not to be those in force, and the properties that go with them."""
    if view.document is None:
        return None, dict(want.settings)
    config = config_to_make(view, view.document, want.pool, refused)
    if config == spec_config(view.document, want.pool):
        return None, dict(want.settings)
    return config, settings_to_make(view, view.document, want.pool, want.settings, refused)


def _unknown_disk(situation: Situation, work: Work) -> Decision | None:
    """A wait where nobody knows whether the disk of a lost broker is there: it is neither taken nor copied then."""
    for change in work.nodes:
        old = situation.view.instances.get(change.incumbent.key) if change.incumbent else None
        if change.desired is None or old is None or not (old.lost and old.phase is Phase.JOINED and old.is_broker):
            continue
        unknown = disks_of_lost(situation, old, change.desired.rack) is DiskOfLost.UNKNOWN
        if unknown and _may_reattach(situation.view, old, change.desired) and _hands_over_lost(situation.view, old):
            sentence = f"not replacing {old.node}: whether its disk is there is unknown until its cloud answers"
            return wait(WaitReason.INVENTORY_UNKNOWN, sentence)
    return None


def _reattaches(situation: Situation, key: str, want: DesiredNode) -> bool:
    """Whether a broker's successor takes over its disk and its id: by policy, by the spec's wish since its VM is gone
    and its disk is not, or because a handover is under way."""
    view = situation.view
    instance = view.instances[key]
    if not _may_reattach(view, instance, want):
        return False
    asked = view.requests.to_replace.get(key)
    under_way = instance.phase is not Phase.JOINED and (
        instance.planned.handover or (instance.phase in _HANDED_OVER and view.hands_over(instance))
    )
    if under_way:
        return True
    if instance.lost and view.reattaches_lost:
        free = disks_of_lost(situation, instance, want.rack) is DiskOfLost.FREE
        return free and _hands_over_lost(view, instance)
    return _strategy(view) == "reattach" or (asked is not None and bool(asked.disks))


def _hands_over_lost(view: ClusterView, lost: InstanceView) -> bool:
    """Whether a lost broker's disks are to pass on. A migration to KRaft keeps the ids of its brokers; of a broker that
    a person wanted empty nothing is wanted back."""
    asked = view.requests.to_replace.get(lost.key)
    wanted = lost.key not in view.requests.evacuations
    return bool(view.quorum.migration) or wanted or (asked is not None and bool(asked.disks))


def _strategy(view: ClusterView) -> str:
    return view.document.spec.rollout.strategy if view.document and not view.quorum.migration else "reattach"


def _may_reattach(view: ClusterView, instance: InstanceView, want: DesiredNode) -> bool:
    """Whether its disks can be those of the next VM. No disk goes to another place: who moves is copied, unless its
    handover has to be ended first."""
    if want.member_heap_mib or member_of(instance) is not None:
        return False  # the server beside it leaves after the next VM serves
    if instance.phase is Phase.JOINED and str(place_of(view, instance)) != want.place:
        return False
    asked = view.requests.to_replace.get(instance.key)
    if asked is not None and asked.new_disk:
        return False
    outlives = all(v.kind == "persistent" for v in instance.planned.volumes)
    as_wanted = instance.phase is not Phase.JOINED or node_volumes.disks_are_as_wanted(view, instance, want)
    return outlives and as_wanted
