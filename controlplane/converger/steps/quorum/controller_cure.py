"""Another controller, where the one that leads does not do its work: the last cure of moves and of elections.

    KRaft:      the active controller is restarted by its agent, under the gate of the quorum
    ZooKeeper:  the brokers elect one anew; no process stops, so what is asked is that ensemble and brokers are well

Never while a VM comes, goes or is handed over, and never in a cluster whose controllers others run.
"""

from datetime import timedelta

from controlplane.converger.questions.moves.other_controller import may_reelect
from controlplane.converger.situation.decision import Decision, act
from controlplane.converger.situation.effects import ReelectController
from controlplane.converger.situation.situation import Situation
from planner.observed import KafkaSnapshot

STANDS = timedelta(minutes=2)
"""How long an election that was asked for is tried: later it is another trouble, and another cure of the day."""


def reelection_due(situation: Situation, kafka: KafkaSnapshot) -> Decision | None:
    """The election that was asked for, until another one has been held. Safe to repeat: it names an epoch."""
    asked = situation.view.moves.stuck.deposed
    if asked is None or (asked.broker, asked.epoch) != (kafka.controller, kafka.controller_epoch):
        return None
    if situation.now - asked.asked_at >= STANDS or not may_reelect(situation, kafka).open:
        return None
    sentence = f"having a controller elected in place of broker {asked.broker}: {asked.reason}"
    return act(sentence, ReelectController(asked.broker, asked.epoch))
