"""New work: which nodes to make, replace or remove next, fixed as an intent before anything happens."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from controlplane.cluster.cohosted_zookeeper import next_member_id
from controlplane.cluster.healing_switches import is_being_cured, why_not
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.places import place_of, place_to_stay_in, planned_place
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import member_of
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.evacuation_room import heirs_have_room, room_without
from controlplane.converger.questions.quorum import controller_moves
from controlplane.converger.questions.quorum.seats import id_for
from controlplane.converger.questions.rolls import drain_requests, founding, images, node_volumes, refusals
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.questions.services.applied_settings import config_to_make, settings_to_make
from controlplane.converger.situation.decision import SurgeAsk, Verdict, Wait, record, wait
from controlplane.converger.situation.situation import Situation, SurgeShare
from controlplane.converger.steps.quorum.voters import leave_step
from controlplane.converger.steps.rolls import levels, succession, tagging
from controlplane.converger.steps.rolls.images import withdrawn_first
from controlplane.converger.steps.rolls.refusals import refusal_left_step
from events import facts
from events.ids import intent_id, kafka_uuid
from planner.anomalies.kinds import Kind
from planner.rollout.desired import DesiredNode
from planner.rollout.diff import Change, NodeChange
from planner.rollout.order import Work, first_nodes, next_work, who_leads
from providers.base import Place
from providers.handover import Handover

_HANDED_OVER = frozenset({Phase.FENCING, Phase.FENCED, Phase.RELEASED})

MAX_JOIN_FAILURES = 2
"""New VMs in a row that may fail to join before the cluster waits for a person."""


def replacement_step(situation: Situation) -> Verdict | None:
    """The next piece of work, what is lost before what is merely outdated. None when every node is as it should be."""
    changes = controller_moves.without_relief(situation.view, pending_changes(situation.view))
    if situation.repairs_only:
        changes = tuple(c for c in changes if _is_repair(situation, c))
    mends = any(c.incumbent and c.incumbent.to_mend for c in changes)
    ill = () if mends else succession.that_others_wait_for(situation, changes)
    work = _next(situation, ill or changes)
    pairs = succession.superseded(situation.view)
    handed = succession.drain_lost(situation, [p for p in pairs if p[0].lost], changes)
    if handed is None and not mends:
        handed = succession.drain_replaced(situation, [p for p in pairs if not p[0].lost])
    if handed is not None and not (ill and handed.wait is not None):
        return handed
    return _work_on(situation, work, changes, mends=mends, ill=bool(ill)) if work is not None else None


def lost_controllers_step(situation: Situation) -> Verdict | None:
    """Those of the quorum whose VM is gone, and nobody else. None when none has to be made."""
    view = situation.view
    changes = controller_moves.without_relief(view, pending_changes(view))
    keys = {i.key for i in view.controllers() if i.lost and i.phase is Phase.JOINED}
    lost = [c for c in changes if c.change is Change.REPLACE and c.incumbent and c.incumbent.key in keys]
    work = _next(situation, lost)
    return _work_on(situation, work, changes, mends=True) if work is not None else None


def made_beside(situation: Situation, nodes: Collection[str]) -> Verdict | None:
    """Makes the successors of these nodes beside what is in hand, as those of lost ones: who they succeed goes any
    moment, whoever else is away. None when none has to be made."""
    changes = controller_moves.without_relief(situation.view, pending_changes(situation.view))
    asked = [c for c in changes if c.change is Change.REPLACE and c.node in nodes]
    work = _next(situation, asked)
    return _work_on(situation, work, changes, mends=True) if work is not None else None


def _work_on(
    situation: Situation, work: Work, changes: Sequence[NodeChange], *, mends: bool, ill: bool = False
) -> Verdict:
    held = _held_back(situation, work, mends=mends, ill=ill)
    if held is not None:
        return held
    if work.change is Change.REPLACE:
        share = situation.allowance.repair if mends else situation.allowance.upgrade
        if not share.vms:
            return _ask_for_surge(work, share, mends=mends)
        work = first_nodes(work, share.vms)
    if situation.view.roll.recycling != situation.view.generation:
        return _begin(situation, changes, work)
    small = _small_disks(situation, work)
    if small is not None:
        return small
    if work.change is Change.REMOVE:
        return _remove(situation, work)
    return _surge(situation, work)


def _next(situation: Situation, changes: Sequence[NodeChange]) -> Work | None:
    document = situation.view.document
    if document is None:
        return None
    leaders = who_leads(situation.seen.kafka)
    return next_work(changes, surge=max(1, document.spec.rollout.surge), leaders=leaders)


def _is_repair(situation: Situation, change: NodeChange) -> bool:
    """Whether it takes nothing from anybody that is not gone already: what is lost, ill or down, and what is new.

    A new controller changes the quorum: only one that has a vote, or had it before any roll, is made at any time.
    """
    view, old = situation.view, change.incumbent
    if old is None:
        voted = change.node in {voter.node for voter in view.quorum.voters.values()}
        return change.service == "broker" or view.quorum.founding is None or voted or view.quorum.migration is not None
    if change.change is Change.KEEP or old.to_mend:
        return old.to_mend
    if is_being_cured(view, old.node, old.key):
        return True
    kafka = situation.seen.fresh_kafka(situation.now)
    is_down = kafka is not None and old.service == "broker" and old.service_id not in kafka.live_brokers()
    return is_down and change.change is Change.REPLACE


def _held_back(situation: Situation, work: Work, *, mends: bool, ill: bool) -> Verdict | None:
    """Why nothing is begun yet. An heir that arrives may wait for one who is `ill`, so that one waits for no heir."""
    view = situation.view
    if view.roll.join_failures >= MAX_JOIN_FAILURES:
        sentence = f"{view.roll.join_failures} tries in a row made no VM that joined; not trying again by itself"
        return wait(WaitReason.REPLACEMENT_FAILED, sentence, next_command=f"kedge resume {view.name}", patience_s=0)
    beyond = levels.beyond_its_reach(situation, work)
    if beyond is not None:
        return beyond
    # A VM that mends is made all the same: with what is in force (`refused_settings`).
    refused = refusal_left_step(situation) if not mends else None
    if refused is not None or work.change is Change.CREATE:
        return refused
    if mends:
        return _grace(situation, work)
    withdrawn = withdrawn_first(situation)
    if withdrawn is not None:
        return withdrawn
    if not situation.allowance.may_roll:
        return wait(WaitReason.FLEET_BRAKE, f"waiting to roll: {situation.allowance.reason}")
    arriving = [i for i in view.in_phase(Phase.REQUESTED, Phase.LAUNCHED) if not controller_moves.is_settled(i)]
    if arriving and not ill:
        return wait(
            WaitReason.INSTANCE_JOINS, f"not starting on {work.nodes[0].node}: {arriving[0].key} is not settled yet"
        )
    return _not_whole(situation, work)


def _ask_for_surge(work: Work, share: SurgeShare, *, mends: bool) -> Verdict:
    """The account's budget is spent: the cluster waits its turn, and says who has the VMs."""
    nodes = ", ".join(c.node for c in work.nodes)
    sentence = f"waiting to {'repair' if mends else 'surge'} {nodes}: {share.reason}"
    looks = f"kedge describe {share.holders[0]}" if share.holders else ""
    waiting = Wait(WaitReason.SURGE_BUDGET, looks, ask=SurgeAsk(len(work.nodes), mends))
    return Verdict(sentence, wait=waiting)


