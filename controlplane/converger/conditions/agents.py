"""What a cluster says of the upgrade of its agents. Nothing of it is the worse for one that failed."""

from controlplane.converger.situation.situation import Situation
from events import facts

AGENT_FAILED = "AgentUpgradeFailed"
"""The condition. It is over once the VM is asked again, or gone."""


def agents_condition(situation: Situation) -> facts.ConditionChanged | None:
    """The condition, from the history alone."""
    view = situation.view
    if not view.vms.agent_orders:
        return None
    there = {i.key for i in view.alive()}
    failed = [o for key, o in sorted(view.vms.agent_orders.items()) if o.failed_at is not None and key in there]
    if not failed:
        return facts.ConditionChanged(AGENT_FAILED, False, "Free", "") if AGENT_FAILED in view.conditions else None
    words = "; ".join(f"{o.asked.key} to {o.asked.version}: {o.problem}" for o in failed[:3])
    message = f"{words}. No other VM is asked. Next: kedge agents resume, or kedge agents withdraw"
    return facts.ConditionChanged(AGENT_FAILED, True, "Failed", message)
