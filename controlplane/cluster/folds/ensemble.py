"""The fold of what is fixed of a cluster in ZooKeeper mode: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules, counted_anew, frozen
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from events import facts


def _founded(view: ClusterView, e: facts.EnsembleFounded, at: datetime) -> ClusterView:
    """The servers of the ensemble are the cluster's voters from here on: they change and pass on as controllers do."""
    voters = tuple(facts.FoundingVoter(s.node, s.id, s.address, s.port, s.directory_id) for s in e.servers)
    founding = facts.QuorumFounded(e.kafka_cluster_id, e.protocol_version, voters)
    known = frozen({v.id: v for v in voters})
    return counted_anew(
        replace(view, quorum=replace(view.quorum, founding=founding, voters=known, protocol=e.protocol_version)), at
    )


def _id_fixed(view: ClusterView, e: facts.ClusterIdFixed, at: datetime) -> ClusterView:
    if view.quorum.founding is None or view.quorum.founding.kafka_cluster_id != e.kafka_cluster_id:
        raise ValueError(f"cluster id {e.kafka_cluster_id} is not the one the ensemble was founded with")
    return replace(view, quorum=replace(view.quorum, cluster_id_fixed=True))


def _raised(view: ClusterView, e: facts.ProtocolRaised, at: datetime) -> ClusterView:
    if view.quorum.protocol != e.before:
        raise ValueError(f"the protocol version is {view.quorum.protocol}, not {e.before}")
    return replace(view, quorum=replace(view.quorum, protocol=e.after))


def never_served(view: ClusterView) -> ClusterView:
    """An ensemble on the VMs of brokers none of which ever joined is no more once all of them are retired: nothing was
    ever written to it, and the next VMs found another one. Who joined is retired after it was fenced, and only then."""
    hosts = [i for i in view.instances.values() if i.planned.member is not None]
    if (
        view.quorum.founding is None
        or not hosts
        or any(i.phase is not Phase.RETIRED or i.departure.fenced_at for i in hosts)
    ):
        return view
    return replace(
        view,
        quorum=replace(view.quorum, founding=None, voters=frozen({}), change=None, protocol="", cluster_id_fixed=False),
    )


RULES: Rules = {
    facts.EnsembleFounded: _founded,
    facts.ClusterIdFixed: _id_fixed,
    facts.ProtocolRaised: _raised,
}