def _grace(situation: Situation, work: Work) -> Verdict | None:
    """A lost VM gets some time to be found again, unless it was to get a successor anyway. Making that destroys
    nothing, so nothing else is asked."""
    view = situation.view
    lost = {i.key: i.lost_at for i in view.alive() if i.lost_at is not None and i.key not in view.requests.to_replace}
    since = [at for c in work.nodes if c.incumbent and (at := lost.get(c.incumbent.key)) is not None]
    left = max((situation.lost_after_s - situation.seconds_since(at) for at in since), default=0.0)
    if left <= 0:
        return _not_healed(situation, work) if since else None
    kept = ", ".join(i.key for i in situation.view.in_phase(Phase.LINGERING) if not i.lost)
    stays = f"; until then {kept}, which is empty, is not stopped" if kept else ""
    return wait(
        WaitReason.LOSS_GRACE,
        f"{work.nodes[0].node}: its VM is gone; replacing it in {left:.0f} s{stays}",
        patience_s=0,
    )


def _not_healed(situation: Situation, work: Work) -> Verdict | None:
    """A person switched it off: a lost VM gets its successor once it is on again, or somebody asks for that one."""
    view, kind = situation.view, Kind.BROKER_FAILURE
    why = why_not(view, kind, situation.now)
    lost = {i.key for i in view.alive() if i.lost}
    if not why or all(
        c.incumbent.key in view.requests.to_replace for c in work.nodes if c.incumbent and c.incumbent.key in lost
    ):
        return None
    sentence = f"{work.nodes[0].node}: its VM is gone and not replaced: {why}"
    return wait(
        WaitReason.HEALING_OFF, sentence, next_command=f"kedge healing on {view.name} --kind {kind}", patience_s=0
    )


