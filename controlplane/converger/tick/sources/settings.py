"""What brokers say of the settings they run with."""

from dataclasses import replace

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.running_settings import SettingStage
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.questions.running.setting_racks import racks_in_order
from controlplane.converger.questions.running.setting_work import (
    SettingWork,
    drift_work,
    is_between_steps,
    setting_work,
)
from controlplane.converger.situation.observation import SettingsObserved
from controlplane.converger.situation.ports import Ports
from controlplane.kafka.errors import KafkaFault
from planner.observed import SettingsSeen
from planner.rollout.canary_step import back_step, own_left, rack_step, trial_step
from planner.rollout.live_step import LiveStep, SettingDeviation, deviations, next_live_step


def settings_of(view: ClusterView, ports: Ports, missing: dict[str, str]) -> SettingsObserved | None:
    """What the brokers say of the values to be set, or, at rest, of those they should hold."""
    work = _work_to_ask_for(view)
    if work is None or not (work.live or work.adopted):
        return None
    kafka = ports.kafka(view)
    try:
        seen = kafka.running_settings(frozenset(work.live) | work.adopted.keys())
        found = deviations(work.live, seen, unset_is_right=work.is_drift)
        step = _next_step(view, work, found, seen)
        refusals = kafka.setting_refusals(step) if step else {}
    except KafkaFault as error:
        missing["settings"] = str(error)
        return None
    kept = deviations(work.adopted, seen, unset_is_right=True)
    asked = SettingsObserved(work.live, work.is_drift, seen.brokers, found, step, refusals, kept)
    return replace(asked, stage=work.stage, canary=work.canary)


def _work_to_ask_for(view: ClusterView) -> SettingWork | None:
    work = setting_work(view)
    if work is None:
        return None if has_work(view) else drift_work(view)
    if work.stage is SettingStage.WATCH:
        return None
    return work if work.change or is_between_steps(view) else None


def _next_step(
    view: ClusterView, work: SettingWork, found: tuple[SettingDeviation, ...], seen: SettingsSeen
) -> LiveStep:
    if work.stage is SettingStage.CANARY and work.canary is not None:
        return trial_step(work.live, seen, work.canary)
    if work.stage is SettingStage.REVERT:
        return back_step(work.live, seen, work.tried)
    if work.goes_by_rack:
        of_a_rack = rack_step(work.live, seen, racks_in_order(view, first=work.canary))
        if of_a_rack:
            return of_a_rack
    # A change in hand may have set values on any rack by itself, one that gave way to it too.
    return next_live_step((*found, *own_left(work.live, seen, seen.brokers if work.change else work.tried)), seen)
