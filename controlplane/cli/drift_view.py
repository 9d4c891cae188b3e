"""What was changed by hand in the cloud, as people read it: by place, what was recorded and what is there."""

from collections.abc import Iterator
from datetime import datetime

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from controlplane.api.schemas.drift import AuditOut, DriftOut
from controlplane.cli.tables import listing
from controlplane.runtime.quantities import ago
from controlplane.runtime.styled_text import styled
from events.quantities import counted


def drift_lines(found: DriftOut, *, now: datetime) -> Iterator[RenderableType]:
    """A paragraph for each place."""
    for audit in found.audits:
        yield styled(_head(audit, now), "yellow" if audit.drifts else "")
        if audit.error:
            yield styled(f"  the audit {ago(audit.tried_at, now)} told nothing: {audit.error}", "yellow")
        if audit.drifts:
            yield _table(audit)
    if any(audit.drifts for audit in found.audits):
        yield ""
        yield (
            "Kedge does nothing about it by itself. Restore it by hand, or have the node made anew "
            f"(kedge replace {found.cluster} --node NODE), then: kedge drift {found.cluster} --now"
        )


def _head(audit: AuditOut, now: datetime) -> str:
    if audit.at is None:
        return f"{audit.place}: not audited yet"
    found = f"{counted(len(audit.drifts), 'value')} changed by hand" if audit.drifts else "nothing was changed by hand"
    return f"{audit.place}: {found}, of {counted(audit.resources, 'thing')} looked at {ago(audit.at, now)}"


def _table(audit: AuditOut) -> Table:
    rows: list[list[Text | str]] = [[d.target, d.attribute or "-", d.recorded, d.found] for d in audit.drifts]
    return listing(["  THING", "ATTRIBUTE", "RECORDED", "THERE"], rows)
