"""Rules about clusters that others run, wholly or in part: what is offered there, and what a change may ask for."""

from collections.abc import Iterator, Mapping
from typing import Any

from events.spec import problems as p
from events.spec.external import External
from events.spec.housekeeping import Balance
from events.spec.model import KafkaClusterDocument, Pool
from events.spec.positions import Positions
from events.spec.problems import Path, Problem
from events.spec.quotas import ClusterQuotas

JOINABLE_LISTENER = "PLAINTEXT"
"""The one listener brokers of Kedge's have; others find them by that name."""

_SPEC: Path = ("spec",)
_EXTERNAL: Path = (*_SPEC, "external")


def external_problems(sections: Mapping[str, Any], where: Positions) -> Iterator[Problem]:
    """Everything wrong with a spec that has an `external` section. `sections` are the sound ones, by python name."""
    external: External = sections["external"]
    pools: tuple[Pool, ...] = sections.get("pools") or ()
    yield from _repeated_ids(external, where)
    yield from _quorum(sections, pools, where)
    yield from _pools_there(external, pools, sections, where)
    yield from _not_offered(sections, where)


def external_change_problems(
    old: KafkaClusterDocument, new: KafkaClusterDocument, where: Positions
) -> Iterator[Problem]:
    """Steps that are not offered while others run a part of the cluster."""
    before, after = old.spec.external, new.spec.external
    if before is None or after is None:
        return  # it comes and goes with the cluster: told as an immutable field
    if old.spec.kafka.config != new.spec.kafka.config:
        message = (
            "`spec.kafka.config` was imported, and Kedge sets nothing live, and restarts nothing, in a cluster that "
            "others run in part"
        )
        fix = "Set it by the cluster's own tools, and keep the section as it was."
        yield where.problem(p.EXTERNAL, ("spec", "kafka", "config"), message, fix, key=True)
    for index, pool in enumerate(new.spec.pools):
        earlier = next((one for one in old.spec.pools if one.name == pool.name), pool)
        if pool.config != earlier.config:
            message = (
                f"pool `{pool.name}` has other properties than before, and Kedge sets nothing live, and restarts "
                "nothing, in a cluster that others run in part"
            )
            fix = "Keep them as they were until the whole cluster is Kedge's."
            yield where.problem(p.EXTERNAL, ("spec", "pools", index, "config"), message, fix, key=True)
    leaving = sorted({b.id for b in before.brokers} - {b.id for b in after.brokers})
    if leaving and not new.spec.broker_pools:
        message = f"external broker {', '.join(map(str, leaving))} leaves, and no pool would take what it holds"
        fix = "Add a pool with `services: [broker]`, apply, then take the brokers off the list."
        yield where.problem(p.EXTERNAL, (*_EXTERNAL, "brokers"), message, fix, key=True)


def _repeated_ids(external: External, where: Positions) -> Iterator[Problem]:
    lists = {"brokers": [b.id for b in external.brokers], "controllers": [c.id for c in external.controllers]}
    for key, ids in lists.items():
        for index, one in enumerate(ids):
            if one in ids[:index]:
                message = f"`{one}` is listed twice"
                yield where.problem(p.REPEATED, (*_EXTERNAL, key, index, "id"), message, "List it once.")


def _quorum(sections: Mapping[str, Any], pools: tuple[Pool, ...], where: Positions) -> Iterator[Problem]:
    kafka = sections.get("kafka")
    if kafka is not None and kafka.mode == "zookeeper":
        message = (
            "an external cluster in mode `zookeeper` is not taken on: Kedge moves brokers within KRaft quorums only"
        )
        fix = "Migrate it to KRaft by its own tools first (docs/import.md)."
        yield where.problem(p.EXTERNAL, ("spec", "kafka", "mode"), message, fix)
    for index, pool in enumerate(pools):
        if pool.is_quorum:
            message = f"pool `{pool.name}` has voters, but the quorum of an external cluster stays with who runs it"
            fix = "Give the pool `services: [broker]`."
            yield where.problem(p.EXTERNAL, ("spec", "pools", index, "services"), message, fix)


def _pools_there(
    external: External, pools: tuple[Pool, ...], sections: Mapping[str, Any], where: Positions
) -> Iterator[Problem]:
    brokers = [pool for pool in pools if pool.is_broker]
    if not brokers and not external.brokers:
        message = "neither a pool nor `spec.external` has a broker, so nothing would hold data"
        yield where.problem(p.NO_BROKERS, _EXTERNAL, message, "List the brokers that are there.", key=True)
    if external.client_properties is not None:
        yield from _watched_alone(external, brokers, where)
        return
    if not brokers:
        return
    if external.listener.upper() != JOINABLE_LISTENER:
        message = (
            f"the brokers there speak to one another at the listener `{external.listener}`, and those of Kedge have "
            f"`{JOINABLE_LISTENER}` alone: neither would find the other"
        )
        fix = f"Keep `pools: []`, or give the external brokers a plaintext listener called {JOINABLE_LISTENER} first."
        yield where.problem(p.EXTERNAL, (*_EXTERNAL, "listener"), message, fix)
    rollout = sections.get("rollout")
    if rollout is not None and rollout.throttle_mib_per_s is None:
        message = "nobody knows how much the network of external brokers carries, and nothing bounds what moves take"
        fix = "Write `rollout: {throttleMibPerS: N}`: what each broker may be given and take beside its clients."
        yield where.problem(p.EXTERNAL, ("spec", "rollout"), message, fix, key=True)


def _watched_alone(external: External, brokers: list[Pool], where: Positions) -> Iterator[Problem]:
    if brokers:
        message = (
            "brokers there are spoken to by client properties, and VMs of Kedge's could not join them: their listeners "
            "would need certificates of a CA, and a name to their authorizer, that Kedge has no say in"
        )
        yield where.problem(p.EXTERNAL, (*_SPEC, "pools"), message, "Keep `pools: []`: the cluster is watched.")
    if external.quorum == "dynamic":
        message = "`quorum: dynamic` is for pools that join, and none can join a cluster spoken to by client properties"
        yield where.problem(p.EXTERNAL, (*_EXTERNAL, "quorum"), message, "Write `as-found`, or remove it.")


def _not_offered(sections: Mapping[str, Any], where: Positions) -> Iterator[Problem]:
    """What would touch, or count on, the part of the cluster that is not Kedge's."""
    asked = {
        ("kafka", "metadataVersion"): getattr(sections.get("kafka"), "metadata_version", None) is not None,
        ("health", "heartbeats"): getattr(sections.get("health"), "heartbeats", False),
        ("quotas",): sections.get("quotas") not in (None, ClusterQuotas()),
        ("balance", "continuous"): getattr(sections.get("balance"), "continuous", False),
        ("balance", "brokerSets"): bool(getattr(sections.get("balance"), "broker_sets", ())),
        ("balance", "placement", "correct"): _corrects(sections.get("balance")),
    }
    for path, is_asked in asked.items():
        if is_asked:
            message = f"`{'.'.join(path)}` is not offered while others run a part of the cluster"
            yield where.problem(p.EXTERNAL, (*_SPEC, *path), message, "Remove it.")
    if sections.get("deletion_policy") == "destroy":
        message = "`deletionPolicy: destroy` would take disks from a cluster that others run in part"
        yield where.problem(p.EXTERNAL, (*_SPEC, "deletionPolicy"), message, "Write `retain`, or remove it.")


def _corrects(balance: Balance | None) -> bool:
    return balance is not None and balance.placement.correct