def _not_whole(situation: Situation, work: Work) -> Verdict | None:
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return wait(WaitReason.KAFKA_UNKNOWN, f"not starting on {work.nodes[0].node}: {situation.seen.why_no_kafka}")
    nodes = {c.node for c in work.nodes}
    # What a lost one of these nodes had goes to the very VM that is to be made.
    gone = [i.service_id for i in situation.view.brokers() if i.lost and i.node in nodes]
    gate = succession.is_whole(situation, [*gone, *(c.incumbent.service_id for c in work.nodes if c.incumbent)])
    if gate.open:
        return None
    return wait(WaitReason.BROKER_DOWN, f"not starting on {work.nodes[0].node}: {gate.reason}")


def _begin(situation: Situation, changes: Sequence[NodeChange], work: Work) -> Verdict:
    named = {c: tuple(n.node for n in changes if n.change is c) for c in Change}
    started = facts.RecycleStarted(
        generation=situation.view.generation,
        create=named[Change.CREATE],
        replace=named[Change.REPLACE],
        remove=named[Change.REMOVE],
        reason=work.reason,
    )
    counts = f"{len(started.create)} to make, {len(started.replace)} to replace, {len(started.remove)} to remove"
    return record(f"working towards generation {started.generation}: {counts}", started)


def _surge(situation: Situation, work: Work) -> Verdict:
    view = situation.view
    next_broker = view.vms.next_broker_id
    given: set[int] = set()
    planned: list[facts.PlannedInstance] = []
    for change in work.nodes:
        if change.desired is None:
            continue
        old = change.incumbent
        if change.service == "broker" and old is not None and _reattaches(view, old.key, change.desired):
            service_id = old.service_id
        elif change.service == "broker":
            service_id, next_broker = next_broker, next_broker + 1
        else:
            service_id = old.service_id if old is not None else id_for(view, change.node, given)
            given.add(service_id)
        made = _plan_instance(situation, change, change.desired, service_id)
        if change.desired.member_heap_mib:
            made = _with_member(view, made, change.desired, given)
            given.update({made.member.service_id} if made.member else ())
        planned.append(made)
    if refused := relief_refused(situation, planned):
        return refused
    told = [p for p in planned if p.handover or p.service == "controller"]
    ways = {p.key: situation.seen.clouds.handover_on(_place_of_plan(view, p).cloud) for p in told}
    if None in ways.values():
        why = situation.seen.missing.get("handover", "its cloud does not tell")
        return wait(
            WaitReason.INVENTORY_UNKNOWN, f"not making {told[0].key}: how addresses pass there is unknown: {why}"
        )
    if heirs := [p for p in planned if _inherits_address(p) and ways[p.key] is Handover.NONE]:
        sentence = (
            f"not replacing {heirs[0].node}: on this cloud an address stays with its VM, and the other members would "
            "look for the controller where it was"
        )
        return wait(WaitReason.ADDRESS_STAYS, sentence, next_command=f"kedge describe {view.name}", patience_s=0)
    planned = [images.with_image(situation, p, _place_of_plan(view, p)) for p in planned]
    keys = ",".join(p.key for p in planned)
    return record(f"creating {keys}: {work.reason}", *_surges(view, planned, work.reason))


def _with_member(
    view: ClusterView, made: facts.PlannedInstance, want: DesiredNode, given: set[int]
) -> facts.PlannedInstance:
    """With a ZooKeeper server of its own id, which keeps its data on the broker's first disk."""
    directory = kafka_uuid("directory", view.uid, f"{made.volumes[0].key}.zookeeper")
    return replace(made, member=facts.PlannedMember(next_member_id(view, given), directory, want.member_heap_mib))


