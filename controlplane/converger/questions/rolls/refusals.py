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
    view, found = situation.view, set[str]()
    serving = [i for i in view.in_phase(Phase.JOINED) if i.start.config is not None and not i.lost]
    for refusing in (view.instances[key] for key in refused_arrivals(situation)):
        # Of its own pool where one serves: another pool may have other settings by right.
        others = sorted(serving, key=lambda i: i.planned.pool != refusing.planned.pool)
        known, had = refusing.start.config, others[0].start.config if others else None
        if known is not None and had is not None:
            found |= {n for n in known.keys() | had.keys() if known.get(n) != had.get(n)}
    return frozenset(found)
