"""The gateway to a cluster on its way from ZooKeeper to KRaft: who leads it, and whose picture of it is current.

Seen on Kafka 3.9.1 (docs/zookeeper.md). As long as a broker leads, all is as in ZooKeeper mode. Once the quorum leads,
brokers in KRaft mode follow its log, and are read as in any other KRaft cluster. While none of them is KRaft's yet,
there is no broker that could tell how old its picture is: the quorum's leader is asked itself, ZooKeeper has to be
written up to the end of its log, and a broker's picture counts where it is the one in ZooKeeper.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from controlplane.kafka.controllers import read_log
from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import Connection, Dialer
from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable
from controlplane.kafka.metadata_log import MetadataLog
from controlplane.kafka.quorum import CAUGHT_UP_LAG, SILENT_S
from controlplane.kafka.snapshot import read_from_one_of
from controlplane.kafka.zookeeper.ensemble import Ensemble
from controlplane.kafka.zookeeper.errors import ZooKeeperFault
from controlplane.kafka.zookeeper.live_registry import ZooKeeperRegistry
from controlplane.kafka.zookeeper.quorum import EnsembleRecord
from controlplane.kafka.zookeeper.registry import RegisteredPartition, RegistrySeen
from controlplane.kafka.zookeeper.sessions import ShownTo, plaintext
from controlplane.kafka.zookeeper_gateway import ZooKeeperGateway, as_kafka_fault
from controlplane.kafka.zookeeper_mode import current_controller, in_kraft_mode, registered
from planner.observed import KafkaSnapshot, TopicPartition

_SHOWN = 3


class MigratingGateway(ZooKeeperGateway):
    """See `KafkaGateway`. The quorum of a snapshot is the ensemble's or the controllers', whichever leads."""

    def __init__(
        self,
        dialer: Dialer,
        cluster: str,
        bootstrap: Sequence[str],
        *,
        ensemble: Ensemble,
        registry: ZooKeeperRegistry,
        roll: Callable[[], EnsembleRecord],
        controllers: Callable[[], Sequence[str]],
        tls: ShownTo = plaintext,
    ) -> None:
        """`controllers`: their `host:port`, and `tls` who this server is to them, both read at every call."""
        super().__init__(dialer, cluster, bootstrap, ensemble=ensemble, registry=registry, roll=roll)
        self._controllers = controllers
        self._tls = tls

    def snapshot(self) -> KafkaSnapshot:
        at = self._now()
        with self._call() as (connection, deadline):
            live = connection.refresh_nodes(deadline)
            krafts = in_kraft_mode(connection, live, deadline)
            if krafts:
                return read_from_one_of(connection, krafts, at, deadline, mode="kraft")
            registry = registered(self._registry.look, self._where)
            if registry.kraft_epoch >= 0:
                log = self._log(registry, deadline)
                seen = _registered_alone(
                    read_from_one_of(connection, registry.brokers, at, deadline, mode="zookeeper"), registry
                )
        if registry.kraft_epoch < 0:
            return super().snapshot()
        require_same(seen, registry, self._partitions(), self._where)
        return replace(seen, mode="kraft", controller=-1, quorum=log.quorum)

    def reassign(self, targets: Mapping[TopicPartition, tuple[int, ...]]) -> Mapping[TopicPartition, str]:
        self._refuse("reassigning partitions")

    def cancel(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, str]:
        self._refuse("cancelling reassignments")

    def unregister_broker(self, broker: int) -> bool:
        self._refuse(f"unregistering broker {broker}")

    def update_feature(self, name: str, level: int, *, validate_only: bool) -> None:
        self._refuse(f"finalising {name} {level}")

    def add_voter(self, controller: int, directory_id: str, *, host: str, port: int) -> bool:
        self._refuse(f"letting {controller} take part")

    def remove_voter(self, controller: int, directory_id: str) -> bool:
        self._refuse(f"taking {controller} out")

    def reelect_controller(self, broker: int, epoch: int) -> bool:
        self._refuse(f"electing another controller than {broker}")

    def _controller(self, connection: Connection, deadline: Deadline) -> int | None:
        """While a broker leads, the others would pass on what is the controller's to nobody who takes it, and hang."""
        krafts = in_kraft_mode(connection, connection.refresh_nodes(deadline), deadline)
        if krafts:
            return min(krafts)
        if registered(self._registry.look, self._where).kraft_epoch >= 0:
            return None  # brokers that are told of both pass it on to the quorum
        return current_controller(connection, self._registry.look, deadline).broker

    def _log(self, registry: RegistrySeen, deadline: Deadline) -> MetadataLog:
        """The quorum's log, with a majority behind its leader and ZooKeeper written up to its end."""
        log = read_log(self._controllers(), self._where, deadline, self._tls())
        voters = [m for m in log.quorum.members if m.is_voter]
        if 2 * sum(m.silent_s < SILENT_S for m in voters) <= len(voters):
            self._unavailable(f"controller {log.quorum.leader} leads, and no majority of the quorum follows it")
        if registry.controller != log.quorum.leader:
            self._unavailable(
                f"ZooKeeper names controller {registry.controller}, and {log.quorum.leader} leads the quorum"
            )
        behind = log.end - registry.written
        if behind >= CAUGHT_UP_LAG:
            self._unavailable(f"what the quorum writes to ZooKeeper is {behind} records behind its log")
        return log

    def _partitions(self) -> Mapping[TopicPartition, RegisteredPartition]:
        try:
            return self._registry.partitions()
        except ZooKeeperFault as fault:
            raise as_kafka_fault(fault) from fault

    def _unavailable(self, why: str) -> NoReturn:
        raise KafkaUnavailable(what="reading metadata", where=self._where, why=why)

    def _refuse(self, what: str) -> NoReturn:
        words = "this cluster migrates from ZooKeeper to KRaft: its metadata has two homes until that is over"
        raise KafkaRefused(
            what=what,
            where=self._where,
            words=words,
            error="MigrationInHand",
            next_step="Nothing was changed: it is done once the migration has ended, or has gone back.",
        )


