"""When a broker's registration may be dropped. Kafka itself does not ask: it forgets a live broker just as
readily, which then loops on STALE_BROKER_EPOCH and does not even stop on SIGTERM (seen on 4.1.1 and
4.2.0)."""

from dataclasses import dataclass

from controlplane.kafka.gates import hosts_nothing
from planner.observed import KafkaSnapshot


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why not, with numbers and what to do."""

    reason: str


def may_unregister(snapshot: KafkaSnapshot, broker: int, *, stopped_proof: bool) -> Refusal | None:
    """None when the broker may be unregistered: its end is proved, Kafka calls it fenced (or does not know
    it), and it hosts no replica and no move names it.

    `stopped_proof`: the agent persisted its exit, or the cloud answered that the VM is gone. `snapshot` has
    to be newer than that proof; its age is the caller's to check.
    """
    if not stopped_proof:
        return Refusal(
            f"broker {broker} is not proved stopped: a live broker that is unregistered hangs. "
            "Wait for its agent's report or the cloud's answer"
        )
    seen = snapshot.brokers.get(broker)
    if seen is not None and not seen.fenced:
        return Refusal(
            f"broker {broker} is said to be stopped, but Kafka still calls it live. "
            "Kafka fences it within 9 s of its last heartbeat; look again then"
        )
    empty = hosts_nothing(snapshot, broker)
    return None if empty.open else Refusal(f"{empty.reason}. Start it again and drain it")
