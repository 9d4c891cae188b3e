"""ZooKeeper's sessions in the simulator: those of brokers and of Kedge end at the worst moment, and what is read is of
a moment ago."""

from collections import deque

from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.zookeeper.locks import RESTART
from planner.observed import KafkaSnapshot
from tests.fakes.kafka import FakeKafka
from tests.sim.world import World

OLDEST_S = 8.0
"""A reading begins so long before its end at most, and is of its beginning: calls last 10 s (DESIGN.md 2)."""


class PastKafka(FakeKafka):
    """Answers as it was a while ago, honestly dated, or says that what it was told is old."""

    late_s = 0.0
    """How old what is read now is."""
    in_doubt = False
    """The controller knows other brokers than ZooKeeper: nobody's word is taken (`current_controller`)."""

    def __init__(self, **about: object) -> None:
        super().__init__(**about)  # type: ignore[arg-type]
        self._past: deque[KafkaSnapshot] = deque()

    def snapshot(self) -> KafkaSnapshot:
        now = super().snapshot()
        if self.in_doubt:
            why = "its metadata is old (it knows other brokers than there are in ZooKeeper)"
            raise KafkaUnavailable(what="finding the controller", where=self.cluster_id, why=why)
        self._past.append(now)
        while len(self._past) > 1 and (now.at - self._past[1].at).total_seconds() >= self.late_s:
            self._past.popleft()
        return self._past[0] if self.late_s else now


class SessionWorld(World):
    """A world whose Kafka may answer late."""

    kafka_type = PastKafka
    kafka: PastKafka


def end_kedges_session(world: World) -> bool:
    """The session of the server that leads ends, and its lock with it. Whether it held one."""
    held = world.lock_nodes.held.get(RESTART)
    if held is None or held[2] != "Kedge":
        return False
    world.lock_nodes.ended.add(held[0])
    del world.lock_nodes.held[RESTART]
    return True


def take_the_lock(world: World) -> bool:
    """Somebody else restarts by a script of theirs, under the lock. Whether it was free."""
    if RESTART in world.lock_nodes.held:
        return False
    world.lock_nodes.created += 1
    world.lock_nodes.held[RESTART] = (-1, world.lock_nodes.created, "a script", "new certificates")
    return True


def give_the_lock_back(world: World) -> None:
    """The script is done."""
    held = world.lock_nodes.held.get(RESTART)
    if held is not None and held[0] == -1:
        del world.lock_nodes.held[RESTART]
