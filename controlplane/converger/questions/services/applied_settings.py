"""What the services of a cluster have been told of its Kafka settings, beside what the spec says of them now. Pure."""

from collections.abc import Mapping

from controlplane.cluster.sized_nodes import wanted_nodes
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.running_settings import SettingStage
from events.spec.model import KafkaClusterDocument
from events.spec.settings import shape_defaults
from planner.rollout.setting_class import GUARDED
from planner.rollout.settings_left import AppliedSettings, settings_left


def where_silent(view: ClusterView, document: KafkaClusterDocument) -> Mapping[str, str]:
    """What services are started with where the spec says nothing: by the shape of the cluster, and by its machines,
    where these differ by the smallest of them, as what is set live holds for all."""
    by_shape = shape_defaults(document.spec.kafka, document.spec.pools)
    sizes = {n.size.heap_mib: n.size.properties for n in wanted_nodes(view) if n.size and n.service == "broker"}
    return {**(sizes[min(sizes)] if sizes else {}), **by_shape}


def all_configs_sent(view: ClusterView) -> bool:
    """Whether every service was told what the spec says: a cheap no, asked of every cluster at every tick."""
    wanted = view.document.spec.kafka.config if view.document else {}
    return all(
        i.start.config is None or i.start.config == wanted for i in view.alive() if i.planned.service != "zookeeper"
    )


def needs_restart(view: ClusterView, instance: InstanceView) -> tuple[str, ...]:
    """Settings that differ from what the instance was told and that its Kafka reads only when it starts."""
    document, config = view.document, instance.start.config
    if document is None or config is None or config == document.spec.kafka.config:
        return ()
    if instance.planned.service == "zookeeper":
        return ()
    applied = AppliedSettings(config, instance.planned.kafka_version)
    return settings_left([applied], document.spec.kafka.config, where_silent=where_silent(view, document)).restart


def config_to_make(
    view: ClusterView, document: KafkaClusterDocument, refused: frozenset[str] = frozenset()
) -> Mapping[str, str]:
    """The spec's settings a new instance is made with: as they are in force where they are not to be tried on it, nor
    `refused` by another new one.

    Guarded ones stand still until no roll runs any more: a new VM of a roll that is to end in another min ISR would
    otherwise bring that in the middle of it. So does what one broker tries first, or did not stand.
    """
    wanted, still = document.spec.kafka.config, GUARDED | _tried(view) | refused
    there = next((i.start.config for i in view.alive() if i.start.config is not None and not i.lost), None)
    if there is None or all(there.get(name) == wanted.get(name) for name in still):
        return wanted
    kept = {name: there[name] for name in still if name in there}
    return dict(sorted({**{k: v for k, v in wanted.items() if k not in still}, **kept}.items()))


def settings_to_make(
    view: ClusterView,
    document: KafkaClusterDocument,
    settings: Mapping[str, str],
    refused: frozenset[str] = frozenset(),
) -> dict[str, str]:
    """The properties that go with `config_to_make`; `settings` are those of the spec."""
    wanted, made = document.spec.kafka.config, config_to_make(view, document, refused)
    silent, made_of = where_silent(view, document), dict(settings)
    for name in GUARDED | _tried(view) | refused:
        if made.get(name) != wanted.get(name):
            made_of.pop(name, None)
            value = made.get(name, silent.get(name))
            made_of |= {} if value is None else {name: value}
    return dict(sorted(made_of.items()))


def _tried(view: ClusterView) -> frozenset[str]:
    """Settings of the spec that not every broker is to have yet, or at all."""
    change, refusal = view.settings.change, view.settings.refusal
    trying = change.config if change is not None and change.stage is not SettingStage.ALL else ()
    return frozenset(trying) | frozenset(refusal.names if refusal is not None else ())
