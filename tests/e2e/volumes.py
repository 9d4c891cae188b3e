"""The disks of a living cluster's brokers: which volume is which directory, whose it is, what Kafka has there."""

from tests.e2e.living_cluster import LivingCluster


def dirs_in_use(cluster: LivingCluster, broker: int) -> int:
    """How many of its directories have a replica. Of a broker's only directory nobody notes which are in it."""
    seen = cluster.snapshot().log_dirs[broker]
    if len(seen.dirs) == 1:
        return min(seen.replicas, 1)
    return sum(len(d.replicas) > 0 for d in seen.dirs)


def identity_of(cluster: LivingCluster, key: str, directory: str) -> str:
    """What Kafka knows a directory again by."""
    return (cluster.vm(key) / "volumes" / directory / "kafka" / "meta.properties").read_text()


def volumes_of(cluster: LivingCluster, key: str) -> dict[str, str]:
    """Directory -> volume on a VM, as its agent finds them."""
    keys = (cluster.vm(key) / "volumes").glob("*.key")
    return {file.name.removesuffix(".key"): file.read_text().strip() for file in keys}


def version_of(volume: str) -> int:
    """3 of `three-c-0.data.v3`."""
    return int(volume.rpartition(".v")[2])
