"""What clouds announce of their hosts: a VM with a date gets its successor before that, as on a person's request.

announcement in the inventory, or to the VM alone -> healing.requested (finding `maintenance`) + node.replace_requested

What a VM alone is told (it is pre-empted in two minutes, or in half of one) comes by its agent's report. The successor
is begun at once; the agent stops the broker in order before the date by itself, which hands its leaders over.
"""

from controlplane.converger.questions.clouds.announced import judged
from controlplane.converger.situation.decision import Decision, record
from controlplane.converger.situation.situation import Situation
from events import facts
from planner.healing import Cure
from planner.maintenance import FINDING


def maintenance_step(situation: Situation) -> Decision | None:
    """Begins one replacement. None when nothing is announced, or nothing is to be done about it now."""
    chosen, _ = judged(situation)
    if chosen is None:
        return None
    words = f"the cloud announces maintenance: {chosen.words}"
    event = facts.HealingRequested(chosen.key, chosen.node, FINDING, str(Cure.REPLACE), words)
    return record(f"replacing {chosen.key} ({words})", event, facts.NodeReplaceRequested(chosen.key, words))
