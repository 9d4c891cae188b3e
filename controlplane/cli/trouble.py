"""Why a cluster is not well, in one sentence: what a person reads first."""

from collections.abc import Iterator, Sequence

from controlplane.cli.waiting import message_of
from controlplane.kafka.quorum import keeps_up, silence
from controlplane.portal.schemas import BesideOut, ClusterDetailOut, ConditionOut, InstanceOut

GOOD_WHEN_TRUE = frozenset({"Converged", "Synced"})
"""Every other condition tells of something people should know."""

_AT_REST = "Converged"
_ITS_TURN = ("WaitsForStage", "WaitsForWindow")


def why(detail: ClusterDetailOut) -> str:
    """The one sentence, "" for a cluster that is well.

    First what a condition says, which has been weighed already; then what was found in its VMs, and what the metadata
    says. A roll takes replicas out of sync and stops services on purpose: while one is in hand that is no reason.
    """
    trouble = trouble_of(detail.conditions)
    if trouble is not None:
        return f"{trouble.type}: {message_of(trouble) or trouble.reason}"
    return next(_reasons(detail), "")


def trouble_of(conditions: Sequence[ConditionOut]) -> ConditionOut | None:
    """The one condition that explains why a cluster is not well: what it waits for first, then what is so longest.

    Work towards what is declared is no trouble: the last tick says how far it is.
    """
    bad = [c for c in conditions if c.type != "Converged" and c.status != (c.type in GOOD_WHEN_TRUE)]
    return min(bad, key=lambda c: (c.type != "Blocked", c.type in _ITS_TURN, c.since, c.type), default=None)


def _reasons(detail: ClusterDetailOut) -> Iterator[str]:
    """The gravest first."""
    if detail.status in ("Unreadable", "Held"):
        yield f"{detail.status}: {detail.sentence or 'nothing is done on this cluster'}"
    there = [i for i in detail.instances if i.phase == "joined"]
    yield from (f"{i.key}: the cloud says that its VM is gone" for i in there if i.lost)
    if detail.under_min_isr:
        yield f"{detail.under_min_isr} partitions are below their min ISR: they refuse writes of acks=all"
    yield from _findings(there)
    if detail.status != _AT_REST:
        return
    yield from (_service(i) for i in there if i.reported_state not in ("", "running"))
    yield from (_beside(i, i.beside) for i in there if i.beside and i.beside.reported_state not in ("", "running"))
    yield from _late(detail)
    if detail.under_replicated:
        yield f"{detail.under_replicated} partitions have replicas that are not in sync"


def _findings(there: Sequence[InstanceOut]) -> Iterator[str]:
    found = sorted(((f.since, i.key, f) for i in there for f in i.findings), key=lambda one: one[:2])
    more = f" (and {len(found) - 1} findings more)" if len(found) > 1 else ""
    yield from (f"{key}: {finding.name}: {finding.message}{more}" for _, key, finding in found[:1])


def _service(instance: InstanceOut) -> str:
    return f"{instance.service} {instance.service_id} ({instance.key}) is {_by_word_of_agent(instance)}"


def _beside(instance: InstanceOut, server: BesideOut) -> str:
    return f"zookeeper {server.service_id} ({instance.key}) is {_by_word_of_agent(server)}"


def _by_word_of_agent(told: InstanceOut | BesideOut) -> str:
    why = f": {told.reported_message}" if told.reported_message else ""
    return f"{told.reported_state} by its agent's word{why}"


def _late(detail: ClusterDetailOut) -> Iterator[str]:
    for member in detail.quorum.members if detail.quorum else ():
        if member.votes and not keeps_up(member.lag, member.silent_s):
            behind = f"{member.lag} records behind, {silence(member.silent_s)}"
            yield f"controller {member.id} ({member.node}) does not keep up with the quorum: {behind}"
