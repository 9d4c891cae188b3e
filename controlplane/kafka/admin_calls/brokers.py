"""Throttles, cordons and registrations of brokers."""

from collections.abc import Collection

from kafka.protocol.metadata import MetadataRequest

from controlplane.kafka.admin_calls.calls import AdminCalls
from controlplane.kafka.configs import apply_changes, read_told, read_topic_configs
from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import Connection
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.raw import UnregisterBrokerRequest
from controlplane.kafka.throttle import CORDON, EVERY_DIR, ConfigChange, ThrottlePlan, reconcile
from controlplane.kafka.zookeeper_mode import current_controller, registered

_NOT_REGISTERED = 102


class BrokerCalls(AdminCalls):
    """See `BrokerGateway`."""

    def set_throttle(self, plan: ThrottlePlan) -> int:
        with self._call() as (connection, deadline):
            live = connection.refresh_nodes(deadline)
            topics = read_topic_configs(connection, None, self._topics(connection, deadline), deadline)
            told = read_told(connection, live, topics, deadline)
            changes = reconcile(told.throttles, plan, live=told.brokers)
            apply_changes(connection, changes, deadline)
            return len(changes)

    def clear_throttles(self) -> int:
        return self.set_throttle(ThrottlePlan())

    def set_cordons(self, cordoned: Collection[int], lifted: Collection[int]) -> None:
        wanted: dict[int, str | None] = {**dict.fromkeys(cordoned, EVERY_DIR), **dict.fromkeys(lifted)}
        changes = [ConfigChange("broker", str(broker), CORDON, value) for broker, value in wanted.items()]
        with self._call() as (connection, deadline):
            apply_changes(connection, changes, deadline)

    def unregister_broker(self, broker: int) -> bool:
        with self._call() as (connection, deadline):
            if self._mode_of(connection, deadline) == "zookeeper":
                return self._is_forgotten(connection, broker, deadline)
        request = UnregisterBrokerRequest(broker_id=broker)
        return self._change(request, f"unregistering broker {broker}", already=_NOT_REGISTERED)

    def _is_forgotten(self, connection: Connection, broker: int, deadline: Deadline) -> bool:
        """In ZooKeeper mode a registration is an ephemeral node: nobody takes it away, it goes with its session. False
        once it is gone, as for one that was not registered."""
        if self._look_up is not None:
            known = frozenset(registered(self._look_up, self._cluster).brokers)
        else:
            current_controller(connection, None, deadline)
            known = connection.refresh_nodes(deadline)
        if broker not in known:
            return False
        raise KafkaUnavailable(
            what=f"unregistering broker {broker}",
            where=self._cluster,
            why="ZooKeeper still has its registration, which goes with its session (18 s after a broker that died)",
            next_step="Nothing needs to be asked for: look again.",
        )

    def _topics(self, connection: Connection, deadline: Deadline) -> list[str]:
        request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
        answer = connection.ask(request, what="listing topics", deadline=deadline)
        return [t.name for t in answer.topics if t.error_code == 0]
