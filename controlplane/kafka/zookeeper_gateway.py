"""The gateway to a cluster in ZooKeeper mode: the brokers' word, and that of the ensemble in the place of a quorum."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import Dialer
from controlplane.kafka.errors import KafkaFault, KafkaRefused, KafkaUnavailable
from controlplane.kafka.zookeeper.ensemble import Ensemble
from controlplane.kafka.zookeeper.errors import ZooKeeperFault, ZooKeeperUnavailable
from controlplane.kafka.zookeeper.live_registry import ZooKeeperRegistry
from controlplane.kafka.zookeeper.members import EnsembleConfig, EnsembleSeen, ZooKeeperMember
from controlplane.kafka.zookeeper.quorum import EnsembleRecord, quorum_of
from planner.observed import KafkaSnapshot


class ZooKeeperGateway(AdminGateway):
    """See `KafkaGateway`. Voters are servers that take part in the ensemble."""

    def __init__(
        self,
        dialer: Dialer,
        cluster: str,
        bootstrap: Callable[[], Sequence[str]] | Sequence[str],
        *,
        ensemble: Ensemble,
        registry: ZooKeeperRegistry,
        roll: Callable[[], EnsembleRecord],
    ) -> None:
        """`roll`: the servers on record, read at every call."""
        super().__init__(dialer, cluster, bootstrap, mode="zookeeper", look_up=registry.look)
        self._where = cluster
        self._ensemble = ensemble
        self._registry = registry
        self._roll = roll

    def snapshot(self) -> KafkaSnapshot:
        kafka = super().snapshot()
        quorum = quorum_of(self._look(), self._roll())
        if quorum is None:
            why = "no majority of the ZooKeeper servers serves, or they are electing a leader"
            raise KafkaUnavailable(what="reading the ensemble", where=self._where, why=why)
        return replace(kafka, quorum=quorum)

    def add_voter(self, controller: int, directory_id: str, *, host: str, port: int) -> bool:
        """The newcomer is at `host`; its ports are ZooKeeper's own."""
        what, seen = f"letting server {controller} take part", self._look()
        config = self._config(seen, what)
        if controller in {m.id for m in config.participants}:
            return False
        if not seen.of(controller).serves:
            raise KafkaUnavailable(
                what=what, where=self._where, why=f"it does not serve: {seen.of(controller).problem}"
            )
        member = ZooKeeperMember(controller, host, port)
        return self._reconfigured(lambda: self._ensemble.join(member, from_version=config.version))

    def remove_voter(self, controller: int, directory_id: str) -> bool:
        what = f"taking server {controller} out"
        config = self._config(self._look(), what)
        if config.member(controller) is None:
            return False
        return self._reconfigured(lambda: self._ensemble.leave(controller, from_version=config.version))

    def reelect_controller(self, broker: int, epoch: int) -> bool:
        try:
            return self._registry.depose(broker, epoch)
        except ZooKeeperFault as fault:
            raise as_kafka_fault(fault) from fault

    def _look(self) -> EnsembleSeen:
        return self._ensemble.look(self._roll().members)

    def _config(self, seen: EnsembleSeen, what: str) -> EnsembleConfig:
        if seen.config is None:
            raise KafkaUnavailable(what=what, where=self._where, why="no majority of the ensemble serves")
        return seen.config

    def _reconfigured(self, change: Callable[[], EnsembleConfig]) -> bool:
        try:
            change()
        except ZooKeeperFault as fault:
            raise as_kafka_fault(fault) from fault
        return True


def as_kafka_fault(fault: ZooKeeperFault) -> KafkaFault:
    """The same, for callers that only know whether to come again."""
    if isinstance(fault, ZooKeeperUnavailable):
        return KafkaUnavailable(what=fault.what, where=fault.where, why=fault.why, next_step=fault.next_step)
    return KafkaRefused(
        what=fault.what,
        where=fault.where,
        words=f"ZooKeeper: {fault.why}",
        error=type(fault).__name__,
        next_step=fault.next_step,
    )
