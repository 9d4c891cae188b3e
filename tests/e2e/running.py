"""What runs on the VMs of a living cluster: processes, values of settings, files of its data, its ensemble."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
from kazoo.client import KazooClient

from providers.local.layout import Layout
from tests.e2e.cluster_spec import CONTROLLERS
from tests.e2e.living_cluster import REGION, LivingCluster


def java_processes(cluster: LivingCluster) -> Mapping[str, set[int]]:
    """Instance key -> ids of its services' processes: the agents' and their keepers' outlive a restart."""
    return {key: {pid for pid in cluster.pids(key) if _is_java(pid)} for key in cluster.vms()}


def java_process(cluster: LivingCluster, key: str) -> int:
    """The id of the only one on that VM."""
    (java,) = (pid for pid in cluster.pids(key) if _is_java(pid))
    return java


def types_told(cluster: LivingCluster, after: int) -> list[str]:
    """Types of what was recorded then, but for conditions and declarations."""
    return [e.type for e in cluster.events(after) if e.type not in ("condition.changed", "cluster.declared")]


def declare_settings(cluster: LivingCluster, **config: object) -> None:
    """Applies the spec with these Kafka settings beside those it has; does not wait."""
    cluster.declare(replace(cluster.spec, config={**cluster.spec.config, **config}))


def running_values(cluster: LivingCluster, name: str) -> set[str | None]:
    """What brokers run with, by their own word."""
    return {seen[name].value for seen in cluster.kafka().running_settings({name}).brokers.values()}


def ledger_files(cluster: LivingCluster, key: str) -> dict[Path, int]:
    """Files of the ledger on the instance's volume and their inodes, as long as Kafka has not cleaned them up."""
    asked = [i for e in cluster.events() if e.type == "surge.requested" for i in e.data["instances"]]
    volume = next(i for i in asked if f"{i['node']}.g{i['generation']}" == key)["volumes"][0]["key"]
    root = Layout(cluster.cloud, REGION).volume(cluster.uid, volume)
    # Not by a walk over all of it: directories of topics that were just deleted go meanwhile.
    files = {file.relative_to(root): file.stat().st_ino for file in root.glob("kafka/ledger-*/*.log")}
    assert files
    return files


@contextmanager
def ensemble_of(cluster: LivingCluster) -> Iterator[KazooClient]:
    """ZooKeeper mode: somebody who reaches its servers, a pool of their own."""
    servers = [i.address for i in cluster.detail().instances if i.node.startswith(CONTROLLERS)]
    client = KazooClient(",".join(f"{address}:2181" for address in servers))
    client.start(timeout=20)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def active_controller(ensemble: KazooClient) -> int:
    """ZooKeeper mode: id of the broker that leads."""
    return int(json.loads(ensemble.get("/controller")[0])["brokerid"])


def _is_java(pid: int) -> bool:
    try:
        return psutil.Process(pid).name() == "java"
    except psutil.NoSuchProcess:  # it ended between the two looks
        return False
