"""Settings that Kafka takes live: each broker is asked first, then the intent is recorded, then they are set and read
back. One broker has them first and is watched (`setting_trial`), where others are to be spared; the rest follow rack
by rack, and guarded ones last, once no partition refuses writes with them (`min_isr`). What a broker refuses is told in
its words, and a person decides. Nothing restarts, no VM is touched.

    each broker asked (validate-only) -> settings.change_requested -> (the first one) -> set, step by step -> read back
                    +--> settings.refused: nothing is applied                                       -> settings.changed
"""

from dataclasses import replace

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.running_settings import SettingStage
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.rolls.canaries import out_of_sync
from controlplane.converger.questions.running.min_isr import default_gate
from controlplane.converger.questions.running.setting_racks import rack_of_step
from controlplane.converger.questions.running.setting_text import READ_BACK_S, words
from controlplane.converger.questions.running.setting_work import (
    SettingWork,
    brokers_of,
    drift_works,
    is_between_steps,
    setting_work,
)
from controlplane.converger.questions.unavailability import brokers_away
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.effects import SetSettings
from controlplane.converger.situation.observation import SettingsObserved
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.running.setting_trial import canary_for, trial_in_hand_step
from events import facts
from events.ids import intent_id
from events.spec.settings import DEFAULT_MIN_ISR, as_integer
from planner.rollout.setting_class import GUARDED


def settings_in_hand_step(situation: Situation) -> Decision | None:
    """Follows the change in hand to its end. None when there is none, or not every broker can be asked now."""
    work = setting_work(situation.view)
    if work is None or not work.change:
        return None
    if work.stage is not SettingStage.ALL:
        return trial_in_hand_step(situation, work)
    seen = _answer(situation, work)
    if seen is None:
        return None
    if not seen.step:
        done = facts.SettingsChanged(work.change)
        whole = f"of pool {work.pool} " if work.pool else ""
        return record(f"every broker {whole}runs with {words(work.live)}", done)
    refused = _refusal(situation, seen, work)
    if refused is not None:
        return refused
    seen = replace(seen, step=seen.step.without(GUARDED)) if _guard(situation, seen) else seen
    if not seen.step:
        return None  # all else is set; what it waits for goes on below (`settings_left_step`)
    rack = rack_of_step(situation.view, seen.step) if work.goes_by_rack else ""
    sentence = f"setting {words(seen.offered)} live{_of_pool(work)}" + (f" in rack {rack}" if rack else "")
    return wait(WaitReason.SETTING_NOT_TAKEN, sentence, SetSettings(seen.step), patience_s=READ_BACK_S)


def settings_step(situation: Situation) -> Decision | None:
    """Begins what can be set live now, between the steps of a roll too. None when nothing can."""
    view = situation.view
    if view.settings.refusal is not None:
        # A lost VM is replaced though a setting is refused; nothing else goes on without a person.
        return None if any(i.lost for i in view.alive()) else _refused(situation)
    work = setting_work(view)
    if work is None:
        return _put_right(situation)
    if work.change:
        return None
    if not work.live:
        request = _request(view, work, f"nothing changes for Kafka: {', '.join(work.config)}")
        return record(request.reason, request, facts.SettingsChanged(request.change))
    if _is_to_be_asked(situation, work):
        return wait(WaitReason.SETTINGS_PENDING, f"asking the brokers whether they take {words(work.live)}")
    seen = _answer(situation, work)
    if seen is None or situation.seen.fresh_kafka(situation.now) is None:
        return None
    request = _request(view, work, f"the spec says {words(work.config)}{_of_pool(work)}")
    request = _tried_first(situation, request, canary_for(situation, seen))
    return _refusal(situation, seen, work) or record(f"setting live: {request.reason}", request)


def settings_left_step(situation: Situation) -> Decision | None:
    """The generation is not reached while settings are left: says what they wait for."""
    if situation.view.settings.refusal is not None:
        return _refused(situation)
    work = setting_work(situation.view)
    if work is None:
        return None
    seen = _answer(situation, work) if work.change and work.stage is SettingStage.ALL else None
    left = {n: v for n, v in work.live.items() if n in GUARDED} if seen and _guard(situation, seen) else work.live
    return wait(WaitReason.SETTINGS_PENDING, f"{words(left)} not set yet: {_why_not(situation, work)}")


def _put_right(situation: Situation) -> Decision | None:
    """A value the spec names, or one that was set live, is another one on a broker: somebody set it by hand."""
    found = situation.seen.settings
    works = drift_works(situation.view) if found is not None and found.is_drift else ()
    work = next((w for w in works if found is not None and w.pool == found.pool), None)
    seen = _answer(situation, work) if work is not None else None
    if work is None or seen is None or not seen.deviations:
        return None
    live = {d.name: d.wanted for d in seen.deviations}
    first = seen.deviations[0]
    more = f" and {len(seen.deviations) - 1} more" if len(seen.deviations) > 1 else ""
    has = f"broker {first.broker} has {first.name}={first.value}, not {first.wanted}{_of_pool(work)}{more}"
    # A new broker of a pool has what its file says only where no live default of the cluster overrules it.
    how = "changed by hand" if first.is_own or not work.pool else "overruled by the cluster's default"
    request = _request(situation.view, SettingWork(live, pool=work.pool), f"{how}: {has}")
    return _refusal(situation, seen, work) or record(f"putting right what was {request.reason}", request)


