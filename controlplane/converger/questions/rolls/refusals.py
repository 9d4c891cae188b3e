"""New VMs on which Kafka refuses the configuration it was told, and the settings that may be why."""

from collections.abc import Mapping

from controlplane.cluster.lifecycle import Phase
from controlplane.converger.questions.services.service_reports import refusal_of
from controlplane.converger.situation.situation import Situation


def refused_arrivals(situation: Situation) -> Mapping[str, str]:
    """Kafka's words by instance key, of VMs that have not joined."""
    arriving = (i for i in situation.view.in_phase(Phase.LAUNCHED) if not i.lost)
    return {i.key: words for i in arriving if (words := refusal_of(situation, i))}


def refused_settings(situation: Situation) -> frozenset[str]:
    """Settings of the spec that may be what is refused: those that who refuses has otherwise than who serves."""
    view = situation.view
    serving = next(
        (i.start.config for i in view.in_phase(Phase.JOINED) if i.start.config is not None and not i.lost), None
    )
    if serving is None:
        return frozenset()
    refused = [c for key in refused_arrivals(situation) if (c := view.instances[key].start.config) is not None]
    return frozenset(n for c in refused for n in c.keys() | serving.keys() if c.get(n) != serving.get(n))
