"""Brokers whose process is there, and which Kafka's metadata has otherwise than it should: not at all, fenced, in
another rack, or at another address. Clients see such a broker as dead, or replicas as spread where they are not.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Literal

from agent.host_port import HostPort
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.situation.situation import Situation
from events import facts
from planner.observed import BrokerSeen, KafkaSnapshot

REGISTRATION_WRONG = "RegistrationWrong"

GRACE = timedelta(seconds=60)
"""A broker that starts anew is let in within this."""

_NAMED = 3

Fault = Literal["NotRegistered", "Fenced", "WrongRack", "WrongAddress"]


@dataclass(frozen=True, slots=True)
class Misregistration:
    """What is wrong with the registration of one broker, in words."""

    key: str
    fault: Fault
    words: str

    @property
    def is_away(self) -> bool:
        """Whether Kafka does not count on it at all."""
        return self.fault in ("NotRegistered", "Fenced")


def misregistered(view: ClusterView, kafka: KafkaSnapshot) -> Mapping[int, Misregistration]:
    """By broker id, among those that serve as far as is recorded and are not being started anew."""
    found = {}
    for instance in view.brokers():
        wrong = _wrong(view, instance, kafka) if _is_expected(view, instance) else None
        if wrong is not None:
            found[instance.service_id] = wrong
    return found


def registration_wrong(situation: Situation) -> facts.ConditionChanged | None:
    """What has been so for a while, of brokers whose own agent says that they run. None while that is not known."""
    kafka, since = situation.seen.fresh_kafka(situation.now), situation.seen.health.misregistered
    if kafka is None:
        return None
    if not since:
        return facts.ConditionChanged(REGISTRATION_WRONG, False, "Free", "")
    old = {b for b, at in since.items() if situation.now - at >= GRACE}
    wrong = [
        a for b, a in sorted(misregistered(situation.view, kafka).items()) if b in old and is_running(situation, a)
    ]
    if not wrong:
        return facts.ConditionChanged(REGISTRATION_WRONG, False, "Free", "")
    faults = {a.fault for a in wrong}
    reason = wrong[0].fault if len(faults) == 1 else "Several"
    sentences = "; ".join(f"{a.key} runs, and {a.words}" for a in wrong[:_NAMED])
    more = f"; and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
    broker = situation.view.instances[wrong[0].key].service_id
    message = f"{sentences}{more}. Next: kedge restart {situation.view.name} --broker {broker}"
    return facts.ConditionChanged(REGISTRATION_WRONG, True, reason, message)


def is_marked_misregistered(situation: Situation, kafka: KafkaSnapshot, instance: InstanceView) -> bool:
    """Whether the condition holds, and this broker runs and is misregistered by this metadata."""
    condition = situation.view.conditions.get(REGISTRATION_WRONG)
    if condition is None or not condition.status:
        return False
    wrong = misregistered(situation.view, kafka).get(instance.service_id)
    return wrong is not None and wrong.key == instance.key and is_running(situation, wrong)


def _is_expected(view: ClusterView, instance: InstanceView) -> bool:
    if view.quorum.migration is not None and instance.service_id in view.quorum.migration.last:
        return False  # it is being started anew, or was the last one to be
    serves = instance.phase in (Phase.JOINED, Phase.DRAINING)
    return serves and not instance.lost and instance.key not in view.settings.restarts


def _wrong(view: ClusterView, instance: InstanceView, kafka: KafkaSnapshot) -> Misregistration | None:
    broker = instance.service_id
    seen = kafka.brokers.get(broker)
    if seen is None:
        where = "ZooKeeper" if kafka.mode == "zookeeper" else "Kafka's metadata"
        return Misregistration(instance.key, "NotRegistered", f"{where} has no broker {broker}")
    if seen.fenced:
        return Misregistration(instance.key, "Fenced", f"the controllers hold broker {broker} fenced: it serves nobody")
    if seen.rack != instance.planned.rack:
        has = seen.rack or "none"
        return Misregistration(
            instance.key, "WrongRack", f"broker {broker} is registered in rack {has}, not {instance.planned.rack}"
        )
    wanted, port = view.address_of(instance), view.port_of(instance)
    if _is_elsewhere(seen, wanted, port):
        words = f"broker {broker} is registered at {HostPort(seen.host, seen.port)}, not at {HostPort(wanted, port)}"
        return Misregistration(instance.key, "WrongAddress", words)
    return None


def _is_elsewhere(seen: BrokerSeen, wanted: str, port: int) -> bool:
    """Only addresses are compared: what a name means to a broker is not known here, nor an address nobody told."""
    if seen.host == wanted:
        return seen.port != port
    there, here = _address(seen.host), _address(wanted)
    return there is not None and here is not None and (there != here or seen.port != port)


@lru_cache(maxsize=16_384)
def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """None for a name. Every look at a cluster asks for the same ones again."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def is_running(situation: Situation, wrong: Misregistration) -> bool:
    """By its agent's young word, and for as long as a start takes to be known. A broker that is down is no riddle: that
    is told elsewhere."""
    seen = situation.seen.reports.get(wrong.key)
    service = seen.service("broker") if seen is not None else None
    if seen is None or service is None or not seen.is_young(situation.now):
        return False
    if service.hangs:
        return True  # it was up, and stands still for so long that nobody gets a connection to it any more
    return service.state == "running" and seen.received_at - seen.since(service) >= GRACE
