"""Whom a Kafka process is told of as controllers when it starts (`controller.quorum.bootstrap.servers`). Pure.

A broker that has lost the leader asks only whom that list names (measured on 4.1.1). Voters need no list: their log
names them. So only brokers are told, beside the voters, of those who are about to take over from one at another
address.
"""

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.controller_moves import is_waiting
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import member_of
from events.facts import FoundingVoter


def successors_to_tell(view: ClusterView) -> tuple[InstanceView, ...]:
    """Who is about to take over from a controller, and where, by key: its VM runs, and it does not."""
    successors = {i.key: i for i in view.controller_moves().values()}
    return tuple(
        successors[k]
        for k in sorted(successors)
        if successors[k].phase is Phase.LAUNCHED and is_waiting(successors[k]) and view.address_of(successors[k])
    )


def known_to(view: ClusterView, broker: InstanceView) -> frozenset[int]:
    """Ids of the controllers its last start was told of that it will still find once those on their way have taken
    over; all of nobody before its first start."""
    moved = {h.service_id for h in successors_to_tell(view) if h.key not in broker.start.successors}
    listed = broker.start.listed or frozenset()
    return listed - moved if moved else listed


def own_member(instance: InstanceView) -> frozenset[int]:
    """The id of the server on a broker's own VM, where there is one."""
    member = instance.planned.member
    return frozenset() if member is None or instance.member.gone else frozenset({member.service_id})


def list_for(view: ClusterView, instance: InstanceView) -> tuple[FoundingVoter, ...]:
    """The voters by id, and for a broker after them those on their way; the server on its own VM is among them before
    it votes."""
    voters = tuple(view.quorum.voters[i] for i in sorted(view.quorum.voters))
    beside = member_of(instance) if instance.planned.member is not None else None
    if beside is not None and beside.service_id not in view.quorum.voters:
        port, directory = next((v.port for v in voters), 0), beside.planned.volumes[0].directory_id
        own = FoundingVoter(beside.node, beside.service_id, view.address_of(beside), port, directory)
        return (*voters, own)
    successors = successors_to_tell(view) if instance.is_broker else ()
    if not successors:
        return voters
    port = next((v.port for v in voters), 0)
    coming = (
        FoundingVoter(h.node, h.service_id, view.address_of(h), port, h.planned.volumes[0].directory_id)
        for h in successors
    )
    return (*voters, *coming)
