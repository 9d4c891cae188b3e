"""What a cloud does not let the credentials of a place do: told at once, and tried again seldom.

A try at once would get the same answer, and no answer tells when somebody has given the permission. So an intent waits
minutes, then an hour, and not at all once there is a sign that something has changed: the place has been listed without
a break only since after the refusal (it was refused itself, or this server was started anew, with other credentials
perhaps), or a person resumes.
"""

from dataclasses import replace

from controlplane.cluster.views.intents import IntentView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.clouds.rendering import place_of_intent
from controlplane.converger.situation.decision import Decision, Wait, wait
from controlplane.converger.situation.situation import Situation
from controlplane.runtime.backoff import refused_pause_s
from providers.base import Place
from providers.errors import NotPermitted


def says_not_permitted(error: str) -> bool:
    """Whether a recorded error, as `NotPermitted: ...`, is a lack of permission."""
    return error.partition(":")[0] == NotPermitted.__name__


def permission_step(situation: Situation, intent: IntentView, what: str) -> Decision | None:
    """None where the last try was allowed, or another one is due."""
    if not intent.refusals or intent.failed_at is None or not says_not_permitted(intent.error):
        return None
    place = place_of_intent(situation.view, intent)
    left_s = refused_pause_s(intent.refusals) - situation.seconds_since(intent.failed_at)
    if left_s <= 0 or _may_have_changed(situation, intent, place):
        return None
    message = intent.error.partition(": ")[2]
    sentence = (
        f"Terraform: {what} may not be done in {place}: {message}. {NotPermitted.what_next} Next try in "
        f"{max(1.0, left_s / 60):.0f} min"
    )
    return wait(WaitReason.PERMISSION_MISSING, sentence, next_command=_resume(situation), patience_s=0)


def still_lacking(situation: Situation, intent: IntentView, decision: Decision) -> Decision:
    """A try is no news: until one was allowed the condition stays."""
    if not intent.refusals or not says_not_permitted(intent.error):
        return decision
    sentence = f"{decision.sentence}; it was not permitted before: {intent.error.partition(': ')[2]}"
    return replace(decision, sentence=sentence, wait=Wait(WaitReason.PERMISSION_MISSING, _resume(situation), 0))


def _resume(situation: Situation) -> str:
    return f"kedge resume {situation.view.name}"


def _may_have_changed(situation: Situation, intent: IntentView, place: Place) -> bool:
    inventory = situation.seen.fresh_inventory(situation.now)
    since = inventory.let_in_since.get(str(place)) if inventory is not None else None
    return since is not None and intent.failed_at is not None and since > intent.failed_at
