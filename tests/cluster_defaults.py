"""A hand on the live defaults of a cluster, as an operator has with Kafka's own tools.

Kedge itself sets only what a spec says, after each broker was asked."""

from collections.abc import Mapping

from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.configs import apply_changes, read_cluster_defaults
from controlplane.kafka.gateway import KafkaGateway
from controlplane.kafka.throttle import CLUSTER_DEFAULT, ConfigChange
from tests.fakes.kafka import FakeKafka


def defaults_of(gateway: KafkaGateway) -> Mapping[str, str]:
    """Those that are set, by key."""
    if isinstance(gateway, FakeKafka):
        return gateway.describe_cluster_config()
    assert isinstance(gateway, AdminGateway)
    with gateway._call() as (connection, deadline):
        return read_cluster_defaults(connection, deadline)


def set_defaults(gateway: KafkaGateway, changes: Mapping[str, str | None]) -> None:
    """Sets (or deletes, with None) these; other keys stay."""
    if isinstance(gateway, FakeKafka):
        gateway.alter_cluster_config(changes)
        return
    assert isinstance(gateway, AdminGateway)
    wanted = [ConfigChange("broker", str(CLUSTER_DEFAULT), k, v) for k, v in sorted(changes.items())]
    with gateway._call() as (connection, deadline):
        apply_changes(connection, wanted, deadline)