def _registered_alone(seen: KafkaSnapshot, registry: RegistrySeen) -> KafkaSnapshot:
    """Brokers in ZooKeeper mode go on to list one that left while the quorum leads (3.9.1, a minute and more after it
    had stopped): whoever is not registered in ZooKeeper serves nobody."""
    brokers = {b: s if b in registry.brokers else replace(s, fenced=True) for b, s in seen.brokers.items()}
    return replace(seen, brokers=brokers)


def require_same(
    seen: KafkaSnapshot, registry: RegistrySeen, written: Mapping[TopicPartition, RegisteredPartition], where: str
) -> None:
    """Refuses a broker's picture that is not ZooKeeper's. Raises KafkaUnavailable: they differ for a moment after each
    change, and for as long as the quorum does not reach that broker."""
    if seen.live_brokers() != set(registry.brokers):
        theirs, ours = sorted(registry.brokers), sorted(seen.live_brokers())
        _differs(where, f"it knows brokers {ours}, in ZooKeeper there are {theirs}")
    shown = {p.name: RegisteredPartition(p.leader, frozenset(p.isr)) for p in seen.partitions}
    other = sorted(p for p in shown.keys() | written.keys() if shown.get(p) != written.get(p))
    if other:
        names = ", ".join(f"{p.topic}-{p.partition}" for p in other[:_SHOWN])
        more = f" and {len(other) - _SHOWN} more" if len(other) > _SHOWN else ""
        _differs(where, f"it shows {names}{more} otherwise than ZooKeeper does")


def _differs(where: str, why: str) -> NoReturn:
    raise KafkaUnavailable(what="reading metadata", where=where, why=f"a broker's metadata is not current: {why}")
