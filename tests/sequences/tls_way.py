"""What the stories of a living cluster on its way to TLS, and back, have in common, whoever votes."""

from events.spec.model import KafkaClusterDocument
from tests.sim.world import World


def born(world: World, document: KafkaClusterDocument) -> None:
    """In plaintext, with some data."""
    world.declare(document)
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def completed(world: World) -> list[tuple[str, int]]:
    """Steps that were made, with the position each led to."""
    return [(r.data["step"], r.data["position"]) for r in world.history() if r.type == "security.step_completed"]


def until(world: World, step: str, what: str) -> None:
    """As far as that event of that step."""

    def there(now: World) -> bool:
        return any(r.type == f"security.step_{what}" and r.data["step"] == step for r in now.history())

    world.run(until=there, ticks=600)
    assert there(world)


def runs(world: World) -> set[tuple[str, str]]:
    """(service, step) of every process: `plain` and `tls` at the two ends."""
    processes = [p for vm in world.machines.vms.values() for p in vm.processes if p.up]
    return {(p.document.name, (p.document.tls.step or "tls") if p.document.tls else "plain") for p in processes}
