"""Which settings are to be set live next, and why: what the spec asks for, or what somebody changed by hand. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.folds.settings import with_values
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.running_settings import SettingChangeView, SettingStage
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.questions.services.applied_settings import all_configs_sent, where_silent
from controlplane.runtime.once import once
from events.spec.setting_synonyms import time_setting
from planner.rollout.diff import Change
from planner.rollout.setting_class import GUARDED, SettingClass, setting_class
from planner.rollout.settings_left import AppliedSettings, SettingsLeft, settings_left


@dataclass(frozen=True, slots=True)
class SettingWork:
    """Values Kafka is to hold, and what the spec says of the settings they stand for (`SettingsChangeRequested`).

    `change` is the id of the one in hand, "" for what has not begun. `is_drift`: nothing is new, the values are to be
    as they were. `adopted`: values the spec names, and leaves to whoever sets others (`kafka.adopt`). `stage`: who is
    to have the values by now; brokers in `tried` may have them as their own.
    """

    live: Mapping[str, str]
    config: Mapping[str, str | None] = field(default_factory=dict)
    applied: Mapping[str, str | None] = field(default_factory=dict)
    change: str = ""
    is_drift: bool = False
    adopted: Mapping[str, str] = field(default_factory=dict)
    stage: SettingStage = SettingStage.ALL
    tried: tuple[int, ...] = ()
    canary: int | None = None

    @property
    def goes_by_rack(self) -> bool:
        """Whether brokers get the values rack by rack: once a first one has stood them, and where something is put
        right, which may have been somebody's cure."""
        return self.stage is SettingStage.ALL and (self.canary is not None or not self.config)


@once
def setting_work(view: ClusterView) -> SettingWork | None:
    """The change in hand, else the one the spec asks for. None when there is none, or a person is needed first."""
    if view.document is None or view.quorum.founding is None or view.settings.refusal is not None or is_shared(view):
        return None
    change = view.settings.change
    if change is not None and not _is_outdated(view, change) and not _has_left(view, change):
        return _in_hand(change)
    left = _left(view)
    if left.settled:
        wanted, silent = view.document.spec.kafka.config, where_silent(view, view.document)
        config = {n: wanted.get(n) for n in left.settled}
        return SettingWork(left.live, config, {n: wanted.get(n, silent.get(n)) for n in left.settled})
    if change is not None and _has_left(view, change):
        return _begun_anew(view, change)
    return _in_hand(change) if change is not None else None


def drift_work(view: ClusterView) -> SettingWork | None:
    """What a cluster at rest is to hold: settings the spec names that can change live, and all that were set live.

    Keys that nobody named in a spec are somebody else's, the throttles and the cordon of a roll among them.
    """
    if not _is_at_rest(view) or is_shared(view):
        return None
    held = {**view.settings.live, **_live_of_spec(view)}
    adopted = _adopted(view) & held.keys()
    live = {name: value for name, value in sorted(held.items()) if name not in adopted}
    left = {name: held[name] for name in sorted(adopted)}
    return SettingWork(live, is_drift=True, adopted=left) if held else None


def is_between_steps(view: ClusterView) -> bool:
    """Nothing is in hand: every VM serves, none is made, emptied or handed over."""
    return (
        not view.intents
        and view.moves.drain is None
        and all(i.phase is Phase.JOINED and not i.lost for i in view.alive())
    )


def rolls(view: ClusterView) -> bool:
    """Whether VMs are still to be made, replaced or removed: a predecessor that serves beside its successor too."""
    pairs = any(len(there) > 1 for there in view.nodes().values())
    return pairs or not is_between_steps(view) or any(c.change is not Change.KEEP for c in pending_changes(view))


def _in_hand(change: SettingChangeView) -> SettingWork:
    return SettingWork(
        change.live,
        change.config,
        change.applied,
        change.id,
        stage=change.stage,
        tried=change.tried,
        canary=change.canary,
    )


def _begun_anew(view: ClusterView, change: SettingChangeView) -> SettingWork | None:
    """All who are there were told those values at their birth. A default of the cluster may say otherwise still, so the
    change is not over: it is asked for again, and tried by another one where two or more differ."""
    if GUARDED & change.live.keys() and rolls(view):
        return None
    return SettingWork(change.live, change.config, change.applied)


def _is_outdated(view: ClusterView, change: SettingChangeView) -> bool:
    """Another spec came into force meanwhile. What was put right by hand is put right whatever the spec says, and what
    a canary did not stand is taken back from it before anything else is tried on anybody."""
    if change.stage is SettingStage.REVERT:
        return False
    return bool(change.config) and change.generation != view.generation


def _has_left(view: ClusterView, change: SettingChangeView) -> bool:
    """Its canary serves no more, and not for a fault: it is drained, or its VM is gone. Another one is tried."""
    if change.stage not in (SettingStage.CANARY, SettingStage.WATCH):
        return False
    return all(i.service_id != change.canary or i.lost for i in view.brokers() if i.phase is Phase.JOINED)


def _left(view: ClusterView) -> SettingsLeft:
    document = view.document
    if document is None:
        return SettingsLeft()
    wanted, change = document.spec.kafka.config, view.settings.change
    if change is None and all_configs_sent(view):
        return SettingsLeft()
    there = [i for i in view.in_phase(Phase.LAUNCHED, Phase.JOINED) if i.start.config is not None and not i.lost]
    applied = [AppliedSettings(i.start.config, i.planned.kafka_version) for i in there if i.start.config is not None]
    if change is not None:
        # What an outdated change has set may be half there: it counts as told, so that its values are put back.
        applied += [AppliedSettings(with_values(t.config, change.config), t.version) for t in applied]
    if all(t.config == wanted for t in applied):
        return SettingsLeft()
    without = frozenset({SettingClass.GUARDED}) if rolls(view) else frozenset[SettingClass]()
    return settings_left(applied, wanted, where_silent=where_silent(view, document), without=without)


def _is_at_rest(view: ClusterView) -> bool:
    reached = view.generation > 0 and view.roll.converged == view.generation and not view.roll.recycling
    return reached and view.settings.change is None and view.settings.refusal is None and is_between_steps(view)


def _adopted(view: ClusterView) -> frozenset[str]:
    """The names Kafka takes live of what the spec adopts."""
    named = view.document.spec.kafka.adopt if view.document else ()
    times = {name: time.live_name for name in named if (time := time_setting(name)) is not None}
    return frozenset(times.get(name, name) for name in named)


def _live_of_spec(view: ClusterView) -> dict[str, str]:
    """Spec values of settings that every broker takes live under that very name."""
    config = view.document.spec.kafka.config if view.document else {}
    versions = {i.planned.kafka_version for i in view.alive()}
    return {name: value for name, value in config.items() if _is_live(name, sorted(versions))}


def _is_live(name: str, versions: Sequence[str]) -> bool:
    classes = [setting_class(name, version=v) for v in versions]
    return all(c.is_live and c.live_name == name for c in classes)
