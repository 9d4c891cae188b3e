"""The default quota of producers, asked for only where it may have to be lowered, or was."""

from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.rolls.disk_fill import fullest_disk
from controlplane.converger.situation.observation import ProducerQuotaSeen
from controlplane.converger.situation.ports import Ports
from controlplane.kafka.errors import KafkaFault
from planner.disk_protection import HYSTERESIS
from planner.observed import KafkaSnapshot


def producer_quota_of(
    view: ClusterView, kafka: KafkaSnapshot, ports: Ports, missing: dict[str, str]
) -> ProducerQuotaSeen | None:
    """As brokers have it at a new look; None where nobody has to know, or it cannot be read."""
    if view.settings.producer_quota is None and not _may_be_lowered(view, kafka):
        return None
    try:
        return ProducerQuotaSeen(ports.kafka(view).producer_quota())
    except KafkaFault as error:
        missing["producer quota"] = str(error)
        return None


def _may_be_lowered(view: ClusterView, kafka: KafkaSnapshot) -> bool:
    pools = view.document.spec.broker_pools if view.document is not None and view.roll.converged else ()
    above = min((p.disk.protect_above for p in pools if p.disk.protect == "quota"), default=None)
    if above is None:
        return False
    least = above / 100 - HYSTERESIS
    shares = (fullest_disk(seen) for seen in kafka.log_dirs.values())
    return any(known is not None and known[0] >= least for known in shares)
