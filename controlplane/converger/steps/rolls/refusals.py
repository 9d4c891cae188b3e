"""VMs that came up, and on which Kafka refuses the configuration it was told: rules between settings are Kafka's own,
and it says them when it is formatted, or started.

    its agent tells the refusal -> the VM stays, no further one is made, `Blocked` says Kafka's words
        -> another spec: it is told that (`reconfigurations`)

No deadline ends it: another VM would be told the same. What is lost meanwhile is replaced, by VMs with the settings
that are in force where those that are refused are new.
"""

from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.rolls.refusals import refused_arrivals
from controlplane.converger.situation.decision import Decision, wait
from controlplane.converger.situation.situation import Situation
from events.quantities import counted


def refusal_left_step(situation: Situation) -> Decision | None:
    """Says that the spec in force is refused, by whom, and what next. None where it is not."""
    refused = refused_arrivals(situation)
    if not refused:
        return None
    first, others = min(refused), len(refused) - 1
    who = f"{first} and {counted(others, 'other VM')} refuse their" if others else f"{first} refuses its"
    stays = "they stay and take" if others else "it stays and takes"
    sentence = f"Kafka on {who} configuration: {refused[first]}; {stays} the next spec, and no further VM is made"
    return wait(
        WaitReason.CONFIGURATION_REFUSED, sentence, next_command="kedge apply, with other settings", patience_s=0
    )
