"""What the services of a cluster have been told of its Kafka settings, beside what the spec says of them now. Pure."""

from collections.abc import Mapping

from controlplane.view import ClusterView, InstanceView
from events.spec.model import KafkaClusterDocument
from events.spec.settings import shape_defaults
from planner.rollout.setting_class import GUARDED
from planner.rollout.settings_left import Told, settings_left


def where_silent(document: KafkaClusterDocument) -> Mapping[str, str]:
    """What services are started with where the spec says nothing."""
    return shape_defaults(document.spec.kafka, document.spec.pools)


def all_told(view: ClusterView) -> bool:
    """Whether every service was told what the spec says: a cheap no, asked of every cluster at every tick."""
    wanted = view.document.spec.kafka.config if view.document else {}
    return all(i.config is None or i.config == wanted for i in view.alive() if i.planned.service != "zookeeper")


def needs_restart(view: ClusterView, instance: InstanceView) -> tuple[str, ...]:
    """Settings that differ from what the instance was told and that its Kafka reads only when it starts."""
    document, config = view.document, instance.config
    if document is None or config is None or config == document.spec.kafka.config:
        return ()
    if instance.planned.service == "zookeeper":
        return ()
    told = Told(config, instance.planned.kafka_version)
    return settings_left([told], document.spec.kafka.config, where_silent=where_silent(document)).restart


def config_to_make(view: ClusterView, document: KafkaClusterDocument) -> Mapping[str, str]:
    """The spec's settings a new instance is made with: guarded ones as they are in force until no roll runs any more.

    A new VM of a roll that is to end in another min ISR would otherwise bring that in the middle of it.
    """
    wanted = document.spec.kafka.config
    there = next((i.config for i in view.alive() if i.config is not None and not i.lost), None)
    if there is None or all(there.get(name) == wanted.get(name) for name in GUARDED):
        return wanted
    kept = {name: there[name] for name in GUARDED if name in there}
    return dict(sorted({**{k: v for k, v in wanted.items() if k not in GUARDED}, **kept}.items()))


def settings_to_make(view: ClusterView, document: KafkaClusterDocument, settings: Mapping[str, str]) -> dict[str, str]:
    """The properties that go with `config_to_make`; `settings` are those of the spec."""
    wanted, made = document.spec.kafka.config, config_to_make(view, document)
    silent = where_silent(document)
    kept = {n: v for n in GUARDED if made.get(n) != wanted.get(n) and (v := made.get(n, silent.get(n))) is not None}
    return dict(sorted({**settings, **kept}.items()))
