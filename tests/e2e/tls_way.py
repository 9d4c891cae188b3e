"""How far a living cluster is on its way from plaintext between its nodes to TLS, and what brokers are started with."""

from tests.e2e.living_cluster import LivingCluster


def steps_made(cluster: LivingCluster, after: int) -> list[tuple[str, int]]:
    """Since that event, in their order: each step with the position it led to."""
    found = (e for e in cluster.events(after) if e.type == "security.step_completed")
    return [(e.data["step"], e.data["position"]) for e in found]


def server_properties(cluster: LivingCluster, key: str) -> dict[str, str]:
    """Of the Kafka service on that VM, as its agent wrote them last."""
    (found,) = cluster.vm(key).glob("agent/services/*/server.properties")
    return dict(line.split("=", 1) for line in found.read_text().splitlines() if "=" in line)
