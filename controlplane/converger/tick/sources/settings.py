"""What brokers say of the settings they run with."""

from dataclasses import replace

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.running_settings import SettingStage
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.questions.running.setting_racks import racks_in_order
from controlplane.converger.questions.running.setting_work import (
    SettingWork,
    brokers_of,
    drift_works,
    is_between_steps,
    own_of_pools,
    setting_work,
)
from controlplane.converger.situation.observation import SettingsObserved
from controlplane.converger.situation.ports import Ports
from controlplane.kafka.errors import KafkaFault
from planner.observed import SettingsSeen
from planner.rollout.canary_step import back_step, own_left, rack_step, trial_step
from planner.rollout.live_step import LiveStep, SettingDeviation, deviations, next_live_step
from planner.rollout.pool_step import pool_back_step, pool_deviations, pool_step


def settings_of(view: ClusterView, ports: Ports, missing: dict[str, str]) -> SettingsObserved | None:
    """What the brokers say of the values to be set, or, at rest, of those they should hold."""
    works = [w for w in _works_to_ask_for(view) if w.live or w.adopted]
    if not works:
        return None
    kafka = ports.kafka(view)
    try:
        running = kafka.running_settings(frozenset(n for w in works for n in (*w.live, *w.adopted)))
        looks = [(w, _scoped(view, w, running)) for w in works]
        # At most one thing is put right at a time: the first scope in which something is not as it should be.
        work, seen = next((look for look in looks if _deviations(*look)), looks[0])
        found = _deviations(work, seen)
        step = _pins(view, work, running) or _next_step(view, work, found, seen)
        refusals = kafka.setting_refusals(step) if step else {}
    except KafkaFault as error:
        missing["settings"] = str(error)
        return None
    kept = tuple(d for w, there in looks for d in deviations(w.adopted, there, unset_is_right=True))
    asked = SettingsObserved(work.live, work.is_drift, seen.brokers, found, step, refusals, kept)
    return replace(asked, stage=work.stage, canary=work.canary, pool=work.pool)


def _works_to_ask_for(view: ClusterView) -> tuple[SettingWork, ...]:
    work = setting_work(view)
    if work is None:
        return () if has_work(view) else drift_works(view)
    if work.stage is SettingStage.WATCH:
        return ()
    return (work,) if work.change or is_between_steps(view) else ()


def _scoped(view: ClusterView, work: SettingWork, running: SettingsSeen) -> SettingsSeen:
    """What concerns the work: the brokers of its pool, or of all brokers what their pools have not for themselves."""
    return running.of(brokers_of(view, work)) if work.pool else running.without(own_of_pools(view))


def _deviations(work: SettingWork, seen: SettingsSeen) -> tuple[SettingDeviation, ...]:
    if work.pool and not work.is_drift:
        return pool_deviations(work.live, seen)
    return deviations(work.live, seen, unset_is_right=work.is_drift)


def _pins(view: ClusterView, work: SettingWork, running: SettingsSeen) -> LiveStep:
    """Before the cluster's default becomes another one, brokers whose pool says something else hold that as their own:
    what is in their file alone, a default would overrule."""
    if work.pool or work.is_drift or work.stage is not SettingStage.ALL:
        return LiveStep()
    own: dict[int, dict[str, str | None]] = {}
    for broker, said in sorted(own_of_pools(view).items()):
        there = running.brokers.get(broker, {})
        values = {n: v for n, v in said.items() if n in work.live and n in there and not there[n].is_own}
        own |= {broker: dict(values)} if values else {}
    return LiveStep({}, own)


def _next_step(
    view: ClusterView, work: SettingWork, found: tuple[SettingDeviation, ...], seen: SettingsSeen
) -> LiveStep:
    if work.stage is SettingStage.CANARY and work.canary is not None:
        return trial_step(work.live, seen, work.canary)
    if work.stage is SettingStage.REVERT and work.pool:
        return pool_back_step(work.before, seen, work.tried)
    if work.stage is SettingStage.REVERT:
        return back_step(work.live, seen, work.tried)
    if work.goes_by_rack:
        of_a_rack = rack_step(work.live, seen, racks_in_order(view, first=work.canary))
        if of_a_rack:
            return of_a_rack
    if work.pool:
        return pool_step(found)
    # A change in hand may have set values on any rack by itself, one that gave way to it too.
    return next_live_step((*found, *own_left(work.live, seen, seen.brokers if work.change else work.tried)), seen)
