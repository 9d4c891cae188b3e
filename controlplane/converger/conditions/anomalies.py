"""Conditions of anomalies: brokers that lead nothing, slow or by a person's word; kinds whose healing is off."""

from controlplane.cluster.healing_switches import in_force, switched_off
from controlplane.cluster.views.healing import DemotionView
from controlplane.converger.situation.situation import Situation
from events import facts

DEMOTED = "LeadershipMoved"
HEALING_OFF = "HealingOff"

_NAMED = 3


def demotions_condition(situation: Situation) -> facts.ConditionChanged:
    """Who leads nothing, and why."""
    slow = {k: d for k, d in situation.view.requests.demotions.items() if not d.ended}
    if not slow:
        return facts.ConditionChanged(DEMOTED, False, "Free", "")
    sentences = "; ".join(_sentence(key, d) for key, d in sorted(slow.items())[:_NAMED])
    asked = [d.broker for d in slow.values() if d.by_person]
    if len(asked) == len(slow):
        message = f"{sentences}. To take it back: kedge undemote {situation.view.name} --broker {min(asked)}"
        return facts.ConditionChanged(DEMOTED, True, "Asked", message)
    message = f"{sentences}. Next: kedge anomalies {situation.view.name}"
    return facts.ConditionChanged(DEMOTED, True, "SlowBroker", message)


def healing_off_condition(situation: Situation) -> facts.ConditionChanged:
    """What is not healed by itself, by whose word and until when."""
    view, now = situation.view, situation.now
    kinds = switched_off(view, now)
    if not kinds:
        return facts.ConditionChanged(HEALING_OFF, False, "Free", "")
    switch = in_force(view, kinds[0], now)
    until = f" until {switch.until:%Y-%m-%d %H:%M} UTC" if switch and switch.until else ""
    why = f": {switch.reason}" if switch and switch.reason else ""
    message = f"{', '.join(kinds)} are told and not healed{until}{why}. Next: kedge healing on {view.name}"
    return facts.ConditionChanged(HEALING_OFF, True, "SwitchedOff", message)


def _sentence(key: str, demotion: DemotionView) -> str:
    left = f", but for {demotion.left} partitions nobody else in sync could lead" if demotion.left else ""
    return f"{key} leads nothing{left}: {demotion.reason}"
