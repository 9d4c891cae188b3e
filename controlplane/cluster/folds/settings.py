"""The fold of what happens to settings: part of `controlplane.cluster.fold.evolve`."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType

from controlplane.cluster.cohosted_zookeeper import named_service
from controlplane.cluster.folds import nodes as nodefold
from controlplane.cluster.folds.steps import Rules
from controlplane.cluster.node_names import security_to_have
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import with_service_start
from controlplane.cluster.views.running_settings import (
    Before,
    CanaryView,
    RestartView,
    SettingChangeView,
    SettingRefusal,
    SettingStage,
)
from events import facts
from events.spec.client_security import ClientSecurity
from events.spec.settings import pool_config


def requested(view: ClusterView, e: facts.SettingsChangeRequested, at: datetime) -> ClusterView:
    """One change is in hand; another one that was begun before gives way to it."""
    earlier = view.settings.change
    held = view.settings.of_pools.get(e.pool, {}) if e.pool else view.settings.live
    before: dict[str, str | None] = {name: held.get(name) for name in e.live}
    if earlier is not None and earlier.stage is not SettingStage.ALL and earlier.pool == e.pool:
        before |= earlier.before
    change = SettingChangeView(
        e.change,
        e.generation,
        e.live,
        e.config,
        e.told,
        at,
        canary=e.canary,
        behind=e.behind,
        stage=SettingStage.ALL if e.canary is None else SettingStage.CANARY,
        since=at,
        tried=_tried(earlier, e.canary),
        before=before,
        pool=e.pool,
    )
    view = _holding(view, e.pool, {**held, **e.live})
    settings = replace(view.settings, change=change, changes=view.settings.changes + 1, refusal=None)
    return replace(view, settings=settings if e.pool else replace(settings, of_pools=_beside_all(view, e.live)))


def _holding(view: ClusterView, pool: str, values: Mapping[str, str]) -> ClusterView:
    """What Kafka holds live from now on, of all brokers or of those of a pool."""
    held = MappingProxyType(dict(values))
    if not pool:
        return replace(view, settings=replace(view.settings, live=held))
    of_pools = MappingProxyType({**view.settings.of_pools, pool: held})
    return replace(view, settings=replace(view.settings, of_pools=of_pools))


def _beside_all(view: ClusterView, live: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
    """What brokers of pools hold once all get values: of these what their pool says itself, which is set first."""
    found = {p: {n: v for n, v in held.items() if n not in live} for p, held in view.settings.of_pools.items()}
    for pool in view.document.spec.pools if view.document else ():
        if own := {n: v for n, v in pool.config.items() if n in live}:
            found[pool.name] = {**found.get(pool.name, {}), **own}
    return MappingProxyType({p: MappingProxyType(held) for p, held in found.items() if held})


def changed(view: ClusterView, e: facts.SettingsChanged, at: datetime) -> ClusterView:
    """Services are told the new values from here on; a VM that is on its way included."""
    change = _in_hand(view, e.change)
    instances = {i.key: _with_change(view, i, change) for i in view.alive()}
    return replace(
        view, instances=MappingProxyType({**view.instances, **instances}), settings=replace(view.settings, change=None)
    )


def tried(view: ClusterView, e: facts.SettingsTried, at: datetime) -> ClusterView:
    """The canary has the values; it is watched from here on."""
    return _at_stage(view, e.change, SettingStage.CANARY, SettingStage.WATCH, at)


def stood(view: ClusterView, e: facts.SettingsCanaryStood, at: datetime) -> ClusterView:
    """All get them."""
    return _at_stage(view, e.change, SettingStage.WATCH, SettingStage.ALL, at)


def taken_back(view: ClusterView, e: facts.SettingsRevertRequested, at: datetime) -> ClusterView:
    """The canary is to lose what it has of its own; nobody else had it."""
    change = _in_hand(view, e.change)
    if change.canary is None or change.stage not in (SettingStage.CANARY, SettingStage.WATCH):
        raise ValueError(f"the change {e.change} of settings is not on its canary alone")
    change = replace(change, stage=SettingStage.REVERT, since=at, reverting=e.reason)
    return replace(view, settings=replace(view.settings, change=change))


def was_taken_back(view: ClusterView, e: facts.SettingsReverted, at: datetime) -> ClusterView:
    """What was live before is so again. What an earlier spec asked for says nothing against the one in force."""
    change = _in_hand(view, e.change)
    if change.stage is not SettingStage.REVERT or change.canary is None:
        raise ValueError(f"the change {e.change} of settings is not being taken back")
    held = view.settings.of_pools.get(change.pool, {}) if change.pool else view.settings.live
    view = _holding(view, change.pool, with_values(held, change.before))
    names = tuple(change.config)
    refusal = SettingRefusal(change.canary, change.live, change.reverting, True, names, change.pool)
    is_for_this = change.generation == view.generation
    settings = replace(view.settings, change=None, refusal=refusal if is_for_this else view.settings.refusal)
    return replace(view, settings=settings)


def refused(view: ClusterView, e: facts.SettingsRefused, at: datetime) -> ClusterView:
    """A change that had begun stays in hand: what was set of it is known, and put right by the next one."""
    if e.change:
        _in_hand(view, e.change)
    return replace(view, settings=replace(view.settings, refusal=SettingRefusal(e.broker, e.values, e.reason)))


def forgiven(view: ClusterView) -> ClusterView:
    """Another spec, or a person, lets what was refused be tried again, with another canary."""
    return replace(view, settings=replace(view.settings, refusal=None, restart_refusal=None))


def restart(view: ClusterView, e: facts.RestartRequested, at: datetime) -> ClusterView:
    """The service is told another start, with other settings."""
    others = sorted(view.settings.restarts.keys() - set(e.beside))
    if others or e.key in view.settings.restarts:
        raise ValueError(f"{(others or [e.key])[0]} is being restarted already")
    instance = named_service(view, e.key, e.service)
    before = _had(instance)
    config = None if instance.start.config is None else with_values(instance.start.config, e.config)
    settings = with_values(instance.settings, e.told) if e.told else instance.start.settings
    jvm = instance.start.jvm.then(e.jvm)
    security = applied_security(view, instance, e.security)
    start = replace(
        instance.start,
        count=e.start,
        config=config,
        settings=settings,
        jvm=jvm,
        security=security,
        least_rights=view.settings.least_rights,
    )
    new = replace(instance, start=start)
    is_new = bool(e.config or e.told or e.jvm or e.security) or _makes_a_step(view, instance)
    in_hand = RestartView(e.key, e.generation, at, e.canary, before, new_settings=is_new, service=e.service)
    return _with_service(_with(view, in_hand), e.key, new)


def restarted(view: ClusterView, e: facts.RestartCompleted, at: datetime) -> ClusterView:
    """It serves; the canary of its kind is watched from here on."""
    done, canaries = _restarting(view, e.key), dict(view.settings.canaries)
    instance = named_service(view, e.key, done.service)
    view = nodefold.started_anew(view, instance.service_key)
    if done.canary:
        canaries[instance.planned.service] = CanaryView(e.key, done.generation, at, done.before)
    view = _without(view, e.key)
    view = replace(view, settings=replace(view.settings, canaries=MappingProxyType(canaries)))
    return view if done.service else nodefold.served(view, e.key, at)


def revert(view: ClusterView, e: facts.RestartRevertRequested, at: datetime) -> ClusterView:
    """The service is told what it was told before, by yet another start. What an earlier spec asked of it says nothing
    against the one in force, which gets a canary of its own; nor does a cure that did not help, of anybody else."""
    instance = named_service(view, e.key, e.service)
    before, generation = _before(view, instance, e.service)
    old = replace(
        instance,
        start=replace(
            instance.start,
            count=e.start,
            config=before.config,
            settings=before.settings,
            jvm=before.jvm,
            security=before.security,
            least_rights=before.least_rights,
        ),
    )
    is_new = _had(instance) != before
    in_hand = RestartView(e.key, generation, at, False, before, e.reason, new_settings=is_new, service=e.service)
    says_much = generation == view.generation and not _was_a_cure(view, instance, e)
    refusal = (instance.service_key, e.reason) if says_much else view.settings.restart_refusal
    view = _with(view, in_hand)
    settings = replace(view.settings, canaries=MappingProxyType({}), restart_refusal=refusal)
    view = replace(view, settings=settings)
    return _with_service(view, e.key, old)


def applied_security(view: ClusterView, instance: InstanceView, new: str) -> ClientSecurity | None:
    """What a service is started with from now on for clients: of the spec in force where anything of it is `new`."""
    if not new or view.document is None:
        return instance.start.security
    return security_to_have(view, view.document, instance.planned.service)


def _had(instance: InstanceView) -> Before:
    start = instance.start
    return Before(start.config, start.settings, start.jvm, start.security, start.tls_step, start.least_rights)


def _makes_a_step(view: ClusterView, instance: InstanceView) -> bool:
    """Whether its next start is another step between plaintext and TLS, which `securityfold.started` tells it."""
    security = view.settings.security
    return security is not None and instance.start.tls_step != security.config_of(instance.planned.service)


def _was_a_cure(view: ClusterView, instance: InstanceView, e: facts.RestartRevertRequested) -> bool:
    """Whether it was asked for in the same append as the cure of something that ails this very service."""
    begun = view.settings.restarts.get(e.key)
    if begun is None:
        return False
    return any(c.node == instance.node and c.service == e.service and c.at == begun.since for c in view.vms.cures)


def reverted(view: ClusterView, e: facts.RestartReverted, at: datetime) -> ClusterView:
    """What was refused stays so, unless the VM was what failed."""
    done = _restarting(view, e.key)
    instance = named_service(view, e.key, done.service)
    refusal = view.settings.restart_refusal
    of_its_vm = e.given_up and refusal is not None and refusal[0] == instance.service_key
    view = _without(view, e.key)
    view = replace(view, settings=replace(view.settings, restart_refusal=None if of_its_vm else refusal))
    return view if done.service or e.given_up else nodefold.served(view, e.key, at)


def stopped(view: ClusterView, key: str) -> ClusterView:
    """The VM is gone or to be stopped for good, and with it what was to be restarted on it."""
    return _without(view, key) if key in view.settings.restarts else view


def left(view: ClusterView, keys: Collection[str]) -> ClusterView:
    """The servers beside these brokers have left, and with them what was to be restarted there."""
    restarts = view.settings.restarts
    gone = [k for k in keys if k in restarts and restarts[k].service]
    return _with_restarts(view, {k: r for k, r in restarts.items() if k not in gone})


def with_values(before: Mapping[str, str], values: Mapping[str, str | None]) -> Mapping[str, str]:
    """The settings after these values; None takes one away."""
    return MappingProxyType({k: v for k, v in sorted({**before, **values}.items()) if v is not None})


def _tried(earlier: SettingChangeView | None, canary: int | None) -> tuple[int, ...]:
    before = earlier.tried if earlier is not None else ()
    return before if canary is None else tuple(sorted({*before, canary}))


def _at_stage(view: ClusterView, change: str, stage: SettingStage, after: SettingStage, at: datetime) -> ClusterView:
    found = _in_hand(view, change)
    if found.stage is not stage:
        raise ValueError(f"the change {change} of settings is at the stage {found.stage}, not {stage}")
    return replace(view, settings=replace(view.settings, change=replace(found, stage=after, since=at)))


def _with_change(view: ClusterView, instance: InstanceView, change: SettingChangeView) -> InstanceView:
    pool = instance.planned.pool
    if not change.config or instance.start.config is None or change.pool not in ("", pool):
        return instance
    own = pool_config(view.document, pool) if view.document is not None and not change.pool else {}
    said, applied = ({n: v for n, v in m.items() if n not in own} for m in (change.config, change.applied))
    settings = with_values(instance.settings, applied)
    start = replace(instance.start, config=with_values(instance.start.config, said), settings=settings)
    return replace(instance, start=start)


def _with_service(view: ClusterView, key: str, service: InstanceView) -> ClusterView:
    return replace(
        view, instances=MappingProxyType({**view.instances, key: with_service_start(view.instances[key], service)})
    )


def _before(view: ClusterView, instance: InstanceView, service: str) -> tuple[Before, int]:
    """What it had, and the generation it was restarted for: it is in hand, or it is the canary that is watched."""
    in_hand = view.settings.restarts.get(instance.key)
    if in_hand is not None and in_hand.service == service:
        return in_hand.before, in_hand.generation
    canary = view.settings.canaries.get(instance.planned.service)
    if view.settings.restarts or canary is None or canary.key != instance.key:
        raise ValueError(f"{instance.service_key} was not restarted")
    # Who is watched has made its step: what is taken back is what it is watched for.
    return replace(canary.before, tls_step=instance.start.tls_step), canary.generation


def _restarting(view: ClusterView, key: str) -> RestartView:
    if key not in view.settings.restarts:
        raise ValueError(f"{key} is not being restarted")
    return view.settings.restarts[key]


def _with(view: ClusterView, restart: RestartView) -> ClusterView:
    return _with_restarts(view, {**view.settings.restarts, restart.key: restart})


def _without(view: ClusterView, key: str) -> ClusterView:
    return _with_restarts(view, {k: r for k, r in view.settings.restarts.items() if k != key})


def _with_restarts(view: ClusterView, restarts: Mapping[str, RestartView]) -> ClusterView:
    return replace(view, settings=replace(view.settings, restarts=MappingProxyType(dict(restarts))))


def _in_hand(view: ClusterView, change: str) -> SettingChangeView:
    found = view.settings.change
    if found is None or found.id != change:
        raise ValueError(f"the change {change} of settings is not the one in hand")
    return found


RULES: Rules = {
    facts.SettingsChangeRequested: requested,
    facts.SettingsChanged: changed,
    facts.SettingsRefused: refused,
    facts.SettingsTried: tried,
    facts.SettingsCanaryStood: stood,
    facts.SettingsRevertRequested: taken_back,
    facts.SettingsReverted: was_taken_back,
    facts.RestartRequested: restart,
    facts.RestartCompleted: restarted,
    facts.RestartRevertRequested: revert,
    facts.RestartReverted: reverted,
}
