"""What is left to do for the spec in force, node by node."""

from controlplane.cluster.folds.growth import size_of
from controlplane.cluster.folds.images import outdated_image
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.places import place_of
from controlplane.cluster.sized_nodes import wanted_nodes
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import member_of
from controlplane.converger.questions.quorum.controller_moves import is_moving_controller
from controlplane.converger.questions.quorum.protocol import old_protocol
from controlplane.converger.questions.quorum.seats import thin_list
from controlplane.converger.questions.quorum.security_steps import late_step
from controlplane.converger.questions.services.applied_settings import needs_restart
from controlplane.runtime.once import once
from planner.rollout.diff import (
    BornWith,
    Incumbent,
    IncumbentDisks,
    IncumbentMember,
    IncumbentReasons,
    IncumbentVm,
    NodeChange,
    node_changes,
)
from planner.rollout.passing import passed_on


@once
def pending_changes(view: ClusterView) -> tuple[NodeChange, ...]:
    """What is left to do, node by node, for the spec in force."""
    if view.working_spec() is None:
        return ()
    incumbents = [found for node in view.nodes() if (found := _incumbent(view, node)) is not None]
    changes = node_changes(wanted_nodes(view), incumbents)
    return passed_on([c for c in changes if not is_moving_controller(view, c)])


def _incumbent(view: ClusterView, node: str) -> Incumbent | None:
    holders = [i for i in view.of_node(node) if i.phase not in (Phase.RETIRING, Phase.FAILED)]
    if not holders:
        return None
    best = holders[-1]
    stranded = view.hands_over(best) and best.phase in (Phase.FENCED, Phase.RELEASED)
    p, member, rolling = best.planned, member_of(best), view.requests.rolling_restart
    asked = rolling.left if rolling else ()
    return Incumbent(
        node=node,
        generation=p.generation,
        rack=p.rack,
        index=p.index,
        service=p.service,
        service_id=p.service_id,
        digest=p.digest,
        kafka_version=p.kafka_version,
        shape=p.shape,
        lost=best.lost or stranded,
        born=BornWith(best.start.born_with, p.volumes[0].size_gib, p.heap_mib, best.start.born_listeners),
        restarts=needs_restart(view, best),
        reasons=IncumbentReasons(
            restart_asked=rolling.reason if rolling and best.key in asked else "",
            replace_asked=view.requests.to_replace[best.key].reason if best.key in view.requests.to_replace else "",
            broken=_broken(view, best),
            tls_step=late_step(view, best),
            relist=thin_list(view, best) or old_protocol(view, best),
            outdated=outdated_image(view, best),
        ),
        disks=IncumbentDisks(
            gib=size_of(view, p.volumes[0]),
            kind=p.volumes[0].kind,
            options=p.volumes[0].options,
            count=len(p.volumes),
        ),
        place=str(place_of(view, best)),
        vm=IncumbentVm(spot=p.spot, ipv6=p.ipv6, public_address=best.public.asked, own_address=p.vm_address),
        jvm=best.jvm,
        security=best.start.security,
        member=IncumbentMember(
            id=member.service_id if member else -1,
            heap_mib=member.jvm.heap_mib if member else 0,
            restart_asked=rolling.reason if rolling and member and member.service_key in asked else "",
        ),
    )


def _broken(view: ClusterView, instance: InstanceView) -> str:
    asked = view.requests.to_replace.get(instance.key)
    if asked is not None and asked.mends:
        return f"{instance.key} did not take over its disk: {asked.reason}"
    said = view.is_broken(instance) if instance.bound else ""
    return f"its ZooKeeper server has lost its directory: {said}" if said and instance.is_broker else said
