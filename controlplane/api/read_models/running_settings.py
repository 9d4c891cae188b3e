"""The settings people declared, beside what they were told as, and what each broker says it runs with. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from events.spec.setting_table import newest_known
from events.spec.setting_values import reads_alike
from events.spec.settings import pool_config
from planner.observed import SettingSeen, SettingsSeen

HIDDEN = "hidden by Kafka"
NONE = "none"


@dataclass(frozen=True, slots=True)
class Reported:
    """One setting. `told` and `runs` name the brokers by value; `silent` are those that did not answer.

    `word` is same, differs (a broker runs with another value than it was told), or unknown.
    """

    name: str
    declared: str | None
    applied: Mapping[str, tuple[int, ...]]
    runs: Mapping[str, tuple[int, ...]]
    silent: tuple[int, ...]
    word: str


def asked_names(view: ClusterView) -> frozenset[str]:
    """What is declared of brokers, of single pools too, and what was ever set live."""
    pools = view.document.spec.broker_pools if view.document else ()
    declared = view.document.spec.kafka.config if view.document else {}
    of_pools = {*(n for p in pools for n in p.config), *(n for held in view.settings.of_pools.values() for n in held)}
    return frozenset({*declared, *of_pools, *view.settings.live})


def reported_rows(view: ClusterView, seen: SettingsSeen) -> list[Reported]:
    """Each of those by name, over the brokers that have joined."""
    brokers = [i for i in view.brokers() if i.phase is Phase.JOINED and not i.lost]
    return [_row(view, name, declared_of(view, name), brokers, seen) for name in sorted(asked_names(view))]


def declared_of(view: ClusterView, name: str) -> str | None:
    """`3`, and `3; 8 in pool fast` where a pool has a value of its own; None where the spec says nothing."""
    if view.document is None:
        return None
    whole = view.document.spec.kafka.config.get(name)
    own = [f"{p.config[name]} in pool {p.name}" for p in view.document.spec.broker_pools if name in p.config]
    return "; ".join([*([whole] if whole is not None else []), *own]) or whole


def applied_settings_of(instance: InstanceView) -> Mapping[str, str] | None:
    """The spec's Kafka settings that are in its file, by what it was told; None where nobody knows."""
    return instance.start.config if instance.start.config is not None else instance.start.born_with


def _row(
    view: ClusterView, name: str, declared: str | None, brokers: list[InstanceView], seen: SettingsSeen
) -> Reported:
    applied: dict[str, tuple[int, ...]] = {}
    runs: dict[str, tuple[int, ...]] = {}
    silent: list[int] = []
    words: set[str] = set()
    for broker in brokers:
        wanted = live_or_applied(view, broker, name)
        applied[wanted or NONE] = (*applied.get(wanted or NONE, ()), broker.service_id)
        found = seen.brokers.get(broker.service_id)
        if found is None:
            silent.append(broker.service_id)
            words.add("unknown")
            continue
        value = _value(name, found.get(name))
        runs[value] = (*runs.get(value, ()), broker.service_id)
        words.add(_word(name, wanted, value))
    word = "differs" if "differs" in words else "unknown" if "unknown" in words or not words else "same"
    return Reported(name, declared, applied, runs, tuple(silent), word)


def live_or_applied(view: ClusterView, instance: InstanceView, name: str) -> str | None:
    """What counts there by what it was given: a value of its pool's own before one of the cluster, and a live value
    before the file it was started with."""
    pool, told = instance.planned.pool, (applied_settings_of(instance) or {}).get(name)
    own = view.settings.of_pools.get(pool, {})
    is_of_pool = view.document is not None and name in pool_config(view.document, pool)
    return own.get(name, told) if is_of_pool else own.get(name, view.settings.live.get(name, told))


def _value(name: str, seen: SettingSeen | None) -> str:
    setting = newest_known(name)
    if seen is not None and seen.value is not None:
        return seen.value
    return HIDDEN if setting is not None and setting.is_sensitive else NONE


def _word(name: str, wanted: str | None, value: str) -> str:
    """Of one that was told nothing, whatever it runs with is its own affair: a default, mostly."""
    if wanted is None or value == HIDDEN:
        return "unknown" if value == HIDDEN else "same"
    return "same" if reads_alike(newest_known(name), wanted, value) else "differs"
