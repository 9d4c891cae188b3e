"""The spec the end-to-end tests live on: three brokers that roll one by one, each in a pool and a zone of its own.

One pool per broker lets a test roll exactly one of them: a change of one pool's machine is one replaced VM.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

POOLS: Mapping[str, str] = {"one": "a", "two": "b", "three": "c"}
"""Broker pool -> zone."""

CONTROLLERS = "controllers"
"""The pool of the controllers, rolled like the others, all of its nodes one by one."""


@dataclass(frozen=True)
class ClusterSpec:
    """What is declared. `machines` and `sizes` are by pool; rollout times in seconds."""

    name: str = "living"
    labels: Mapping[str, str] = field(default_factory=dict)
    version: str = "4.1.1"
    metadata_version: str = ""
    """The level it is pinned at, if it is."""
    quorum: str = "controller"
    """What the controllers' pool hosts; `zookeeper` is a cluster in that mode."""
    quorum_pool: str = CONTROLLERS
    """Another name where the pool hosts something else than before."""
    controllers: int = 1
    controller_zones: int = 0
    """Zones of the controllers' pool; 0: as many as there are controllers."""
    controllers_in: str = "local-1"
    """Region of the controllers' pool."""
    strategy: str = "migrate"
    machines: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys((*POOLS, CONTROLLERS), "small"))
    brokers_in: tuple[str, ...] = tuple(POOLS)
    """Of `POOLS`, those that are there."""
    regions: Mapping[str, str] = field(default_factory=dict)
    """Region of a broker pool, where it is not local-1."""
    zones: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Zones of a broker pool, where they are not the one of `POOLS`."""
    image: Mapping[str, Any] = field(default_factory=dict)
    """Which image revisions it follows, where it does."""
    distribution: Mapping[str, str] = field(default_factory=dict)
    """A build of Kafka of its own, where it has one."""
    sizes: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(POOLS, 1))
    disk_gib: int = 1
    disk_kind: str = "persistent"
    """Of brokers."""
    disks: int = 1
    throttle_mib_per_s: int = 64
    brake: Mapping[str, object] = field(default_factory=lambda: {"enabled": False})
    """Of moves. Off: how long clients wait on a busy machine is not what most tests are about."""
    linger_s: int = 1
    soak_s: int = 1
    join_deadline_s: int = 60
    config: Mapping[str, object] = field(default_factory=dict)
    """Kafka settings beside the usual ones."""
    adopt: tuple[str, ...] = ()
    """Those of them that people may change by hand."""
    tls: bool = False
    """Between nodes, from birth. Clients have both listeners then: PLAINTEXT, and TLS at 9094."""
    security: Mapping[str, object] = field(default_factory=dict)
    """Of `security`, what there is beside that."""
    listeners: tuple[Mapping[str, object], ...] = ()
    """Of clients, where they are not those."""
    authorization: Mapping[str, object] = field(default_factory=dict)
    quotas: Mapping[str, object] = field(default_factory=dict)
    dns: str = ""
    heal_after_s: int = 60
    hung_after_s: int = 300
    healing: Mapping[str, Any] = field(default_factory=dict)
    """Beside those two."""
    balance: Mapping[str, Any] = field(default_factory=dict)
    heartbeats: bool = False
    heap_mib: int = 160
    """Of brokers."""
    jvm_options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of the JVM, by broker pool."""
    pool_config: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Kafka settings of single broker pools."""
    parallel_restarts: int = 1
    windows: tuple[Mapping[str, Any], ...] = ()
    allow_unavailable: tuple[str, ...] = ()
    """Topics that have too few replicas for a restart."""
    cohosted: bool = False
    """In ZooKeeper mode: one pool of three, `brokers`, with a server of the ensemble beside each broker."""
    others: tuple[str, ...] = ()
    """Of `POOLS`, those that are there beside a cohosted one, whose machine is that of pool `one`."""
    moved_out: bool = False
    """They are in `quorum_pool` now, or were: that pool's brokers are alone on their VMs."""
    beside_heap_mib: int = 96
    """Of those servers."""

    def rolled(self, *pools: str) -> "ClusterSpec":
        """The same with another machine for these pools: each of their VMs has to be replaced."""
        other = {"small": "medium", "medium": "small"}
        return replace(self, machines={p: other[m] if p in pools else m for p, m in self.machines.items()})

    def text(self) -> str:
        """The YAML a person would write."""
        return yaml.safe_dump(self._document(), sort_keys=False)

    def _document(self) -> dict[str, object]:
        return {
            "apiVersion": "kedge/v1alpha1",
            "kind": "KafkaCluster",
            "metadata": {"name": self.name, **({"labels": dict(self.labels)} if self.labels else {})},
            "spec": {
                "kafka": {
                    "version": self.version,
                    **({"metadataVersion": self.metadata_version} if self.metadata_version else {}),
                    **({"mode": "zookeeper"} if self.quorum == "zookeeper" else {}),
                    "config": {**self._usual(), **self.config},
                    **({"adopt": list(self.adopt)} if self.adopt else {}),
                    **({"image": dict(self.image)} if self.image else {}),
                    **({"distribution": dict(self.distribution)} if self.distribution else {}),
                },
                "pools": self._pools(),
                "rollout": {
                    "strategy": self.strategy,
                    "surge": 1,
                    "maxUnavailable": self._may_be_away(),
                    "maxParallelRestarts": self.parallel_restarts,
                    "linger": self.linger_s,
                    "soak": self.soak_s,
                    "joinDeadline": self.join_deadline_s,
                    "throttleMibPerS": self.throttle_mib_per_s,
                    "brake": dict(self.brake),
                    **({"windows": [dict(w) for w in self.windows]} if self.windows else {}),
                    **({"allowUnavailable": list(self.allow_unavailable)} if self.allow_unavailable else {}),
                },
                **({**_TLS, "security": {"internal": "tls", **self.security}} if self.tls else {}),
                **({"listeners": [dict(one) for one in self.listeners]} if self.listeners else {}),
                **({"authorization": dict(self.authorization)} if self.authorization else {}),
                **({"quotas": dict(self.quotas)} if self.quotas else {}),
                **({"bootstrap": {"dns": self.dns}} if self.dns else {}),
                "healing": self._cures(),
                **({"health": {"heartbeats": True}} if self.heartbeats else {}),
                **({"balance": dict(self.balance)} if self.balance else {}),
                "deletionPolicy": "destroy",
            },
        }

    def _pools(self) -> list[dict[str, object]]:
        if not self.cohosted:
            return [self._controllers(), *(self._brokers(pool, POOLS[pool]) for pool in self.brokers_in)]
        one = self._brokers("one", "a")
        both: dict[str, object] = {"name": "brokers", "services": ["broker", "zookeeper"], "size": 3}
        both |= {"services": ["broker"]} if self.moved_out else {"zookeeperHeapMib": self.beside_heap_mib}
        alone = [self._controllers()] if self.moved_out else []
        shared = {**one, **both, "place": {"cloud": "local", "region": "local-1", "zones": ["a", "b", "c"]}}
        return [*alone, shared, *(self._brokers(pool, POOLS[pool]) for pool in self.others)]

    def _may_be_away(self) -> int:
        """0 where nothing needs more: it is the spec's own default, which counts as one for restarts."""
        return max(self.parallel_restarts, 1) if self.strategy == "reattach" or self.parallel_restarts > 1 else 0

    def _cures(self) -> dict[str, object]:
        return {"after": self.heal_after_s, "hungAfter": self.hung_after_s, **self.healing}

    def _usual(self) -> dict[str, object]:
        """Kafka 3 has no share groups."""
        return {k: v for k, v in _KAFKA.items() if not (self.version.startswith("3.") and k.startswith("share."))}

    def _brokers(self, pool: str, zone: str) -> dict[str, object]:
        return {
            "name": pool,
            "services": ["broker"],
            "size": self.sizes[pool],
            "machine": self.machines[pool],
            "heapMib": self.heap_mib,
            **({"jvmOptions": list(self.jvm_options[pool])} if pool in self.jvm_options else {}),
            **({"config": dict(self.pool_config[pool])} if pool in self.pool_config else {}),
            "disk": {
                "kind": self.disk_kind,
                "sizeGib": self.disk_gib,
                **({"count": self.disks} if self.disks > 1 else {}),
            },
            "place": {
                "cloud": "local",
                "region": self.regions.get(pool, "local-1"),
                "zones": list(self.zones.get(pool, (zone,))),
            },
        }

    def _controllers(self) -> dict[str, object]:
        return {
            "name": self.quorum_pool,
            "services": [self.quorum],
            "size": self.controllers,
            "machine": self.machines[CONTROLLERS],
            "heapMib": 96,
            "disk": {"kind": "persistent", "sizeGib": 1},
            "place": {
                "cloud": "local",
                "region": self.controllers_in,
                "zones": ["a", "b", "c"][: self.controller_zones or self.controllers],
            },
        }


_TLS: Mapping[str, object] = {
    "listeners": [{"name": "PLAINTEXT", "port": 9092}, {"name": "TLS", "port": 9094, "security": "tls"}],
}

_KAFKA = {
    "auto.create.topics.enable": False,
    "log.segment.bytes": 16777216,
    "log.cleaner.dedupe.buffer.size": 16777216,
    "num.network.threads": 2,
    "num.io.threads": 2,
    "num.recovery.threads.per.data.dir": 1,
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
    "share.coordinator.state.topic.num.partitions": 3,
    "group.initial.rebalance.delay.ms": 0,
}
"""Small on purpose: four JVMs and their data share two cores."""
