"""Pairs of clusters as people read them: a line each, or one of them whole."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from controlplane.api.schemas.failovers import CopyOut, FailoverOut, FailoverPlanOut
from controlplane.cli.tables import listing
from controlplane.runtime.quantities import moment
from controlplane.runtime.styled_text import styled
from events.quantities import counted

_STYLE = {"Standby": "green", "Unreadable": "red", "Registered": "yellow"}


def failover_table(failovers: Sequence[FailoverOut]) -> Table:
    """One line a pair."""
    headers = ["NAME", "MODE", "STATE", "PRIMARY", "STANDBY", "DNS", "OWNER"]
    rows: list[list[Text | str]] = [
        [
            one.name,
            one.mode or "-",
            styled(one.state, _STYLE.get(one.state, "cyan")),
            one.primary,
            one.standby,
            one.dns or "-",
            one.owner or "-",
        ]
        for one in failovers
    ]
    return listing(headers, rows)


def failover_lines(one: FailoverOut) -> Iterator[RenderableType]:
    """One pair: what it is, its doors, what is in hand, and what it waits for."""
    yield styled(f"{one.name}: {one.state}", "bold")
    yield f"  {one.mode or '?'}: {one.primary} is the primary, {one.standby} the standby"
    if one.dns:
        yield f"  {one.dns} leads to {one.names_lead_to}"
    if one.name_problem:
        yield styled(f"  the name: {one.name_problem}", "yellow")
    for door in one.doors:
        yield f"  door of {door.cluster} ({door.role}): {door.state}, by order {door.epoch}"
    for vm, why in one.unproved.items():
        yield f"  not proved shut: {vm}: {why}"
    if one.copy_to_standby is not None:
        yield from _copy_lines(one.copy_to_standby)
    for partition, count in one.only_on_standby.items():
        yield styled(f"  only {one.standby} has up to {counted(count, 'record')} of {partition}", "yellow")
    if one.order:
        kind = "planned" if one.planned else "unplanned"
        back = "it can be aborted" if one.returns else "past the point of no return"
        yield f"  in hand: {kind} failover {one.order}; {back}"
    if one.last_order:
        came = f"made {one.primary} the primary" if one.last_promoted else "was aborted"
        yield f"  the last failover, {one.last_order}, {came}"
    if one.declared_at is not None:
        where = " ".join(part for part in (one.source, one.path, one.commit[:12]) if part)
        yield f"  declared {moment(one.declared_at)} by {one.declared_by} ({where}), document {one.generation}"
    if one.undeclared:
        yield styled(f"  no file declares it any more as of {one.undeclared[:12]}: it stays as it is", "yellow")
    yield f"  {one.sentence}"


def _copy_lines(copy: CopyOut) -> Iterator[RenderableType]:
    where = (
        f"{copy.replicator}, which {'runs' if copy.is_running else 'does not run'}" if copy.replicator else "nowhere"
    )
    yield f"  the replicator is at {where}"
    if copy.lag_s is None or copy.lag_records is None:
        yield styled("  how far the copy is behind is not known", "yellow")
    else:
        yield f"  the copy is up to {copy.lag_s:.1f} s and {counted(copy.lag_records, 'record')} behind"
    for partition, count in copy.behind.items():
        yield f"    {partition}: {counted(count, 'record')}"
    if copy.problem:
        yield styled(f"  the copy: {copy.problem}", "yellow")


def failover_plan_lines(plan: FailoverPlanOut) -> Iterator[RenderableType]:
    """What would be done, in its order, what may be lost, and where nothing leads back."""
    kind = "planned" if plan.planned else "unplanned"
    yield styled(f"{plan.name}: {kind} failover from {plan.primary} to {plan.standby}", "bold")
    for number, step in enumerate(plan.steps, 1):
        if step.is_point_of_no_return:
            yield styled("  --- point of no return: from here on only another failover leads back ---", "yellow")
        yield f"  {number:2}. {step.what}: {step.proof}"
        yield f"      abort: {step.undo}"
    yield styled("  what may be lost", "bold")
    for line in plan.loss:
        yield f"    {line}"
