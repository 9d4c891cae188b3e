"""Which settings are to be set live next, and why: what the spec asks for, or what somebody changed by hand. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.running_settings import SettingChangeView, SettingStage
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.questions.services.applied_settings import all_configs_sent, applied_of, where_silent
from controlplane.runtime.once import once
from events.spec.model import KafkaClusterDocument
from events.spec.setting_synonyms import time_setting
from events.spec.settings import pool_config
from planner.rollout.diff import Change
from planner.rollout.setting_class import GUARDED, SettingClass, setting_class
from planner.rollout.settings_left import SettingsLeft, settings_left


@dataclass(frozen=True, slots=True)
class SettingWork:
    """Values Kafka is to hold, and what the spec says of the settings they stand for (`SettingsChangeRequested`).

    `change` is the id of the one in hand, "" for what has not begun. `is_drift`: nothing is new, the values are to be
    as they were. `adopted`: values the spec names, and leaves to whoever sets others (`kafka.adopt`). `stage`: who is
    to have the values by now; brokers in `tried` may have them as their own.

    `pool`: its brokers alone hold the values, each as its own; "" for all, which hold them as the cluster's defaults.
    `before` is what its brokers held of their own, None for nothing: what they get back.
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
    pool: str = ""
    before: Mapping[str, str | None] = field(default_factory=dict)

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
    silent = where_silent(view, view.document)
    for pool in ("", *pools_with_config(view.document)):
        left = _left(view, pool)
        if left.settled:
            wanted = pool_config(view.document, pool) if pool else view.document.spec.kafka.config
            config = {n: wanted.get(n) for n in left.settled}
            return SettingWork(left.live, config, {n: wanted.get(n, silent.get(n)) for n in left.settled}, pool=pool)
    if change is not None and _has_left(view, change):
        return _begun_anew(view, change)
    return _in_hand(change) if change is not None else None


def drift_works(view: ClusterView) -> tuple[SettingWork, ...]:
    """What a cluster at rest is to hold: settings the spec names that can change live, and all that were set live; then
    the same of each pool that has some of its own.

    Keys that nobody named in a spec are somebody else's, the throttles and the cordon of a roll among them.
    """
    if not _is_at_rest(view) or is_shared(view) or view.document is None:
        return ()
    pools = pools_with_config(view.document)
    held = [("", {**view.settings.live, **_live_of_spec(view, view.document.spec.kafka.config)})]
    held += [(pool, _live_of_spec(view, pool_config(view.document, pool))) for pool in pools]
    return tuple(_drift(view, pool, values) for pool, values in held if values)


def _drift(view: ClusterView, pool: str, held: Mapping[str, str]) -> SettingWork:
    adopted = _adopted(view) & held.keys()
    live = {name: value for name, value in sorted(held.items()) if name not in adopted}
    return SettingWork(live, is_drift=True, adopted={name: held[name] for name in sorted(adopted)}, pool=pool)


def pools_with_config(document: KafkaClusterDocument) -> tuple[str, ...]:
    """Pools of brokers that have settings of their own."""
    return tuple(pool.name for pool in document.spec.pools if pool.is_broker and pool.config)


def own_of_pools(view: ClusterView) -> Mapping[int, Mapping[str, str]]:
    """By broker, what its pool says of settings, and what is therefore no concern of the cluster's defaults."""
    document = view.document
    if document is None or not pools_with_config(document):
        return {}
    return {i.service_id: own for i in view.brokers() if (own := pool_config(document, i.planned.pool))}


def brokers_of(view: ClusterView, work: SettingWork) -> frozenset[int]:
    """Ids of the brokers the values are for."""
    return frozenset(i.service_id for i in view.brokers() if work.pool in ("", i.planned.pool))


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
        pool=change.pool,
        before=change.before if change.pool else {},
    )


def _begun_anew(view: ClusterView, change: SettingChangeView) -> SettingWork | None:
    """All who are there were told those values at their birth. A default of the cluster may say otherwise still, so the
    change is not over: it is asked for again, and tried by another one where two or more differ."""
    if GUARDED & change.live.keys() and rolls(view):
        return None
    return SettingWork(change.live, change.config, change.applied, pool=change.pool)


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


def _left(view: ClusterView, pool: str) -> SettingsLeft:
    """Of the settings of a pool alone, or ("") of those that no pool has for itself."""
    document, change = view.document, view.settings.change
    if document is None or (change is None and all_configs_sent(view)):
        return SettingsLeft()
    wanted = pool_config(document, pool) if pool else document.spec.kafka.config
    there = [i for i in view.in_phase(Phase.LAUNCHED, Phase.JOINED) if i.start.config is not None and not i.lost]
    applied = applied_of(document, there, pool)
    if change is not None:
        # What an outdated change has set may be half there: it counts as told, so that its values are put back.
        reached = [i for i in there if change.pool in ("", i.planned.pool)]
        applied += applied_of(document, reached, pool, then=change.config)
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


def _live_of_spec(view: ClusterView, config: Mapping[str, str]) -> dict[str, str]:
    """Values of the spec, for settings that every broker takes live under that very name."""
    versions = {i.planned.kafka_version for i in view.alive()}
    return {name: value for name, value in config.items() if _is_live(name, sorted(versions))}


def _is_live(name: str, versions: Sequence[str]) -> bool:
    classes = [setting_class(name, version=v) for v in versions]
    return all(c.is_live and c.live_name == name for c in classes)
