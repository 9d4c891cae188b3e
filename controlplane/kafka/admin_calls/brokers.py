"""Throttles, cordons and registrations of brokers."""

from collections.abc import Collection, Mapping

from kafka.protocol.metadata import MetadataRequest

from controlplane.kafka import configs, dialer, errors, raw, throttle, zookeeper_mode
from controlplane.kafka.admin_calls.calls import AdminCalls
from controlplane.kafka.deadline import Deadline

_NOT_REGISTERED = 102


class BrokerCalls(AdminCalls):
    """See `BrokerGateway`."""

    def set_throttle(self, plan: throttle.ThrottlePlan) -> int:
        with self._call() as (connection, deadline):
            live = connection.refresh_nodes(deadline)
            topics = configs.read_topic_configs(connection, None, self._topics(connection, deadline), deadline)
            applied = configs.read_applied(connection, live, topics, deadline)
            changes = throttle.reconcile(applied.throttles, plan, live=applied.brokers)
            configs.apply_changes(connection, changes, deadline)
            return len(changes)

    def clear_throttles(self) -> int:
        return self.set_throttle(throttle.ThrottlePlan())

    def set_log_dirs_throttle(self, rates: Mapping[int, int | None]) -> None:
        changes = [
            throttle.ConfigChange("broker", str(broker), throttle.LOG_DIRS_RATE, None if rate is None else str(rate))
            for broker, rate in rates.items()
        ]
        with self._call() as (connection, deadline):
            configs.apply_changes(connection, changes, deadline)

    def set_cordons(self, cordoned: Collection[int], lifted: Collection[int]) -> None:
        wanted: dict[int, str | None] = {**dict.fromkeys(cordoned, throttle.EVERY_DIR), **dict.fromkeys(lifted)}
        changes = [
            throttle.ConfigChange("broker", str(broker), throttle.CORDON, value) for broker, value in wanted.items()
        ]
        with self._call() as (connection, deadline):
            configs.apply_changes(connection, changes, deadline)

    def unregister_broker(self, broker: int) -> bool:
        with self._call() as (connection, deadline):
            if self._mode_of(connection, deadline) == "zookeeper":
                return self._is_forgotten(connection, broker, deadline)
        request = raw.UnregisterBrokerRequest(broker_id=broker)
        return self._change(request, f"unregistering broker {broker}", already=_NOT_REGISTERED)

    def _is_forgotten(self, connection: dialer.Connection, broker: int, deadline: Deadline) -> bool:
        """In ZooKeeper mode a registration is an ephemeral node: nobody takes it away, it goes with its session. False
        once it is gone, as for one that was not registered."""
        if self._look_up is not None:
            known = frozenset(zookeeper_mode.registered(self._look_up, self._cluster).brokers)
        else:
            zookeeper_mode.current_controller(connection, None, deadline)
            known = connection.refresh_nodes(deadline)
        if broker not in known:
            return False
        raise errors.KafkaUnavailable(
            what=f"unregistering broker {broker}",
            where=self._cluster,
            why="ZooKeeper still has its registration, which goes with its session (18 s after a broker that died)",
            next_step="Nothing needs to be asked for: look again.",
        )

    def _topics(self, connection: dialer.Connection, deadline: Deadline) -> list[str]:
        request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
        answer = connection.ask(request, what="listing topics", deadline=deadline)
        return [t.name for t in answer.topics if t.error_code == 0]
