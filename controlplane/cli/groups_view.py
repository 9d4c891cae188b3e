"""Consumer groups as people read them: a line each; one with its members and its lag by partition; a reset of one."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from controlplane.api.schemas.groups import GroupDetailOut, GroupOut, GroupPartitionOut
from controlplane.api.schemas.resets import OffsetChangeOut, ResetPlanOut
from controlplane.cli.tables import listing
from controlplane.runtime.quantities import ago
from controlplane.runtime.styled_text import styled
from controlplane.runtime.untrusted_text import on_one_line
from events.quantities import counted
from planner.consumers.reported import beyond_words

_NAMED = 10

WORD_STYLE = {
    "Reading": "green",
    "Rebalancing": "cyan",
    "NoMembers": "yellow",
    "NoOffset": "dim",
    "Unknown": "yellow",
    "NotSubscribed": "dim",
    "Unread": "red",
    "BeyondEnd": "red",
    "Stuck": "red",
}


def group_table(groups: Sequence[GroupOut]) -> Table:
    """One line a group."""
    headers = ["GROUP", "STATE", "MEMBERS", "PARTITIONS", "LAG", "TREND", "STUCK", "UNREAD"]
    return listing(headers, [_row(g) for g in groups])


def group_lines(found: GroupDetailOut, *, now: datetime) -> Iterator[RenderableType]:
    group = found.group
    yield styled(on_one_line(f"{group.cluster}/{group.name}"), "bold")
    yield _word(group.word)
    yield styled(f"  {group.state}, {group.kind} protocol, broker {group.coordinator}, read {ago(found.read_at, now)}")
    yield styled(f"  lag {_said(group.lag)} records, {_trend(group.trend_per_s)}")
    if found.last_reset is not None:
        words = on_one_line(found.last_reset.words)
        yield styled(f"  last reset {ago(found.last_reset.at, now)}: {words}", "dim")
    headers = ["TOPIC", "PARTITION", "STATE", "SINCE", "COMMITTED", "END", "LAG", "MEMBER"]
    yield listing(headers, [_partition(p, now) for p in found.partitions])
    beyond = [p for p in found.partitions if p.state == "BeyondEnd"]
    for p in beyond[:_NAMED]:
        yield styled(beyond_words(f"{p.topic}-{p.partition}", p.committed, p.end), "yellow")
    if len(beyond) > _NAMED:
        yield styled(f"and {len(beyond) - _NAMED} partitions more", "yellow")
    if not found.members:
        yield styled("no member: nothing reads, or a client commits offsets without joining", "dim")
        return
    yield listing(
        ["MEMBER", "CLIENT", "HOST", "GIVEN"],
        [[m.id, m.client, m.host, m.unreadable or counted(m.partitions, "partition")] for m in found.members],
    )


def _row(group: GroupOut) -> list[Text | str]:
    return [
        group.name,
        _word(group.word),
        str(group.members),
        str(group.partitions),
        _said(group.lag),
        _trend(group.trend_per_s),
        str(group.stuck),
        str(group.unread),
    ]


def _partition(p: GroupPartitionOut, now: datetime) -> list[Text | str]:
    where: list[Text | str] = [p.topic, str(p.partition), _word(p.state), ago(p.since, now)]
    return [*where, _said(p.committed), _said(p.end), _said(p.lag), p.member or "nobody"]


def _word(word: str) -> Text:
    return styled(word, WORD_STYLE.get(word, ""))


def _trend(per_s: float | None) -> str:
    return "-" if per_s is None else f"{per_s:+.1f}/s"


def _said(number: int | None) -> str:
    return "-" if number is None else str(number)


def reset_lines(plan: ResetPlanOut) -> Iterator[RenderableType]:
    """What a reset would change, a line a partition."""
    yield styled(on_one_line(f"{plan.cluster}/{plan.group}"), "bold")
    if plan.changes:
        headers = ["TOPIC", "PARTITION", "COMMITTED", "WOULD BE", "LOG", "AGAIN", "SKIPPED"]
        yield listing(headers, [_change(c) for c in plan.changes])
    yield f"{counted(len(plan.changes), 'offset')} would change, {plan.same} are there already"
    if plan.changes:
        yield f"{plan.skipped} records would never be read by this group, {plan.again} a second time"
    for change in [c for c in plan.changes if c.beyond][:_NAMED]:
        yield styled(beyond_words(f"{change.topic}-{change.partition}", change.before, change.end), "yellow")
    for unknown in plan.unknown[:_NAMED]:
        yield styled(f"left out: {unknown.topic}-{unknown.partition}: {unknown.why}", "yellow")
    if len(plan.unknown) > _NAMED:
        yield styled(f"left out: {len(plan.unknown) - _NAMED} partitions more", "yellow")
    if plan.refused:
        yield styled(f"not now: {plan.refused}", "red")


def _change(change: OffsetChangeOut) -> list[Text | str]:
    where: list[Text | str] = [change.topic, str(change.partition), _said(change.before), str(change.after)]
    return [*where, f"{change.first} to {change.end}", str(change.again), str(change.skipped)]
