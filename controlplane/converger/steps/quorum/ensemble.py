"""How a cluster in ZooKeeper mode is founded.

    every server has its address -> ensemble.founded -> a majority serves -> the cluster id is written, and read back
    -> ensemble.cluster_id_fixed -> brokers are told to start

A broker that finds no id in ZooKeeper makes one up, so none is started before.
"""

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.quorum.protocol import target_of
from controlplane.converger.questions.quorum.quorum_ports import member_port
from controlplane.converger.questions.rolls.founding import founding_members, founding_members_wanted
from controlplane.converger.situation.decision import Decision, act, record, wait
from controlplane.converger.situation.effects import FixClusterId
from controlplane.converger.situation.situation import Situation
from events import facts
from events.ids import kafka_uuid


def ensemble_step(situation: Situation) -> Decision | None:
    """Founds the ensemble once each of its servers has an address, then has the cluster id fixed in it."""
    view = situation.view
    if view.quorum.founding is None:
        return _found(view)
    if view.quorum.cluster_id_fixed:
        return None
    wanted, there = view.quorum.founding.kafka_cluster_id, situation.seen.zookeeper.registered_id
    if there == wanted:
        return record(f"ZooKeeper holds the cluster id {wanted}", facts.ClusterIdFixed(wanted))
    if there:
        sentence = f"the ensemble belongs to cluster {there}, not {wanted}: no broker is started"
        return wait(WaitReason.STRANGE_ENSEMBLE, sentence, next_command=f"kedge describe {view.name}", patience_s=0)
    if there is None:
        if _is_late(situation):
            return None  # what is lost or late is seen to by the steps below
        why = situation.seen.missing.get("ensemble", "nobody has asked it yet")
        patience_s = situation.join_deadline_s
        return wait(WaitReason.ENSEMBLE_FORMS, f"waiting for the ensemble to serve: {why}", patience_s=patience_s)
    return act(f"writing the cluster id {wanted} to ZooKeeper", FixClusterId(wanted))


def _is_late(situation: Situation) -> bool:
    arriving = (i for i in situation.view.controllers() if i.phase is Phase.LAUNCHED)
    return any(i.lost or situation.seconds_since(i.since) > situation.join_deadline_s for i in arriving)


def _found(view: ClusterView) -> Decision | None:
    if view.document is None:
        return None
    ready = founding_members(view)
    if len(ready) < founding_members_wanted(view):
        return None
    port = member_port(view, "zookeeper")
    servers = tuple(
        facts.FoundingServer(i.node, i.service_id, view.seat_address(i), port, i.planned.volumes[0].directory_id)
        for i in ready
    )
    protocol = target_of(view.document)
    founded = facts.EnsembleFounded(kafka_uuid("kafka", view.uid), protocol, servers)
    return record(f"the ensemble is founded with {len(servers)} servers, protocol {protocol}", founded)
