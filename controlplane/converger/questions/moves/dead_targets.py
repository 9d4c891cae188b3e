"""A new VM for a broker that does not serve and that others than its agent found so: moves of ours waited for it, or no
start brings it back. A cure like any other, under its caps.

For the sake of moves it is asked for once they have been taken back. Whoever was diagnosed is meant, and nobody else
that happens to be away at that moment; a rack that is away as a whole is a split, and no broker of it is unhealthy.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from controlplane.cluster.healing_switches import why_not
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.health.cure_evidence import evidence_of
from controlplane.converger.questions.health.node_replacements import replacing_dead
from controlplane.converger.questions.health.prescriptions import healing_policy
from controlplane.converger.situation.situation import Situation
from events import facts
from planner.anomalies.kinds import Kind
from planner.cure_table import TARGET_DEAD
from planner.healing import Ailment, Cure, HealingRefusal, may_replace
from planner.observed import KafkaSnapshot

_SPLIT_AT = 2
"""A rack of one broker that is down says nothing of its rack; two racks with somebody down do."""


def dead_target(situation: Situation, kafka: KafkaSnapshot, diagnosed: Collection[int]) -> InstanceView | None:
    """One of the diagnosed brokers that still does not serve, and that nobody has asked to be replaced."""
    live, view = kafka.live_brokers(), situation.view
    dead = (i for i in view.receivers() if i.service_id in diagnosed and i.service_id not in live)
    return next((i for i in dead if i.key not in view.requests.to_replace), None)


def new_vm_for(
    situation: Situation,
    kafka: KafkaSnapshot,
    dead: InstanceView,
    since: datetime,
    why: str,
    *,
    finding: str = TARGET_DEAD,
) -> tuple[object, ...] | HealingRefusal:
    """What is recorded for its new VM; or why it gets none, and until when, where that is known."""
    document, ailment = situation.view.document, Ailment(dead.node, dead.key, finding, since, why)
    if document is None:
        return HealingRefusal(ailment, "nothing is declared", gave_up=False)
    refused = (
        why_not(situation.view, Kind.BROKER_FAILURE, situation.now)
        or situation.allowance.cures.why_none(situation.now)
        or _split(situation, kafka)
    )
    if refused:
        return HealingRefusal(ailment, refused, gave_up=False)
    there = [i for i in situation.view.in_phase(Phase.JOINED) if i.is_broker and not i.lost]
    judged = may_replace(
        ailment,
        situation.view.vms.cures,
        healing_policy(situation, document),
        situation.now,
        have=frozenset(i.node for i in there if i.service_id not in kafka.live_brokers()),
        peers=frozenset(i.node for i in there),
        evidence=replace(evidence_of(situation, dead), unheard=frozenset()),  # who serves is Kafka's word, not theirs
    )
    if isinstance(judged, HealingRefusal):
        return judged
    words = f"broker {dead.service_id} does not serve: {why}"
    healing = facts.HealingRequested(dead.key, dead.node, finding, str(Cure.REPLACE), words)
    what = "hung moves" if finding == TARGET_DEAD else finding
    return healing, replacing_dead(situation, dead, f"healing of {what}: {why}")


def _split(situation: Situation, kafka: KafkaSnapshot) -> str:
    """Why what is away may be a split and no death, "" where it is one broker's own affair."""
    live, racks = kafka.live_brokers(), defaultdict[str, list[bool]](list)
    for instance in situation.view.in_phase(Phase.JOINED):
        if instance.is_broker and not instance.lost:
            racks[instance.planned.rack].append(instance.service_id in live)
    down = sorted(rack for rack, serve in racks.items() if not all(serve))
    whole = [rack for rack in down if len(racks[rack]) >= _SPLIT_AT and not any(racks[rack])]
    if whole:
        return f"no broker of rack {whole[0]} serves: that may be a split"
    return f"brokers of racks {', '.join(down)} are down at once: that may be a split" if len(down) >= _SPLIT_AT else ""
