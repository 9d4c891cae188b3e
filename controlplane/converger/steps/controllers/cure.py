"""A quorum without its majority because VMs of it are gone: nothing that has begun ends without metadata, and there is
none before they are back. So what waits for metadata must not keep them waiting.
"""

from collections.abc import Callable, Sequence

from controlplane.cluster.holds import hold_on
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.rolls.replacements import lost_controllers_step

Step = Callable[[Situation], Decision | None]


def is_lost(situation: Situation) -> bool:
    """Whether too few of the voters have a VM for a majority, and nobody could be asked for metadata lately."""
    return situation.seen.fresh_kafka(situation.now) is None and _lacks_vms(situation.view)


def waits_for_metadata(decision: Decision) -> bool:
    """Whether it does nothing but wait until Kafka can be asked."""
    idle = decision.wait is not None and not decision.events and not decision.effects
    return idle and decision.wait is not None and decision.wait.reason == WaitReason.KAFKA_UNKNOWN


def cure(situation: Situation, steps: Sequence[Step]) -> Decision | None:
    """What brings the quorum back: `steps` see through who is on the way, else the next one is made. None while a
    person holds the cluster, or where nobody has to be made."""
    for step in steps:
        decision = step(situation)
        if decision is not None and not waits_for_metadata(decision):
            return decision
    held = hold_on(situation.view, situation.now)
    return lost_controllers_step(situation) if held is None else None


def _lacks_vms(view: ClusterView) -> bool:
    there = {i.service_id for i in view.controllers() if i.phase is Phase.JOINED and not i.lost}
    return bool(view.quorum.voters) and len(there & view.quorum.voters.keys()) * 2 <= len(view.quorum.voters)
