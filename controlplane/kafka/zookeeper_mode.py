"""Clusters that keep their metadata in ZooKeeper (Kafka up to 3.9): which they are, and whose picture is the true one.

Kafka 3.9, `KafkaApis` and `apiversion`: such brokers do not know the quorum's messages, and only the controller, a
broker, takes reassignments and elections; the others answer NOT_CONTROLLER, or elect nobody without a word.
"""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest

from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import Connection
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.zookeeper.errors import ZooKeeperFault
from controlplane.kafka.zookeeper.registry import RegistrySeen
from planner.observed import Mode

_DESCRIBE_QUORUM = 55
_ANSWER_S = 3.0

LookUp = Callable[[], RegistrySeen]
"""ZooKeeper's own word on who is registered. Raises ZooKeeperUnavailable or ZooKeeperRefused."""


@dataclass(frozen=True, slots=True)
class CurrentController:
    """The broker that leads a cluster, and the epoch of its election; -1 where ZooKeeper was not asked."""

    broker: int
    epoch: int = -1


def read_mode(connection: Connection, deadline: Deadline) -> Mode:
    """By the messages a broker knows (KIP-595: DescribeQuorum is a KRaft broker's)."""
    request = ApiVersionsRequest(client_software_name="kedge", client_software_version="1", min_version=3)
    answer = connection.ask(request, what="asking for the mode", deadline=deadline)
    return "kraft" if _is_krafts(answer) else "zookeeper"


def in_kraft_mode(connection: Connection, live: Collection[int], deadline: Deadline) -> frozenset[int]:
    """Those of these brokers that are KRaft's; one that does not answer is not."""
    names = {"client_software_name": "kedge", "client_software_version": "1"}
    requests = {node: ApiVersionsRequest(**names, min_version=3) for node in live}
    answers = connection.ask_each(requests, timeout_s=deadline.capped(_ANSWER_S))
    return frozenset(n for n, a in answers.items() if _is_krafts(a))


def current_controller(connection: Connection, look_up: LookUp | None, deadline: Deadline) -> CurrentController:
    """The broker that leads the cluster, proved not to live in the past. Raises KafkaUnavailable.

    With `look_up` ZooKeeper says who it is, and the controller's own picture of the live brokers has to be ZooKeeper's.
    Without, more than half of the live brokers have to name it, itself among them: weaker, since ZooKeeper may have
    another opinion by now.
    """
    live = connection.refresh_nodes(deadline)
    requests = {n: MetadataRequest(topics=[], allow_auto_topic_creation=False) for n in live}
    answers = connection.ask_each(requests, timeout_s=deadline.capped(_ANSWER_S))
    named = {n: a.controller_id for n, a in answers.items()}
    if look_up is None:
        return CurrentController(_agreed(named, live, connection.name))
    told = registered(look_up, connection.name)
    if told.kraft_epoch >= 0:  # then brokers in ZooKeeper mode name just anybody as the controller
        raise _unavailable(connection.name, f"controller {told.controller} of a KRaft quorum leads it: it migrates")
    where = f"{connection.name}, broker {told.controller}"
    if told.controller < 0:
        raise _unavailable(connection.name, "ZooKeeper knows no controller now: one is being elected")
    if named.get(told.controller) != told.controller:
        raise _unavailable(where, "ZooKeeper calls it the controller, it does not answer as one")
    believed = {b.node_id for b in answers[told.controller].brokers}
    if believed != set(told.brokers):
        theirs, ours = sorted(told.brokers), sorted(believed)
        raise _unavailable(where, f"its metadata is old (it knows brokers {ours}, in ZooKeeper there are {theirs})")
    return CurrentController(told.controller, told.controller_epoch)


def registered(look_up: LookUp, where: str) -> RegistrySeen:
    """ZooKeeper's word. Raises KafkaUnavailable: without it nothing of the cluster is certain."""
    try:
        return look_up()
    except ZooKeeperFault as fault:
        raise KafkaUnavailable(
            what="asking ZooKeeper", where=where, why=fault.why, next_step=fault.next_step
        ) from fault


def _is_krafts(answer: Any) -> bool:
    return any(k.api_key == _DESCRIBE_QUORUM for k in answer.api_keys)


def _agreed(named: dict[int, int], live: frozenset[int], where: str) -> int:
    votes = Counter(c for c in named.values() if c >= 0)
    for controller, count in votes.most_common(1):
        if 2 * count > len(live) and named.get(controller) == controller:
            return controller
    told = ", ".join(f"broker {n} names {c}" for n, c in sorted(named.items())) or "no broker answered"
    raise _unavailable(where, f"its brokers do not agree on the controller ({told})")


def _unavailable(where: str, why: str) -> KafkaUnavailable:
    return KafkaUnavailable(what="finding the controller", where=where, why=why)
