"""Upgrades of agents as the API and the pages tell them."""

from controlplane.api.schemas import agents as api
from controlplane.background.agent_upgrades.fold import Release
from controlplane.background.agent_upgrades.service import AgentReleaseStatus, ClusterAgents


def agents_out(status: AgentReleaseStatus) -> api.AgentsOut:
    return api.AgentsOut(
        wanted=status.wanted.version if status.wanted else "",
        waits=status.waits,
        releases=[_release(r) for r in status.releases],
        clusters=[_cluster(c) for c in status.clusters],
    )


def _release(release: Release) -> api.AgentReleaseOut:
    return api.AgentReleaseOut(
        version=release.version,
        published_at=release.at,
        published_by=release.by,
        platforms=sorted(release.platforms),
        public_key=release.fact.public_key,
        notes=release.fact.notes,
        withdrawn=release.withdrawn,
    )


def _cluster(cluster: ClusterAgents) -> api.AgentClusterOut:
    vms = [api.AgentVmOut(key=v.key, version=v.version, state=v.state, why=v.why) for v in cluster.vms]
    return api.AgentClusterOut(name=cluster.name, stage=cluster.stage, waits=cluster.waits, vms=vms)
