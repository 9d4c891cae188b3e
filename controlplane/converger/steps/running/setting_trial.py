"""A live value on the first broker: set as its own, watched for the soak, then the cluster's default, or taken back.

    settings.change_requested (canary) -> set on it, read back -> settings.tried -> soak -> settings.canary_stood -> all
                                     +--> refused, or fallen, or out of sync: settings.revert_requested -> taken back
                                          -> settings.reverted, and nothing else of that spec

The judgement is that of a restart: Kafka's own word that it serves, and, when the soak is over, that it is in sync in
all partitions it was in sync in before. Nothing is asked of the brokers while it is watched.
"""

from datetime import datetime

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.running_settings import SettingChangeView, SettingStage
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.rolls.canaries import first_to_try, has_fallen, out_of_sync, trouble
from controlplane.converger.questions.running.setting_text import READ_BACK_S, words
from controlplane.converger.questions.running.setting_work import SettingWork, setting_work
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.effects import SetSettings
from controlplane.converger.situation.observation import SettingsObserved
from controlplane.converger.situation.situation import Situation
from events import facts
from planner.observed import KafkaSnapshot
from planner.rollout.canary_step import values_to_try
from planner.rollout.order import who_leads


def canary_for(situation: Situation, seen: SettingsObserved) -> InstanceView | None:
    """The broker that is to have the values first: in the order of restarts. None where one alone differs, or none of
    the values can be had by one broker alone: there is nobody to be spared."""
    tried = values_to_try(seen.wanted)
    differs = {d.broker for d in seen.deviations if d.name in tried}
    earlier, kafka = situation.view.settings.change, situation.seen.fresh_kafka(situation.now)
    if len(differs) < 2 or kafka is None or (earlier is not None and earlier.stage is SettingStage.ALL):
        # What was on its way to all brokers already is not made better by one that waits.
        return None
    there = (i for i in _serving(situation) if i.service_id in differs and not has_fallen(kafka, i))
    return first_to_try(there, who_leads(kafka))


def trial_in_hand_step(situation: Situation, work: SettingWork) -> Decision | None:
    """Sees a trial through. None while it is watched, or its broker cannot be asked."""
    change = situation.view.settings.change
    if change is None:
        return None
    if change.stage is SettingStage.REVERT:
        return _take_back(situation, work, change)
    canary, kafka = _canary(situation, change), situation.seen.fresh_kafka(situation.now)
    if canary is None or kafka is None:
        return None
    since = _since(situation, change)
    if has_fallen(kafka, canary) and kafka.at > since:
        return _revert(change, f"it fell while it was watched: {trouble(situation, canary)}")
    if change.stage is SettingStage.CANARY:
        return _set(situation, work, change)
    return _judge(situation, change, kafka, situation.seconds_since(since))


def settings_watch_step(situation: Situation) -> Decision | None:
    """Nothing else that can wait begins while one broker has other values than the rest. None when none has."""
    view, change = situation.view, situation.view.settings.change
    if change is None or change.canary is None:
        return None
    work = setting_work(view)
    if work is None or not work.change:
        return None
    if view.requests.to_replace or any(i.lost or view.is_broken(i) for i in view.alive()):
        return None
    whom, values = f"broker {change.canary}", words(values_to_try(change.live))
    if work.stage is SettingStage.ALL:
        next_ones = wait(WaitReason.SETTINGS_PENDING, f"{whom} has stood {values}, the others are next")
        return next_ones if _is_new(situation) else None
    if change.stage is SettingStage.WATCH:
        return _watched(situation, change, f"{whom} runs with {values}")
    if change.stage is SettingStage.REVERT:
        sentence = f"taking {values} back from {whom}, which does not answer now: {change.reverting}"
        return wait(WaitReason.SETTING_NOT_TAKEN, sentence, patience_s=READ_BACK_S)
    return wait(WaitReason.SETTINGS_PENDING, f"setting {values} on {whom} first", patience_s=READ_BACK_S)


def _is_new(situation: Situation) -> bool:
    """The brokers were not asked since the canary stood: the next look does, and nothing gets in between."""
    seen = situation.seen
    was_asked = seen.settings is not None and seen.settings.stage is SettingStage.ALL
    return not was_asked and not {"kafka", "settings"} & seen.missing.keys()