def _answer(situation: Situation, work: SettingWork) -> SettingsObserved | None:
    """What the brokers say of this very work. None when one of them has not answered."""
    if not work.live:
        return SettingsObserved({}, is_drift=False)
    seen = situation.seen.settings
    if seen is None or (seen.stage, seen.pool) != (work.stage, work.pool) or dict(seen.wanted) != dict(work.live):
        return None
    # Who tried it first is asked in the end, wherever it is by then: nothing of its own is to be left.
    view = situation.view
    expected = _expected(view, work) | ({i.service_id for i in view.brokers()} & set(work.tried))
    answered = expected <= seen.running.keys() and (not seen.step or expected <= seen.refusals.keys())
    return seen if expected and answered else None


def _is_to_be_asked(situation: Situation, work: SettingWork) -> bool:
    """The next look asks: nothing else is to begin before that, or a roll would go from one step into the next."""
    seen, missing = situation.seen.settings, situation.seen.missing
    is_asked = seen is not None and seen.pool == work.pool and dict(seen.wanted) == dict(work.live)
    return not is_asked and not {"kafka", "settings"} & missing.keys() and is_between_steps(situation.view)


def _expected(view: ClusterView, work: SettingWork) -> set[int]:
    there = {i.service_id for i in view.brokers() if i.phase is Phase.JOINED and not i.lost}
    return there & brokers_of(view, work)


def _of_pool(work: SettingWork) -> str:
    return f" in pool {work.pool}" if work.pool else ""


def _request(view: ClusterView, work: SettingWork, reason: str) -> facts.SettingsChangeRequested:
    change = intent_id(view.uid, "settings", str(view.generation), view.settings.changes + 1)
    return facts.SettingsChangeRequested(
        change, view.generation, work.live, work.config, work.applied, reason, pool=work.pool
    )


def _tried_first(
    situation: Situation, request: facts.SettingsChangeRequested, canary: InstanceView | None
) -> facts.SettingsChangeRequested:
    kafka = situation.seen.fresh_kafka(situation.now)
    if canary is None or kafka is None:
        return request
    broker = canary.service_id
    reason = f"{request.reason} (broker {broker} first, to be watched)"
    return replace(request, reason=reason, canary=broker, behind=out_of_sync(kafka, broker))


def _refusal(situation: Situation, seen: SettingsObserved, work: SettingWork) -> Decision | None:
    said = next(((b, said) for b, said in sorted(seen.refusals.items()) if said is not None), None)
    if said is None:
        return None
    broker, answer = said
    refused = facts.SettingsRefused(work.change, situation.view.generation, broker, seen.offered, answer)
    return record(f"broker {broker} refuses {words(seen.offered)}: {answer}", refused)


def _refused(situation: Situation) -> Decision | None:
    refusal, name = situation.view.settings.refusal, situation.view.name
    if refusal is None:
        return None
    if refusal.reverted:
        told = f"broker {refusal.broker} did not stand {words(refusal.values)}: {refusal.reason}"
        again = f"kedge apply, with another value, or kedge resume {name} to try again"
        sentence = f"{told}; it has what it had before, no other broker was touched"
        return wait(WaitReason.SETTING_REVERTED, sentence, next_command=again, patience_s=0)
    begun = "what was set before stays" if situation.view.settings.change else "nothing was applied"
    sentence = f"broker {refusal.broker} refuses {words(refusal.values)}: {refusal.reason}; {begun}"
    again = f"kedge apply, with another value, or kedge resume {name} to ask again"
    return wait(WaitReason.SETTING_REFUSED, sentence, next_command=again, patience_s=0)


def _guard(situation: Situation, seen: SettingsObserved) -> str:
    """Why a guarded value of the step is not to be set now; "" where it may be, or there is none."""
    if DEFAULT_MIN_ISR not in seen.offered:
        return ""
    kafka, wanted = situation.seen.fresh_kafka(situation.now), as_integer(seen.wanted[DEFAULT_MIN_ISR])
    if kafka is None or wanted is None:
        return situation.seen.why_no_kafka
    values = (as_integer(v.value or "") for b in seen.running.values() if (v := b.get(DEFAULT_MIN_ISR)) is not None)
    running = {value for value in values if value is not None}
    gate = default_gate(situation.view, kafka, running, wanted, away=brokers_away(situation, kafka))
    return "" if gate.open else gate.reason


def _why_not(situation: Situation, work: SettingWork) -> str:
    if situation.seen.fresh_kafka(situation.now) is None:
        return situation.seen.why_no_kafka
    if "settings" in situation.seen.missing:
        return str(situation.seen.missing["settings"])
    seen = situation.seen.settings
    silent = sorted(_expected(situation.view, work) - (seen.running.keys() if seen else set()))
    if seen is not None and not silent and (guarded := _guard(situation, seen)):
        return guarded
    if seen is None or not silent:
        return "the brokers are being asked"
    return f"broker {', '.join(map(str, silent))} does not answer"
