"""Who is registered in ZooKeeper, as values. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class RegisteredBroker:
    """A broker's own words at registration. `session` is the one that keeps it there."""

    id: int
    host: str
    port: int
    rack: str
    session: int


@dataclass(frozen=True, slots=True)
class RegistrySeen:
    """One look; `at` is before it. `controller` is a broker's id, -1 while there is none; `cluster_id` is "" before
    the first broker came."""

    at: datetime
    cluster_id: str
    brokers: Mapping[int, RegisteredBroker]
    controller: int
    controller_epoch: int


@dataclass(frozen=True, slots=True)
class Disagreement:
    """ZooKeeper and a broker's agent do not say the same, in words."""

    broker: int
    what: str


def disagreements(seen: RegistrySeen, running: Mapping[int, tuple[str, int]]) -> tuple[Disagreement, ...]:
    """`running`: brokers whose agents call them up, with the address and port they should be registered at.

    One look is no proof: a broker that registers anew, or that has just started, is missing for a moment. A broker that
    ZooKeeper has and no agent runs is not told of here: its session may still be ending.
    """
    found = []
    for broker, (host, port) in sorted(running.items()):
        there = seen.brokers.get(broker)
        if there is None:
            found.append(Disagreement(broker, f"broker {broker} runs by its agent, but ZooKeeper has no registration"))
        elif (there.host, there.port) != (host, port):
            at = f"registered at {there.host}:{there.port}, not at {host}:{port}"
            found.append(Disagreement(broker, f"broker {broker} is {at}: another process has its id"))
    return tuple(found)
