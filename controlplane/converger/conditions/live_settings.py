"""The condition of live settings that were changed by hand and taken over."""

from controlplane.converger.questions.running.setting_text import NAMED
from controlplane.converger.situation.situation import Situation
from events import facts

ADOPTED = "SettingsAdopted"


def settings_adopted(situation: Situation) -> facts.ConditionChanged | None:
    """What brokers have by hand and the spec adopts. None while they are not asked."""
    view, seen = situation.view, situation.seen.settings
    if view.document is None or not view.document.spec.kafka.adopt:
        return facts.ConditionChanged(ADOPTED, False, "Free", "")
    if seen is None or not seen.is_drift:
        return None
    if not seen.kept:
        return facts.ConditionChanged(ADOPTED, False, "Free", "")
    sentences = "; ".join(f"broker {d.broker} has {d.name}={d.value}, not {d.wanted}" for d in seen.kept[:NAMED])
    more = f" and {len(seen.kept) - NAMED} more" if len(seen.kept) > NAMED else ""
    message = f"{sentences}{more}: left, since kafka.adopt names it. Write the value into the spec, or end the adoption"
    return facts.ConditionChanged(ADOPTED, True, "OtherValue", message)
