"""Anomalies and notifiers as people read them."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from controlplane.api.schemas.anomalies import AnomaliesOut, AnomalyOut, HealingOut, NotifierOut
from controlplane.cli.tables import listing
from controlplane.runtime.quantities import ago, human_seconds
from controlplane.runtime.styled_text import styled

STATE_STYLE = {"found": "yellow", "suppressed": "dim", "healing": "cyan", "waiting": "red", "over": "green"}


def anomaly_lines(found: AnomaliesOut, *, now: datetime) -> Iterator[RenderableType]:
    """Each with what was found and why it stands so; then what is not healed."""
    for one in found.anomalies:
        yield from _anomaly(one, now)
    for healing in found.healing:
        if not healing.heals:
            yield styled(f"{healing.kind} is not healed: {healing.why_not}", "yellow")


def open_table(found: Sequence[AnomalyOut], *, now: datetime) -> Table:
    """One line an open anomaly, over clusters."""
    headers = ["CLUSTER", "KIND", "SUBJECT", "STATE", "FOUND", "WHY"]
    rows: list[list[Text | str]] = [
        [a.cluster, a.kind, a.subject, _state(a.state), ago(a.found_at, now), a.reason] for a in found
    ]
    return listing(headers, rows)


def healing_table(kinds: Sequence[HealingOut]) -> Table:
    """One line a kind."""
    rows: list[list[Text | str]] = [
        [k.kind, _switch(k.heals), human_seconds(k.grace_s), k.why_not or "-"] for k in kinds
    ]
    return listing(["KIND", "HEALING", "GRACE", "WHY"], rows)


def notifier_table(notifiers: Sequence[NotifierOut], *, now: datetime) -> Table:
    """One line a notifier."""
    headers = ["NAME", "KIND", "WHERE", "WAITING", "DELIVERED", "DROPPED", "LAST", "ERROR"]
    return listing(headers, [_notifier(n, now) for n in notifiers])


def _anomaly(one: AnomalyOut, now: datetime) -> Iterator[RenderableType]:
    head = styled(f"{one.kind} of {one.subject}: ", "bold")
    head.append_text(_state(one.state))
    yield head
    yield styled(f"  found {ago(one.found_at, now)}, so since {ago(one.changed_at, now)}: {one.reason}")
    yield styled(f"  {one.words}", "dim")


def _notifier(n: NotifierOut, now: datetime) -> list[Text | str]:
    last = ago(n.told_at, now) if n.told_at else "-"
    since = f" (since {ago(n.failing_since, now)})" if n.failing_since else ""
    error: Text | str = styled(f"{n.error}{since}", "red") if n.error else "-"
    return [n.name, n.kind, n.where, str(n.waiting), str(n.delivered), str(n.dropped), last, error]


def _state(state: str) -> Text:
    return styled(state, STATE_STYLE.get(state, ""))


def _switch(heals: bool) -> Text:
    return styled("on", "green") if heals else styled("off", "yellow")
