"""The door of the house: which documents are accepted, and which changes of an accepted one.

Runs when a spec comes in, never when history is read: what was accepted once stays readable, however strict the rules
have become since.
"""

from collections.abc import Mapping
from typing import Any

from events.spec.authorization_rules import authorization_problems
from events.spec.broker_set_rules import broker_set_problems
from events.spec.change_rules import change_problems
from events.spec.disk_options import option_problems
from events.spec.distribution_rules import distribution_problems
from events.spec.external_rules import external_problems
from events.spec.jvm_rules import jvm_problems
from events.spec.kafka_rules import kafka_problems, pool_config_problems, replication_problems
from events.spec.model import ClusterSpec, KafkaClusterDocument, MetadataMode, Pool
from events.spec.network_rules import client_problems, domain_problems, network_problems
from events.spec.oauth_rules import oauth_problems
from events.spec.overlay_rules import has_overlay, overlay_problems
from events.spec.pool_rules import pool_problems, pools_together_problems
from events.spec.positions import NOWHERE, Positions
from events.spec.preset_rules import preset_risks
from events.spec.problems import Problem
from events.spec.quota_rules import quota_problems
from events.spec.rollout_rules import access_problems, rollout_problems, window_problems
from events.spec.security_rules import security_problems
from events.spec.spot_rules import spot_problems, spot_risks
from events.spec.storage_rules import count_problems, grow_problems, lost_disk_problems


def check(document: KafkaClusterDocument, *, positions: Positions = NOWHERE) -> list[Problem]:
    """Everything wrong with a document whose fields have the right shape; warnings too."""
    spec = document.spec
    sections = {name: getattr(spec, name) for name in ClusterSpec.model_fields}
    return check_sections(sections, pools=dict(enumerate(spec.pools)), positions=positions)


def check_sections(sections: Mapping[str, Any], *, pools: Mapping[int, Pool], positions: Positions) -> list[Problem]:
    """The same for what has the right shape in a spec while the rest has not: a slip hides nothing elsewhere.

    `sections` holds sound sections by python name, `pools` the sound pools by their place in the list. A rule runs
    when all it needs is there.
    """
    kafka, together, rollout = sections.get("kafka"), sections.get("pools"), sections.get("rollout")
    listeners, bootstrap = sections.get("listeners"), sections.get("bootstrap")
    found: list[Problem] = []
    mode = kafka.mode if kafka is not None else _mode_of(tuple(pools.values()))
    for index, pool in pools.items():
        found += pool_problems(index, pool, positions)
        found += jvm_problems(index, pool, positions)
        found += spot_problems(index, pool, positions)
        found += count_problems(pool, ("spec", "pools", index), positions)
        found += option_problems(pool, ("spec", "pools", index), positions)
        found += grow_problems(pool, ("spec", "pools", index), positions)
    external = sections.get("external")
    if external is not None:
        found += external_problems(sections, positions)
    if together is not None:
        found += pools_together_problems(together, positions, mode=mode, is_external=external is not None)
        found += network_problems(together, positions)
    if together and listeners is not None:
        found += domain_problems(together, listeners, positions, is_joined=has_overlay(sections.get("network")))
    if kafka is not None:
        found += kafka_problems(kafka, positions)
        found += pool_config_problems(kafka, pools, positions)
    if kafka is not None and together is not None and external is None:
        found += replication_problems(kafka, together, positions)
        found += spot_risks(kafka, together, positions)
    if together is not None and external is None:
        found += preset_risks(sections.get("preset"), together, positions)
    if kafka is not None and together is not None:
        found += distribution_problems(kafka, together, positions)
    if rollout is not None:
        found += rollout_problems(rollout, pools, positions)
    if (balance := sections.get("balance")) is not None:
        found += window_problems(balance.placement.windows, ("spec", "balance", "placement", "windows"), positions)
        found += broker_set_problems(balance, kafka, together or (), positions) if external is None else ()
    if (healing := sections.get("healing")) is not None:
        found += lost_disk_problems(healing, pools, positions)
    if listeners is not None and bootstrap is not None:
        found += access_problems(listeners, bootstrap, positions)
    found += quota_problems(sections.get("quotas"), positions)
    found += security_problems(sections, positions)
    found += authorization_problems(sections, positions)
    found += oauth_problems(sections, positions)
    found += overlay_problems(sections, positions)
    access = sections.get("access")
    if access is not None and listeners is not None:
        found += client_problems(access, listeners, positions)
    return found


def _mode_of(pools: tuple[Pool, ...]) -> MetadataMode:
    """What the pools speak for, where the Kafka section is not sound."""
    return "zookeeper" if any("zookeeper" in pool.services for pool in pools) else "kraft"


def check_change(
    old: KafkaClusterDocument,
    new: KafkaClusterDocument,
    *,
    data_bytes_per_pool: Mapping[str, int] | None,
    positions: Positions = NOWHERE,
) -> list[Problem]:
    """Everything that refuses the step from `old`, which is in force, to `new`; both were accepted by `check`.

    `data_bytes_per_pool` holds the bytes on the disks of each broker pool, replicas included; None = not known, then
    capacity is not judged here (the drain plan judges it again with fresh numbers). `positions` are those of `new`.
    """
    return list(change_problems(old, new, data_bytes_per_pool, positions))