def _surges(view: ClusterView, planned: Sequence[facts.PlannedInstance], reason: str) -> list[facts.SurgeRequested]:
    """One for each place: each has a Terraform state, and so a run, of its own."""
    places: dict[str, list[facts.PlannedInstance]] = {}
    for one in planned:
        places.setdefault(str(_place_of_plan(view, one)), []).append(one)
    return [
        facts.SurgeRequested(intent_id(view.uid, "surge", ",".join(p.key for p in there), 1), tuple(there), reason)
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
    relieved = controller_moves.to_relieve(view, change, way)
    heir = _takes_over(view, past) if want.service != "broker" else old is not None and _reattaches(view, old.key, want)
    # A broker's disk is that of who holds the node now: a later VM that failed may have had one of its own elsewhere.
    line = past if want.service != "broker" or old is None else [old]
    stays = place_to_stay_in(view, line, want.place) if heir and not relieved else None
    new_disk = bool(relieved) or (heir and want.service != "broker" and node_volumes.disk_is_no_use(view, past))
    new_dirs = _new_dirs(view, old) if heir and want.service == "broker" else ()
    volumes = (
        node_volumes.volumes_of_node(view, line)
        if heir and not new_disk
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
        settings=settings,
        volumes=volumes,
        replaces=old.planned.generation if old else 0,
        handover=heir or bool(relieved),
        config=config,
        deferred=heir and not relieved and cloud_way is Handover.DELETE_FIRST,
        new_disk=new_disk,
        new_dirs=new_dirs,
        place=stays,
        spot=want.spot,
        ipv6=want.ipv6,
        relieves=relieved,
        vm_address=want.service == "controller" and cloud_way is Handover.NONE,
        cost_tags=tagging.tags_to_make(situation, old if heir and not relieved else None, cloud),
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
    config = config_to_make(view, view.document, refused)
    if config == view.document.spec.kafka.config:
        return None, dict(want.settings)
    return config, settings_to_make(view, view.document, want.settings, refused)


def _reattaches(view: ClusterView, key: str, want: DesiredNode) -> bool:
    """Whether a broker's successor takes over its disk and its id: by policy, or because a handover is under way. No
    disk goes to another place: who moves is copied, unless its handover has to be ended first."""
    instance = view.instances[key]
    if want.member_heap_mib or member_of(instance) is not None:
        return False  # the server beside it leaves after the next VM serves
    if instance.phase is Phase.JOINED and str(place_of(view, instance)) != want.place:
        return False
    asked = view.requests.to_replace.get(key)
    if asked is not None and asked.new_disk:
        return False
    policy = view.document.spec.rollout.strategy if view.document and not view.quorum.migration else "reattach"
    outlives = all(v.kind == "persistent" for v in instance.planned.volumes)
    if instance.phase is Phase.JOINED and not node_volumes.disks_are_as_wanted(view, instance, want):
        return False
    under_way = instance.phase is not Phase.JOINED and (
        instance.planned.handover or (instance.phase in _HANDED_OVER and view.hands_over(instance))
    )
    return outlives and (policy == "reattach" or under_way or (asked is not None and bool(asked.disks)))


def _remove(situation: Situation, work: Work) -> Verdict:
    first = next(c.incumbent for c in work.nodes if c.incumbent)
    if first.service != "broker":
        return leave_step(situation, situation.view.instances[first.key])
    keys = [c.incumbent.key for c in work.nodes if c.incumbent]
    crowded = _no_room_for(situation, keys)
    if crowded is not None:
        return crowded
    drain = drain_requests.request_drain(situation, keys, {}, round_number=1, reason=work.reason)
    return record(f"draining {', '.join(keys)}: {work.reason}", drain)


def _small_disks(situation: Situation, work: Work) -> Verdict | None:
    """Clients may have written since the spec was applied: nobody is copied to a disk that cannot take it."""
    kafka = situation.seen.fresh_kafka(situation.now)
    room = heirs_have_room(kafka, work.nodes) if kafka is not None else None
    if room is None or room.open:
        return None
    next_command = f"kedge apply, with larger disks (cluster {situation.view.name})"
    return wait(
        WaitReason.NO_ROOM,
        f"not replacing {work.nodes[0].node}: {room.reason}",
        next_command=next_command,
        patience_s=0,
    )


def _no_room_for(situation: Situation, keys: Sequence[str]) -> Verdict | None:
    """A drain that cannot end is not begun: it would fill the others' disks first."""
    kafka, view = situation.seen.fresh_kafka(situation.now), situation.view
    leaving = {view.instances[k].service_id for k in keys}
    if kafka is None:
        return None
    staying = [i.service_id for i in view.receivers() if i.service_id not in leaving]
    empty = [i.service_id for i in view.brokers() if i.key in view.requests.evacuations and i.service_id not in leaving]
    room = room_without(kafka, leaving, staying, racks_stay=False, kept_empty=empty)
    if room.open:
        return None
    sentence = f"not draining {', '.join(keys)}: {room.reason}"
    next_command = f"kedge apply, with more brokers or disk (cluster {view.name})"
    if empty:
        next_command = f"kedge readmit {view.name} --broker {min(empty)}"
    return wait(WaitReason.NO_ROOM, sentence, next_command=next_command, patience_s=0)


def relief_refused(situation: Situation, planned: Sequence[facts.PlannedInstance]) -> Verdict | None:
    """Why a controller cannot be relieved as things are, before anything is made for it."""
    heir = next((p for p in planned if p.relieves), None)
    reason = controller_moves.why_not_relieved(situation) if heir is not None else ""
    if heir is None or not reason:
        return None
    sentence = f"not making {heir.key} in the place of {heir.relieves}: {reason}"
    return wait(
        WaitReason.CONTROLLER_STAYS, sentence, next_command=f"kedge describe {situation.view.name}", patience_s=0
    )
