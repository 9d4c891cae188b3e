"""Topics as people read them: a line each; one with what is declared beside what is there."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from controlplane.api.schemas.rollbacks import TopicDeclarationOut
from controlplane.api.schemas.specs import PlansOut
from controlplane.api.schemas.topics import ObservedTopicOut, TopicOut, UnhealthyPartitionOut, UnhealthyPartitionsOut
from controlplane.cli.tables import listing
from controlplane.runtime.quantities import ago, moment, since
from controlplane.runtime.styled_text import styled
from planner.quantities import human_bytes, human_seconds

STATE_STYLE = {
    "InSync": "green",
    "Changing": "cyan",
    "Declared": "cyan",
    "Degraded": "red",
    "Deleting": "yellow",
    "Observed": "dim",
}


def answer_topics(planned: PlansOut) -> list[RenderableType]:
    """What would be declared of topics, users and pairs, a line each."""
    return [styled(line) for line in planned.beside]


def topic_table(topics: Sequence[TopicOut]) -> Table:
    """One line a topic: what is there, what it should be where that is another number, who declares it."""
    headers = ["TOPIC", "STATE", "REASON", "PARTITIONS", "REPLICAS", "SIZE", "TIER", "OWNER", "SOURCE"]
    return listing(headers, [_row(topic) for topic in topics])


def declaration_table(declarations: Sequence[TopicDeclarationOut]) -> Table:
    """One line a declaration, the newest first."""
    headers = ["DECLARATION", "WHEN", "BY", "SOURCE", "PARTITIONS", "REPLICAS", "TIER", "WHAT IT CHANGED"]
    rows: list[list[Text | str]] = [
        [
            f"{d.number}, in force" if d.in_force else str(d.number),
            moment(d.declared_at),
            d.declared_by,
            d.source,
            str(d.partitions),
            str(d.replicas),
            d.tier,
            "; ".join(d.changes) or "-",
        ]
        for d in declarations
    ]
    return listing(headers, rows)


def unhealthy_lines(found: UnhealthyPartitionsOut, *, now: datetime) -> Iterator[RenderableType]:
    """The partitions that ail, a line each, behind how many there are and how old the metadata is."""
    read = f"metadata read {human_seconds(round(found.metadata_age_s or 0))} ago"
    if not found.partitions:
        yield styled(f"all partitions are in sync; {read}")
        return
    counts = (found.no_leader, "no leader"), (found.below_min_isr, "below min ISR"), (found.out_of_sync, "out of sync")
    yield styled(f"{', '.join(f'{count} {words}' for count, words in counts if count)}; {read}", "bold")
    headers = ["PARTITION", "STATE", "LEADER", "MIN ISR", "IN SYNC", "REPLICAS", "OUT OF SYNC"]
    yield listing(headers, [_unhealthy_row(one, now) for one in found.partitions])


def topic_lines(topic: TopicOut, *, now: datetime) -> Iterator[RenderableType]:
    yield styled(f"{topic.cluster}/{topic.name}", "bold")
    yield _state(topic)
    if topic.message:
        yield styled(f"  {topic.message}")
    declared, seen = topic.declared, topic.observed
    rows: list[list[Text | str]] = [
        ["partitions", str(declared.partitions) if declared else "-", str(seen.partitions) if seen else "-"],
        ["replicas", str(declared.replicas) if declared else "-", _replicas(seen)],
        ["size", "", _size(seen)],
    ]
    if seen is not None:
        rows += [
            ["min ISR", "", str(seen.min_isr)],
            ["out of sync", "", str(seen.under_replicated)],
            ["no leader", "", str(seen.offline)],
            ["moving", "", str(seen.moving)],
        ]
    yield listing(["", "DECLARED", "OBSERVED"], rows)
    if declared is None:
        yield styled("not declared", "dim")
        return
    where = f": {declared.path}" if declared.path else ""
    at = f" at {declared.commit[:7]}" if declared.commit else ""
    yield styled(f"source        {declared.source}{where}{at}, since {since(declared.since, now)}")
    yield styled(f"tier          {declared.tier}")
    yield styled(f"owner         {declared.owner or '-'}")
    yield styled(f"on deletion   {declared.deletion_policy}; deleted outside: {declared.on_loss}")
    if declared.rate_min is not None or declared.rate_max is not None:
        least, most = declared.rate_min or 0, declared.rate_max
        yield styled(f"rate          {least} to {'any' if most is None else most} records/s while all is well")
    if declared.rate_learn:
        yield styled(f"rate          {topic.learned_rate or 'learned'}")
    if declared.config is None:
        yield styled("config        as it was found, left alone")
    for key, value in sorted((declared.config or {}).items()):
        yield styled(f"config        {key}={value}")


def _row(topic: TopicOut) -> list[Text | str]:
    declared, seen = topic.declared, topic.observed
    return [
        topic.name,
        _state(topic),
        topic.reason or "-",
        _beside(seen.partitions if seen else None, declared.partitions if declared else None),
        _beside(seen.replicas if seen else None, declared.replicas if declared else None),
        _size(seen),
        declared.tier if declared else "-",
        (declared.owner if declared else "") or "-",
        declared.source if declared else "-",
    ]


def _unhealthy_row(one: UnhealthyPartitionOut, now: datetime) -> list[Text | str]:
    missing = [b for b in one.replicas if b not in one.isr and b not in one.adding]
    told = [f"{b} (seen {ago(one.behind_since[b], now)})" if b in one.behind_since else str(b) for b in missing]
    return [
        f"{one.topic}-{one.partition}",
        styled(one.state, "yellow" if one.state == "out of sync" else "red"),
        str(one.leader) if one.leader >= 0 else "-",
        str(one.min_isr),
        f"{len(one.isr)} of {len(one.replicas)}",
        ", ".join(map(str, one.replicas)),
        ", ".join(told) or "-",
    ]


def _state(topic: TopicOut) -> Text:
    return styled(topic.state, STATE_STYLE.get(topic.state, ""))


def _beside(seen: int | None, declared: int | None) -> str:
    """`3`, or `3 -> 6` where another number is declared."""
    if seen is None or declared is None or seen == declared:
        return _said(seen if seen is not None else declared)
    return f"{seen} -> {declared}"


def _replicas(seen: ObservedTopicOut | None) -> str:
    if seen is None:
        return "-"
    return str(seen.replicas) if seen.replicas == seen.most_replicas else f"{seen.replicas} to {seen.most_replicas}"


def _size(seen: ObservedTopicOut | None) -> str:
    return "-" if seen is None or seen.size_bytes is None else human_bytes(seen.size_bytes)


def _said(number: int | None) -> str:
    return "-" if number is None else str(number)
