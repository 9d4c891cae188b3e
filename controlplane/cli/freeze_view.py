"""Freezes as people read them: a line each."""

from collections.abc import Sequence
from datetime import datetime

from rich.table import Table
from rich.text import Text

from controlplane.api.schemas.freezes import FreezeOut
from controlplane.cli.tables import listing
from controlplane.runtime.quantities import human_seconds, moment
from controlplane.runtime.styled_text import styled

_STYLE = {"in force": "yellow", "to come": "", "thawed": "dim", "over": "dim"}


def freeze_table(freezes: Sequence[FreezeOut], *, now: datetime) -> Table:
    """One line a freeze."""
    rows: list[list[Text | str]] = [
        [
            freeze.id or "-",
            styled(f"{freeze.state}{', silent' if freeze.silence else ''}", _STYLE[freeze.state]),
            _until(freeze, now),
            freeze.by or "settings",
            _whom(freeze),
            f"{freeze.reason}; thawed: {freeze.thawed_why}" if freeze.thawed_at else freeze.reason,
        ]
        for freeze in freezes
    ]
    return listing(["ID", "STATE", "UNTIL", "BY", "CLUSTERS", "REASON"], rows)


def _until(freeze: FreezeOut, now: datetime) -> str:
    if freeze.state not in ("in force", "to come"):
        return moment(freeze.thawed_at or freeze.until)
    return f"{moment(freeze.until)} (in {human_seconds(max(0, round((freeze.until - now).total_seconds())))})"


def _whom(freeze: FreezeOut) -> str:
    if freeze.everything:
        return "all"
    teams = [f"team {team}" for team in freeze.teams]
    labels = [" and ".join(f"{k}={v}" for k, v in sorted(freeze.labels.items()))] if freeze.labels else []
    return ", ".join([*freeze.clusters, *teams, *labels])
