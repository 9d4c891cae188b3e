"""What the services of a cluster have been told of its Kafka settings, beside what the spec says of them now. Pure."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from controlplane.cluster.folds.settings import with_values
from controlplane.cluster.sized_nodes import wanted_nodes
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.running_settings import SettingStage
from events.spec.model import KafkaClusterDocument
from events.spec.settings import pool_config, shape_defaults, spec_config
from planner.rollout.setting_class import GUARDED
from planner.rollout.settings_left import AppliedSettings, settings_left

_NOTHING: Mapping[str, str | None] = MappingProxyType({})


def where_silent(view: ClusterView, document: KafkaClusterDocument) -> Mapping[str, str]:
    """What services are started with where the spec says nothing: by the shape of the cluster, and by its machines,
    where these differ by the smallest of them, as what is set live holds for all."""
    by_shape = shape_defaults(document.spec.kafka, document.spec.pools)
    sizes = {n.size.heap_mib: n.size.properties for n in wanted_nodes(view) if n.size and n.service == "broker"}
    return {**(sizes[min(sizes)] if sizes else {}), **by_shape}


def all_configs_sent(view: ClusterView) -> bool:
    """Whether every service was told what the spec says: a cheap no, asked of every cluster at every tick."""
    document = view.document
    wanted = {p.name: spec_config(document, p.name) for p in document.spec.pools} if document else {}
    others = document.spec.kafka.config if document else {}
    return all(
        i.start.config is None or i.start.config == wanted.get(i.planned.pool, others)
        for i in view.alive()
        if i.planned.service != "zookeeper"
    )


def needs_restart(view: ClusterView, instance: InstanceView) -> tuple[str, ...]:
    """Settings that differ from what the instance was told and that its Kafka reads only when it starts."""
    document, config = view.document, instance.start.config
    if document is None or config is None or instance.planned.service == "zookeeper":
        return ()
    wanted = spec_config(document, instance.planned.pool)
    if config == wanted:
        return ()
    applied = AppliedSettings(config, instance.planned.kafka_version)
    return settings_left([applied], wanted, where_silent=where_silent(view, document)).restart


def applied_of(
    document: KafkaClusterDocument,
    instances: Iterable[InstanceView],
    pool: str,
    *,
    then: Mapping[str, str | None] = _NOTHING,
) -> list[AppliedSettings]:
    """What services were told of the settings a pool has for itself, or ("") of all that none has: what theirs has
    counts there as told as the spec says. `then` is what they were told last, by a change that is not over."""
    cluster, found = document.spec.kafka.config, []
    for i in instances:
        own, told = pool_config(document, i.planned.pool), with_values(i.start.config or {}, then)
        if pool and i.planned.pool == pool:
            told = {n: v for n, v in told.items() if n in own}
        elif pool:
            continue
        elif own:
            told = {n: v for n, v in told.items() if n not in own} | {n: cluster[n] for n in own if n in cluster}
        found.append(AppliedSettings(told, i.planned.kafka_version))
    return found


def config_to_make(
    view: ClusterView, document: KafkaClusterDocument, pool: str, refused: frozenset[str] = frozenset()
) -> Mapping[str, str]:
    """The spec's settings a new instance of a pool is made with: as they are in force where they are not to be tried on
    it, nor `refused` by another new one.

    Guarded ones stand still until no roll runs any more: a new VM of a roll that is to end in another min ISR would
    otherwise bring that in the middle of it. So does what one broker tries first, or did not stand.
    """
    wanted, still = spec_config(document, pool), GUARDED | _tried(view, document, pool) | refused
    known = [i for i in view.alive() if i.start.config is not None and not i.lost]
    there = next((i.start.config for i in sorted(known, key=lambda i: i.planned.pool != pool)), None)
    if there is None or all(there.get(name) == wanted.get(name) for name in still):
        return wanted
    kept = {name: there[name] for name in still if name in there}
    return dict(sorted({**{k: v for k, v in wanted.items() if k not in still}, **kept}.items()))


def settings_to_make(
    view: ClusterView,
    document: KafkaClusterDocument,
    pool: str,
    settings: Mapping[str, str],
    refused: frozenset[str] = frozenset(),
) -> dict[str, str]:
    """The properties that go with `config_to_make`; `settings` are those of the spec."""
    wanted, made = spec_config(document, pool), config_to_make(view, document, pool, refused)
    silent, made_of = where_silent(view, document), dict(settings)
    for name in GUARDED | _tried(view, document, pool) | refused:
        if made.get(name) != wanted.get(name):
            made_of.pop(name, None)
            value = made.get(name, silent.get(name))
            made_of |= {} if value is None else {name: value}
    return dict(sorted(made_of.items()))


def _tried(view: ClusterView, document: KafkaClusterDocument, pool: str) -> frozenset[str]:
    """Settings of the spec that not every broker of the pool is to have yet, or at all."""
    change, refusal, own = view.settings.change, view.settings.refusal, pool_config(document, pool)
    found: set[str] = set()
    for of_pool, names in (
        *([(change.pool, change.config)] if change is not None and change.stage is not SettingStage.ALL else ()),
        *([(refusal.pool, refusal.names)] if refusal is not None else ()),
    ):
        found |= {n for n in names if of_pool == pool or (not of_pool and n not in own)}
    return frozenset(found)
