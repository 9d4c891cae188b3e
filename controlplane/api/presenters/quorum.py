"""The quorum as the API tells it: what Kafka said last, with the nodes its members are."""

from controlplane.api.schemas.quorum import QuorumMemberOut, QuorumOut, RememberedOut
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.quorum.seats import remembered, seats
from controlplane.kafka.features import is_static
from planner.observed import KafkaSnapshot, VoterSeen


def quorum_out(view: ClusterView, snapshot: KafkaSnapshot | None) -> QuorumOut | None:
    """None before any metadata was read. Brokers follow the quorum, too, and are left out."""
    if snapshot is None:
        return None
    nodes = {(s.id, d): s.node for s in seats(view) for d in (s.directory_id, *s.others)}
    known = [m for m in snapshot.quorum.members if m.is_voter or (m.id, m.directory_id) in nodes]
    members = [_member(m, nodes.get((m.id, m.directory_id), ""), snapshot.quorum.leader) for m in known]
    left = [
        RememberedOut(id=i.service_id, node=i.node, kafka_version=i.planned.kafka_version) for i in remembered(view)
    ]
    static = view.external is not None and is_static(snapshot)
    return QuorumOut(members=members, remembered=left, change=_change(view), static=static)


def _member(member: VoterSeen, node: str, leader: int) -> QuorumMemberOut:
    return QuorumMemberOut.like(
        member,
        node=node,
        votes=member.is_voter,
        leads=member.is_voter and member.id == leader,
        silent_s=round(member.silent_s, 1),
    )


def _change(view: ClusterView) -> str:
    change = view.quorum.change
    if change is None:
        return ""
    what = "is to get a vote" if change.adds else "is to leave the quorum"
    return f"controller {change.voter.id} ({change.voter.node}) {what}: {change.reason}"
