"""ZooKeeper servers that share the VMs of brokers. Pure.

Such a server comes and goes with the broker's VM: its id, its directory and its address are those of one instance, and
never passed on. To all that looks after a quorum it is shown as an instance of its own, *hosted*: it has the key of the
broker's instance and follows its phases, and nothing that is done to VMs is ever done to it.

    its VM serves -> it follows -> voter.added -> joined ... emptied -> voter.removed -> both stopped -> retired
"""

from collections.abc import Collection, Iterable

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import members_of, service_on

FIRST_ID, LAST_ID = 100, 255
"""ZooKeeper's ids end at 255; those from 100 on are Kedge's, as of every server."""

_ARRIVED = frozenset({Phase.LAUNCHED, Phase.JOINED})


def named_service(view: ClusterView, key: str, service: str) -> InstanceView:
    """The same, of who is known to have it. Raises LookupError."""
    found = service_on(view.instances[key], service)
    if found is None:
        raise LookupError(f"{key} has no service {service}")
    return found


def stays(view: ClusterView, member: InstanceView, wanted: Collection[str]) -> bool:
    """Whether it is to have a vote. `wanted` are the names of the nodes that are to be there.

    Once the next VM of its node has arrived, that one's server is to vote instead; after an abort the elder one's, as
    long as its broker was not begun to be emptied.
    """
    there = [i for i in view.of_node(member.node) if i.phase in _ARRIVED and not i.lost and i.key != member.key]
    there = [i for i in there if not view.is_broken(i)]
    newer = any(i.planned.generation > member.planned.generation for i in there)
    older = any(i.planned.generation < member.planned.generation and i.phase is Phase.JOINED for i in there)
    if member.phase not in _ARRIVED:
        return False
    if view.requests.aborting and not member.lost and not view.is_broken(member):
        if older:
            return member.phase is Phase.LAUNCHED  # it is taken back once it has joined
        if newer and view.instances[member.key].phase is Phase.JOINED:
            return True
    return not newer and (member.node in wanted or member.phase is Phase.LAUNCHED)


def votes(view: ClusterView, member: InstanceView) -> bool:
    """Whether it has a vote, as far as is recorded."""
    voter = view.quorum.voters.get(member.service_id)
    return voter is not None and voter.directory_id == member.planned.volumes[0].directory_id


def voting_on(view: ClusterView, instances: Iterable[InstanceView]) -> tuple[InstanceView, ...]:
    """The servers on the VMs of these brokers that have a vote, or are being given one."""
    asked = view.quorum.change.voter.id if view.quorum.change is not None else -1
    return tuple(m for m in members_of(instances) if votes(view, m) or m.service_id == asked)


def next_member_id(view: ClusterView, given: Collection[int]) -> int:
    """An id that nobody has, and that no broker was told of at another address: the next one after all that were ever
    given, from the first one again after the last. Raises `LookupError` when all are in use."""
    had = [i.planned.member.service_id for i in view.instances.values() if i.planned.member is not None]
    used = {*given, *view.quorum.voters, *(n for i in view.alive() for n in i.start.listed or ())}
    used |= {i.planned.member.service_id for i in view.alive() if i.planned.member is not None}
    first = (had[-1] if had else FIRST_ID - 1) + 1 - FIRST_ID
    count = LAST_ID + 1 - FIRST_ID
    found = next((n for turn in range(count) if (n := FIRST_ID + (first + turn) % count) not in used), None)
    if found is None:
        raise LookupError(f"all ids of ZooKeeper servers from {FIRST_ID} to {LAST_ID} are in use")
    return found
