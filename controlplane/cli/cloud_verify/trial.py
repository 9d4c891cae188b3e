"""The cluster that is made to verify a cloud, and nothing else: one controller and one broker. Pure."""

from dataclasses import dataclass
from typing import Any

import yaml

from controlplane.api.schemas.clusters import ClusterDetailOut

LABEL = "kedge-verifies"
"""By this label a later run knows the cluster for what it is, whoever ended the one that made it."""
NETWORK = "kedge-verify"
"""Where Kedge makes networks, it is in one of its own."""
TOPIC_PARTITIONS = 6
"""Of the topic whose replicas move with the broker."""
_GROWN_BY_GIB = {"local": 1}
_DISK_GIB = {"local": 1}
_HEAP_MIB = {"local": {"controller": 128, "broker": 256}}
"""On one's own machine JVMs are small."""
_ALONE = {
    "offsets.topic.replication.factor": 1,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
}
"""Kafka's own topics where there is one broker."""


@dataclass(frozen=True, slots=True)
class TrialCluster:
    """What is verified. `account` is empty for a cloud without accounts, as `local` is."""

    name: str
    cloud: str
    account: str
    region: str
    zone: str
    machine: str
    kafka_version: str

    @property
    def disk_gib(self) -> int:
        """Of each node at first. No cloud sells less than 10 GiB of each kind."""
        return _DISK_GIB.get(self.cloud, 20)

    @property
    def grown_gib(self) -> int:
        return self.disk_gib + _GROWN_BY_GIB.get(self.cloud, 10)

    def text(self, disk_gib: int) -> str:
        """Its spec."""
        document = {
            "apiVersion": "kedge/v1alpha1",
            "kind": "KafkaCluster",
            "metadata": {"name": self.name, "labels": {LABEL: self.cloud}},
            "spec": {
                "kafka": {"version": self.kafka_version, "config": _ALONE},
                "pools": [self._pool("controller", disk_gib), self._pool("broker", disk_gib)],
                "rollout": {"strategy": "migrate", "surge": 1, "linger": "0s", "soak": "0s", "joinDeadline": "15m"},
                "deletionPolicy": "destroy",
            },
        }
        topic = {
            "apiVersion": "kedge/v1alpha1",
            "kind": "KafkaTopic",
            "metadata": {"name": "verified"},
            "spec": {"cluster": self.name, "partitions": TOPIC_PARTITIONS, "tier": "scratch"},
        }
        return yaml.safe_dump_all([document, topic], sort_keys=False)

    def is_not(self, detail: ClusterDetailOut) -> str:
        """Why a cluster of its name is none that was made to verify this very place, "" where it is: what is not is
        never touched."""
        metadata, spec = detail.document.get("metadata"), detail.document.get("spec")
        labels = metadata.get("labels") if isinstance(metadata, dict) else None
        if not isinstance(labels, dict) or LABEL not in labels:
            return "it was not made by `kedge cloud verify`, and is not touched"
        pools = spec.get("pools") if isinstance(spec, dict) else None
        places = [pool.get("place") or {} for pool in pools or [] if isinstance(pool, dict)]
        there = {(p.get("cloud"), p.get("account") if self.account else "", p.get("region")) for p in places}
        if there != {(self.cloud, self.account, self.region)}:  # where there are no accounts, it has one all the same
            return "it was made to verify another place: verify that one again, which deletes it"
        return ""

    def _pool(self, service: str, disk_gib: int) -> dict[str, Any]:
        place = {"cloud": self.cloud, "region": self.region, "zones": [self.zone]}
        if self.account:
            place |= {"account": self.account, "network": NETWORK}
        heap = _HEAP_MIB.get(self.cloud)
        return {
            "name": f"{service}s",
            "services": [service],
            "size": 1,
            "machine": self.machine,
            **({"heapMib": heap[service]} if heap else {}),
            "disk": {"kind": "persistent", "sizeGib": disk_gib},
            "place": place,
        }