def _watched(situation: Situation, change: SettingChangeView, what: str) -> Decision:
    left_s = _soak_s(situation) - situation.seconds_since(_since(situation, change))
    if left_s > 0:
        sentence = f"{what}; watching it {left_s:.0f} s more before the others"
    elif situation.seen.fresh_kafka(situation.now) is None:
        sentence = f"{what}; watching it until Kafka can be asked: {situation.seen.why_no_kafka}"
    else:
        sentence = f"{what}; it is out of sync in more partitions than before, watching it until it is not"
    return wait(WaitReason.SOAK, sentence, patience_s=_soak_s(situation) + situation.join_deadline_s + 30)


def _judge(situation: Situation, change: SettingChangeView, kafka: KafkaSnapshot, waited_s: float) -> Decision | None:
    broker, soak_s = change.canary if change.canary is not None else -1, _soak_s(situation)
    if waited_s < soak_s:
        return None
    behind = out_of_sync(kafka, broker)
    if behind <= change.behind:
        stood = f"broker {broker} has stood {words(values_to_try(change.live))} for {soak_s:.0f} s"
        return record(f"{stood}; now the others", facts.SettingsCanaryStood(change.id))
    if waited_s < soak_s + situation.join_deadline_s:
        return None
    return _revert(change, f"out of sync in {behind} partitions after {waited_s:.0f} s, {change.behind} before")


def _set(situation: Situation, work: SettingWork, change: SettingChangeView) -> Decision | None:
    seen, broker = _answer(situation, work), change.canary
    if seen is None or broker is None or broker not in seen.running:
        return None
    if not seen.step:
        done = facts.SettingsTried(change.id)
        return record(f"broker {broker} runs with {words(values_to_try(work.live))}; it is watched", done)
    if broker not in seen.refusals:
        return None
    refusal = seen.refusals[broker]
    if refusal is not None:
        return _revert(change, f"it refuses {words(seen.offered)}: {refusal}")
    sentence = f"setting {words(seen.offered)} on broker {broker} first"
    return wait(WaitReason.SETTING_NOT_TAKEN, sentence, SetSettings(seen.step), patience_s=READ_BACK_S)


def _revert(change: SettingChangeView, why: str) -> Decision:
    request = facts.SettingsRevertRequested(change.id, why)
    return record(f"broker {change.canary} gets what it had before: {why}", request)


def _take_back(situation: Situation, work: SettingWork, change: SettingChangeView) -> Decision | None:
    """An id that is gone for good has nothing any more; one that does not answer, or comes back on the next VM with its
    disk, is waited for."""
    there = {i.service_id for i in situation.view.brokers()} & set(change.tried)
    done = facts.SettingsReverted(change.id)
    if not there:
        return record(f"the broker that had {words(work.live)} is gone", done)
    seen = _answer(situation, work)
    if seen is None or not there <= seen.running.keys():
        return None
    if not seen.step:
        return record(f"broker {change.canary} runs with what it had before", done)
    said = next((w for b, w in sorted(seen.refusals.items()) if b in there and w is not None), None)
    what = f"taking {words(work.live)} back from broker {change.canary}"
    if said is not None:
        return wait(WaitReason.SETTING_NOT_TAKEN, f"{what}: it refuses that: {said}", patience_s=READ_BACK_S)
    return wait(WaitReason.SETTING_NOT_TAKEN, what, SetSettings(seen.step), patience_s=READ_BACK_S)


def _answer(situation: Situation, work: SettingWork) -> SettingsObserved | None:
    seen = situation.seen.settings
    if seen is None or (seen.stage, seen.canary, seen.pool) != (work.stage, work.canary, work.pool):
        return None
    return seen if dict(seen.wanted) == dict(work.live) else None


def _serving(situation: Situation) -> tuple[InstanceView, ...]:
    return tuple(i for i in situation.view.brokers() if i.phase is Phase.JOINED and not i.lost)


def _canary(situation: Situation, change: SettingChangeView) -> InstanceView | None:
    return next((i for i in _serving(situation) if i.service_id == change.canary), None)


def _since(situation: Situation, change: SettingChangeView) -> datetime:
    """Watched from then on: one that came back on another VM, with its disk, from the time it served again."""
    canary, begun = _canary(situation, change), change.since or change.requested_at
    return begun if canary is None else max(begun, canary.since)


def _soak_s(situation: Situation) -> float:
    return situation.view.document.spec.rollout.soak_s if situation.view.document else 0.0
